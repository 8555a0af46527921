"""Depthwise 2-D convolution: one 3 x 3 filter for each channel, no padding, no bias."""

import torch
from torch import nn

BATCH_SIZE = 16
IN_CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL_SIZE = 3
STRIDE = 1
PADDING = 0


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [IN_CHANNELS, KERNEL_SIZE, STRIDE, PADDING]
