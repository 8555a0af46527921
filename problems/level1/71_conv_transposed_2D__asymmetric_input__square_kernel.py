"""2-D transposed convolution of a wide image with a 3 x 3 kernel, no bias."""

import torch
from torch import nn

BATCH_SIZE = 8
IN_CHANNELS = 32
OUT_CHANNELS = 32
HEIGHT = 512
WIDTH = 1024
KERNEL_SIZE = 3


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


def get_init_inputs() -> list[int]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE]
