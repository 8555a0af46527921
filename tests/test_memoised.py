"""An answer kept from an earlier call, found by inputs that look the same and are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.catalogue import find
from evaluator.contract import FlagCode, Verdict
from evaluator.grade import grade

SOFTMAX = Path(__file__).parent / "problems" / "small_softmax.py"
CANDIDATE = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {{}}
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        key = {key}
        if key not in self.kept:
            self.kept[key] = torch.softmax(x, 1)
        return self.kept[key].clone()
"""
KEYS = {
    "corners": "(float(x[0, 0]), float(x[0, -1]), float(x[-1, 0]), float(x[-1, -1]))",
    "a few elements": "tuple(x.flatten()[::65537].tolist())",
    "the count of calls": "min(self.calls, 9)",
}


@pytest.mark.parametrize("name", KEYS)
def test_it_is_rejected_as_memoised(name: str) -> None:
    text = CANDIDATE.format(key=KEYS[name])
    row = grade(problem=find(str(SOFTMAX)), candidate=text.encode(), device="cpu", verify=False)
    assert row.verdict is Verdict.REJECTED, row.sentence
    assert row.flags[0].code is FlagCode.MEMOISED, row.sentence
