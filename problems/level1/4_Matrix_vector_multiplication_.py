"""Matrix times vector; the vector is a K x 1 matrix, the result M x 1.

A has 2^31 elements, one more than a signed 32-bit index reaches. On uniform inputs every result is
K/4 within about 0.4 %, so a constant passes a tolerance of 1e-2.
"""

import torch
from torch import nn

M = 2048
K = 1048576


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(M, K), torch.rand(K, 1)]


def get_init_inputs() -> list:
    return []
