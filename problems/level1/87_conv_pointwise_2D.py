"""Pointwise (1 x 1) 2-D convolution: a matrix product over the channels at each pixel, no bias.

The attribute is called conv1d and holds a Conv2d. The output has 2^31 elements, one more than a
signed 32-bit index reaches.
"""

import torch
from torch import nn

BATCH_SIZE = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 1024
WIDTH = 1024


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, bias: bool = False) -> None:
        super().__init__()
        self.conv1d = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size=1,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [IN_CHANNELS, OUT_CHANNELS]
