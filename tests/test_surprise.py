"""What behaves otherwise once it is timed meets inputs there that it does not expect."""

from __future__ import annotations

from pathlib import Path

from evaluator.catalogue import find
from evaluator.contract import FlagCode, Verdict
from evaluator.grade import grade

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.rand(64, 4096)]

def get_init_inputs():
    return []
"""
CANDIDATE = """
import evaluator.worker as w
import torch
from torch import nn

timed = False
real = w.Worker.do_prepare


def do_prepare(self, request):
    global timed
    timed = request["poison"] == "none"
    return real(self, request)


w.Worker.do_prepare = do_prepare


class ModelNew(nn.Module):
    def forward(self, x):
        return x if timed else torch.relu(x)
"""


def test_a_shortcut_taken_only_in_timed_batches_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "relu.py"
    path.write_text(PROBLEM)
    row = grade(problem=find(str(path)), candidate=CANDIDATE.encode(), device="cpu", verify=False)
    assert row.verdict is Verdict.REJECTED, row.sentence
    assert FlagCode.MEMOISED in {flag.code for flag in row.flags}
    assert all(trial.passed for trial in row.evidence.trials)


def test_an_honest_candidate_is_still_right(tmp_path: Path) -> None:
    path = tmp_path / "relu.py"
    path.write_text(PROBLEM)
    honest = CANDIDATE.replace("x if timed else ", "")
    row = grade(problem=find(str(path)), candidate=honest.encode(), device="cpu", verify=False)
    assert row.verdict is Verdict.CORRECT, row.sentence
