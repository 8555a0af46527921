"""Layer normalisation over the last three axes together; scale and shift have one entry for each.

The shape is one tuple argument.
On uniform inputs the statistics are known beforehand: (x - 1/2) sqrt(12) passes 1e-2.
"""

import torch
from torch import nn

BATCH_SIZE = 16
FEATURES = 64
HEIGHT = 256
WIDTH = 256


class Model(nn.Module):
    def __init__(self, normalized_shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(list(normalized_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.ln(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs() -> list[tuple[int, int, int]]:
    return [(FEATURES, HEIGHT, WIDTH)]
