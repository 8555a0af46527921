"""Full-page pictures of the pages in both themes at 1440 and 390 px, to be looked at by a person.

    python tests/visual_check.py OUT [PATH ...]     PATH: e.g. /flagged or "/kernel?id=..."

Starts the app on a free port with the data of $KERNEL_REACH_DATA, waits until a page has stopped
changing, saves `OUT/<page>-<width>-<theme>.png`, and prints errors shown on the page or in the
browser's console. Not collected by pytest. Needs Playwright and a Chromium ($BROWSER_PATH, else
/usr/bin/chromium).
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from functools import partial
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZES = ((1440, 900), (390, 844))
DEFAULT_PATHS = ("/", "/evaluations", "/flagged", "/grade", "/kernel")


def free_port() -> int:
    """A port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url: str, process: subprocess.Popen[bytes], limit_s: float = 60) -> None:
    """Returns once `url` answers. Raises RuntimeError if the server ends or takes too long."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the app ended with code {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"{url} did not answer within {limit_s} s")


def note_error(said: list[str], message: ConsoleMessage) -> None:
    """Keeps what the browser's console reports as an error."""
    if message.type == "error":
        said.append(message.text)


def settle(page: Page, limit_s: float = 30) -> None:
    """Waits until the script has run and the page keeps its size for a second."""
    page.wait_for_selector("[data-testid=stMainBlockContainer]", timeout=limit_s * 1000)
    page.wait_for_selector("[data-testid=stStatusWidget]", state="detached")
    last, same, end = "", 0, time.monotonic() + limit_s
    while same < 4 and time.monotonic() < end:
        now = page.evaluate(
            "() => [document.body.innerText.length, document.querySelectorAll('*').length,"
            " document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight].join()"
        )
        same, last = (same + 1, now) if now == last else (0, now)
        page.wait_for_timeout(300)


def picture(page: Page, target: Path, width: int, height: int) -> None:
    """The whole page: the window is made as tall as the content, since an inner block scrolls."""
    content = page.evaluate(
        "() => document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight"
    )
    page.set_viewport_size({"width": width, "height": max(height, content + 80)})
    page.wait_for_timeout(700)
    page.screenshot(path=target)
    page.set_viewport_size({"width": width, "height": height})


def main(out: Path, paths: tuple[str, ...]) -> int:
    """Takes all pictures; returns the number of pages that showed an error."""
    out.mkdir(parents=True, exist_ok=True)
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            "app.py",
            f"--server.port={port}",
            "--server.fileWatcherType=none",
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    bad = 0
    try:
        wait_for(f"{base}/_stcore/health", server)
        with sync_playwright() as driver:
            chromium = os.environ.get("BROWSER_PATH", "/usr/bin/chromium")
            browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
            for theme in ("light", "dark"):
                for width, height in SIZES:
                    context = browser.new_context(
                        viewport={"width": width, "height": height},
                        color_scheme=theme,
                    )
                    page = context.new_page()
                    said: list[str] = []
                    page.on("console", partial(note_error, said))
                    page.goto(base)  # once: a deep link before that has no shell
                    settle(page)
                    for path in paths:
                        page.goto(base + path)
                        settle(page)
                        name = re.sub(r"\W+", "-", path).strip("-") or "home"
                        picture(page, out / f"{name}-{width}-{theme}.png", width, height)
                        shown = page.locator("[data-testid=stException]").all_inner_texts()
                        wide = page.evaluate(
                            "() => document.documentElement.scrollWidth > innerWidth"
                        )
                        bad += bool(shown)
                        print(name, width, theme, *(t[:300] for t in shown), *said[-3:])
                        if wide:
                            print("  scrolls sideways")
                        said.clear()
                    context.close()
            browser.close()
    finally:
        server.terminate()
        server.wait(10)
    return bad


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), tuple(sys.argv[2:]) or DEFAULT_PATHS))
