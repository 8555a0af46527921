"""KL divergence of targets t from predictions p: sum of t (ln t - ln p) over all, by the row count.

p holds probabilities and its logarithm is taken here. Draws: the scale first, then p from softmax
of scaled uniform numbers, then t. The value is 0.04 to 0.08, not far above a tolerance of 1e-2.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 16384
DIM = 16384


class Model(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.kl_div(torch.log(predictions), targets, reduction="batchmean")


def get_inputs() -> list[torch.Tensor]:
    scale = torch.rand(())
    predictions = (torch.rand(BATCH_SIZE, DIM) * scale).softmax(dim=-1)
    targets = torch.rand(BATCH_SIZE, DIM).softmax(dim=-1)
    return [predictions, targets]


def get_init_inputs() -> list:
    return []
