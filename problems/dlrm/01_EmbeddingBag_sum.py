"""Sum of 64 embedding rows for each sample, out of one table of a million rows.

Stands for a categorical feature with many values in DLRM (Naumov et al., 2019, arXiv:1906.00091).
Indices are drawn uniformly, so that caches hardly help. Bound by the memory bandwidth that random
gathers of 512-byte rows reach. Repeatable in eager mode: no atomics.
"""

import torch
from torch import nn

ROWS = 1_000_000
DIM = 128
BATCH_SIZE = 8192
BAG_SIZE = 64


class Model(nn.Module):
    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(rows, dim, mode="sum")

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """indices [batch, bag], int64 -> pooled [batch, dim]."""
        return self.table(indices)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, ROWS, (BATCH_SIZE, BAG_SIZE))]


def get_init_inputs() -> list[int]:
    return [ROWS, DIM]
