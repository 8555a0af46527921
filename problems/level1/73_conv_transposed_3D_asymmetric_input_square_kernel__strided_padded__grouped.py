"""3-D transposed convolution: kernel 3 x 3 x 3, stride 2, padding 1, no bias. Not grouped.

The 4 meant as the number of groups is the sixth argument, output_padding, which the module takes
and never hands on: groups stay 1 and the output padding 0.
"""

import torch
from torch import nn

BATCH_SIZE = 4
IN_CHANNELS = 32
OUT_CHANNELS = 32
DEPTH = 32
HEIGHT = 64
WIDTH = 128
KERNEL_SIZE = 3
STRIDE = 2
PADDING = 1
OUTPUT_PADDING = 4


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose3d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE, STRIDE, PADDING, OUTPUT_PADDING]
