"""Hard tanh: y = min(max(x, -1), 1).

On inputs from [0, 1) the output equals the input bit for bit: a copy passes any check of values.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 4096
DIM = 393216


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardtanh(x, min_val=-1.0, max_val=1.0)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
