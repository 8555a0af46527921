"""Huber loss (smooth L1, beta 1): mean of d^2/2 for |d| < 1 and |d| - 1/2 above; one scalar.

The predictions are scaled by one number, drawn first. On this draw |d| < 1 always, so the value is
half of problem 94's.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 32768
DIM = 32768


class Model(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(predictions, targets)


def get_inputs() -> list[torch.Tensor]:
    scale = torch.rand(())
    return [torch.rand(BATCH_SIZE, DIM) * scale, torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list:
    return []
