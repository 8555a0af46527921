"""2-D transposed convolution in 4 groups: 3 x 5, stride (2, 3), padding (1, 2), dilation (2, 1).

After padding comes dilation: there is no output_padding argument. With stride and dilation both 2
along the height, every even output row receives no term and is exactly zero.
"""

import torch
from torch import nn

BATCH_SIZE = 16
IN_CHANNELS = 32
OUT_CHANNELS = 64
HEIGHT = 128
WIDTH = 256
KERNEL_SIZE = (3, 5)
STRIDE = (2, 3)
PADDING = (1, 2)
DILATION = (2, 1)
GROUPS = 4


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
        self.conv_transpose2d = nn.ConvTranspose2d(
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
        return self.conv_transpose2d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int | tuple[int, int]]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE, STRIDE, PADDING, DILATION, GROUPS]
