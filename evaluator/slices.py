"""Walking a tensor in slices, and sums or maxima over at most 1,024 bins of it.

Everything that looks at a whole output goes through here, so that 1.6e9 elements never need
more than a few slices of extra memory, and so that bins mean the same thing everywhere.

A *row* is the last dimension that is longer than one (`[2048, 1]` is one row of 2,048; a
0-dimensional tensor is one row of one element).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

# 2**25 float64 elements are 256 MiB: a check keeps about five such temporaries alive.
SLICE_ELEMENTS = 2**25
MAX_BINS = 1024


def bin_width(length: int) -> int:
    """Elements in each bin when `length` positions are cut into at most 1,024 bins.

    Bin b covers positions b * width up to (b + 1) * width; the last bin may be shorter, and
    there are ceil(length / width) of them. This is the only definition of the bin edges.
    """
    return max(1, -(-length // MAX_BINS))


def bin_sizes(length: int) -> list[int]:
    """The number of positions in each bin of `length` positions."""
    width = bin_width(length)
    return [min(width, length - start) for start in range(0, length, width)]


def row_length(shape: Sequence[int]) -> int:
    """The length of a row: the last dimension longer than one, or 1 if there is none."""
    return next((size for size in reversed(shape) if size != 1), 1)


@dataclass(frozen=True)
class Piece:
    """A block of `rows` whole rows, or a stretch of one row (then `column` says where)."""

    start: int
    rows: int
    columns: int
    column: int

    def of(self, flat: Tensor, device: torch.device) -> Tensor:
        """These elements of a flattened tensor, as [rows, columns] on `device`."""
        stop = self.start + self.rows * self.columns
        return flat[self.start : stop].view(self.rows, self.columns).to(device)


def pieces(shape: Sequence[int], slice_elements: int | None = None) -> Iterator[Piece]:
    """Cuts a contiguous tensor of this shape into pieces of at most `slice_elements`.

    Whole rows where a row fits, stretches of one row where it does not; in memory order.
    `slice_elements` is SLICE_ELEMENTS unless given.
    """
    limit = SLICE_ELEMENTS if slice_elements is None else slice_elements
    length = row_length(shape)
    rows = torch.Size(shape).numel() // length if length else 0
    if length <= limit:
        step = limit // max(length, 1)
        for row in range(0, rows, step):
            yield Piece(row * length, min(step, rows - row), length, 0)
        return
    for row in range(rows):
        for column in range(0, length, limit):
            yield Piece(row * length + column, 1, min(limit, length - column), column)


class Bins:
    """Sums or maxima over the bins of a line of `length` positions, kept on the device."""

    def __init__(
        self, length: int, how: Literal["sum", "max"], dtype: torch.dtype, device: torch.device
    ) -> None:
        self.width = bin_width(length)
        self.how = how
        self.values = torch.zeros(-(-length // self.width), dtype=dtype, device=device)

    def add(self, values: Tensor, offset: int) -> None:
        """Adds contiguous `values` that start at position `offset` of the line."""
        line = values.reshape(-1)
        head = min(line.numel(), -offset % self.width)
        whole = (line.numel() - head) // self.width * self.width
        for start, stop in ((0, head), (head, head + whole), (head + whole, line.numel())):
            if stop > start:
                width = min(self.width, stop - start)
                self._merge((offset + start) // self.width, line[start:stop].view(-1, width))

    def _merge(self, first: int, block: Tensor) -> None:
        target = self.values[first : first + len(block)]
        if self.how == "max":
            torch.maximum(target, block.amax(1), out=target)
        else:
            # Counts of bools: int32 halves the temporary that torch makes for the cast.
            counting = block.dtype == torch.bool
            target += block.sum(1, dtype=torch.int32 if counting else self.values.dtype)
