"""What a kernel may honestly rely on in its inputs, found by looking at the data as drawn.

The rules are in `evaluator.structured_inputs`, which changes inputs and keeps this.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evaluator import slices

ZERO_SHARE = 1 / 20


@dataclass(frozen=True)
class Structure:
    """What the data as drawn look like, and which tensor this is among those that change."""

    number: int
    probabilities: bool
    symmetric: bool
    zeros: Tensor | None
    largest: float
    lowest: float
    rms: float

    @property
    def first_of_pair(self) -> bool:
        return self.number % 2 == 0


def changing(inputs: Sequence[object]) -> Iterator[tuple[Tensor, Structure]]:
    """The floating tensors that may change, each once, with what was seen of them.

    Tensors that hold NaN or infinities stay as they are.
    """
    number, known = 0, set()
    for value in inputs:
        if not isinstance(value, Tensor) or id(value) in known or not value.numel():
            continue
        known.add(id(value))
        if not value.is_floating_point() or _is_fixed(value.detach()):
            continue
        tensor = value.detach()
        low, high = (float(bound) for bound in torch.aminmax(tensor))
        if not (math.isfinite(low) and math.isfinite(high)):
            continue
        squares = sum(
            torch.linalg.vector_norm(block, dtype=torch.float64).square()
            for block in blocks(tensor)
        )
        yield (
            tensor,
            Structure(
                number=number,
                probabilities=low >= 0.0 and high <= 1.0 and _sums_to_one(tensor),
                symmetric=_is_symmetric(tensor),
                zeros=_structural_zeros(tensor),
                largest=max(abs(low), abs(high)),
                lowest=low,
                rms=math.sqrt(float(squares) / tensor.numel()),
            ),
        )
        number += 1


def blocks(tensor: Tensor) -> Iterator[Tensor]:
    """Views along the first dimension of about a slice each."""
    if tensor.dim() == 0:
        yield tensor
        return
    size = max(tensor.numel() // tensor.shape[0], 1)
    yield from tensor.split(max(slices.SLICE_ELEMENTS // size, 1))


def _is_fixed(tensor: Tensor) -> bool:
    """All values in {-1, 1}, or all in {0, 1}; stops at the first block that says no."""
    low, high = (float(bound) for bound in torch.aminmax(tensor))
    if (low, high) == (-1.0, 1.0):
        return all(bool((block.abs() == 1).all()) for block in blocks(tensor))
    if low in (0.0, 1.0) and high in (0.0, 1.0):
        return all(bool(((block == 0) | (block == 1)).all()) for block in blocks(tensor))
    return False


def _sums_to_one(tensor: Tensor) -> bool:
    """Each row along the last dimension sums to one within what 16-bit rounding leaves."""
    if tensor.dim() == 0 or tensor.shape[-1] < 2:
        return False
    return all(
        bool(((block.sum(-1, dtype=torch.float32) - 1.0).abs() < 0.02).all())
        for block in blocks(tensor)
    )


def _is_symmetric(tensor: Tensor) -> bool:
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] == 1:
        return False
    corner = tensor[..., :8, :8]
    return torch.equal(corner, corner.mT) and torch.equal(tensor, tensor.mT)


def _structural_zeros(tensor: Tensor) -> Tensor | None:
    """Mask of exact zeros where they are too many to be chance."""
    count = sum(int((block == 0).sum()) for block in blocks(tensor))
    return tensor == 0 if count >= ZERO_SHARE * tensor.numel() else None


def restore(tensor: Tensor, look: Structure) -> None:
    """Puts back the structure that a change broke."""
    if look.symmetric:
        tensor.copy_((tensor + tensor.mT) / 2)
    if look.zeros is not None:
        tensor.masked_fill_(look.zeros, 0.0)
    if look.probabilities:
        tensor.div_(tensor.sum(-1, keepdim=True))
