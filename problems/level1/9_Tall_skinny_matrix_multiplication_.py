"""C = A B, tall times wide: inner size 32 and a 32,768 x 32,768 result."""

import torch
from torch import nn

M = 32768
K = 32
N = 32768


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs() -> list:
    return []
