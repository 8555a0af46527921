"""A user's history seen from a candidate item: each item is weighed by an MLP, without a softmax.

Stands for the activation unit of DIN (Zhou et al., KDD 2018, doi:10.1145/3219819.3219823,
arXiv:1706.06978): the MLP (80, 40, 1, with PReLU) sees item, candidate, their difference and their
product; the weighted items are summed. Histories have 0 to 100 items, lengths uniform; items beyond
the length count for nothing, an empty history gives zeros. Vectors are drawn standard normal and
the MLP by He's rule, so that the weights differ between items. Bound in eager mode by intermediates
of four times the history's size; the arithmetic is small products. Repeatable in eager mode.
"""

import torch
from torch import nn

BATCH_SIZE = 4096
HISTORY = 100
DIM = 64
HIDDEN = (80, 40)


class Model(nn.Module):
    def __init__(self, dim: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        first, second = hidden
        self.unit = nn.Sequential(
            nn.Linear(4 * dim, first),
            nn.PReLU(),
            nn.Linear(first, second),
            nn.PReLU(),
            nn.Linear(second, 1),
        )
        for layer in self.unit:
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight)

    def forward(
        self, candidate: torch.Tensor, history: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """candidate [batch, dim], history [batch, time, dim], lengths [batch] -> [batch, dim]."""
        query = candidate.unsqueeze(1).expand_as(history)
        pairs = torch.cat([history, query, history - query, history * query], dim=-1)
        weights = self.unit(pairs).squeeze(-1)
        position = torch.arange(history.size(1), device=history.device)
        weights = weights.masked_fill(position >= lengths.unsqueeze(1), 0.0)
        return (weights.unsqueeze(-1) * history).sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [
        torch.randn(BATCH_SIZE, DIM),
        torch.randn(BATCH_SIZE, HISTORY, DIM),
        torch.randint(0, HISTORY + 1, (BATCH_SIZE,)),
    ]


def get_init_inputs() -> list[int | tuple[int, int]]:
    return [DIM, HIDDEN]
