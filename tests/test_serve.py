"""scripts/serve.py and scripts/healthy.py where there is nothing to serve or to reach."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import healthy

ROOT = Path(__file__).resolve().parent.parent


def test_taken_port_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = subprocess.run(
            [sys.executable, "scripts/serve.py", "--port", str(port)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert result.returncode == 1
    assert f"Port {port} of 127.0.0.1 cannot be used (address already in use)" in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_health_check_fails_with_the_reason_where_nothing_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    monkeypatch.setattr(healthy, "URL", f"http://127.0.0.1:{port}/_stcore/health")
    assert healthy.main() == 1
    assert "refused" in capsys.readouterr().out
