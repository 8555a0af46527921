"""Scaled dot-product attention over [batch, heads, sequence, dim]; no mask, causality or dropout.

A head dimension of 1,024 is beyond most fused kernels. On uniform inputs attention is almost
uniform: the plain mean of V over the sequence passes a tolerance of 1e-2.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 32
HEADS = 32
SEQUENCE = 512
HEAD_DIM = 1024


class Model(nn.Module):
    def forward(self, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(Q, K, V)


def get_inputs() -> list[torch.Tensor]:
    shape = (BATCH_SIZE, HEADS, SEQUENCE, HEAD_DIM)
    return [torch.rand(shape), torch.rand(shape), torch.rand(shape)]


def get_init_inputs() -> list:
    return []
