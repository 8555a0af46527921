"""scripts/set_up.py: which Python, which torch, and when there is nothing to do."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from scripts import set_up


@pytest.mark.parametrize("release", [(3, 10, 12), (3, 14, 0)])
def test_unsupported_python_is_named(
    monkeypatch: pytest.MonkeyPatch, release: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(set_up.sys, "version_info", release)
    with pytest.raises(set_up.SetUpError, match=rf"Python {release[0]}\.{release[1]}.*3\.11"):
        set_up.check_python()


@pytest.mark.parametrize("release", [(3, 11, 0), (3, 12, 4), (3, 13, 9)])
def test_supported_python_is_accepted(
    monkeypatch: pytest.MonkeyPatch, release: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(set_up.sys, "version_info", release)
    set_up.check_python()


def test_digest_follows_the_content_of_the_requirements(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in set_up.REQUIREMENTS:
        (tmp_path / name).write_text("a==1\n")
    monkeypatch.setattr(set_up, "ROOT", tmp_path)
    before = set_up.digest(gpu=False)
    (tmp_path / "requirements.txt").touch()
    assert set_up.digest(gpu=False) == before
    assert set_up.digest(gpu=True) != before
    (tmp_path / "requirements.txt").write_text("a==2\n")
    assert set_up.digest(gpu=False) != before


def test_index_that_accepts_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "INDEX_TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        assert not set_up.index_answers(f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("answers", "index_works", "sources"),
    [
        (True, True, ["index"]),
        (True, False, ["index", "pip"]),
        (False, False, ["pip"]),
    ],
)
def test_cpu_torch_falls_back_to_pips_own_sources(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: bool,
    index_works: bool,
    sources: list[str],
) -> None:
    asked: list[str] = []

    def pip_install(*arguments: str) -> bool:
        assert set_up.CPU_TORCH in arguments
        asked.append("index" if "--index-url" in arguments else "pip")
        return index_works or asked[-1] == "pip"

    monkeypatch.setattr(set_up, "has_torch", lambda: False)
    monkeypatch.setattr(set_up, "index_answers", lambda url: answers)
    monkeypatch.setattr(set_up, "pip_install", pip_install)
    monkeypatch.setattr(set_up.sys, "platform", "linux")
    set_up.install_cpu_torch()
    assert asked == sources
    assert ("does not answer" in capsys.readouterr().out) is not answers


def test_failed_torch_is_an_error_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "has_torch", lambda: False)
    monkeypatch.setattr(set_up, "index_answers", lambda url: False)
    monkeypatch.setattr(set_up, "pip_install", lambda *arguments: False)
    with pytest.raises(set_up.SetUpError, match="could not install torch"):
        set_up.install_cpu_torch()


def test_nothing_to_do_installs_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stamp = tmp_path / "stamp"
    stamp.write_text(set_up.digest(set_up.has_gpu()))
    monkeypatch.setattr(set_up, "STAMP", stamp)
    monkeypatch.setattr(set_up, "install", lambda gpu: pytest.fail("installed again"))
    set_up.set_up_environment()
    assert stamp.exists()
