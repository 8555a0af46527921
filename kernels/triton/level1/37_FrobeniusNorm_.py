"""Division by the Frobenius norm of the whole tensor, in three launches.

y = x / sqrt(sum x^2), the sum over all elements.

Partial sums of squares, one program that adds them up, then the division. No atomics: the order
of summation is fixed by the shape, so the result repeats bit for bit.

Bound by memory. Floor: 2 * numel * itemsize bytes (112 x 64 x 512 x 512: 15.03 GB at fp32,
7.52 GB at bf16). The norm is known only after all of x was read, and x does not fit on the chip:
any kernel moves 3 * numel * itemsize.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_sums_kernel(x_ptr, partial_ptr, numel, per_program, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * per_program
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(0, per_program, BLOCK):
        offsets = begin + step + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < numel, other=0.0).to(tl.float32)
        total += x * x
    tl.store(partial_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def norm_kernel(partial_ptr, norm_ptr, count, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        index = start + tl.arange(0, BLOCK)
        total += tl.load(partial_ptr + index, mask=index < count, other=0.0)
    tl.store(norm_ptr, tl.sqrt(tl.sum(total, axis=0)))


@triton.jit
def divide_kernel(x_ptr, norm_ptr, y_ptr, numel, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < numel
    norm = tl.load(norm_ptr)
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(y_ptr + offsets, x / norm, mask=inside)


class ModelNew(nn.Module):
    """x over its Frobenius norm, batch axis included; an all-zero tensor gives NaN."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: any shape, any float dtype -> the same shape and dtype."""
        x = x.contiguous()
        numel = x.numel()
        block, per_program = 4096, 65536
        programs = triton.cdiv(numel, per_program)
        partial = torch.empty(programs, dtype=torch.float32, device=x.device)
        norm = torch.empty(1, dtype=torch.float32, device=x.device)
        y = torch.empty_like(x)
        square_sums_kernel[(programs,)](x, partial, numel, per_program, BLOCK=block, num_warps=8)
        norm_kernel[(1,)](partial, norm, programs, BLOCK=4096, num_warps=8)
        divide_kernel[(triton.cdiv(numel, block),)](x, norm, y, numel, BLOCK=block, num_warps=8)
        return y
