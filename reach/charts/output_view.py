"""Where a candidate's output was written and right: which of the stored maps to show, in words.

A partial write along the last axis is spread evenly over a flattened output and reads as a blank
strip; folded over the rows it is an edge. Both are stored; the one that varies more is shown, and
the units line says which.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import pvariance
from typing import Any

import polars as pl

from reach.style.formats import counted_word, integer, multiple, share

ALL, NOTHING = 0.9995, 0.0005  # a bin that is written in full, or not at all
MAX_BINS = 1024  # of every map in evaluator.contract.Evidence


@dataclass(frozen=True)
class OutputView:
    """One view of the output in bins of equal width, the last one maybe shorter.

    `written` and `right` are shares in [0, 1] of each bin, `error` the largest scaled error of a
    bin in units of the reference's own (None: not finite), `length` the number of elements along
    the view and `rows` how many rows are folded on each other (1 = flattened). Any of the three
    lists may be empty where it was not recorded.
    """

    folded: bool
    written: list[float]
    right: list[float]
    error: list[float | None]
    length: int
    rows: int
    allowed: float | None

    @property
    def bins(self) -> int:
        """Number of bins, the same for all three."""
        return max(len(self.written), len(self.right), len(self.error))

    @property
    def edges(self) -> list[int]:
        """The first element of each bin, and the end: `bins` + 1 positions from 0."""
        width = max(1, -(-self.length // MAX_BINS))
        if -(-self.length // width) != self.bins:  # written with another number of bins
            return [i * self.length // self.bins for i in range(self.bins + 1)]
        return [*range(0, self.length, width), self.length]

    def mean(self, values: Sequence[float]) -> float | None:
        """The share over the whole view of shares given by bin; None without any."""
        edges = self.edges
        sizes = [stop - start for start, stop in itertools.pairwise(edges)]
        total = sum(value * size for value, size in zip(values, sizes, strict=False))
        return total / self.length if values else None

    def written_ahead(self) -> int | None:
        """How many elements from the start are written, if none after them is.

        None where the view is written in full, not at all, or with holes.
        """
        full = next((i for i, part in enumerate(self.written) if part < ALL), self.bins)
        rest = self.written[full + 1 :]
        if full == self.bins or any(part > NOTHING for part in rest):
            return None
        start, stop = self.edges[full : full + 2]
        ahead = start + round(self.written[full] * (stop - start))
        # a first bin that is written in part may have its holes anywhere
        return ahead if full else None


def _variation(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return round(pvariance(known), 9) if len(known) > 1 else 0.0


def _views(evidence: Mapping[str, Any]) -> list[OutputView]:
    shape = [int(size) for size in evidence.get("output_shape") or []]
    total = math.prod(shape) if shape else 0
    row = next((size for size in reversed(shape) if size != 1), 1)
    found = []
    for folded in (False, True):
        suffix = "_folded" if folded else ""
        length = row if folded else total
        view = OutputView(
            folded=folded,
            written=list(evidence.get(f"written_map{suffix}") or []),
            right=list(evidence.get(f"right_map{suffix}") or []),
            error=list(evidence.get(f"error_profile{suffix}") or []),
            length=length,
            rows=total // length if folded and length else 1,
            allowed=evidence.get("bound_factor"),
        )
        # bins without a shape still have an order: count in bins
        found.append(view if length >= view.bins else replace(view, length=view.bins))
    return [view for view in found if view.bins > 1]


def choose_view(evidence: Mapping[str, Any]) -> OutputView | None:
    """The view of `evidence` (fields of `evaluator.contract.Evidence`) whose bins vary more.

    The written map decides; where both are equal, the right map, then the error's magnitude; the
    flattened one on a tie. None where no map was stored or the output has a single bin.
    """
    return max(
        _views(evidence),
        key=lambda view: (
            _variation(view.written),
            _variation(view.right),
            _variation([math.log10(e) if e else None for e in view.error]),
        ),
        default=None,
    )


def view_finding(view: OutputView) -> str:
    """What the map shows, as a sentence that can be false (Markdown)."""
    ahead = view.written_ahead()
    if ahead is not None:
        whole = "each row's" if view.folded else "the output's"
        return (
            f"Of {whole} {integer(view.length)} elements, only the first {integer(ahead)} "
            "are written"
        )
    if view.written and max(view.written) < NOTHING:
        return "Nothing of the output is written"
    written, right = view.mean(view.written), view.mean(view.right)
    if written is not None and written < ALL:
        return f"{share(written)} of the output is written, the rest never"
    start = "By position" if written is None else "Every element is written"
    if right == 0:
        return f"{start}, and none is right"
    if right is not None and right < 1:
        return f"{start}, but only {share(right)} are right"
    return f"{start}{_error_clause(view)}"


def _error_clause(view: OutputView) -> str:
    known = [value for value in view.error if value is not None]
    if len(known) < len(view.error):
        return ", and some are not numbers"
    if not known or not view.allowed:
        return ""
    if max(known) == 0:
        return ", and none has an error"
    verb = "stays at" if max(known) <= view.allowed else "reaches"
    return (
        f", and the error {verb} {multiple(max(known))} times PyTorch's own, "
        f"{view.allowed:g} allowed"
    )


def view_units(view: OutputView) -> str:
    """The line under the finding: which view this is, its bins, and what stands below."""
    bins = f"cut into {integer(view.bins)} bins"
    if view.folded:
        what = f"One output row, folded over all {counted_word(view.rows, 'row')} and {bins}"
    else:
        what = f"The whole output, {integer(view.length)} elements in memory order, {bins}"
    return f"{what}; below, the largest error of each bin" if view.error else what


def view_frame(view: OutputView) -> pl.DataFrame:
    """The map as a table, one row a bin; columns that were not recorded are null."""
    edges, nothing = view.edges, [None] * view.bins
    return pl.DataFrame(
        {
            "bin": range(view.bins),
            "first_element": edges[:-1],
            "last_element": [stop - 1 for stop in edges[1:]],
            "written_share": view.written or nothing,
            "right_share": view.right or nothing,
            "error_times_reference": view.error or nothing,
        },
        schema_overrides={
            "written_share": pl.Float64,
            "right_share": pl.Float64,
            "error_times_reference": pl.Float64,
        },
    )
