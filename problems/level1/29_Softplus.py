"""Softplus: y = ln(1 + exp(x)), and y = x above the threshold 20."""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 4096
DIM = 393216


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.softplus(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
