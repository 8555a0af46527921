"""What the Grade page says and decides before and while a candidate is graded. No widgets.

Mistakes that a reader can mend at once (a syntax error, no `ModelNew`) are named before anything
is submitted; everything else is the evaluator's to judge.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.contract import Stage
from reach.style.formats import MISSING, seconds

TOKEN_VARIABLE = "KERNEL_REACH_GRADE_TOKEN"
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class StageWords:
    """A stage's name, what happens in it, and how it reads while it runs and once it is over."""

    name: str
    what: str
    doing: str
    done: str


STAGE_WORDS = {
    Stage.QUEUED: StageWords("Queue", "one grading at a time", "waiting in line", ""),
    Stage.CHECKING: StageWords("Read", "the candidate and the problem", "reading it", "read"),
    Stage.BUILDING: StageWords("Build", "in confined processes", "building it", "built"),
    Stage.CORRECTNESS: StageWords(
        "Outputs", "against a float64 reference, on fresh inputs", "comparing outputs", "compared"
    ),
    Stage.TIMING: StageWords("Timing", "interleaved with PyTorch", "timing it", "timed"),
    Stage.VERIFICATION: StageWords(
        "Second run", "only where it looks faster", "running it once more", "run again"
    ),
    Stage.DONE: StageWords("Verdict", "and a row in the table", "writing the verdict", ""),
}


class CannotGrade(ValueError):
    """What was handed in cannot be graded; the message is one sentence for the reader."""


@dataclass(frozen=True)
class StageRow:
    """One stage as the page shows it; `state` is done, now, waiting, skipped or failed, `time` its
    duration as text."""

    words: StageWords
    detail: str
    time: str
    state: str


def _text(content: bytes, what: str) -> str:
    """The text of an upload. Raises CannotGrade for an empty, too large or binary one."""
    if not content.strip():
        raise CannotGrade(f"The {what} is empty: paste the source or choose a file.")
    if len(content) > MAX_BYTES:
        size = len(content) / MAX_BYTES
        raise CannotGrade(f"The {what} has {size:.1f} MiB; 1 MiB is the most that is graded.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotGrade(
            f"The {what} is not UTF-8 text: byte {error.start} cannot be read. Save it as UTF-8."
        ) from error


def _tree(text: str, what: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        place = f" in line {error.lineno}" if error.lineno else ""
        raise CannotGrade(f"The {what} has a syntax error{place}: {error.msg}.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise CannotGrade(f"The {what} cannot be parsed as Python: {error}.") from error


def _defines(tree: ast.Module, name: str) -> bool:
    """Whether `name` may be bound at module level: also by an import, an assignment or a star."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=found) | ast.FunctionDef(name=found) | ast.Name(id=found):
                if found == name:
                    return True
            case ast.alias(name=found, asname=alias):
                if name in (found, alias) or found == "*":
                    return True
            case ast.Constant(value=str() as text):
                if name in text:  # an exec of generated source
                    return True
    return False


def check_candidate(content: bytes) -> str:
    """The candidate's text. Raises CannotGrade with one sentence where it cannot be graded."""
    text = _text(content, "candidate")
    if not _defines(_tree(text, "candidate"), "ModelNew"):
        raise CannotGrade(
            "The candidate defines no ModelNew: name the class that replaces the problem's "
            "Model `ModelNew`, as KernelBench does."
        )
    return text


def keep_problem(content: bytes, name: str, data: Path) -> Path:
    """Stores an uploaded problem file under the data directory and returns its path.

    The same text and name give the same path. Raises CannotGrade where it is no
    KernelBench-format file, OSError where it cannot be written.
    """
    tree = _tree(_text(content, "problem"), "problem")
    for wanted in ("Model", "get_inputs", "get_init_inputs"):
        if not _defines(tree, wanted):
            raise CannotGrade(
                f"The problem defines no {wanted}; a problem has Model, get_inputs and "
                "get_init_inputs."
            )
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", Path(name).stem)[:80] or "problem"
    folder = data / "problems" / hashlib.sha256(content).hexdigest()[:16]
    path = folder / f"{stem}.py"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f".{stem}.{os.getpid()}"
        partial.write_bytes(content)
        partial.replace(path)
    return path


def stage_rows(events: Sequence[tuple[str, str, float]], state: str) -> list[StageRow]:
    """The stages in order from a job's events (stage, detail, seconds since its start).

    `state` is running, done or failed. A stage lasts until the first event of a later one.
    """
    order = [stage.value for stage in STAGE_WORDS]
    reached = [event for event in events if event[0] in order]
    current = reached[-1][0] if reached else order[0]
    rows = []
    for stage, words in STAGE_WORDS.items():
        own = [event for event in reached if event[0] == stage.value]
        place = order.index(stage.value)
        later = [event[2] for event in reached if order.index(event[0]) > place]
        if not own:
            skipped = bool(later) or state != "running"
            rows.append(StageRow(words, words.what, MISSING, "skipped" if skipped else "waiting"))
            continue
        over = stage.value != current or state == "done"
        if stage is Stage.DONE:
            took = MISSING
        else:
            took = seconds((min(later) if later else own[-1][2]) - own[0][2])
        mark = "done" if over else ("now" if state == "running" else "failed")
        rows.append(StageRow(words, own[-1][1] or words.what, took, mark))
    return rows


def progress(rows: Sequence[StageRow]) -> float:
    """How much of the way is done, in [0, 1], by stages."""
    return sum(row.state in ("done", "skipped") for row in rows) / len(rows)


def running_headline(candidate: str, rows: Sequence[StageRow]) -> str:
    """The page's sentence while a job runs: what is done, what happens now."""
    done = [row.words.done for row in rows if row.state == "done" and row.words.done]
    doing = next((row.words.doing for row in rows if row.state == "now"), "waiting in line")
    return f"Grading {candidate}: {''.join(f'{word}, ' for word in done)}now {doing}"


def is_loopback(address: str | None) -> bool:
    """Whether the app listens only to its own machine. None means every interface."""
    if address is None:
        return False
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def cannot_grade_here() -> str | None:
    """Why this installation cannot grade, as one sentence; None where it can."""
    if importlib.util.find_spec("torch") is None:
        return (
            "This installation shows results but cannot grade: it has no PyTorch. Install "
            "requirements.txt, or use the image with the grader."
        )
    return None


def required_token(address: str | None, signed_in: bool) -> str | None:
    """The token that a visitor must give to grade; None where none is needed.

    Grading runs code of the visitor: it is open on loopback and to signed-in visitors. Elsewhere
    the operator sets `KERNEL_REACH_GRADE_TOKEN`; without it an empty string comes back, which
    means that grading is off.
    """
    if is_loopback(address) or signed_in:
        return None
    return os.environ.get(TOKEN_VARIABLE, "")
