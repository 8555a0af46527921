"""diag(A) B with the diagonal matrix built and multiplied in full (July 2025 version).

A dense N^3 product: an infinity or NaN in B spoils its whole column, TF32 rounds the values, and
speedups do not compare with the later version, which scales rows.
"""

import torch
from torch import nn

N = 4096


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.diag(A) @ B


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(N), torch.rand(N, N)]


def get_init_inputs() -> list:
    return []
