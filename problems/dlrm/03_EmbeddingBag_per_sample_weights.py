"""Weighted sum of 32 embedding rows for each sample, one weight for every index.

Stands for the weighted features of TorchRec (Ivchenko et al., RecSys 2022,
doi:10.1145/3523227.3547387), where a weight tells how recent or strong an interaction was. Indices
are Zipf with exponent 1.05, weights uniform in [0, 1). Bound by the bandwidth of row gathers, part
of them from cache. Repeatable in eager mode: no atomics.
"""

import torch
from torch import nn

ROWS = 1_000_000
DIM = 128
BATCH_SIZE = 16384
BAG_SIZE = 32
ZIPF = 1.05
SCATTER = 2654435761  # a prime above every table size: rank -> rank * SCATTER % rows is one to one


class Model(nn.Module):
    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(rows, dim, mode="sum")

    def forward(self, indices: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """indices, weights [batch, bag] -> sum over the bag of weight * row, [batch, dim]."""
        return self.table(indices, per_sample_weights=weights)


def zipf_rows(shape: tuple[int, ...], rows: int) -> torch.Tensor:
    """Row numbers whose popularity falls like rank ** -ZIPF, popular ones scattered."""
    tail = (rows + 1) ** (1 - ZIPF) - 1
    uniform = torch.rand(shape, dtype=torch.float64)
    rank = (1 + uniform * tail).pow(1 / (1 - ZIPF)).long().clamp(1, rows)
    return rank * SCATTER % rows


def get_inputs() -> list[torch.Tensor]:
    return [zipf_rows((BATCH_SIZE, BAG_SIZE), ROWS), torch.rand(BATCH_SIZE, BAG_SIZE)]


def get_init_inputs() -> list[int]:
    return [ROWS, DIM]
