"""3-D max pooling: window 3, stride 2, padding 1, dilation 3 on each axis; 128 -> 62.

Padding counts as minus infinity, which non-negative inputs do not show.
"""

import torch
from torch import nn

BATCH_SIZE = 16
CHANNELS = 32
DEPTH = 128
HEIGHT = 128
WIDTH = 128
KERNEL_SIZE = 3
STRIDE = 2
PADDING = 1
DILATION = 3


class Model(nn.Module):
    def __init__(
        self,
        kernel_size: int,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.maxpool = nn.MaxPool3d(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            return_indices=return_indices,
            ceil_mode=ceil_mode,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maxpool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [KERNEL_SIZE, STRIDE, PADDING, DILATION]
