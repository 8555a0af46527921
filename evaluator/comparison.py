"""`check`: is an output right, whatever the scale of the data. Importable alone.

The bound on each element, with e_ref the largest scaled error (see `scaled_error`) that the
strict reference makes at the same precision on the same data:

    |output - oracle| <= factor * unit * (|oracle| + RMS of its row),
    unit = max(e_ref, eps / 4), and never above 1/64 (fp32: max(e_ref, eps))

With the factor of 16 that is 16 times the reference's error and at least 4 eps (fp32: 16). The
upper limit (a quarter at that factor) keeps zeros wrong where a bad reference would let everything
pass: zeros always have a scaled error of at least 1/2 somewhere.

The bound on each of at most 1,024 bins of the flattened output, and on the whole of it, is on
the root mean square E of the scaled errors, the relative L2 error of the bin with every element
measured against its own scale:

    E <= factor * max(unit, element unit / sqrt(elements of the bin)),
    unit = max(E_ref, eps / 16), and never above 1/64 (fp32: max(E_ref, eps / 2))

E_ref is the largest E that the reference has in any bin (which of the rows gets an unlucky
denominator is chance). Rounding errors differ from element to element, so their root mean square
is well below their maximum; a bias is the same everywhere, so its root mean square is close to
its maximum. A constant 4 % at bf16 stays below the bound of the elements and fails here. An
honest kernel with up to 8 times the reference's error passes both: E grows in the same
proportion, one outlier of the element bound among n elements is the term with the root, and
eps / 16 (one eps at factor 16) admits a result rounded twice where the reference is exact. At fp32
both floors are higher, because a running sum carries its errors along a row (see `bounds`).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from evaluator.bounds import FACTOR, Comparison, Tally, element_unit, refused
from evaluator.scaled_error import (
    ErrorPiece,
    ExactError,
    ReferenceErrors,
    RowRms,
    error_source,
    flat,
    measure_reference,
    precision_dtype,
)
from evaluator.slices import Piece, pieces, row_length

__all__ = ["Comparison", "agrees", "check", "check_indices", "reference_errors"]


def mismatch(output: object, expected: Tensor, dtype: torch.dtype) -> str | None:
    """Why `output` cannot be compared at all, or None. Nothing is cast and nothing broadcast."""
    if type(output) not in (Tensor, torch.nn.Parameter):
        return f"the output is a {type(output).__name__}, not a tensor"
    assert isinstance(output, Tensor)
    if output.layout != torch.strided or output.is_quantized or output.is_meta:
        return "the output is not a dense tensor"
    if output.shape != expected.shape:
        return f"the output has shape {list(output.shape)} instead of {list(expected.shape)}"
    if output.dtype != dtype:
        return f"the output is {output.dtype} instead of {dtype}"
    if output.is_complex():
        return "complex outputs are not supported"
    return None


def check(
    output: object,
    oracle: Tensor,
    *,
    precision: str,
    reference_output: Tensor | None = None,
    reference_error: float = 0.0,
    errors: ReferenceErrors | None = None,
    factor: float = FACTOR,
) -> Comparison:
    """Whether `output` is right at `precision` (fp32, bf16, fp16), given the exact result.

    oracle: the result in float64 (or strict fp32), any shape, on any device. reference_output:
    what a strict implementation (TF32 off) gives at this precision on the same data; it sets
    e_ref and the dtype that the output must have. reference_error: a largest scaled error known
    from elsewhere, alone or to widen that one. errors: `reference_errors(...)` of the same data,
    to save measuring it again. With none of them the bound is the floor: at factor 16
    4 eps, 16 at fp32.

    Integers and bools are compared exactly (see `check_indices` for indices under ties). Another
    shape, dtype or type is a failed Comparison, not an exception. NaN is right only where the
    oracle is NaN, an infinity only where the oracle is infinite of the same sign, cannot be
    represented in the precision, or the reference itself overflows the same way.

    Works in slices on the device of the output: below 2 GiB of extra memory at any size, one
    wait for the device at the end; a strided output is copied once. Raises ValueError for an
    unknown precision or a factor that is not positive.
    """
    if not factor > 0.0:
        raise ValueError(f"the factor is a positive number, not {factor}")
    dtype = expected_dtype(oracle, precision, reference_output)
    reason = mismatch(output, oracle, dtype)
    if reason is None and reference_output is not None and reference_output.shape != oracle.shape:
        reason = f"the reference has shape {list(reference_output.shape)}, unlike the oracle"
    if reason is not None:
        return refused(reason)
    assert isinstance(output, Tensor)
    with torch.no_grad():
        scaled = error_source(oracle, precision, output.device)
        if errors is None:
            errors = ReferenceErrors()
            if reference_output is not None:
                errors = measure_reference(reference_output, scaled)
        if reference_error:
            errors = errors.at_least(reference_error)
        base = None
        if reference_output is not None and not errors.reliable:
            base = flat(reference_output)
        bound = factor * element_unit(errors, precision)
        tally = Tally(oracle.shape, output.device, bound, exact=not oracle.is_floating_point())
        for part in scaled.walk(flat(output), base):
            tally.add(part)
        return tally.finish(scaled.squares, errors, precision, factor)


def expected_dtype(oracle: Tensor, precision: str, reference: Tensor | None) -> torch.dtype:
    """The dtype a right output has: the reference's, else the precision's or the oracle's."""
    dtype = precision_dtype(precision)
    if reference is not None:
        return reference.dtype
    return dtype if oracle.is_floating_point() else oracle.dtype


