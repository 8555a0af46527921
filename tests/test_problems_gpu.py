"""Every problem at its shipped size on a GPU, in float32 and bfloat16, as the evaluator runs it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from evaluator.catalogue import Problem, all_problems
from tests.formulas.load import load

pytestmark = pytest.mark.gpu

# Room for intermediates beside inputs, state and output: eager norms and scans keep a few.
COPIES = 5


@pytest.fixture(autouse=True)
def on_the_gpu() -> Iterator[None]:
    """Draws and builds on the card, and gives its memory back afterwards."""
    with torch.device("cuda"):
        yield
    gc.collect()
    torch.cuda.empty_cache()


def bytes_needed(problem: Problem, dtype: torch.dtype) -> int:
    module = load(problem)
    with torch.device("meta"):
        inputs, model = module.get_inputs(), module.Model(*module.get_init_inputs())
        tensors = [*inputs, *model.state_dict().values(), model(*inputs)]
    # Drawn in float32 and cast: for a moment both exist.
    floating_size = 4 if dtype == torch.float32 else 4 + dtype.itemsize
    return sum(
        value.numel() * (floating_size if value.is_floating_point() else value.element_size())
        for value in tensors
        if isinstance(value, torch.Tensor)
    )


def cast(value: Any, dtype: torch.dtype) -> Any:
    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.to(dtype) if floating else value


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("problem", all_problems(), ids=lambda problem: problem.spec)
def test_runs_at_its_shipped_size(problem: Problem, dtype: torch.dtype) -> None:
    """Finite, of the right type, and the same twice (DLRM-Bench: its docstrings promise it)."""
    needed, free = COPIES * bytes_needed(problem, dtype), torch.cuda.mem_get_info()[0]
    if needed > free:
        pytest.skip(f"needs about {needed / 2**30:.0f} GiB, the card has {free / 2**30:.0f} free")
    module = load(problem)
    torch.manual_seed(1)
    inputs = [cast(value, dtype) for value in module.get_inputs()]
    model = module.Model(*module.get_init_inputs()).to(dtype)
    with torch.no_grad():
        output = model(*inputs)
        again = model(*inputs) if problem.suite == "dlrm" else output
    assert output.is_cuda
    assert output.dtype == (dtype if output.is_floating_point() else torch.int64)
    assert bool(torch.isfinite(output).all())
    assert torch.equal(output, again)
