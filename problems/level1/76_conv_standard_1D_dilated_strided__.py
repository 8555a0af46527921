"""1-D convolution: kernel 3, stride 3, dilation 4, no bias; 524,280 -> 174,758.

There is no padding argument: the fifth one is the dilation.
"""

import torch
from torch import nn

BATCH_SIZE = 64
IN_CHANNELS = 64
OUT_CHANNELS = 128
LENGTH = 524280
KERNEL_SIZE = 3
STRIDE = 3
DILATION = 4


class Model(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.conv1d = nn.Conv1d(
            in_channels,
            out_channels,
            kernel_size=kernel_size,
            stride=stride,
            dilation=dilation,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, IN_CHANNELS, LENGTH)]


def get_init_inputs() -> list[int]:
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE, STRIDE, DILATION]
