"""C = A B with a short inner dimension: the output has 256 times the elements of both inputs."""

import torch
from torch import nn

M = 32768
K = 64
N = 32768


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs() -> list:
    return []
