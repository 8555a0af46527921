"""Batch normalisation with the statistics of the batch (training mode, as constructed), eps 1e-5.

Each call also updates running_mean and running_var (momentum 0.1; the stored variance is the
unbiased one, the one divided by is biased) and num_batches_tracked; the output ignores them.
On uniform inputs the statistics are known beforehand: (x - 1/2) sqrt(12) passes 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 64
FEATURES = 64
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [FEATURES]
