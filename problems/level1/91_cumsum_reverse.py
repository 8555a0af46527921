"""Suffix sum along an axis, the current element included: the row's total is in column 0."""

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
        return torch.cumsum(x.flip(self.dim), dim=self.dim).flip(self.dim)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list[int]:
    return [SCAN_DIM]
