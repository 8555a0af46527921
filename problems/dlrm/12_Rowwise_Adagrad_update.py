"""Row-wise Adagrad on the touched rows of a table; new rows and their accumulators are returned.

For each touched row r: g = the SUM of its gradients (a row that occurs twice gets one update with
both, not two), a' = a + mean(g^2), w' = w - lr g / (sqrt(a') + eps). Output row: w' and, in the
last column, a'. Inputs are left as they are. Stands for the exact optimizer of Neo (Mudigere et
al., ISCA 2022, arXiv:2104.05158) after Adagrad (Duchi et al., JMLR 12, 2011), once the backward
pass has sorted the gradients by row. 200,000 distinct rows of 2 million, drawn uniformly, share 1
million gradients: one each, the others by sorted uniform cuts. Gradients are standard normal, the
table normal with deviation 0.1 and lr 0.1, so that a step is as large as a row. Accumulated in
float32 at least. Bound by reading the gradients once and by the gathers of rows. Repeatable in
eager mode: each row is added up in order, no atomics.
"""

import torch
from torch import nn

ROWS = 2_000_000
DIM = 64
TOUCHED = 200_000
GRADIENTS = 1_000_000
LEARNING_RATE = 0.1
EPS = 1e-8


class Model(nn.Module):
    def __init__(self, learning_rate: float, eps: float) -> None:
        super().__init__()
        self.learning_rate = learning_rate
        self.eps = eps

    def forward(
        self,
        table: torch.Tensor,
        accumulators: torch.Tensor,
        rows: torch.Tensor,
        gradients: torch.Tensor,
        offsets: torch.Tensor,
    ) -> torch.Tensor:
        """table [rows, dim], accumulators [rows], rows [touched] (distinct, ascending),
        gradients [n, dim] (those of rows[i] are offsets[i]:offsets[i+1]), offsets [touched + 1]
        -> [touched, dim + 1].
        """
        wide = gradients.to(torch.promote_types(gradients.dtype, torch.float32))
        total = torch.segment_reduce(wide, "sum", offsets=offsets, axis=0)
        accumulator = accumulators[rows] + total.square().mean(dim=1)
        step = self.learning_rate / (accumulator.sqrt() + self.eps)
        updated = table[rows] - step.unsqueeze(1) * total
        return torch.cat([updated, accumulator.unsqueeze(1)], dim=1).to(table.dtype)


def get_inputs() -> list[torch.Tensor]:
    rows = torch.randperm(ROWS)[:TOUCHED].sort().values
    spare = GRADIENTS - TOUCHED
    cuts = torch.randint(0, spare + 1, (TOUCHED - 1,)).sort().values
    offsets = torch.arange(TOUCHED + 1)
    offsets = offsets + torch.cat([torch.tensor([0]), cuts, torch.tensor([spare])])
    table = 0.1 * torch.randn(ROWS, DIM)
    return [table, torch.rand(ROWS), rows, torch.randn(GRADIENTS, DIM), offsets]


def get_init_inputs() -> list[float]:
    return [LEARNING_RATE, EPS]
