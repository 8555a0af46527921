"""Upper triangle of A B, exact zeros below the diagonal; both inputs are drawn upper triangular.

Inputs are dense and not checked: for others the whole sum counts on and above the diagonal.
"""

import torch
from torch import nn

N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.triu(torch.matmul(A, B))


def get_inputs() -> list[torch.Tensor]:
    return [torch.triu(torch.rand(N, N)), torch.triu(torch.rand(N, N))]


def get_init_inputs() -> list:
    return []
