"""2-D transposed convolution of a square image with a 3 x 7 kernel, no bias."""

import torch
from torch import nn

BATCH_SIZE = 8
IN_CHANNELS = 64
OUT_CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL_SIZE = (3, 7)


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, int],
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose2d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int | tuple[int, int]]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE]