def reference_errors(
    reference_output: Tensor, oracle: Tensor, *, precision: str
) -> ReferenceErrors:
    """The reference's own errors, to be measured once and used for many checks of the same data.

    Both have the same shape (ValueError otherwise). For integers there are none.
    """
    if reference_output.shape != oracle.shape:
        raise ValueError(
            f"shapes {list(reference_output.shape)} and {list(oracle.shape)} are different"
        )
    with torch.no_grad():
        scaled = error_source(oracle, precision, reference_output.device)
        return measure_reference(reference_output, scaled)


def check_indices(output: object, oracle_indices: Tensor, values: Tensor, dim: int) -> Comparison:
    """Whether integer `output` points at the values that the oracle's indices point at.

    For argmax, argmin, topk, sort: `values` is the tensor that was searched along `dim`; the
    indices have its shape with that dimension missing (argmax) or of any size (keepdim, topk).
    Under ties each of the tied indices is right, but none may be named twice in one row. Without
    ties this is equality. An index out of range is wrong.
    """
    reason = mismatch(output, oracle_indices, oracle_indices.dtype)
    if reason is not None:
        return refused(reason)
    assert isinstance(output, Tensor)
    dropped = oracle_indices.dim() < values.dim()
    got = (output.unsqueeze(dim) if dropped else output).detach().to(values.device)
    want = (oracle_indices.unsqueeze(dim) if dropped else oracle_indices).to(values.device)
    inside = (got >= 0) & (got < values.shape[dim])
    found = values.detach().gather(dim, torch.where(inside, got, 0).long())
    target = values.detach().gather(dim, want.long())
    right = inside & ((found == target) | (found.isnan() & target.isnan()))
    if got.shape[dim] > 1:
        order, places = got.sort(dim=dim, stable=True)
        again = torch.zeros_like(right)
        again.narrow(dim, 1, got.shape[dim] - 1).copy_(order.diff(dim=dim) == 0)
        right &= ~torch.zeros_like(right).scatter_(dim, places, again)
    errors = torch.where(right, 0.0, math.inf).double()
    device = errors.device
    scaled = ExactError(oracle_indices, device)
    tally = Tally(output.shape, device, 0.0, exact=True)
    if output.numel():
        piece = Piece(0, 1, output.numel(), 0)
        tally.add(ErrorPiece(piece, errors.reshape(1, -1), errors.max()))
    return tally.finish(scaled.squares, ReferenceErrors(), "fp32", FACTOR)


def agrees(
    output: object,
    reference_output: Tensor,
    *,
    precision: str,
    errors: ReferenceErrors,
    factor: float = FACTOR,
) -> bool:
    """The cheap check of a timed call: against the reference's output, in float32, no oracle.

    Every element within (bound + e_ref) of the reference, scaled by the reference's own
    magnitude and row RMS: an output that `check` accepts on these data is accepted, because
    the distance to the reference is at most the distance to the oracle plus the reference's
    own. `errors`: e_ref from a checked call on data of the same kind. Looks at the elements
    only, not at the bins. Integers and bools: equal. One wait for the device, at the end.
    """
    if mismatch(output, reference_output, reference_output.dtype) is not None:
        return False
    assert isinstance(output, Tensor)
    device, shape = output.device, reference_output.shape
    actual, expected = flat(output), flat(reference_output)
    exact = not expected.is_floating_point()
    allowed = factor * element_unit(errors, precision) + errors.element
    # The scale is taken from the reference instead of the oracle, which is up to e_ref away.
    allowed *= 1.0 + 2.0 * min(errors.element, 1.0)
    if not exact and _plainly_agrees(actual, expected, shape, allowed):
        return True
    wrong = torch.zeros((), dtype=torch.bool, device=device)
    rms = RowRms(expected, shape, device, torch.float32) if not exact else None
    for piece in pieces(shape):
        got, want = piece.of(actual, device), piece.of(expected, device)
        right = (got == want) | ((got != got) & (want != want))
        if rms is not None:
            want = want.float()
            scale = rms.scale(piece, want)
            distance = (got.float() - want).abs_()
            right |= (distance <= scale.mul_(allowed)) & want.isfinite()
        wrong |= ~right.all()
    return not bool(wrong)


def _plainly_agrees(actual: Tensor, expected: Tensor, shape: torch.Size, allowed: float) -> bool:
    """The same in fewer passes, for outputs that need no exception; False settles nothing.

    NaN, infinities, rows of zeros and rows longer than a slice are left to the caller: each of
    them makes a row's norm useless, and then nothing here may count as agreement.
    """
    settled = torch.ones((), dtype=torch.bool, device=expected.device)
    length = row_length(shape)
    for piece in pieces(shape):
        if piece.columns < length:
            return False
        want = piece.of(expected, expected.device).float()
        norm = torch.linalg.vector_norm(want, dim=1, keepdim=True)
        distance = (piece.of(actual, expected.device) - want).abs_()
        limit = want.abs().add_(norm / math.sqrt(length)).mul_(allowed)
        settled &= (distance <= limit).all() & norm.isfinite().all()
    return bool(settled)
