"""Jobs on the CPU: on disk before they are acknowledged, whole or not at all when they end."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator import jobs

PROBLEM = str(Path(__file__).parent / "problems" / "small_softmax.py")
ZEROS = b"""
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
"""
SLEEPS = b"import time\ntime.sleep(600)\n"


def submit(text: bytes, data: Path) -> str:
    return jobs.submit(text, problem=PROBLEM, precision=None, device="cpu", data_dir=data)


def wait(job: str, data: Path, condition: Callable[[jobs.JobStatus], bool]) -> jobs.JobStatus:
    deadline = time.monotonic() + 240
    while not condition(status := jobs.status(job, data_dir=data)):
        assert time.monotonic() < deadline, f"still {status}"
        time.sleep(0.2)
    return status


def ended(status: jobs.JobStatus) -> bool:
    return status.state != "running"


def test_a_job_leaves_one_whole_row_where_the_store_looks(tmp_path: Path) -> None:
    job = submit(ZEROS, tmp_path)
    status = wait(job, tmp_path, ended)
    assert status.state == "done", status.error
    assert status.evaluation_id is not None and "zero" in (status.sentence or "")
    stages = [event.stage for event in status.stages]
    assert stages[0] == "queued" and "correctness" in stages and stages[-1] == "done"
    files = list((tmp_path / "evaluations").iterdir())
    assert [file.name for file in files] == [f"{status.evaluation_id}.json"]
    assert json.loads(files[0].read_text())["verdict"] == "rejected"


def test_a_cancelled_job_stores_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    job = submit(SLEEPS, tmp_path)
    wait(job, tmp_path, lambda status: status.stage == "building")
    jobs.cancel(job, data_dir=tmp_path)
    status = wait(job, tmp_path, ended)
    assert status.state == "failed" and "submitted again" in (status.error or "")
    assert not (tmp_path / "evaluations").exists()
    pid = json.loads((tmp_path / "jobs" / job / "process.json").read_text())["pid"]
    assert not _children_of_session(pid)


def test_a_killed_job_is_told_and_its_candidate_kept(tmp_path: Path) -> None:
    job = submit(SLEEPS, tmp_path)
    wait(job, tmp_path, lambda status: status.stage == "building")
    folder = tmp_path / "jobs" / job
    os.kill(json.loads((folder / "process.json").read_text())["pid"], signal.SIGKILL)
    status = wait(job, tmp_path, ended)
    assert status.state == "failed" and status.error
    assert (folder / "candidate.py").read_bytes() == SLEEPS


@pytest.mark.parametrize(
    ("text", "problem", "precision", "said"),
    [
        (b"  \n", PROBLEM, None, "empty"),
        (b"#" * (2 << 20), PROBLEM, None, "MiB"),
        (b"\xff\xff\xff", PROBLEM, None, "UTF-8"),
        (ZEROS, "level1/999", None, "level1/999"),
        (ZEROS, PROBLEM, "fp8", "fp8"),
    ],
)
def test_what_cannot_be_graded_is_refused_before_it_is_stored(
    tmp_path: Path, text: bytes, problem: str, precision: str | None, said: str
) -> None:
    with pytest.raises(jobs.BadSubmission, match=said):
        jobs.submit(text, problem=problem, precision=precision, device="cpu", data_dir=tmp_path)
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize("job", ["20260101-000000-abcd", "../evaluations", "..", "a/b"])
def test_an_unknown_job_is_a_key_error(tmp_path: Path, job: str) -> None:
    with pytest.raises(KeyError):
        jobs.status(job, data_dir=tmp_path)


def _children_of_session(session: int) -> list[int]:
    """Processes whose session is the job's own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found
