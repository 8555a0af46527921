"""C = A^T B^T; A is stored K x M, B is stored N x K, both transposed by the call."""

import torch
from torch import nn

M = 2048
K = 8192
N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A.T, B.T)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(K, M), torch.rand(N, K)]


def get_init_inputs() -> list:
    return []
