"""1-D average pooling: window 8, stride 1, padding 4; 65,536 -> 65,537.

Padding counts as zero and stays in the divisor: border outputs are divided by 8 as well.
"""

import torch
from torch import nn

BATCH_SIZE = 64
CHANNELS = 128
LENGTH = 65536
KERNEL_SIZE = 8
STRIDE = 1
PADDING = 4


class Model(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0) -> None:
        super().__init__()
        self.avg_pool = nn.AvgPool1d(kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.avg_pool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, CHANNELS, LENGTH)]


def get_init_inputs() -> list[int]:
    return [KERNEL_SIZE, STRIDE, PADDING]
