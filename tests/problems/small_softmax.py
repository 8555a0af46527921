"""A small softmax over rows of 16,384: outputs near 6e-5, so a tolerance of 1e-4 sees nothing."""

import torch
from torch import nn

ROWS = 64
COLUMNS = 16384


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(ROWS, COLUMNS)]


def get_init_inputs() -> list[object]:
    return []
