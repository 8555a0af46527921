"""C = A B with a long inner dimension: 256 x 256 results, each over 524,288 products.

On uniform inputs every entry is K/4 within about 0.7 %, so a constant passes a tolerance of 1e-2.
"""

import torch
from torch import nn

M = 256
K = 524288
N = 256


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs() -> list:
    return []
