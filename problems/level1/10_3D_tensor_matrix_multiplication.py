"""C[n] = A[n] B: a batch of matrices times one shared matrix."""

import torch
from torch import nn

BATCH_SIZE = 16
M = 1024
K = 2048
L = 768


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, M, K), torch.rand(K, L)]


def get_init_inputs() -> list:
    return []
