"""Starts the dashboard: `python scripts/serve.py [--address 127.0.0.1] [--port 8501]`."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import cli

ROOT = Path(__file__).resolve().parent.parent


def why_unavailable(address: str, port: int) -> str | None:
    """The reason for which nothing can listen on this address and port, or None."""
    try:
        with socket.create_server((address, port)):
            return None
    except OSError as error:
        return os.strerror(error.errno).lower() if error.errno else str(error)


def main() -> str | None:
    """Serves app.py until interrupted; returns the reason where it cannot."""
    parser = argparse.ArgumentParser(description="Serve the Kernel Reach dashboard.")
    parser.add_argument("--address", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8501)
    arguments = parser.parse_args()
    reason = why_unavailable(arguments.address, arguments.port)
    if reason:
        return (
            f"Port {arguments.port} of {arguments.address} cannot be used ({reason}). "
            "Choose another: PORT=8601 make app"
        )
    os.chdir(ROOT)  # .streamlit/config.toml is read from the working directory
    # Streamlit takes a folder called pages/ for its old kind of multipage app until st.navigation
    # has run once: the first visitor with a deep link would see the page file alone, without
    # navigation. This is the flag that st.navigation clears (held by tests/browser).
    PagesManager.uses_pages_directory = False
    address = f"http://{arguments.address}:{arguments.port}"
    print(f"Kernel Reach: {address} (Ctrl+C stops it)", flush=True)
    cli.main(
        [
            "run",
            "app.py",
            f"--server.address={arguments.address}",
            f"--server.port={arguments.port}",
            "--server.headless=true",
            "--browser.gatherUsageStats=false",
        ]
    )
    return None


if __name__ == "__main__":
    sys.exit(main())
