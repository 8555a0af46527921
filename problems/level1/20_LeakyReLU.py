"""y = x for x >= 0, 0.01 x below.

On inputs from [0, 1) the output equals the input bit for bit: a copy passes any check of values.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 4096
DIM = 393216


class Model(nn.Module):
    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(x, negative_slope=self.negative_slope)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
