"""Brings the virtual environment `.venv` to the state that the requirement files describe.

`make app` and `make test` both start with this. It runs with the system's Python, so it uses the
standard library only. A run that finds nothing to do ends at once: a stamp in `.venv` holds the
digest of everything that decides what is installed.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "set-up.sha256"
REQUIREMENTS = (
    "requirements-view.txt",
    "requirements.txt",
    "requirements-cpu.txt",
    "requirements-dev.txt",
)
OLDEST, NEWEST = (3, 11), (3, 13)
CPU_TORCH = "torch==2.13.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_TIMEOUT_S = 8
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class SetUpError(Exception):
    """The environment cannot be set up; the text says why and what to do."""


def say(sentence: str) -> None:
    """One line to the user, at once: the steps that follow can take minutes."""
    print(f"[set-up] {sentence}", flush=True)


def has_gpu() -> bool:
    """Whether an NVIDIA device is there: its device file, or a working nvidia-smi."""
    if Path("/dev/nvidia0").exists():
        return True
    if shutil.which("nvidia-smi") is None:
        return False
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return listed.returncode == 0 and "GPU" in listed.stdout


def digest(gpu: bool) -> str:
    """SHA-256 over what decides the installed set: requirement files, this script, Python, GPU."""
    parts = [f"python {sys.version_info[:3]}, gpu {gpu}".encode()]
    parts += [(ROOT / name).read_bytes() for name in REQUIREMENTS]
    parts.append(Path(__file__).read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def check_python() -> None:
    """Raises SetUpError unless this Python is one that torch and the app support."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        have = ".".join(str(part) for part in sys.version_info[:3])
        raise SetUpError(
            f"Python {have} is not supported: 3.11, 3.12 or 3.13 is needed. "
            "Name one of them: make PYTHON=python3.12 ..."
        )


def make_venv() -> None:
    """Creates `.venv`, or creates it anew where it belongs to another Python. Raises SetUpError."""
    python = VENV / "bin" / "python"
    show = "import sys; print(*sys.version_info[:2])"
    if python.exists():
        version = subprocess.run([python, "-c", show], capture_output=True, text=True, check=False)
        if version.stdout.split() == [str(part) for part in sys.version_info[:2]]:
            return
        say(".venv belongs to another Python; creating it anew.")
    else:
        say(f"Creating .venv with Python {sys.version_info[0]}.{sys.version_info[1]}.")
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=False)
    if made.returncode != 0:
        raise SetUpError(
            "python3 -m venv failed (see above). On Debian and Ubuntu: apt-get install python3-venv"
        )


def pip_install(*arguments: str) -> bool:
    """`pip install` in `.venv`, showing what is downloaded; whether it succeeded."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--progress-bar", "off"]
    command += ["--disable-pip-version-check", "--no-input", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith(("Requirement already satisfied", "Looking in")):
                print(f"  {line.rstrip()}", flush=True)
    return process.returncode == 0


def index_answers(url: str) -> bool:
    """Whether a package index answers within INDEX_TIMEOUT_S seconds."""
    try:
        with urllib.request.urlopen(f"{url}/torch/", timeout=INDEX_TIMEOUT_S):
            return True
    except (urllib.error.URLError, OSError):
        return False


def has_torch() -> bool:
    """Whether a torch release that requirements.txt admits is in `.venv` already."""
    query = (
        "import importlib.metadata as m; v = m.version('torch').split('.'); "
        "raise SystemExit(not (2, 11) <= (int(v[0]), int(v[1])) < (2, 14))"
    )
    command = [VENV / "bin" / "python", "-c", query]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def install_cpu_torch() -> None:
    """Installs the CPU build of torch (200 MB instead of several GB). Raises SetUpError."""
    if has_torch():
        return
    if sys.platform == "linux" and index_answers(CPU_INDEX):
        say("No GPU here: installing the CPU build of torch from PyTorch's own index.")
        # Only torch itself comes from there; what it depends on follows with the requirements.
        if pip_install("--no-deps", "--index-url", CPU_INDEX, CPU_TORCH):
            return
        say("That failed; trying pip's configured sources.")
    elif sys.platform == "linux":
        say(
            "No GPU here, and PyTorch's index of CPU builds does not answer: installing torch from "
            "pip's configured sources (where they hold no CPU build, a download of several GB)."
        )
    else:
        say("Installing torch (on this system pip's own build is the CPU build).")
    if not pip_install("--no-deps", CPU_TORCH):
        raise SetUpError(f"pip could not install {CPU_TORCH} (see above).")


def install(gpu: bool) -> None:
    """Installs everything into `.venv`. Raises SetUpError with the step that failed."""
    if gpu:
        say("A GPU is here: torch comes as pip's CUDA build (several GB on the first run).")
    else:
        install_cpu_torch()
    files = ["requirements-dev.txt", "requirements.txt"]
    if not gpu:
        files.append("requirements-cpu.txt")
    say(f"Installing {', '.join(sorted(files))}.")
    if not pip_install(*[part for name in files for part in ("-r", name)]):
        raise SetUpError("pip could not install the requirements (see above).")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Holds a lock on this file, so that `make app` and `make test` do not install at once."""
    with open(__file__) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another set-up is running; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def set_up_environment() -> None:
    """Brings `.venv` up to date. Raises SetUpError."""
    check_python()
    gpu = has_gpu()
    wanted = digest(gpu)
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    with one_at_a_time():
        if STAMP.exists() and STAMP.read_text() == wanted:
            return
        STAMP.unlink(missing_ok=True)
        make_venv()
        install(gpu)
        STAMP.write_text(wanted)
    say("Done: .venv is up to date.")


def is_debian() -> bool:
    """Whether this is Debian itself (Ubuntu's chromium package is only a pointer to a snap)."""
    release = Path("/etc/os-release")
    return release.exists() and "ID=debian" in release.read_text().splitlines()


def set_up_browser() -> None:
    """Sees to a browser for the browser tests; where none can be had, says that they will skip."""
    if any(shutil.which(name) for name in BROWSERS):
        return
    if not (is_debian() and os.geteuid() == 0):
        say("No chromium here (on Debian: apt-get install chromium): browser tests will skip.")
        return
    say("Installing chromium and an emoji font for the browser tests (apt-get, about 300 MB).")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = ["chromium", "fonts-noto-color-emoji"]
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            say(f"{' '.join(command[:2])} failed (see above): browser tests will skip.")
            return


def main() -> int:
    """Exit code 0 when everything is in place, 1 with a sentence when it cannot be."""
    parser = argparse.ArgumentParser(description="Set up .venv for Kernel Reach.")
    parser.add_argument("--browser", action="store_true", help="see to chromium as well")
    arguments = parser.parse_args()
    try:
        set_up_environment()
    except SetUpError as error:
        say(str(error))
        return 1
    if arguments.browser:
        set_up_browser()
    return 0


if __name__ == "__main__":
    sys.exit(main())
