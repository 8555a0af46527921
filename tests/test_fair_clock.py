"""Work before the judge's clock starts, or after it stops, is worth nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.catalogue import find
from evaluator.contract import Verdict
from evaluator.grade import grade

SOFTMAX = Path(__file__).parent / "problems" / "small_softmax.py"
HONEST = """

class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)
"""
IMPORTS = """
import gc
import threading
import evaluator.worker as w
import torch
from torch import nn
"""
SHIFTED = {
    "while it is asked to prepare": """
real = w.Worker.do_prepare


def do_prepare(self, request):
    reply = real(self, request)
    self.early = [self.module(*a).clone() for a in self.arguments]
    return reply


def do_call(self, request):
    early = self.__dict__.pop("early", None)
    for slot in request["slots"]:
        if early is None:  # not prepared: as the benchmark would call it
            self.output_views[slot][0].copy_(self.module(*self.arguments[slot]))
        else:
            self.output_views[slot][0].copy_(early[slot])
    return {"times_ms": [0.01] * len(request["slots"])}


w.Worker.do_prepare, w.Worker.do_call = do_prepare, do_call
"""
    + HONEST,
    "in a hook of the garbage collector": """
seen: dict[int, torch.Tensor] = {}
ready: dict[int, torch.Tensor] = {}


def early(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        for key, x in seen.items():
            ready[key] = torch.softmax(x, 1)


gc.callbacks.append(early)


class ModelNew(nn.Module):
    def forward(self, x):
        key = x.data_ptr()
        seen[key] = x
        if key in ready:
            return ready.pop(key)
        return torch.softmax(x, 1)
""",
    "in a thread after its answer": """
count = 0
real = w.Worker.do_call
real_prepare = w.Worker.do_prepare


def do_prepare(self, request):
    self.timed = request["poison"] == "none"  # on the CPU only timed batches are prepared so
    return real_prepare(self, request)


def do_call(self, request):
    global count
    if not getattr(self, "timed", False):
        return real(self, request)
    self.timed = False
    count += 1
    if count % 2 == 0:  # the reference comes first in this pair: be honest
        return real(self, request)

    def late():
        with torch.no_grad():
            for slot in request["slots"]:
                self.output_views[slot][0].copy_(self.module(*self.arguments[slot]))

    threading.Thread(target=late).start()
    return {"times_ms": [0.01] * len(request["slots"])}


w.Worker.do_prepare, w.Worker.do_call = do_prepare, do_call
"""
    + HONEST,
}


@pytest.mark.parametrize("when", SHIFTED)
def test_work_outside_the_clock_gains_nothing(when: str) -> None:
    text = IMPORTS + SHIFTED[when]
    row = grade(problem=find(str(SOFTMAX)), candidate=text.encode(), device="cpu", verify=False)
    if row.verdict is Verdict.CORRECT:
        assert row.speedup_low is None or row.speedup_low < 1.5, row.sentence
    else:
        assert row.verdict is Verdict.REJECTED, row.sentence
