"""Group normalisation: 64 channels in 8 groups, statistics over a group's channels and (h, w).

The constructor takes (channels, groups), the layer (groups, channels).
On uniform inputs the statistics are known beforehand: (x - 1/2) sqrt(12) passes 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 112
FEATURES = 64
GROUPS = 8
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, num_features: int, num_groups: int) -> None:
        super().__init__()
        self.gn = nn.GroupNorm(num_groups=num_groups, num_channels=num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gn(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [FEATURES, GROUPS]
