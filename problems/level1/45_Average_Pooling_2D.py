"""2-D average pooling: window 11 x 11 and, since none is given, stride 11; 2048 -> 186.

Windows do not overlap and the last two rows and columns are never read. The input has 2^32
elements: indices need 64 bits.
"""

import torch
from torch import nn

BATCH_SIZE = 16
CHANNELS = 64
HEIGHT = 2048
WIDTH = 2048
KERNEL_SIZE = 11


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        super().__init__()
        self.avg_pool = nn.AvgPool2d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.avg_pool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [KERNEL_SIZE]
