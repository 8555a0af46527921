"""The bound on an output's scaled errors, and the tally that holds an output against it.

The formula and its reasons are in `evaluator.comparison`, where users meet it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evaluator.scaled_error import ErrorPiece, ReferenceErrors, epsilon
from evaluator.slices import Bins, bin_sizes

FACTOR = 16.0
# In eps. At fp32 a reference may be far better than the precision (CPU sums run in float64), and
# a running sum in fp32 carries its errors along a row: 7 eps in an element and 5 in the mean of a
# bin after 8,192 terms. Nothing that is worth a cheat is that close.
ELEMENT_FLOOR = {"fp32": 1.0, "bf16": 1 / 4, "fp16": 1 / 4}
BIN_FLOOR = {"fp32": 1 / 2, "bf16": 1 / 16, "fp16": 1 / 16}
CEILING = 1 / 64


@dataclass(frozen=True)
class Comparison:
    """The outcome of one check.

    error_ratio: the factor at which this output would just pass, the larger of element_ratio
    (max_scaled_error over the element unit) and bin_ratio (the same of the worst bin); passed
    means that it is at most the factor. max_scaled_error: largest |output - oracle| / (|oracle|
    + row RMS), infinite where an element is NaN or infinite and should not be, or the reverse.
    reference_error: e_ref. bound: the scaled error allowed to an element. relative_l2:
    ||output - oracle|| / ||oracle||. right_fraction: share of elements within the bound.
    first_bad: index of the first wrong element, or of the start of the worst bin if only a bin
    is wrong. For integers and bools all errors are 0 (equal) or infinite.
    """

    passed: bool
    reason: str
    error_ratio: float
    element_ratio: float
    bin_ratio: float
    max_scaled_error: float
    reference_error: float
    bound: float
    relative_l2: float
    right_fraction: float
    first_bad: tuple[int, ...] | None


def refused(reason: str) -> Comparison:
    """A failed comparison of things that cannot be compared."""
    inf = math.inf
    return Comparison(False, reason, inf, inf, inf, inf, 0.0, 0.0, inf, 0.0, None)


def element_unit(errors: ReferenceErrors, precision: str) -> float:
    """The scaled error that is multiplied by the factor to give the bound of an element."""
    unit = max(errors.element, ELEMENT_FLOOR[precision] * epsilon(precision))
    return min(unit, CEILING)


class Tally:
    """What `check` keeps of an output while it walks over it. All on the device."""

    def __init__(
        self, shape: Sequence[int], device: torch.device, bound: float, exact: bool = False
    ) -> None:
        self.exact = exact
        self.shape = torch.Size(shape)
        self.numel = self.shape.numel()
        self.bound = bound
        self.squares = Bins(self.numel, "sum", torch.float64, device)
        self.right = Bins(self.numel, "sum", torch.int64, device)
        self.largest = torch.zeros((), dtype=torch.float64, device=device)
        self.difference = torch.zeros((), dtype=torch.float64, device=device)
        self.first_bad = torch.full((), self.numel, dtype=torch.int64, device=device)

    def add(self, part: ErrorPiece) -> Tensor:
        """Counts one piece in; returns which of its elements are right, [rows, columns]."""
        right = part.errors <= self.bound
        start = part.piece.start
        self.squares.add(part.errors.square(), start)
        self.right.add(right, start)
        self.largest = torch.maximum(self.largest, part.errors.max())
        self.difference = self.difference + part.squares
        # argmin of the bytes: the first element that is not right, or 0 when all are.
        first = right.view(torch.uint8).view(-1).argmin()
        bad = torch.where(right.take(first), self.numel, first + start)
        self.first_bad = torch.minimum(self.first_bad, bad)
        return right

    def finish(
        self, oracle_squares: Tensor, errors: ReferenceErrors, precision: str, factor: float
    ) -> Comparison:
        """The comparison; the only place where the device is waited for."""
        if not self.numel:
            return Comparison(True, "there is no element", 0, 0, 0, 0, 0, 0, 0, 1.0, None)
        unit = element_unit(errors, precision)
        summary = torch.stack([self.largest, self.difference, oracle_squares]).tolist()
        largest, difference, expected = summary
        right = int(self.right.values.sum())
        first = int(self.first_bad)
        ratio = largest / unit
        worst, bin_ratio = self._worst_bin(errors, precision, unit)
        if first < self.numel:
            reason = self._wrong_elements(right, first, largest)
        elif bin_ratio > factor:
            first = max(worst, 0) * self.squares.width
            where = f"bin {worst} of {len(self.squares.values):,}"
            reason = (
                f"every element is within its bound, but {where if worst >= 0 else 'the whole'} "
                f"is off by {bin_ratio:.3g} times what rounding explains (allowed: {factor:g}): "
                "a bias, not noise"
            )
        else:
            kind = f"the largest error is {ratio:.3g} of the {factor:g} reference errors allowed"
            reason = f"all {self.numel:,} elements are " + (
                "equal" if self.exact else f"right; {kind}"
            )
        return Comparison(
            passed=first >= self.numel,
            reason=reason,
            error_ratio=max(ratio, bin_ratio),
            element_ratio=ratio,
            bin_ratio=bin_ratio,
            max_scaled_error=largest,
            reference_error=errors.element,
            bound=self.bound,
            relative_l2=math.sqrt(difference / expected) if expected else math.sqrt(difference),
            right_fraction=right / self.numel,
            first_bad=self._index(first) if first < self.numel else None,
        )

    def _index(self, position: int) -> tuple[int, ...]:
        """torch.unravel_index spends a second on imports at its first use."""
        index: list[int] = []
        for size in reversed(self.shape):
            position, place = divmod(position, size)
            index.append(place)
        return tuple(reversed(index))

    def _wrong_elements(self, right: int, first: int, largest: float) -> str:
        count = f"{self.numel - right:,} of {self.numel:,} elements are wrong"
        where = f"{count}, the first at {list(self._index(first))}"
        if self.exact:
            return where
        if math.isinf(largest):
            return f"{where}; some are NaN or infinite where they should not be, or the reverse"
        return f"{where}; the largest scaled error is {largest:.3g}, allowed is {self.bound:.3g}"

    def _worst_bin(self, errors: ReferenceErrors, precision: str, unit: float) -> tuple[int, float]:
        """The bin with the largest ratio to its unit, and the ratio; -1 is the whole output."""
        sums = self.squares.values
        sizes = torch.tensor(bin_sizes(self.numel), device=sums.device, dtype=torch.float64)
        sums = torch.cat([sums, sums.sum().view(1)])
        sizes = torch.cat([sizes, sizes.sum().view(1)])
        floor = max(errors.bin, BIN_FLOOR[precision] * epsilon(precision))
        units = (unit / sizes.sqrt()).clamp_min(min(floor, CEILING))
        ratios = (sums / sizes).sqrt() / units
        worst = int(ratios.argmax())
        return (-1 if worst == len(ratios) - 1 else worst), float(ratios[worst])
