"""C = A B with odd sizes throughout: no power-of-two tile divides them, and most rows start off a
16-byte boundary.
"""

import torch
from torch import nn

M = 8205
K = 2949
N = 5921


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs() -> list:
    return []
