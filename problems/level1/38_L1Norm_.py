"""y[i,j] = x[i,j] / mean_j |x[i,j]|: the mean, not the sum that an L1 norm would take; no epsilon.

On uniform inputs the mean is 1/2 within 1 %: 2x, without a reduction, passes 1e-2. The odd row
length puts most rows off a 16-byte boundary.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 65535


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.mean(torch.abs(x), dim=1, keepdim=True)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
