"""Where an output was written, where it is right, and where its errors are.

Two calls whose memory was filled before with two different bytes (sentinels) are looked at
together: an element that shows the first sentinel in the first call and the second one in the
second was never written. All maps have at most 1,024 bins (`evaluator.slices.bin_width`), once
over the flattened output and once folded over the row, the last dimension longer than one: the
share of all rows at each position. A kernel that fills 1,024 of 393,216 columns is 0.3 % in
every bin of the first and two full bins and two thirds of a third in the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from evaluator.bounds import FACTOR, Comparison, Tally, element_unit
from evaluator.comparison import expected_dtype, mismatch
from evaluator.scaled_error import ReferenceErrors, error_source, flat, measure_reference
from evaluator.slices import Bins, Piece, bin_sizes, pieces, row_length

SENTINEL_BYTES = (0x3F, 0xBF)
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

Unwritten = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class PairComparison:
    """Two checked calls. Shares are in [0, 1], maps are lists of at most 1,024 values.

    comparisons: one for each call. written_fraction: share of elements written in either call.
    right_fraction: share of elements written and right in both. error_profile: largest scaled
    error of each bin in units of the reference's error (`bounds.element_unit`), both calls;
    a bin with a wrong NaN or infinity is infinite.
    """

    comparisons: tuple[Comparison, Comparison]
    written_fraction: float
    right_fraction: float
    written_map: list[float]
    written_map_folded: list[float]
    right_map: list[float]
    right_map_folded: list[float]
    error_profile: list[float]
    error_profile_folded: list[float]


class _Map:
    """One quantity over the flattened output and folded over the row."""

    def __init__(self, shape: torch.Size, how: str, device: torch.device) -> None:
        self.length = row_length(shape)
        self.numel = shape.numel()
        self.counting = how == "share"
        dtype = torch.int64 if self.counting else torch.float64
        kind = "sum" if self.counting else "max"
        self.flat = Bins(self.numel, kind, dtype, device)
        self.folded = Bins(self.length, kind, dtype, device)

    def add(self, values: Tensor, piece: Piece) -> None:
        """Adds the values [rows, columns] of a piece."""
        self.flat.add(values, piece.start)
        columns = values.sum(0, dtype=torch.int32) if self.counting else values.amax(0)
        self.folded.add(columns, piece.column)

    def total(self) -> float:
        """The share of all elements, exact: one division of two integers."""
        return int(self.flat.values.sum()) / self.numel

    def lists(self) -> tuple[list[float], list[float]]:
        """The flattened and the folded map: shares of each bin, or its maximum."""
        flattened, folded = self.flat.values.tolist(), self.folded.values.tolist()
        if not self.counting:
            return flattened, folded
        rows = self.numel // self.length
        return (
            [count / size for count, size in zip(flattened, bin_sizes(self.numel), strict=True)],
            [
                count / (size * rows)
                for count, size in zip(folded, bin_sizes(self.length), strict=True)
            ],
        )


def compare_pair(
    outputs: tuple[Tensor, Tensor],
    oracle: Tensor | tuple[Tensor, Tensor],
    *,
    precision: str,
    reference_output: Tensor | tuple[Tensor, Tensor] | None = None,
    errors: ReferenceErrors | None = None,
    factor: float = FACTOR,
    never_written: Tensor | Unwritten | None = None,
) -> PairComparison:
    """Checks the outputs of two calls and maps both at once.

    oracle and reference_output: one for both calls where their inputs were the same, else one
    for each; `errors`, precision and factor as in `comparison.check`. never_written: which
    elements hold no value of the candidate's, as a bool mask of the output's shape or as a
    function of both outputs' slices; by default `shows_sentinels`. Elements that are right in
    both calls count as written whatever it says.

    Memory and waiting as in `check` (below 2.5 GiB at any size). Raises ValueError where
    `check` would refuse an output (shape and dtype are settled before memory is looked at), and
    for outputs without elements.
    """
    oracles = oracle if isinstance(oracle, tuple) else (oracle, oracle)
    references = (
        reference_output
        if isinstance(reference_output, tuple)
        else (reference_output, reference_output)
    )
    for output, exact, base in zip(outputs, oracles, references, strict=True):
        reason = mismatch(output, exact, expected_dtype(exact, precision, base))
        if reason is not None or not output.numel():
            raise ValueError(reason or "there is no element to map")
    device, shape = outputs[0].device, oracles[0].shape
    is_unwritten = never_written if callable(never_written) else shows_sentinels
    mask = flat(never_written) if isinstance(never_written, Tensor) else None
    with torch.no_grad():
        first = error_source(oracles[0], precision, device)
        same = oracles[1] is oracles[0]
        sources = (first, first if same else error_source(oracles[1], precision, device))
        units, tallies, bases = [], [], []
        for source, base in zip(sources, references, strict=True):
            own = errors
            if own is None and units and same and base is references[0]:
                own = units[0]
            elif own is None:
                own = ReferenceErrors() if base is None else measure_reference(base, source)
            units.append(own)
            bound = factor * element_unit(own, precision)
            tallies.append(Tally(shape, device, bound, not oracles[0].is_floating_point()))
            bases.append(flat(base) if base is not None and not own.reliable else None)
        written, right = _Map(shape, "share", device), _Map(shape, "share", device)
        profile = _Map(shape, "max", device)
        flats = [flat(output) for output in outputs]
        for piece in pieces(shape):
            good: Tensor | None = None
            for number in (0, 1):
                part = sources[number].of(piece, flats[number], bases[number])
                within = tallies[number].add(part)
                good = within if good is None else good & within
                part.errors.div_(element_unit(units[number], precision))
                profile.add(part.errors, piece)
            assert good is not None
            if mask is not None:
                untouched = piece.of(mask, device)
            else:
                untouched = is_unwritten(piece.of(flats[0], device), piece.of(flats[1], device))
            written.add(~untouched | good, piece)
            right.add(good, piece)
        comparisons = [
            tally.finish(source.squares, own, precision, factor)
            for tally, source, own in zip(tallies, sources, units, strict=True)
        ]
    written_map, written_folded = written.lists()
    right_map, right_folded = right.lists()
    error_profile, error_folded = profile.lists()
    return PairComparison(
        comparisons=(comparisons[0], comparisons[1]),
        written_fraction=written.total(),
        right_fraction=right.total(),
        written_map=written_map,
        written_map_folded=written_folded,
        right_map=right_map,
        right_map_folded=right_folded,
        error_profile=error_profile,
        error_profile_folded=error_folded,
    )


def shows_sentinels(first: Tensor, second: Tensor) -> Tensor:
    """Where every byte is 0x3F in the first call and 0xBF in the second (bool, same shape)."""
    return _is_filled(first, SENTINEL_BYTES[0]) & _is_filled(second, SENTINEL_BYTES[1])


def _is_filled(values: Tensor, byte: int) -> Tensor:
    """Whether all bytes of an element equal `byte`: compared as one integer of its size."""
    size = values.element_size()
    pattern = int.from_bytes(bytes([byte]) * size, "little", signed=size > 1)
    return values.view(INTEGERS[size]) == pattern
