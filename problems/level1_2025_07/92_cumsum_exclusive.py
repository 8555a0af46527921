"""Exclusive running sum as of July 2025: a zero column in front, then the last ROW cut off.

The cut falls on axis 0 instead of the scan's axis: the last row of the batch is lost, the rows'
totals are kept, and 32,768 x 32,768 becomes 32,767 x 32,769.
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
        first = torch.zeros_like(x.select(self.dim, 0).unsqueeze(self.dim))
        before = torch.cat((first, x), dim=self.dim)[:-1]
        return torch.cumsum(before, dim=self.dim)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list[int]:
    return [SCAN_DIM]
