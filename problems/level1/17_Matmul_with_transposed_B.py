"""C = A B^T; B is stored N x K and transposed by the call."""

import torch
from torch import nn

M = 2048
K = 8192
N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B.T)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(M, K), torch.rand(N, K)]


def get_init_inputs() -> list:
    return []
