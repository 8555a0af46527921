"""Dot products of all pairs among 27 feature vectors, below the diagonal, behind the dense vector.

Stands for the interaction of DLRM (Naumov et al., 2019, arXiv:1906.00091): the dense vector counts
as the first feature, the pairs (1,0), (2,0), (2,1), (3,0), ... follow row by row. Everything is
drawn standard normal. Bound by reading the features once; in eager mode also by the copy that joins
them and by the full 27 x 27 products, more than half of which are dropped. Repeatable: no atomics.
"""

import torch
from torch import nn

BATCH_SIZE = 32768
SPARSE_FEATURES = 26
DIM = 128


class Model(nn.Module):
    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        """dense [batch, dim], sparse [batch, features, dim] -> [batch, dim + pairs]."""
        features = torch.cat([dense.unsqueeze(1), sparse], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        count = features.size(1)
        row, column = torch.tril_indices(count, count, offset=-1, device=dense.device)
        return torch.cat([dense, products[:, row, column]], dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(BATCH_SIZE, DIM), torch.randn(BATCH_SIZE, SPARSE_FEATURES, DIM)]


def get_init_inputs() -> list:
    return []
