"""Every candidate on the CPU, through Triton's interpreter, against the problem in float64.

`TRITON_INTERPRET=1` must be set before triton is imported, so all cases run in one child process
(this file, as a program); it prints one JSON line a case and the tests read them. torch fills
fresh memory with NaN there, so an element that a kernel leaves unwritten shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from test_kernels_cases import CANDIDATES, CASES, Inputs, cast, inputs_of, worst

from kernels.catalogue import Candidate, load

ROOT = Path(__file__).resolve().parent.parent
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# In eps of the dtype. fp32: sums of up to 40,001 terms; else the rounding of an fp32 result (which
# the interpreter does by cutting off at bf16), at fp16 also that of a stored intermediate.
ALLOWED = {"fp32": 16.0, "bf16": 1.05, "fp16": 1.05}


def strided(inputs: Inputs) -> Inputs:
    """The same values, laid out so that the last axis is not contiguous."""
    return [
        x.transpose(0, -1).contiguous().transpose(0, -1)
        if isinstance(x, torch.Tensor) and x.dim() > 1
        else x
        for x in inputs
    ]


def run_case(candidate: Candidate, index: int, precision: str, layout: str) -> dict[str, Any]:
    """One candidate on one case: its worst error in eps, and what must hold besides."""
    dtype = DTYPES[precision]
    init = CASES[candidate.path.stem][index][0]
    inputs = cast(inputs_of(candidate, index), dtype)
    if layout == "strided":
        inputs = strided(inputs)
    torch.manual_seed(1)
    ours = load(candidate.path).ModelNew(*init)
    with torch.no_grad():
        for parameter in ours.parameters():  # weights of 1 and 0 would hide a missing factor
            parameter.copy_(torch.randn_like(parameter) + 0.5)
    ours = ours.to(dtype)
    reference = load(candidate.problem_path).Model(*init).double()
    reference.load_state_dict(ours.state_dict())
    before = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    with torch.no_grad():
        actual = ours(*inputs)
        expected = reference(*cast(before, torch.float64))
    untouched = all(
        torch.allclose(x, y, rtol=0, atol=0, equal_nan=True)
        for x, y in zip(inputs, before, strict=True)
        if isinstance(x, torch.Tensor)
    )
    return {
        "error": worst(actual, expected),
        "dtype_kept": actual.dtype == dtype,
        "inputs_untouched": untouched,
    }


def key(candidate: Candidate, index: int, precision: str, layout: str) -> str:
    return f"{candidate.label}-{index}-{precision}-{layout}"


def multiplies(candidate: Candidate) -> bool:
    return "tl.dot(" in candidate.path.read_text()


# fp16 stands in for bf16 where the interpreter cannot run bf16.
RUNS = [
    (candidate, index, precision, layout)
    for candidate in CANDIDATES
    for index in range(len(CASES.get(candidate.path.stem, [])))
    for precision, layout in (
        ("fp32", "contiguous"),
        ("bf16", "contiguous"),
        ("fp16", "contiguous"),
        ("fp32", "strided"),
    )
    if (index == 0 and precision != "fp16")
    or (precision == "fp32" and layout == "contiguous")
    or (precision == "fp16" and multiplies(candidate))
]


def interpreter_gap(candidate: Candidate, precision: str) -> str | None:
    """Why the interpreter cannot run this, None where it can."""
    if precision == "bf16" and multiplies(candidate):
        return "the interpreter of triton 3.6 multiplies the bit patterns of bf16 in tl.dot"
    return None


@pytest.fixture(scope="session")
def interpreted() -> dict[str, dict[str, Any]]:
    """Results of the child process by case; an error of one case stays with that case."""
    pytest.importorskip("triton", reason="triton is not installed")
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {row["key"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: key(*run))
def test_candidate_equals_its_problem(
    run: tuple[Candidate, int, str, str], interpreted: dict[str, dict[str, Any]]
) -> None:
    if gap := interpreter_gap(run[0], run[2]):
        pytest.skip(gap)
    row = interpreted[key(*run)]
    assert "failure" not in row, row["failure"]
    assert row["error"] <= ALLOWED[run[2]]
    assert row["dtype_kept"]
    assert row["inputs_untouched"]


def mend_interpreter() -> None:
    """Lets triton 3.6 take loop bounds from one-element arrays, which numpy 2.4 no longer turns
    into an int by itself. It touches the interpreter only, never a kernel."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched


def main() -> None:
    mend_interpreter()
    torch.set_num_threads(1)
    # By torch's default this also fills fresh memory, with NaN.
    torch.use_deterministic_algorithms(True)
    if not torch.empty(3).isnan().all():
        raise RuntimeError("fresh memory is not filled: an unwritten element would not show")
    for run in RUNS:
        if interpreter_gap(run[0], run[2]):
            continue
        try:
            row = run_case(*run)
        except Exception as error:  # reported as the failure of this case
            row = {"failure": f"{type(error).__name__}: {error}"}
        print(json.dumps({"key": key(*run)} | row), flush=True)


if __name__ == "__main__":
    main()
