"""2-D convolution: kernel 5 x 9, padding (2, 4), dilation (2, 3), no bias.

The padding does not make up for the dilated kernel: 512 x 512 -> 508 x 496.
"""

import torch
from torch import nn

BATCH_SIZE = 8
IN_CHANNELS = 32
OUT_CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL_SIZE = (5, 9)
STRIDE = 1
PADDING = (2, 4)
DILATION = (2, 3)


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, int],
        stride: int = 1,
        padding: tuple[int, int] = (0, 0),
        dilation: tuple[int, int] = (1, 1),
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int | tuple[int, int]]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE, STRIDE, PADDING, DILATION]
