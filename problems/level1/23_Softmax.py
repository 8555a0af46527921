"""Softmax over the rows: y[i,j] = exp(x[i,j]) / sum_k exp(x[i,k]).

Rows have 393,216 entries, so every output is below 4.1e-6: zeros pass even a tolerance of 1e-4.
"""

import torch
from torch import nn

BATCH_SIZE = 4096
DIM = 393216


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
