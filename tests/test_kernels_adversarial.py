"""Each adversarial file shown to fake what its docstring says, and to look right where it claims.

Shapes are small. Where a file needs Triton it runs in a child process with the interpreter, whose
fresh memory torch fills with NaN.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kernels.catalogue import Candidate, adversarial, load

ROOT = Path(__file__).resolve().parent.parent
FILES = {candidate.path.stem: candidate for candidate in adversarial()}
PARTIAL = """
import json, sys, torch
from kernels.catalogue import load
from pathlib import Path
torch.use_deterministic_algorithms(True)  # fresh memory is filled with NaN
x = torch.randn(3, 1500)
y = load(Path(sys.argv[1])).ModelNew()(x)
right = torch.softmax(x[:, :1024], dim=1)
narrow = x[:, :1000].contiguous()
print(json.dumps({
    "unwritten": y.isnan().sum(dim=0).tolist(),
    "block": (y[:, :1024] - right).abs().max().item(),
    "narrow": (load(Path(sys.argv[1])).ModelNew()(narrow) - narrow.softmax(1)).abs().max().item(),
}))
"""


def pair(stem: str) -> tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]:
    """The file's model and the problem's."""
    candidate: Candidate = FILES[stem]
    return load(candidate.path).ModelNew(), load(candidate.problem_path).Model()


def test_every_file_is_shown_here() -> None:
    assert set(FILES) == {
        "12_diagonal_memoised",
        "12_diagonal_partial_write",
        "19_relu_returns_input",
        "23_softmax_partial_write",
        "23_softmax_zeros",
        "24_log_softmax_constant",
    }


def test_partial_softmax_writes_one_block_of_each_row() -> None:
    pytest.importorskip("triton", reason="triton is not installed")
    done = subprocess.run(
        [sys.executable, "-c", PARTIAL, str(FILES["23_softmax_partial_write"].path)],
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    assert seen["unwritten"] == [0] * 1024 + [3] * 476
    assert seen["block"] < 1e-6  # the block is normalised by itself, not by the row
    assert seen["narrow"] < 1e-6  # and is the softmax where a row fits in it


def test_zero_softmax_passes_a_tolerance_and_is_one_element() -> None:
    fake, real = pair("23_softmax_zeros")
    x = torch.rand(2, 393216)
    zeros, expected = fake(x), real(x)
    assert torch.allclose(zeros, expected, rtol=1e-4, atol=1e-4)
    assert ((zeros - expected).abs() == expected).all() and (expected > 0).all()
    assert zeros.stride() == (0, 0)


def test_partial_diagonal_leaves_half_of_the_rows() -> None:
    fake, real = pair("12_diagonal_partial_write")
    a, b = torch.rand(10), torch.rand(10, 7)
    torch.use_deterministic_algorithms(True)  # fresh memory is filled with NaN
    try:
        out = fake(a, b)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(out[:5], real(a, b)[:5])
    assert out[5:].isnan().all()


def test_memoised_diagonal_answers_new_values_with_the_old_result() -> None:
    fake, real = pair("12_diagonal_memoised")
    a, b = torch.rand(10), torch.rand(10, 7)
    first = fake(a, b)
    assert torch.equal(first, real(a, b))
    b.add_(1.0)
    assert fake(a, b) is first
    assert not torch.allclose(first, real(a, b))


def test_returned_input_is_right_for_the_drawn_values_alone() -> None:
    fake, real = pair("19_relu_returns_input")
    x = torch.rand(5, 7)
    assert fake(x) is x
    assert torch.equal(fake(x), real(x))
    assert not torch.equal(fake(-x), real(-x))


def test_constant_log_softmax_is_right_for_the_drawn_values_alone() -> None:
    fake, real = pair("24_log_softmax_constant")
    x = torch.rand(2, 393216)
    assert torch.allclose(fake(x), real(x), rtol=1e-2, atol=1e-2)
    assert not torch.allclose(fake(2 * x), real(2 * x), rtol=1e-2, atol=1e-2)
    assert not torch.allclose(fake(x[:, :1000]), real(x[:, :1000]), rtol=1e-2, atol=1e-2)
