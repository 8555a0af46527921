"""The flow of `benchmarks/kernel_times.py` on a CPU, with tiny models in place of the problems.

The models here are synthetic; no time measured on the way is looked at.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks.kernel_bytes import floor_bytes
from kernels.catalogue import Candidate

SCRIPT = Path(__file__).resolve().parent.parent / "benchmarks" / "kernel_times.py"
spec = importlib.util.spec_from_file_location("kernel_times", SCRIPT)
assert spec is not None and spec.loader is not None
kernel_times = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel_times)

# Stands for the measuring child: dies of a signal at "b", as with a lost CUDA context.
CHILD = """
import json, os, sys, time
for task in sys.argv[1:]:
    print(json.dumps({"begun": task}), flush=True)
    if task == "b":
        os.kill(os.getpid(), 9)
    if task == "slow":
        time.sleep(60)
    print(json.dumps({"task": task}), flush=True)
"""


class Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


class HalfScale(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x * self.weight
        out[len(x) // 2 :] = 0
        return out


class Failing(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no such kernel")


PROBLEM = SimpleNamespace(
    Model=Scale, get_inputs=lambda: [torch.rand(8, 5)], get_init_inputs=lambda: [5]
)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_right_and_wrong_candidates_are_told_apart(precision: str) -> None:
    right = kernel_times.measure("x", PROBLEM, SimpleNamespace(ModelNew=Scale), precision, "cpu")
    wrong = kernel_times.measure(
        "x", PROBLEM, SimpleNamespace(ModelNew=HalfScale), precision, "cpu"
    )
    assert right["right"] and right["error"] == right["reference_error"] < 0.01
    assert not wrong["right"] and wrong["relative_l2"] > 0.3
    size = {"fp32": 4, "bf16": 2}[precision]
    assert right["floor_bytes"] == (40 + 5 + 40) * size
    for row in (right, wrong):
        assert kernel_times.line({"task": "x:fp32"} | row).startswith("x:fp32")


def test_a_failure_is_raised_with_its_text() -> None:
    with pytest.raises(RuntimeError, match="no such kernel"):
        kernel_times.measure("x", PROBLEM, SimpleNamespace(ModelNew=Failing), "fp32", "cpu")


def test_unwritten_memory_is_reported() -> None:
    with pytest.raises(ValueError, match="not written"):
        kernel_times.errors(torch.tensor([1.0, torch.nan]), torch.ones(2, dtype=torch.float64))


FILE = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x):
        return 2 * x
class ModelNew(nn.Module):
    def forward(self, x):
        return {answer}
def get_inputs():
    return [torch.rand(8, 5)]
def get_init_inputs():
    return []
"""


def test_the_child_reports_a_row_and_goes_on_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    candidates = []
    for name, answer in (("1_bad", "x.no_such_method()"), ("2_good", "x + x")):
        path = tmp_path / f"{name}.py"
        path.write_text(FILE.format(answer=answer))
        candidates.append(Candidate("triton", "level1", path, path))
    monkeypatch.setattr(kernel_times, "honest", lambda: candidates)
    kernel_times.work(["level1/1_bad:fp32", "level1/2_good:fp32"], "cpu")
    begun, bad, _, good = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert begun == {"begun": "level1/1_bad:fp32"}
    assert "no_such_method" in bad["failure"]
    assert good["task"] == "level1/2_good:fp32" and good["right"]


def supervised(tasks: list[str], seconds: float) -> dict[str, Any]:
    rows = kernel_times.supervise(tasks, [sys.executable, "-c", CHILD], time.monotonic() + seconds)
    return {row["task"]: row for row in rows}


def test_a_dying_candidate_costs_its_own_row_alone() -> None:
    rows = supervised(["a", "b", "c"], 60)
    assert list(rows) == ["a", "b", "c"]
    assert rows["b"]["failure"] == "its process ended with -9"
    assert "failure" not in rows["a"] and "failure" not in rows["c"]


def test_what_the_time_does_not_reach_is_named() -> None:
    rows = supervised(["a", "slow", "c"], 2)
    assert "failure" not in rows["a"]
    assert rows["slow"]["failure"] == rows["c"]["failure"] == ("not measured: the time was used up")


def test_a_child_that_cannot_start_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="at its start"):
        list(
            kernel_times.supervise(
                ["a"], [sys.executable, "-c", "raise SystemExit(3)"], time.monotonic() + 60
            )
        )


def test_gathered_rows_count_once() -> None:
    table = SimpleNamespace(table=SimpleNamespace(weight=torch.zeros(100, 4)))
    indices = torch.tensor([[3, 3], [7, 3]])
    found = floor_bytes("dlrm/01_EmbeddingBag_sum", table, [indices], torch.zeros(2, 4))
    assert found == 4 * 8 + 2 * 16 + 32
