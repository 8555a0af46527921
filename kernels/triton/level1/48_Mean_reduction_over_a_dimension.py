"""Mean over one axis: one Triton launch for any axis.

y[b, j] = (1 / length) * sum_i x[b, i, j].

The tensor is seen as (outer, length, inner). A program owns one outer index and a run of
neighbouring inner positions, and walks the reduced axis: accesses stay coalesced along `inner`,
and without atomics the order of summation is fixed by the shape.

Bound by memory: every element is read once, the output is smaller by the reduced length.
Floor: (outer * length * inner + outer * inner) * itemsize bytes (128 x 4096 x 4095 over dim 1:
8.59 GB at fp32, 4.29 GB at bf16).
"""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reduce_kernel(x_ptr, y_ptr, length, inner, BLOCK_L: tl.constexpr, BLOCK_I: tl.constexpr):
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    column = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    step = tl.arange(0, BLOCK_L)
    x_ptr += outer * length * inner
    total = tl.zeros((BLOCK_L, BLOCK_I), tl.float32)
    for start in range(0, length, BLOCK_L):
        # int64: one outer slice may exceed 2^31 elements.
        index = (start + step).to(tl.int64)
        inside = (index < length)[:, None] & (column < inner)[None, :]
        offsets = index[:, None] * inner + column[None, :]
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
        total += x.to(tl.float32)
    y = tl.sum(total, axis=0) / length
    tl.store(y_ptr + outer * inner + column, y, mask=column < inner)


class ModelNew(nn.Module):
    """Mean over `dim`, accumulated in fp32."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: any shape, any float dtype -> the shape without `dim`."""
        x = x.contiguous()
        dim = self.dim % x.dim()
        length = x.shape[dim]
        inner = math.prod(x.shape[dim + 1 :])
        outer = math.prod(x.shape[:dim])
        y = torch.empty(x.shape[:dim] + x.shape[dim + 1 :], dtype=x.dtype, device=x.device)
        block_i = min(256, triton.next_power_of_2(inner))
        block_l = min(4096 // block_i, triton.next_power_of_2(length))
        grid = (outer * triton.cdiv(inner, block_i),)
        reduce_kernel[grid](x, y, length, inner, BLOCK_L=block_l, BLOCK_I=block_i, num_warps=8)
        return y
