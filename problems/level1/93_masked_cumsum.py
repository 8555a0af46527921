"""Running sum of x * mask along an axis; masked positions add zero and stay in the output.

The mask multiplies, so a NaN or infinity under it still gives NaN.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
DIM = 32768
SCAN_DIM = 1


class Model(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x * mask, dim=self.dim)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM), torch.randint(0, 2, (BATCH_SIZE, DIM)).bool()]


def get_init_inputs() -> list[int]:
    return [SCAN_DIM]
