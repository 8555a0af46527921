"""What one problem is checked with: how it is made small, and its formula in numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray
State = dict[str, Array]
Formula = Callable[[list[Any], State], Array]

# Sizes in the place of the shipped constants: small, and different from each other, so that axes
# taken for one another show. Kernel sizes, strides and the like stay as they are.
SMALL = {
    "BATCH_SIZE": 3,
    "N": 6,
    "M": 5,
    "K": 7,
    "L": 4,
    "DIM": 37,
    "DIM1": 6,
    "DIM2": 5,
    "INNER": 7,
    "COLUMNS": 4,
    "FEATURES": 6,
    "CHANNELS": 4,
    "IN_CHANNELS": 4,
    "OUT_CHANNELS": 6,
    "LENGTH": 23,
    "DEPTH": 5,
    "HEIGHT": 8,
    "WIDTH": 11,
    "NUM_CLASSES": 9,
    "HEADS": 2,
    "SEQUENCE": 5,
    "HEAD_DIM": 8,
}


@dataclass(frozen=True)
class Case:
    """`formula(inputs, state)` gets float64 arrays (scalars as they are) and returns the output.

    `small` replaces constants of the file on top of SMALL; `draws` says whether floating inputs
    become standard normal numbers (`normal`: dead branches come alive) or stay as drawn (`own`).
    """

    formula: Formula
    small: dict[str, Any] = field(default_factory=dict)
    draws: str = "normal"


def matmul(a: Array, b: Array) -> Array:
    """Matrix product as a sum of outer products, one for each inner index; leading axes of `a`
    are kept and `b` is one matrix.
    """
    out = np.zeros((*a.shape[:-1], b.shape[1]))
    for k in range(b.shape[0]):
        out += a[..., k, None] * b[k]
    return out


def along(x: Array, axes: Sequence[int], total: Callable[[Array], Array]) -> Array:
    """`total` of x's `axes` (as one flat axis at the end), axes kept with size 1."""
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    flat = x.transpose(*rest, *axes).reshape(*(x.shape[axis] for axis in rest), -1)
    return total(flat).reshape([1 if axis in axes else n for axis, n in enumerate(x.shape)])


def mean_over(x: Array, axes: Sequence[int]) -> Array:
    return along(x, axes, lambda flat: flat.sum(-1) / flat.shape[-1])


def standardised(x: Array, axes: Sequence[int], eps: float = 1e-5) -> Array:
    """(x - mean) / sqrt(biased variance + eps), both over `axes`."""
    centred = x - mean_over(x, axes)
    return centred / np.sqrt(mean_over(centred * centred, axes) + eps)
