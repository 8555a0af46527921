"""Mean of the embedding rows of bags whose length varies; an empty bag gives zeros.

Stands for the watch history that YouTube's network averages (Covington et al., RecSys 2016,
doi:10.1145/2959100.2959190). 524,288 indices in 16,384 bags: the total is fixed, the bags' ends are
sorted uniform cuts, so lengths are about exponential with mean 32 and some 1.5 % are empty. Indices
are Zipf with exponent 1.05. Bound by the bandwidth of row gathers, part of them from cache, and by
the uneven lengths. Repeatable in eager mode: no atomics.
"""

import torch
from torch import nn

ROWS = 1_000_000
DIM = 64
BAGS = 16384
TOTAL = 16384 * 32
ZIPF = 1.05
SCATTER = 2654435761  # a prime above every table size: rank -> rank * SCATTER % rows is one to one


class Model(nn.Module):
    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(rows, dim, mode="mean", include_last_offset=True)

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """indices [total], offsets [bags + 1] (bag b is offsets[b]:offsets[b+1]) -> [bags, dim]."""
        return self.table(indices, offsets)


def zipf_rows(shape: tuple[int, ...], rows: int) -> torch.Tensor:
    """Row numbers whose popularity falls like rank ** -ZIPF, popular ones scattered."""
    tail = (rows + 1) ** (1 - ZIPF) - 1
    uniform = torch.rand(shape, dtype=torch.float64)
    rank = (1 + uniform * tail).pow(1 / (1 - ZIPF)).long().clamp(1, rows)
    return rank * SCATTER % rows


def get_inputs() -> list[torch.Tensor]:
    cuts = torch.randint(0, TOTAL + 1, (BAGS - 1,)).sort().values
    offsets = torch.cat([torch.tensor([0]), cuts, torch.tensor([TOTAL])])
    return [zipf_rows((TOTAL,), ROWS), offsets]


def get_init_inputs() -> list[int]:
    return [ROWS, DIM]
