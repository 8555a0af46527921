"""Matrix times scalar as one Triton pass.

C = s * A, elementwise; s is a Python float and stays fp32 whatever the dtype of A.

Bound by memory: one read, one write and one multiplication of every element.
Floor: 2 * numel * itemsize bytes (65536 x 16384: 8.59 GB at fp32, 4.29 GB at bf16).
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_kernel(a_ptr, c_ptr, scalar, numel, BLOCK: tl.constexpr):
    # int64: numel may exceed 2^31.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < numel
    a = tl.load(a_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(c_ptr + offsets, a * scalar, mask=inside)


class ModelNew(nn.Module):
    """s * A with the product formed in fp32 and rounded once."""

    def forward(self, A: torch.Tensor, s: float) -> torch.Tensor:
        """A: any shape, any float dtype; s: number -> the shape and dtype of A."""
        A = A.contiguous()
        C = torch.empty_like(A)
        block = 4096
        grid = (triton.cdiv(A.numel(), block),)
        scale_kernel[grid](A, C, float(s), A.numel(), BLOCK=block, num_warps=8)
        return C
