"""Sums of 8 embedding rows from each of 26 tables, which lie one after the other in one weight.

Stands for the sparse half of DLRM (Naumov et al., 2019, arXiv:1906.00091) on Criteo's 26
categorical features: their numbers of values (Kaggle data set), hashed down to at most 524,288.
Eager mode loops over the tables as that model does; one kernel can serve all of them. Indices are
Zipf with exponent 1.05 in each table. Bound by the bandwidth of 256-byte row gathers and, in eager
mode, by 26 launches. Repeatable in eager mode: no atomics.
"""

import torch
import torch.nn.functional as F
from torch import nn

LARGEST = 524288
VALUES = [
    *(1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194),
    *(27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572),
]
TABLE_ROWS = [min(values, LARGEST) for values in VALUES]
DIM = 64
BATCH_SIZE = 8192
BAG_SIZE = 8
ZIPF = 1.05
SCATTER = 2654435761  # a prime above every table size: rank -> rank * SCATTER % rows is one to one


class Model(nn.Module):
    def __init__(self, table_rows: list[int], dim: int) -> None:
        super().__init__()
        self.table_rows = list(table_rows)
        self.weight = nn.Parameter(torch.randn(sum(table_rows), dim))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """indices [tables, batch, bag], each within its own table -> [batch, tables, dim]."""
        tables = self.weight.split(self.table_rows)
        pooled = [
            F.embedding_bag(table_indices, table, mode="sum")
            for table_indices, table in zip(indices, tables, strict=True)
        ]
        return torch.stack(pooled, dim=1)


def zipf_rows(shape: tuple[int, ...], rows: torch.Tensor) -> torch.Tensor:
    """Row numbers whose popularity falls like rank ** -ZIPF, popular ones scattered."""
    tail = (rows + 1.0).double() ** (1 - ZIPF) - 1
    uniform = torch.rand(shape, dtype=torch.float64)
    rank = (1 + uniform * tail).pow(1 / (1 - ZIPF)).long().clamp(min=1).minimum(rows)
    return rank * SCATTER % rows


def get_inputs() -> list[torch.Tensor]:
    rows = torch.tensor(TABLE_ROWS).view(-1, 1, 1)
    return [zipf_rows((len(TABLE_ROWS), BATCH_SIZE, BAG_SIZE), rows)]


def get_init_inputs() -> list[list[int] | int]:
    return [TABLE_ROWS, DIM]
