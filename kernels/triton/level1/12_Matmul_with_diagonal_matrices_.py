"""diag(a) @ B as a row scaling in one Triton pass.

C[i, j] = a[i] * B[i, j]: no matrix product is needed.

Bound by memory: B read once, C written once, one multiplication an element.
Floor: (2 * N * M + N) * itemsize bytes (N = M = 4096: 134 MB at fp32, 67 MB at bf16).
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_rows_kernel(a_ptr, b_ptr, c_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < cols
    factor = tl.load(a_ptr + row).to(tl.float32)
    b = tl.load(b_ptr + row * cols + column, mask=inside).to(tl.float32)
    tl.store(c_ptr + row * cols + column, factor * b, mask=inside)


class ModelNew(nn.Module):
    """Row scaling: a[:, None] * B."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """A: (N,), the diagonal; B: (N, M) -> (N, M)."""
        A, B = A.contiguous(), B.contiguous()
        rows, cols = B.shape
        C = torch.empty_like(B)
        block = min(4096, triton.next_power_of_2(cols))
        grid = (rows, triton.cdiv(cols, block))
        scale_rows_kernel[grid](A, B, C, cols, BLOCK=block, num_warps=8)
        return C
