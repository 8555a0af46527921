"""What KernelBench's own check says, reproduced so that it can be shown beside ours.

At commit 423217d a trial passes if the shapes are equal and
`torch.allclose(reference, output, atol=t, rtol=t)` holds, with t = 1e-4 at fp32 and 1e-2 at
fp16 and bf16 (src/kernelbench/eval.py). The order matters: rtol multiplies the candidate's
output. Most published results were checked by the older rule, 1e-2 at every precision.

Whatever raises an exception there counts as a failure there, and is False here: another dtype
or device (allclose refuses them), bools (no subtraction), and anything that is not a tensor.
Problems whose output is a tuple fail for every candidate, because a tuple has no shape.
"""

from __future__ import annotations

import torch
from torch import Tensor

from evaluator import slices
from evaluator.scaled_error import precision_dtype

TOLERANCES = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
TOLERANCE_2025 = 1e-2


def tolerance(precision: str) -> float:
    """atol and rtol of commit 423217d. Raises ValueError for an unknown precision."""
    return TOLERANCES[precision_dtype(precision)]


def benchmark_check(output: object, reference: object, precision: str) -> bool:
    """Whether KernelBench at commit 423217d would call `output` right at this precision."""
    return _close(output, reference, tolerance(precision))


def benchmark_check_2025(output: object, reference: object, precision: str) -> bool:
    """The same by the rule behind most published results: 1e-2 at every precision."""
    precision_dtype(precision)
    return _close(output, reference, TOLERANCE_2025)


def _close(output: object, reference: object, tolerance: float) -> bool:
    """`torch.allclose(reference, output)` in slices: its temporaries are several times its input.

    The rule is one for each element, so all slices together say the same. Stops at the first
    slice that fails.
    """
    if not isinstance(output, Tensor) or not isinstance(reference, Tensor):
        return False
    if output.shape != reference.shape or output.dtype != reference.dtype:
        return False
    if output.device != reference.device or output.dtype == torch.bool:
        return False
    actual, expected = output.detach().reshape(-1), reference.detach().reshape(-1)
    step = slices.SLICE_ELEMENTS
    return all(
        torch.allclose(
            expected[start : start + step],
            actual[start : start + step],
            atol=tolerance,
            rtol=tolerance,
        )
        for start in range(0, actual.numel(), step)
    )
