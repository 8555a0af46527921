"""C = A B for two square matrices."""

import torch
from torch import nn

N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(N, N), torch.rand(N, N)]


def get_init_inputs() -> list:
    return []
