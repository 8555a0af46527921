"""Hinge loss: mean over i, j of max(0, 1 - p[i,j] t[j]), targets -1 or 1; one scalar.

The targets have the batch's length but broadcast over columns, which only equal sizes allow. On
this draw the clamp never acts, and the constant 1 passes a tolerance of 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 32768


class Model(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.mean(torch.clamp(1 - predictions * targets, min=0))


def get_inputs() -> list[torch.Tensor]:
    targets = torch.randint(0, 2, (BATCH_SIZE,)).float() * 2 - 1
    return [torch.rand(BATCH_SIZE, DIM), targets]


def get_init_inputs() -> list:
    return []
