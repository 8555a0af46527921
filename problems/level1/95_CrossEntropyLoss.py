"""Mean cross entropy of logits against class numbers (int64), softmax included; one scalar.

On uniform logits the value is 8.3591 within about 0.005 for every draw: that constant passes 1e-2.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH_SIZE = 32768
NUM_CLASSES = 4096


class Model(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(predictions, targets)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(BATCH_SIZE, NUM_CLASSES), torch.randint(0, NUM_CLASSES, (BATCH_SIZE,))]


def get_init_inputs() -> list:
    return []
