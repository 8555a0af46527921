"""y = max(x, 0).

On inputs from [0, 1) the output equals the input bit for bit: a copy passes any check of values.
"""

import torch
from torch import nn

BATCH_SIZE = 4096
DIM = 393216


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
