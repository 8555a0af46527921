"""Triplet margin loss: mean over rows of max(0, d(a, p) - d(a, n) + margin), d Euclidean.

1e-6 is added to each coordinate's difference, not under the root. The anchor is scaled by one
number, drawn first. Positive and negative are drawn alike: the constant 1 passes 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 8192
MARGIN = 1.0


class Model(nn.Module):
    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.loss_fn = nn.TripletMarginLoss(margin=margin)

    def forward(
        self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor
    ) -> torch.Tensor:
        return self.loss_fn(anchor, positive, negative)


def get_inputs() -> list[torch.Tensor]:
    scale = torch.rand(())
    anchor = torch.rand(BATCH_SIZE, DIM) * scale
    return [anchor, torch.rand(BATCH_SIZE, DIM), torch.rand(BATCH_SIZE, DIM)]


def get_init_inputs() -> list[float]:
    return [MARGIN]
