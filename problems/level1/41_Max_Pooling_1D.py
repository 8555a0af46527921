"""1-D max pooling: window 8, stride 1, padding 4, dilation 3; 65,536 -> 65,523.

Padding counts as minus infinity, which non-negative inputs do not show.
"""

import torch
from torch import nn

BATCH_SIZE = 64
FEATURES = 192
LENGTH = 65536
KERNEL_SIZE = 8
STRIDE = 1
PADDING = 4
DILATION = 3
RETURN_INDICES = False


class Model(nn.Module):
    def __init__(
        self,
        kernel_size: int,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
    ) -> None:
        super().__init__()
        self.maxpool = nn.MaxPool1d(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            return_indices=return_indices,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maxpool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, FEATURES, LENGTH)]


def get_init_inputs() -> list[int]:
    return [KERNEL_SIZE, STRIDE, PADDING, DILATION, RETURN_INDICES]
