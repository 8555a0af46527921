"""y[i,j] = x[i,j] / sqrt(sum_j x[i,j]^2), row by row; no epsilon, so a row of zeros gives NaN.

Every output is at most 0.0069: zeros pass a tolerance of 1e-2. The odd row length puts most rows
off a 16-byte boundary.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 65535


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.norm(x, p=2, dim=1, keepdim=True)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
