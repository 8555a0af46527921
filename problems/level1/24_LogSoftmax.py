"""Log-softmax over the rows: y[i,j] = x[i,j] - ln(sum_k exp(x[i,k])).

On uniform inputs the sum hardly varies: x - 13.4235, without reading the row, passes 1e-2.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 4096
DIM = 393216


class Model(nn.Module):
    def __init__(self, dim: int = 1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(x, dim=self.dim)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
