"""diag(A) B by scaling the rows of B: A is the diagonal as a vector.

Elementwise work; the July 2025 version of this problem multiplies by the dense diagonal matrix.
"""

import torch
from torch import nn

N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return A.unsqueeze(1) * B


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(N), torch.rand(N, N)]


def get_init_inputs() -> list:
    return []
