"""AlexNet's first convolution: 3 -> 96 channels, kernel 11 x 11, stride 4, padding 2, with bias.

The constructor's num_classes is ignored. No other convolution of the 100 has a bias.
"""

import torch
from torch import nn

BATCH_SIZE = 256
HEIGHT = 224
WIDTH = 224
NUM_CLASSES = 1000


class Model(nn.Module):
    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, 3, HEIGHT, WIDTH)]


def get_init_inputs() -> list[int]:
    return [NUM_CLASSES]
