"""Softmax loss of each user against all items of the batch, corrected for the items' popularity.

loss_i = ln(sum_j exp(s_ij - ln q_j)) - (s_ii - ln q_i), s_ij = <u_i, v_j> / temperature. Stands for
the two-tower model of Yi et al. (RecSys 2019, doi:10.1145/3298689.3346996). The losses are returned
one for each user: their mean hardly varies between draws and would be easy to guess. Items are
drawn normal with norms near 1, users also and scaled by a uniform number each, so that the sums
differ; q falls like rank^-1.05 (Zipf) over 100,000 items, up to a constant, which cancels. Bound in
eager mode by passes over the 16,384 x 16,384 scores, which a fused kernel never stores.
Repeatable in eager mode.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 16384
DIM = 128
ITEMS = 100_000
ZIPF = 1.05
TEMPERATURE = 0.3


class Model(nn.Module):
    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(
        self, users: torch.Tensor, items: torch.Tensor, log_popularity: torch.Tensor
    ) -> torch.Tensor:
        """users, items [batch, dim], log_popularity [batch] (ln q) -> losses [batch]."""
        scores = users @ items.T / self.temperature - log_popularity
        targets = torch.arange(scores.size(0), device=scores.device)
        return F.cross_entropy(scores, targets, reduction="none")


def get_inputs() -> list[torch.Tensor]:
    users = torch.randn(BATCH_SIZE, DIM) * torch.rand(BATCH_SIZE, 1)
    items = torch.randn(BATCH_SIZE, DIM) / DIM**0.5
    tail = (ITEMS + 1) ** (1 - ZIPF) - 1
    uniform = torch.rand(BATCH_SIZE, dtype=torch.float64)
    rank = (1 + uniform * tail).pow(1 / (1 - ZIPF)).floor().clamp(1, ITEMS)
    return [users, items, (-ZIPF * rank.log()).float()]


def get_init_inputs() -> list[float]:
    return [TEMPERATURE]
