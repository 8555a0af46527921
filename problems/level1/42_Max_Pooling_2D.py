"""2-D max pooling: window 4 x 4, stride 1, padding 1; 512 x 512 -> 511 x 511.

Padding counts as minus infinity, which non-negative inputs do not show.
"""

import torch
from torch import nn

BATCH_SIZE = 32
CHANNELS = 64
HEIGHT = 512
WIDTH = 512
KERNEL_SIZE = 4
STRIDE = 1
PADDING = 1
DILATION = 1


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int) -> None:
        super().__init__()
        self.maxpool = nn.MaxPool2d(
            kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maxpool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [KERNEL_SIZE, STRIDE, PADDING, DILATION]
