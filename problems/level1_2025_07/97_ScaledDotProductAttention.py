"""Scaled dot-product attention on float16 inputs (July 2025 version), no mask, not causal.

Only the inputs' precision differs from the later version: half the bytes and other kernels, so
timings do not compare. The plain mean of V passes a tolerance of 1e-2 here too.
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
    return [torch.rand(shape, dtype=torch.float16) for _ in range(3)]


def get_init_inputs() -> list:
    return []
