"""The error of an output in units of what the data are worth, element by element.

    scaled error = |output - oracle| / (|oracle| + RMS of the oracle's row)

It does not change when all values are multiplied by a constant, so outputs of 1e-6 are held to
as many digits as outputs of 1e3, and an answer of zeros has a scaled error of at least 1/2
somewhere, always. Adding the row's RMS keeps a value that cancels to nearly zero from asking
for digits that no summation has.

`ReferenceErrors` measures the same for the strict reference (TF32 off) at the precision under
test: what an implementation can be asked for on these very data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from evaluator.slices import Bins, Piece, bin_sizes, pieces, row_length

# A reference further off than this is no measure: zeros are at least 1/2 off somewhere.
RELIABLE_ERROR = 1 / 4
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def precision_dtype(precision: str) -> torch.dtype:
    """The torch dtype of `fp32`, `bf16` or `fp16`. Raises ValueError for anything else."""
    if precision not in DTYPES:
        raise ValueError(f"precision is one of {', '.join(DTYPES)}, not {precision!r}")
    return DTYPES[precision]


def epsilon(precision: str) -> float:
    """Distance from 1 to the next number of the precision (2^-23, 2^-7, 2^-10)."""
    return torch.finfo(precision_dtype(precision)).eps


def flat(tensor: Tensor) -> Tensor:
    """`tensor` without gradient, contiguous and flattened (a copy only where strided)."""
    return tensor.detach().contiguous().reshape(-1)


@dataclass(frozen=True)
class ErrorPiece:
    """The scaled errors of one piece: float64 [rows, columns], and where it lies.

    `squares` is the sum of the squared plain errors (a scalar tensor). Wrong kinds of numbers
    have an infinite error.
    """

    piece: Piece
    errors: Tensor
    squares: Tensor


class RowRms:
    """Root mean square of each row's finite values, piece by piece, computed in `dtype`.

    A row of zeros takes the RMS of the whole tensor: in such a row every rounding error would
    be infinitely wrong, though the same error is invisible beside the other rows.
    """

    def __init__(
        self, values: Tensor, shape: torch.Size, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.length = row_length(shape)
        self.squares = torch.zeros((), dtype=torch.float64, device=device)
        self.long_rows: dict[int, Tensor] = {}
        for piece in pieces(shape):
            norm = self._norm(finite_magnitude(piece.of(values, device).to(dtype)).view(1, -1))
            squares = norm.square().sum()
            self.squares = self.squares + squares
            if piece.columns < self.length:
                row = piece.start // self.length
                self.long_rows[row] = self.long_rows.get(row, 0.0) + squares
        self.whole = (self.squares / max(values.numel(), 1)).sqrt()

    @staticmethod
    def _norm(magnitude: Tensor) -> Tensor:
        """float64 norm of each row; squares of float32 numbers would underflow below 1e-23."""
        return torch.linalg.vector_norm(magnitude, dim=1, keepdim=True, dtype=torch.float64)

    def scale(self, piece: Piece, values: Tensor) -> Tensor:
        """|values| + RMS of its row, [rows, columns], in the dtype of `values`; never negative."""
        magnitude = finite_magnitude(values)
        if piece.columns < self.length:
            rms = (self.long_rows[piece.start // self.length] / self.length).sqrt().view(1, 1)
        else:
            rms = self._norm(magnitude) / math.sqrt(self.length)
        return magnitude.add_(torch.where(rms > 0.0, rms, self.whole).to(values.dtype))


def finite_magnitude(values: Tensor) -> Tensor:
    """|values|, with 0 for NaN and infinities (a new tensor)."""
    return values.abs().nan_to_num_(nan=0.0, posinf=0.0)


class ScaledError:
    """Scaled errors against one floating oracle, piece by piece, on one device.

    The oracle (float64 best) may live on another device than the outputs. Its values beyond the
    largest number of `precision` count as infinities: that is what a right output holds there.
    """

    def __init__(self, oracle: Tensor, precision: str, device: torch.device) -> None:
        finfo = torch.finfo(precision_dtype(precision))
        self.shape = oracle.shape
        self.device = device
        self.oracle = flat(oracle)
        self.largest = finfo.max
        self.smallest = finfo.smallest_normal * finfo.eps
        self.rounding = 4 * finfo.eps
        self.rms = RowRms(self.oracle, oracle.shape, device, torch.float64)
        self.squares = self.rms.squares

    def of(self, piece: Piece, output: Tensor, reference: Tensor | None = None) -> ErrorPiece:
        """Scaled errors of a flattened output in one piece.

        With a flattened `reference`, an element at which the reference itself is finite where
        the oracle is not, or the other way round, or is off by more than `RELIABLE_ERROR`, is no
        error if the output is what the reference is there, up to 4 eps.
        """
        expected = piece.of(self.oracle, self.device).double()
        # Only the last resort of an oracle that is zero throughout: then no error is small.
        scale = self.rms.scale(piece, expected).clamp_min_(self.smallest)
        overflow = expected.abs() > self.largest
        expected = torch.where(overflow, expected.sign() * math.inf, expected)
        actual = piece.of(output, self.device).double()
        same = (actual == expected) | (actual.isnan() & expected.isnan())
        if reference is not None:
            base = piece.of(reference, self.device).double()
            failed = expected.isfinite() ^ base.isfinite()
            failed |= (base - expected).abs_() > RELIABLE_ERROR * scale
            alike = (actual == base) | (actual.isnan() & base.isnan())
            alike |= (actual - base).abs_() <= self.rounding * base.abs()
            same |= failed & alike
        # Not in place: an output in float64 would be changed.
        difference = (actual - expected).abs_().masked_fill_(same, 0.0)
        difference.nan_to_num_(nan=math.inf, posinf=math.inf)
        squares = torch.linalg.vector_norm(difference).square()
        return ErrorPiece(piece, difference.div_(scale), squares)

    def walk(self, output: Tensor, reference: Tensor | None = None) -> Iterator[ErrorPiece]:
        """`of` for every piece, in memory order."""
        for piece in pieces(self.shape):
            yield self.of(piece, output, reference)


class ExactError(ScaledError):
    """The same for integers and bools: an error is 0 where equal and infinite elsewhere."""

    def __init__(self, oracle: Tensor, device: torch.device) -> None:
        self.shape = oracle.shape
        self.device = device
        self.oracle = flat(oracle)
        self.squares = torch.zeros((), dtype=torch.float64, device=device)

    def of(self, piece: Piece, output: Tensor, reference: Tensor | None = None) -> ErrorPiece:
        """0 where equal, else infinity; a reference excuses nothing."""
        equal = piece.of(output, self.device) == piece.of(self.oracle, self.device)
        errors = torch.where(equal, 0.0, math.inf).double()
        return ErrorPiece(piece, errors, errors.max())


def error_source(oracle: Tensor, precision: str, device: torch.device) -> ScaledError:
    """What measures errors against this oracle. Raises ValueError for an unknown precision."""
    precision_dtype(precision)
    if oracle.is_floating_point():
        return ScaledError(oracle, precision, device)
    return ExactError(oracle, device)


@dataclass(frozen=True)
class ReferenceErrors:
    """What the strict reference itself gets wrong: the unit of every bound.

    element: its largest scaled error; bin: the largest root mean square of its scaled errors in
    any bin of the flattened output; failures: elements at which it is not the kind of number
    that the oracle is (overflow).
    """

    element: float = 0.0
    bin: float = 0.0
    failures: int = 0

    @property
    def reliable(self) -> bool:
        """Whether the reference is everywhere close enough to the oracle to be a measure."""
        return not self.failures and self.element <= RELIABLE_ERROR

    def pooled(self, other: ReferenceErrors) -> ReferenceErrors:
        """The larger of both: for outputs of few elements, whose one error may be luckily small."""
        return ReferenceErrors(
            max(self.element, other.element), max(self.bin, other.bin), self.failures
        )

    def at_least(self, element: float) -> ReferenceErrors:
        """Widened to a largest error that is known from elsewhere.

        The root mean square is then taken as half of it: a root mean square is never above the
        maximum, so an output with 8 times the reference's error stays within 16 times this.
        """
        return self.pooled(ReferenceErrors(element, element / 2.0))


def measure_reference(reference: Tensor, scaled: ScaledError) -> ReferenceErrors:
    """The reference's own errors against the oracle of `scaled` (one read back to the host)."""
    numel = reference.numel()
    if not numel:
        return ReferenceErrors()
    squares = Bins(numel, "sum", torch.float64, scaled.device)
    largest = failures = torch.zeros((), dtype=torch.float64, device=scaled.device)
    for part in scaled.walk(flat(reference)):
        failed = part.errors.isinf()
        failures = failures + failed.sum()
        errors = part.errors.masked_fill_(failed, 0.0)
        largest = torch.maximum(largest, errors.max())
        squares.add(errors.square_(), part.piece.start)
    sizes = torch.tensor(bin_sizes(numel), dtype=torch.float64, device=scaled.device)
    worst = (squares.values / sizes).sqrt().max()
    summary = torch.stack([largest, worst, failures]).tolist()
    return ReferenceErrors(summary[0], summary[1], int(summary[2]))
