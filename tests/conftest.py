"""What every test shares: the skip of GPU tests, and the folder that only maintainers have."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def why_no_gpu() -> str | None:
    """The reason for which no CUDA device can be used, or None where one can."""
    if not Path("/dev/nvidia0").exists():
        return "no NVIDIA device (/dev/nvidia0) on this machine"
    import torch  # costs a second: only where a device file promises something

    return None if torch.cuda.is_available() else "torch sees no CUDA device"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what is marked `gpu` where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = why_no_gpu() if marked else None
    if reason:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The maintainers' folder of exploits, traces and facts, beside the clone; no clone has it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared (the maintainers' corpus) is not beside this clone")
    return folder
