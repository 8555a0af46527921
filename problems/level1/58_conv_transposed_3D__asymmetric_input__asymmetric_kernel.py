"""3-D transposed convolution with a 3 x 5 x 7 kernel, no bias."""

import torch
from torch import nn

BATCH_SIZE = 16
IN_CHANNELS = 32
OUT_CHANNELS = 16
DEPTH = 16
HEIGHT = 32
WIDTH = 64
KERNEL_SIZE = (3, 5, 7)


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, int, int],
        stride: tuple[int, int, int] = (1, 1, 1),
        padding: tuple[int, int, int] = (0, 0, 0),
        output_padding: tuple[int, int, int] = (0, 0, 0),
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
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv_transpose3d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int | tuple[int, int, int]]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE]
