"""y = x / ||x||_F, one norm for the whole tensor, batch included; no epsilon.

Every output is at most 4.0e-5: zeros pass even a tolerance of 1e-4.
"""

import torch
from torch import nn

BATCH_SIZE = 112
FEATURES = 64
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.norm(x, p="fro")


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs() -> list:
    return []
