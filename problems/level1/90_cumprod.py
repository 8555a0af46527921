"""Running product along an axis, the current element included.

On uniform inputs each row underflows to exactly zero after about 104 of 32,768 columns: writing the
first columns and leaving zeros passes.
"""

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
        return torch.cumprod(x, dim=self.dim)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list[int]:
    return [SCAN_DIM]
