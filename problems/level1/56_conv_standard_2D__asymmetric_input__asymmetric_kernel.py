"""2-D convolution of a tall image with a 5 x 7 kernel, no padding, no bias."""

import torch
from torch import nn

BATCH_SIZE = 8
IN_CHANNELS = 64
OUT_CHANNELS = 128
HEIGHT = 512
WIDTH = 256
KERNEL_SIZE = (5, 7)


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, int],
        stride: tuple[int, int] = (1, 1),
        padding: tuple[int, int] = (0, 0),
        dilation: tuple[int, int] = (1, 1),
        groups: int = 1,
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
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv2d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int | tuple[int, int]]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE]
