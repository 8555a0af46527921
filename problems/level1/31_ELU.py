"""ELU: y = x for x > 0, alpha (exp(x) - 1) below.

On inputs from [0, 1) the output equals the input bit for bit: a copy passes any check of values.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 4096
DIM = 393216
ALPHA = 1.0


class Model(nn.Module):
    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.elu(x, alpha=self.alpha)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list[float]:
    return [ALPHA]
