"""C = A^T B; A is stored K x M and transposed by the call."""

import torch
from torch import nn

M = 2048
K = 8192
N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A.T, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(K, M), torch.rand(K, N)]


def get_init_inputs() -> list:
    return []
