"""Mean squared error over all elements, one scalar.

The predictions are scaled by one number, drawn first; the value, s^2/3 - s/2 + 1/3, varies with it
but follows from a small sample.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 32768


class Model(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean((predictions - targets) ** 2)


def get_inputs() -> list[torch.Tensor]:
    scale = torch.rand(())
    return [torch.rand(BATCH_SIZE, DIM) * scale, torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
