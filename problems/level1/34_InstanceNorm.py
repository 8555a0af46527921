"""Instance normalisation over (h, w) of each sample and channel, eps 1e-5.

No scale, no shift and no buffers: the layer's defaults.
On uniform inputs the statistics are known beforehand: (x - 1/2) sqrt(12) passes 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 112
FEATURES = 64
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inorm(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [FEATURES]
