"""3-D average pooling: window 3, stride 2, padding 1; 128 x 128 x 256 -> 64 x 64 x 128.

Padding counts as zero and stays in the divisor. The input has 2^31 elements, one more than a
signed 32-bit index reaches.
"""

import torch
from torch import nn

BATCH_SIZE = 16
CHANNELS = 32
DEPTH = 128
HEIGHT = 128
WIDTH = 256
KERNEL_SIZE = 3
STRIDE = 2
PADDING = 1


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        super().__init__()
        self.avg_pool = nn.AvgPool3d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.avg_pool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [KERNEL_SIZE, STRIDE, PADDING]
