"""RMS normalisation over the channels: y = x / sqrt(mean_c x^2 + 1e-5) at each sample and pixel.

Axis 1 is not the last one: neighbours along it lie H * W elements apart. There is no scale, and
num_features does not enter the computation.
"""

import torch
from torch import nn

BATCH_SIZE = 112
FEATURES = 64
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rms = torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + self.eps)
        return x / rms


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [FEATURES]
