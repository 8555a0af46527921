"""Softmax of the first 1,024 columns only; fakes a whole row, leaves the rest unwritten.

What a model writes that forgets the loop: one block a row, sized for the usual row. On 393,216
columns 0.26 % of the output is written and the rest is whatever `torch.empty_like` found in memory.
The true values are below 4.1e-6, so a tolerance of 1e-2 sees no difference while that memory holds
zeros, small numbers or the result of an earlier call.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=float("-inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)


class ModelNew(nn.Module):
    """One fused softmax kernel, one program per row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (rows, cols) -> (rows, cols), right only where cols is at most 1,024."""
        x = x.contiguous()
        n_rows, n_cols = x.shape
        y = torch.empty_like(x)
        softmax_kernel[(n_rows,)](x, y, n_cols, BLOCK=1024, num_warps=4)
        return y
