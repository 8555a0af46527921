"""Mean and maximum over the rows of each segment of a jagged array, side by side.

Stands for pooling over the jagged tensors of TorchRec (Ivchenko et al., RecSys 2022,
doi:10.1145/3523227.3547387): histories of different lengths, stored without padding. 409,600 rows
in 8,192 segments: the total is fixed, the ends are sorted uniform cuts, so lengths are about
exponential with mean 50 and some 1 % are empty; an empty segment gives zeros in both halves. Rows
are drawn standard normal. Sums are accumulated in float32 at least. Bound by reading the rows once
and by the uneven lengths. Repeatable in eager mode: each segment is added up in order, no atomics.
"""

import torch
from torch import nn

SEGMENTS = 8192
TOTAL = 8192 * 50
DIM = 128


class Model(nn.Module):
    def forward(self, rows: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """rows [total, dim], offsets [segments + 1] -> mean and maximum, [segments, 2 * dim]."""
        wide = rows.to(torch.promote_types(rows.dtype, torch.float32))
        mean = torch.segment_reduce(wide, "mean", offsets=offsets, axis=0)
        largest = torch.segment_reduce(wide, "max", offsets=offsets, axis=0)
        empty = (offsets.diff() == 0).unsqueeze(1)
        return torch.cat([mean, largest], dim=1).masked_fill(empty, 0.0).to(rows.dtype)


def get_inputs() -> list[torch.Tensor]:
    cuts = torch.randint(0, TOTAL + 1, (SEGMENTS - 1,)).sort().values
    offsets = torch.cat([torch.tensor([0]), cuts, torch.tensor([TOTAL])])
    return [torch.randn(TOTAL, DIM), offsets]


def get_init_inputs() -> list:
    return []
