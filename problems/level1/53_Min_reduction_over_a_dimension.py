"""Minimum over an axis, values only; NaN wins.

Of 4,096 uniform numbers the smallest is within about 0.004 of 0: zeros pass a tolerance of 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 128
DIM1 = 4096
DIM2 = 4095
REDUCE_DIM = 1


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.min(x, dim=self.dim).values


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM1, DIM2)]


def get_init_inputs() -> list[int]:
    return [REDUCE_DIM]
