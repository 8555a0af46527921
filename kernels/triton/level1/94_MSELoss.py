"""Mean squared error: partial sums, then one program that adds them up.

y = mean (p - t)^2 over all elements.

No atomics: the order of summation is fixed by the shape, so the result repeats bit for bit.

Bound by memory: both inputs are read once.
Floor: 2 * numel * itemsize bytes (2 x 32768 x 32768: 8.59 GB at fp32, 4.29 GB at bf16).
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_sums_kernel(p_ptr, t_ptr, partial_ptr, numel, per_program, BLOCK: tl.constexpr):
    # int64: numel may exceed 2^31.
    begin = tl.program_id(0).to(tl.int64) * per_program
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(0, per_program, BLOCK):
        offsets = begin + step + tl.arange(0, BLOCK)
        inside = offsets < numel
        p = tl.load(p_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        t = tl.load(t_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        total += (p - t) * (p - t)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def mean_kernel(partial_ptr, y_ptr, count, numel, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        index = start + tl.arange(0, BLOCK)
        total += tl.load(partial_ptr + index, mask=index < count, other=0.0)
    tl.store(y_ptr, tl.sum(total, axis=0) / numel)


class ModelNew(nn.Module):
    """Mean squared difference, accumulated in fp32."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """predictions: any shape, any float dtype; targets: the same -> a scalar."""
        predictions, targets = predictions.contiguous(), targets.contiguous()
        numel = predictions.numel()
        per_program = 65536
        programs = triton.cdiv(numel, per_program)
        partial = torch.empty(programs, dtype=torch.float32, device=predictions.device)
        y = torch.empty((), dtype=predictions.dtype, device=predictions.device)
        square_sums_kernel[(programs,)](
            predictions, targets, partial, numel, per_program, BLOCK=4096, num_warps=8
        )
        mean_kernel[(1,)](partial, y, programs, numel, BLOCK=4096, num_warps=8)
        return y
