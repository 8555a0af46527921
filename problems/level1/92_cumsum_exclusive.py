"""Exclusive running sum: y[b,j] is the sum of the elements before j, y[b,0] = 0; same shape as x.

The last element along the axis is never used. The July 2025 version has another output shape.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 32768
SCAN_DIM = 1


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.zeros_like(x.narrow(self.dim, 0, 1))
        before = torch.cat((first, x.narrow(self.dim, 0, x.size(self.dim) - 1)), dim=self.dim)
        return torch.cumsum(before, dim=self.dim)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list[int]:
    return [SCAN_DIM]
