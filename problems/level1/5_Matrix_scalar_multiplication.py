"""C = s * A; the scalar is a Python float and an argument of the call, not of the constructor."""

import torch
from torch import nn

M = 65536
N = 16384
SCALE = 3.14


class Model(nn.Module):
    def forward(self, A: torch.Tensor, s: float) -> torch.Tensor:
        return A * s


def get_inputs() -> list[torch.Tensor | float]:
    return [torch.rand(M, N), SCALE]


def get_init_inputs() -> list:
    return []
