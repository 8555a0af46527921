"""Where the rows lie: shipped files in the repository, the user's results in a data directory."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

DATA_VARIABLE = "KERNEL_REACH_DATA"
EVALUATIONS_FILE = "evaluations.parquet"
KERNELS_FILE = "kernels.parquet"
EVIDENCE_FILE = "evidence.parquet"


def shipped_dir() -> Path:
    """The `data/` directory that comes with the code; never written to by the app."""
    return Path(__file__).resolve().parents[2] / "data"


def data_dir() -> Path:
    """The user's data directory: `KERNEL_REACH_DATA` where set, else the platform's own place."""
    chosen = os.environ.get(DATA_VARIABLE, "").strip()
    return Path(chosen).expanduser() if chosen else platformdirs.user_data_path("kernel-reach")


def user_evaluations_dir(data: Path) -> Path:
    """The folder of finished evaluations below a data directory: one JSON file each."""
    return data / "evaluations"
