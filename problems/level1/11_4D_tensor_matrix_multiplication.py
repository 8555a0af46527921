"""C[b,i,j,k] = sum_l A[b,i,j,l] B[l,k]: the last axis of a 4-D tensor times a shared matrix."""

import torch
from torch import nn

BATCH_SIZE = 8
DIM1 = 256
DIM2 = 512
INNER = 256
COLUMNS = 768


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bijl,lk->bijk", A, B)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, DIM1, DIM2, INNER), torch.rand(INNER, COLUMNS)]


def get_init_inputs() -> list:
    return []
