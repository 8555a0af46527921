"""A candidate that answers in its worker's place: every forged reply is a verdict, no crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator import workers
from evaluator.catalogue import find
from evaluator.contract import FlagCode, Verdict
from evaluator.grade import grade

PROBLEM = Path(__file__).parent / "problems" / "small_softmax.py"
# The candidate finds the worker's own reply function and changes what it sends.
FORGER = """
import torch
from evaluator.protocol import Channel

honest = Channel.send

def forged(self, message, fds=()):
    {change}
    honest(self, message, fds)

Channel.send = forged

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)
"""
CHANGES = {
    "infinite time": "'times_ms' in message and message.update(times_ms=[float('inf')])",
    "no time": "'times_ms' in message and message.update(times_ms=[])",
    "negative time": "'times_ms' in message and message.update(times_ms=[-1.0])",
    "time as text": "'times_ms' in message and message.update(times_ms=['1'])",
    "names as a number": "'missing' in message and message.update(missing=5)",
    "nothing but ok": "message = {'ok': True}",
    "another shape": "message = {'ok': 1}",
    "nothing but ok and the number": "message = {'ok': True, 'id': message['id']}",
    "an answer ahead of the question": "honest(self, {'ok': True, 'times_ms': [0.001]}, fds)",
    "a kind of its own": "message.update(ok=False, kind='x', message='Correct, 99x')",
    "a kind that the judge sees": "message.update(ok=False, kind='died', message='no memory')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_forged_reply_is_told_as_such(change: str) -> None:
    text = FORGER.format(change=CHANGES[change])
    row = grade(problem=find(str(PROBLEM)), candidate=text.encode(), device="cpu", verify=False)
    assert row.verdict is Verdict.REJECTED, row.sentence
    assert [flag.code for flag in row.flags if flag.code.severity.value == "rejecting"] == [
        FlagCode.HARNESS_TAMPERED
    ]
    assert "99x" not in row.sentence


def test_an_error_text_that_no_file_takes_is_made_printable() -> None:
    text = "raise ValueError('\\ud800')"
    row = grade(problem=find(str(PROBLEM)), candidate=text.encode(), device="cpu", verify=False)
    assert row.verdict is Verdict.RUNTIME_ERROR
    row.sentence.encode()
    assert row.message is not None
    row.message.encode()


def test_a_problem_that_refuses_other_data_is_no_fault_of_the_candidate(tmp_path: Path) -> None:
    problem = tmp_path / "picky.py"
    picky = "assert bool((x >= 0).all()), 'no negative numbers'"
    result = "return torch.softmax(x, dim=1)"
    text = PROBLEM.read_text().replace(result, f"{picky}\n        {result}")
    problem.write_text(text)
    honest = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
    honest += "        return torch.softmax(x, 1)\n"
    row = grade(problem=find(str(problem)), candidate=honest.encode(), device="cpu", verify=False)
    assert row.verdict is Verdict.CORRECT, row.sentence
    assert "negate" not in {trial.name for trial in row.evidence.trials}


NESTED = b"""
import os
here = os.getcwd()
for _ in range(1500):
    os.mkdir("a")
    os.chdir("a")
os.chdir(here)
raise ValueError("enough")
"""


def test_nested_folders_do_not_end_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []
    real = workers.tempfile.mkdtemp

    def noted(**names: str) -> str:
        made.append(Path(real(**names)))
        return str(made[-1])

    monkeypatch.setattr(workers.tempfile, "mkdtemp", noted)
    row = grade(problem=find(str(PROBLEM)), candidate=NESTED, device="cpu", verify=False)
    assert row.verdict is Verdict.RUNTIME_ERROR, row.sentence
    assert "enough" in row.sentence
    assert made and not any(folder.exists() for folder in made)


SLOW = b"""
import time
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        time.sleep(2)
        return torch.softmax(x, 1)
"""


def test_all_answers_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "ALL_ANSWERS_S", 6.0)
    row = grade(problem=find(str(PROBLEM)), candidate=SLOW, device="cpu", verify=False)
    assert row.verdict is Verdict.TIMEOUT, row.sentence
    assert row.grade_s is not None and row.grade_s < 60
