"""Depthwise-separable 2-D convolution: a 3 x 3 filter for each channel, then a 1 x 1 convolution.

Nothing in between, no bias. Weights are drawn in the order depthwise, pointwise.
"""

import torch
from torch import nn

BATCH_SIZE = 16
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 512
WIDTH = 512
KERNEL_SIZE = 3
STRIDE = 1
PADDING = 1
DILATION = 1


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=in_channels,
            bias=bias,
        )
        self.pointwise = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pointwise(self.depthwise(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE, STRIDE, PADDING, DILATION]
