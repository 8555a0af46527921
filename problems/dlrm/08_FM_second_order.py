"""Second-order term of a factorization machine: the sum over pairs i < j of <v_i, v_j> x_i x_j.

Computed in linear time as half of (sum_i v_i x_i)^2 - sum_i (v_i x_i)^2, summed over the factors.
Stands for Rendle (ICDM 2010, doi:10.1109/ICDM.2010.127) and DeepFM (Guo et al., 2017,
arXiv:1703.04247) with Criteo's 39 fields. Factors and values are drawn standard normal, so that the
result is spread around zero. Bound by reading the factors once; eager mode writes and reads
intermediates of that size. The two terms cancel in part. Repeatable in eager mode: no atomics.
"""

import torch
from torch import nn

BATCH_SIZE = 65536
FIELDS = 39
FACTORS = 32


class Model(nn.Module):
    def forward(self, factors: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """factors [batch, fields, k] (v_i), values [batch, fields] (x_i) -> [batch]."""
        terms = factors * values.unsqueeze(-1)
        square_of_sum = terms.sum(dim=1).square()
        sum_of_squares = terms.square().sum(dim=1)
        return 0.5 * (square_of_sum - sum_of_squares).sum(dim=-1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH_SIZE, FIELDS, FACTORS), torch.randn(BATCH_SIZE, FIELDS)]


def get_init_inputs() -> list:
    return []
