"""Gradings that outlive the page which asked for them: a folder each, a process each.

A submission is on disk before it is acknowledged. Its process appends stages to `events.jsonl`
and leaves the finished row in `<data dir>/evaluations/`, under a temporary name first, so that a
kill at any moment leaves either no row or a whole one. One grading runs at a time; the others
wait in line on a lock that the kernel releases when its holder dies.

Standard library only: the app imports this without torch.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.catalogue import UnknownProblem, find
from evaluator.contract import MAX_CANDIDATE_BYTES, PRECISIONS, Evaluation, Stage

ROOT = Path(__file__).resolve().parent.parent
NICENESS = 5  # the page wins over a grading for the CPU


class BadSubmission(ValueError):
    """A submission that is refused; its text is the sentence for the user."""


@dataclass(frozen=True)
class StageEvent:
    """A stage that a grading reached, `seconds` after its start."""

    stage: str
    detail: str
    seconds: float


@dataclass(frozen=True)
class JobStatus:
    """What is known of a job now. `state` is running, done or failed."""

    job_id: str
    state: str
    stage: str
    detail: str
    stages: list[StageEvent]
    evaluation_id: str | None = None
    sentence: str | None = None
    error: str | None = None


def submit(
    candidate: bytes,
    *,
    problem: str,
    precision: str | None,
    device: str | None,
    data_dir: Path,
) -> str:
    """Stores a submission, starts its grading and returns the job's id.

    Raises `BadSubmission` for an empty or too large file, text that is not UTF-8, an unknown
    problem or precision; nothing is stored then.
    """
    if not candidate.strip():
        raise BadSubmission("The candidate is empty: paste the source or choose a file.")
    if len(candidate) > MAX_CANDIDATE_BYTES:
        size = len(candidate) / (1 << 20)
        raise BadSubmission(f"The candidate has {size:.1f} MiB; 1 MiB is the most we grade.")
    try:
        candidate.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSubmission(
            f"The candidate is not UTF-8 text: byte {error.start} cannot be read."
        ) from error
    if precision is not None and precision not in PRECISIONS:
        raise BadSubmission(f"There is no precision {precision}; choose of {PRECISIONS}.")
    try:
        find(problem)
    except UnknownProblem as error:
        raise BadSubmission(str(error)) from error
    job_id = time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(4)
    folder = _folder(job_id, data_dir)
    folder.mkdir(parents=True)
    (folder / "candidate.py").write_bytes(candidate)
    _write(folder / "job.json", {"problem": problem, "precision": precision, "device": device})
    with open(folder / "log.txt", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "evaluator.jobs", str(folder), str(data_dir)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _write(folder / "process.json", {"pid": process.pid, "start": _start_time(process.pid)})
    return job_id


def status(job_id: str, *, data_dir: Path) -> JobStatus:
    """The state of a job. Raises KeyError when there is no such job."""
    folder = _folder(job_id, data_dir)
    if not (folder / "job.json").exists():
        raise KeyError(job_id)
    stages = _stages(folder / "events.jsonl")
    last = stages[-1] if stages else StageEvent(Stage.QUEUED.value, "waiting to start", 0.0)
    alive = _alive(_read(folder / "process.json"))  # first: it may end while we look
    result = _read(folder / "result.json")
    if result is not None:
        state = "done" if result.get("evaluation_id") else "failed"
        return JobStatus(
            job_id,
            state,
            last.stage,
            last.detail,
            stages,
            result.get("evaluation_id"),
            result.get("sentence"),
            result.get("error"),
        )
    if alive:
        return JobStatus(job_id, "running", last.stage, last.detail, stages)
    error = (
        "The grading ended without a result: its process was stopped from outside. Nothing was "
        "stored; the candidate is kept and can be submitted again."
    )
    return JobStatus(job_id, "failed", last.stage, last.detail, stages, error=error)


def cancel(job_id: str, *, data_dir: Path) -> None:
    """Ends a job; the workers it started end with it. Does nothing when it is over."""
    process = _read(_folder(job_id, data_dir) / "process.json")
    if _alive(process):
        assert process is not None
        os.kill(process["pid"], signal.SIGTERM)


def devices() -> list[str]:
    """The devices that this machine can grade on: cuda:0, cuda:1, ... or else cpu."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ["cpu"]
    try:
        count = pynvml.nvmlDeviceGetCount()
    finally:
        pynvml.nvmlShutdown()
    return [f"cuda:{number}" for number in range(count)] or ["cpu"]


def store_row(row: Evaluation, data_dir: Path) -> Path:
    """Puts a finished evaluation where the store finds it: whole or not at all."""
    target = data_dir / "evaluations" / f"{row.evaluation_id}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, row.to_json())
    return target


def _folder(job_id: str, data_dir: Path) -> Path:
    if not all(part.isalnum() for part in job_id.split("-")):
        raise KeyError(job_id)  # an id from a URL is no path
    return data_dir / "jobs" / job_id


def _write(path: Path, content: Any) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _stages(path: Path) -> list[StageEvent]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # The last line may be half written while its process runs.
    return [StageEvent(**json.loads(line)) for line in lines if line.endswith("\n")]


def _start_time(pid: int) -> str | None:
    """Kernel ticks at which the process started: tells it from a later one of the same number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def _alive(process: dict[str, Any] | None) -> bool:
    return process is not None and _start_time(process["pid"]) == process["start"] is not None


def _run(folder: Path, data_dir: Path) -> None:
    """The job's own process: waits its turn, grades, stores the row, then the result."""
    os.nice(NICENESS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the workers are closed
    started = time.monotonic()
    job = _read(folder / "job.json")
    assert job is not None
    with open(folder / "events.jsonl", "a", encoding="utf-8") as events:

        def report(stage: Stage, detail: str) -> None:
            event = {"stage": stage.value, "detail": detail}
            event_line = json.dumps({**event, "seconds": time.monotonic() - started})
            events.write(event_line + "\n")
            events.flush()

        with open(folder.parent / "turn.lock", "w", encoding="utf-8") as turn:
            report(Stage.QUEUED, "waiting for the grading before it")
            fcntl.flock(turn, fcntl.LOCK_EX)
            report(Stage.CHECKING, "starting")
            try:
                from evaluator.grade import Identity, grade

                row = grade(
                    problem=find(job["problem"]),
                    candidate=(folder / "candidate.py").read_bytes(),
                    precision=job["precision"],
                    device=job["device"],
                    identity=Identity(campaign="grade-page", configuration="uploaded"),
                    on_stage=report,
                )
                store_row(row, data_dir)
            except Exception as error:
                traceback.print_exc()
                sentence = f"The grading itself failed ({type(error).__name__}: {error}). "
                sentence += "The candidate is kept; the details are in the job's log."
                _write(folder / "result.json", {"error": sentence})
                return
    _write(folder / "result.json", {"evaluation_id": row.evaluation_id, "sentence": row.sentence})


if __name__ == "__main__":
    _run(Path(sys.argv[1]), Path(sys.argv[2]))
