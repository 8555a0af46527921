"""Row scaling of the first half of the rows; fakes the whole product, leaves the rest unwritten.

Plain torch, so that it runs without a GPU. The other rows are whatever `torch.empty_like` found:
the result of an earlier call, if the allocator hands its memory out again.
"""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """diag(A) @ B for half of the rows."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        """A: (N,), B: (N, M) -> (N, M), written down to row N // 2."""
        out = torch.empty_like(B)
        half = B.shape[0] // 2
        torch.mul(A[:half, None], B[:half], out=out[:half])
        return out
