"""Quotient-remainder embedding: 100 million ids share 1,000,000 + 100 rows; 16 ids are summed.

The row of an id is the product of its quotient's row and its remainder's row. Stands for
compositional embeddings (Shi et al., KDD 2020, doi:10.1145/3394486.3403059, arXiv:1909.02107). Ids
are drawn uniformly, as a hash leaves them. Bound by the bandwidth of gathers from the remainder
table and, in eager mode, by three intermediates of the gathered size. Repeatable: no atomics.
"""

import math

import torch
from torch import nn

IDS = 100_000_000
REMAINDERS = 1_000_000
DIM = 128
BATCH_SIZE = 16384
BAG_SIZE = 16


class Model(nn.Module):
    def __init__(self, ids: int, remainders: int, dim: int) -> None:
        super().__init__()
        self.remainders = remainders
        self.quotient = nn.Embedding(math.ceil(ids / remainders), dim)
        self.remainder = nn.Embedding(remainders, dim)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids [batch, bag], int64 -> sum over the bag of quotient row * remainder row."""
        rows = self.quotient(ids // self.remainders) * self.remainder(ids % self.remainders)
        return rows.sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, IDS, (BATCH_SIZE, BAG_SIZE))]


def get_init_inputs() -> list[int]:
    return [IDS, REMAINDERS, DIM]
