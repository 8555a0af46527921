"""A running dashboard and a browser for it: the server as `make app` starts it, a real Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from scripts.set_up import BROWSERS

ROOT = Path(__file__).resolve().parent.parent.parent
START_TIMEOUT_S = 60
# A test's browser talks to the app alone; as root it cannot have its own sandbox.
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the server answers; fails with its log when it ends or takes too long."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the dashboard did not start:\n{log.read_text()}")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Starts the dashboard with its data in `folder`; yields its address and stops it."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "scripts/serve.py", "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, "KERNEL_REACH_DATA": str(folder / "data")},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until_healthy(address, process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one dashboard for all tests, with an empty data directory of its own."""
    with serving(tmp_path_factory.mktemp("dashboard")) as address:
        yield address


@pytest.fixture
def fresh_dashboard(tmp_path: Path) -> Iterator[str]:
    """The address of a dashboard that nobody has opened yet."""
    with serving(tmp_path) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium of the system; skips where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Opens an address in a new browser profile and waits until Streamlit has drawn the page."""
    contexts = []

    def open_address(address: str) -> Page:
        context = browser.new_context(viewport={"width": 1440, "height": 1000})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.goto(address)
        page.locator("h1").first.wait_for()
        return page

    yield open_address
    for context in contexts:
        context.close()
