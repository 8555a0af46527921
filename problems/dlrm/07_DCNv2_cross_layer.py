"""Cross layer of low rank: x0 * (U (V x) + b) + x, the products with x0 element by element.

Stands for DCN-v2 (Wang et al., WWW 2021, doi:10.1145/3442381.3450078, arXiv:2008.13535) with the
width of 27 features of 128 and rank 512. x0 and x are drawn standard normal, independently: x is
the output of an earlier layer. Bound by the two matrix products; multiplication, bias and addition
are one elementwise pass that a fused kernel saves. Repeatable in eager mode.
"""

import torch
from torch import nn

BATCH_SIZE = 16384
FEATURES = 27 * 128
RANK = 512


class Model(nn.Module):
    def __init__(self, features: int, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(features, rank, bias=False)
        self.up = nn.Linear(rank, features)

    def forward(self, x0: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """x0, x [batch, features] -> the next layer's x, [batch, features]."""
        return x0 * self.up(self.down(x)) + x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH_SIZE, FEATURES), torch.randn(BATCH_SIZE, FEATURES)]


def get_init_inputs() -> list[int]:
    return [FEATURES, RANK]
