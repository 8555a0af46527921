"""The scale-invariant check: what passes, what fails, and that slices change nothing."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from evaluator import slices
from evaluator.bounds import element_unit
from evaluator.comparison import agrees, check, check_indices, reference_errors
from evaluator.scaled_error import DTYPES, ReferenceErrors, epsilon

PRECISIONS = list(DTYPES)


def softmax_case(precision: str, rows: int = 64, columns: int = 500) -> tuple[Tensor, Tensor]:
    """Reference output at the precision and the float64 oracle, from drawn inputs."""
    generator = torch.Generator().manual_seed(7)
    x = torch.rand(rows, columns, generator=generator).to(DTYPES[precision])
    return torch.softmax(x, 1), torch.softmax(x.double(), 1)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_reference_itself_is_its_own_unit(precision: str) -> None:
    reference, oracle = softmax_case(precision)
    result = check(reference, oracle, precision=precision, reference_output=reference)
    assert result.passed and result.right_fraction == 1.0 and result.first_bad is None
    assert result.error_ratio <= 1.0
    assert result.bound >= 4 * epsilon(precision)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_zeros_fail_at_every_scale(precision: str, scale: float) -> None:
    reference, oracle = softmax_case(precision, columns=50)
    reference, oracle = reference.mul(scale), oracle.mul(scale)
    zeros = torch.zeros_like(reference)
    result = check(zeros, oracle, precision=precision, reference_output=reference)
    assert not result.passed and result.right_fraction < 0.01
    assert result.max_scaled_error >= 0.5


@settings(deadline=None, max_examples=30)
@given(st.integers(-12, 12), st.sampled_from(["fp32", "bf16"]))
def test_verdict_and_ratio_do_not_depend_on_the_scale(exponent: int, precision: str) -> None:
    reference, oracle = softmax_case(precision)
    output = (oracle * 1.004).to(reference.dtype)
    plain = check(output, oracle, precision=precision, reference_output=reference)
    factor = 2.0**exponent
    scaled = check(
        output * factor, oracle * factor, precision=precision, reference_output=reference * factor
    )
    assert scaled.passed == plain.passed
    assert scaled.error_ratio == pytest.approx(plain.error_ratio, rel=1e-12)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("multiple", [2.0, 8.0])
def test_up_to_eight_times_the_references_error_passes(precision: str, multiple: float) -> None:
    reference, oracle = softmax_case("bf16" if precision == "bf16" else "fp32")
    reference = reference.to(DTYPES[precision])
    errors = reference.double() - oracle
    output = (oracle + multiple * errors.flip(0)).to(reference.dtype)
    assert check(output, oracle, precision=precision, reference_output=reference).passed


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_bias_below_the_element_bound_fails_in_the_bins(precision: str) -> None:
    reference, oracle = softmax_case(precision)
    errors = reference_errors(reference, oracle, precision=precision)
    steepest = 0.62  # the largest |oracle| / (|oracle| + row RMS) of these data is just below
    bias = 0.85 * 16 * element_unit(errors, precision) / steepest
    output = (oracle * (1.0 + bias)).to(reference.dtype)
    result = check(output, oracle, precision=precision, reference_output=reference)
    assert result.right_fraction == 1.0 and result.element_ratio < 16
    assert not result.passed and result.bin_ratio > 16 and "bias" in result.reason
    assert result.first_bad is not None


def test_one_bad_bin_is_found_and_named() -> None:
    reference, oracle = softmax_case("bf16", 1024, 64)
    output = reference.clone()
    output[700] = (oracle[700] * 1.04).to(output.dtype)
    result = check(output, oracle, precision="bf16", reference_output=reference)
    assert not result.passed and result.first_bad == (700, 0) and "bin 700" in result.reason


def test_a_lower_precision_inside_fp32_fails() -> None:
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.rand(128, 256, generator=generator) for _ in range(2))
    oracle, reference = a.double() @ b.double().T, a @ b.T
    half = (a.half() @ b.half().T).float()
    assert not check(half, oracle, precision="fp32", reference_output=reference).passed
    split = sum((a[:, i::4] @ b[:, i::4].T for i in range(4)), torch.zeros(128, 128))
    assert check(split, oracle, precision="fp32", reference_output=reference).passed


def test_first_bad_index_and_share_are_exact() -> None:
    reference, oracle = softmax_case("fp32", 10, 20)
    output = reference.clone()
    output[3, 7] *= 1.5
    output[9, 0] = -1.0
    result = check(output, oracle, precision="fp32", reference_output=reference)
    assert result.first_bad == (3, 7) and result.right_fraction == 198 / 200


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_where_the_oracle_is_finite_is_wrong(bad: float) -> None:
    reference, oracle = softmax_case("fp32", 4, 8)
    output = reference.clone()
    output[2, 3] = bad
    result = check(output, oracle, precision="fp32", reference_output=reference)
    assert not result.passed and result.first_bad == (2, 3)
    assert math.isinf(result.error_ratio) and result.right_fraction == 31 / 32


def test_kinds_of_non_finite_must_match() -> None:
    oracle = torch.tensor([[math.nan, math.inf, -math.inf, 1.0]], dtype=torch.float64)
    same = oracle.float()
    assert check(same, oracle, precision="fp32", reference_output=same).passed
    for index, wrong in ((0, 1.0), (1, -math.inf), (1, math.nan), (2, 3e38), (2, math.inf)):
        output = same.clone()
        output[0, index] = wrong
        result = check(output, oracle, precision="fp32", reference_output=same)
        assert not result.passed and result.first_bad == (0, index)


def test_overflow_of_the_precision_and_of_the_reference() -> None:
    oracle = torch.tensor([[1.0, 1e6]], dtype=torch.float64)
    overflow = torch.tensor([[1.0, math.inf]]).half()
    assert check(overflow, oracle, precision="fp16").passed
    small = torch.tensor([[1.0, 300.0]], dtype=torch.float64)  # its square overflows fp16
    result = check(overflow, small, precision="fp16", reference_output=overflow)
    assert result.passed, "the reference overflows in the same way"
    assert not check(overflow, small, precision="fp16").passed
    assert check(small.half(), small, precision="fp16", reference_output=overflow).passed


def test_shape_dtype_and_type_are_reasons_not_exceptions() -> None:
    reference, oracle = softmax_case("bf16", 4, 8)

    class Agreeable(Tensor):
        pass

    for output, word in (
        (reference[:1], "shape"),
        (reference.reshape(8, 4), "shape"),
        (reference.float(), "float32"),
        (reference.as_subclass(Agreeable), "Agreeable"),
        ([reference], "list"),
        (0.5, "float"),
        (None, "NoneType"),
        (reference.to_sparse(), "dense"),
    ):
        result = check(output, oracle, precision="bf16", reference_output=reference)
        assert not result.passed and word in result.reason
    assert not check(oracle, oracle, precision="bf16").passed, "float64 is not bf16"
    with pytest.raises(ValueError, match="precision"):
        check(reference, oracle, precision="int4")
    with pytest.raises(ValueError, match="factor"):
        check(reference, oracle, precision="bf16", factor=0.0)


def test_scalars_and_empty_outputs() -> None:
    oracle = torch.tensor(8.3591, dtype=torch.float64)
    assert check(oracle.float(), oracle, precision="fp32").passed
    assert not check(oracle.float() * 1.00001, oracle, precision="fp32").passed
    assert check(torch.zeros(()), torch.zeros(()).double(), precision="fp32").passed
    assert not check(torch.full((), 1e-9), torch.zeros(()).double(), precision="fp32").passed
    assert check(torch.zeros(0, 3), torch.zeros(0, 3).double(), precision="fp32").passed


def test_rows_of_zeros_are_measured_against_the_whole() -> None:
    oracle = torch.zeros(4, 16, dtype=torch.float64)
    oracle[1] = 1.0
    reference = oracle.float()
    dust = reference.clone()
    dust[2] = 1e-9
    assert check(dust, oracle, precision="fp32", reference_output=reference).passed
    dust[2] = 1e-3
    assert not check(dust, oracle, precision="fp32", reference_output=reference).passed


def test_a_bad_reference_does_not_make_zeros_right() -> None:
    oracle = torch.linspace(0.1, 1.0, 4096, dtype=torch.float64).view(8, 512)
    reference = (oracle * 1.08).to(torch.bfloat16)
    zeros = torch.zeros_like(reference)
    assert not check(zeros, oracle, precision="bf16", reference_output=reference).passed
    assert check(reference, oracle, precision="bf16", reference_output=reference).passed


def test_a_number_stands_in_for_the_reference() -> None:
    reference, oracle = softmax_case("fp32")
    noise = torch.randn(oracle.shape, generator=torch.Generator().manual_seed(3)).double()
    output = (oracle * (1.0 + 2e-6 * noise)).float()
    assert not check(output, oracle, precision="fp32").passed
    assert check(output, oracle, precision="fp32", reference_error=2e-6).passed
    errors = reference_errors(reference, oracle, precision="fp32")
    assert check(output, oracle, precision="fp32", errors=errors.at_least(2e-6)).passed
    assert errors.pooled(errors.at_least(2e-6)).element == 2e-6


def test_integers_and_bools_are_exact() -> None:
    oracle = torch.arange(12).view(3, 4)
    assert check(oracle.clone(), oracle, precision="bf16").passed
    output = oracle.clone()
    output[2, 1] += 1
    result = check(output, oracle, precision="bf16")
    assert not result.passed and result.first_bad == (2, 1)
    assert result.right_fraction == 11 / 12
    assert not check(oracle.int(), oracle, precision="fp32").passed
    assert not check(oracle > 5, oracle > 6, precision="fp32").passed
    assert check(oracle > 5, oracle > 5, precision="fp32").passed


def test_indices_are_exact_but_for_ties() -> None:
    values = torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]])
    oracle = torch.tensor([1, 0])
    assert check_indices(torch.tensor([1, 0]), oracle, values, 1).passed
    assert check_indices(torch.tensor([2, 0]), oracle, values, 1).passed
    wrong = check_indices(torch.tensor([2, 2]), oracle, values, 1)
    assert not wrong.passed and wrong.first_bad == (1,)
    assert not check_indices(torch.tensor([3, 0]), oracle, values, 1).passed
    assert not check_indices(torch.tensor([-2, 0]), oracle, values, 1).passed
    assert not check_indices(torch.tensor([[1], [0]]), oracle, values, 1).passed
    kept = oracle.view(2, 1)
    assert check_indices(torch.tensor([[2], [0]]), kept, values, 1).passed
    top = torch.tensor([[1, 2], [0, 2]])
    assert check_indices(torch.tensor([[2, 1], [0, 2]]), top, values, 1).passed
    assert not check_indices(torch.tensor([[1, 1], [0, 2]]), top, values, 1).passed


@pytest.mark.parametrize("limit", [7, 64, 100, 1000])
@pytest.mark.parametrize("shape", [(9, 37), (333,), (5, 37, 1), (2, 3, 61)])
def test_slices_change_nothing(
    monkeypatch: pytest.MonkeyPatch, limit: int, shape: tuple[int, ...]
) -> None:
    generator = torch.Generator().manual_seed(5)
    oracle = torch.randn(shape, generator=generator).double()
    reference = oracle.to(torch.bfloat16)
    output = reference.clone()
    output.view(-1)[[20, 180]] += 1.0
    whole = check(output, oracle, precision="bf16", reference_output=reference)
    errors = reference_errors(reference, oracle, precision="bf16")
    monkeypatch.setattr(slices, "SLICE_ELEMENTS", limit)
    sliced = check(output, oracle, precision="bf16", reference_output=reference)
    assert sliced.first_bad == whole.first_bad and sliced.right_fraction == whole.right_fraction
    assert sliced.max_scaled_error == pytest.approx(whole.max_scaled_error, rel=1e-12)
    assert sliced.bin_ratio == pytest.approx(whole.bin_ratio, rel=1e-12)
    assert sliced.relative_l2 == pytest.approx(whole.relative_l2, rel=1e-12)
    again = reference_errors(reference, oracle, precision="bf16")
    assert again.element == pytest.approx(errors.element, rel=1e-12)
    assert again.bin == pytest.approx(errors.bin, rel=1e-12)
    assert not agrees(output, reference, precision="bf16", errors=errors)
    assert agrees(reference, reference, precision="bf16", errors=errors)


def test_strided_outputs_and_parameters_are_compared_and_left_alone() -> None:
    reference, oracle = softmax_case("fp32", 6, 10)
    strided = reference.T.contiguous().T
    assert check(strided, oracle, precision="fp32", reference_output=reference).passed
    trained = torch.nn.Parameter(reference)
    assert check(trained, oracle, precision="fp32", reference_output=reference).passed
    double = oracle.clone()
    check(double, oracle, precision="fp32", reference_output=double)
    assert torch.equal(double, oracle)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_agrees_accepts_what_check_accepts(precision: str) -> None:
    reference, oracle = softmax_case(precision)
    errors = reference_errors(reference, oracle, precision=precision)
    edge = oracle * (1.0 + 0.9 * 16 * element_unit(errors, precision))
    assert agrees(edge.to(reference.dtype), reference, precision=precision, errors=errors)
    for wrong in (torch.zeros_like(reference), reference * math.nan, reference[:1]):
        assert not agrees(wrong, reference, precision=precision, errors=errors)
    tiny = torch.full((4, 8), 1e-30) if precision != "fp16" else reference
    assert agrees(tiny, tiny.clone(), precision=precision, errors=errors)
    assert not agrees(tiny * 2, tiny, precision=precision, errors=errors)


def test_agrees_on_integers_and_non_finite_values() -> None:
    none = reference_errors(torch.zeros(1), torch.zeros(1).double(), precision="fp32")
    whole = torch.arange(6)
    assert agrees(whole, whole.clone(), precision="fp32", errors=none)
    assert not agrees(whole + 1, whole, precision="fp32", errors=none)
    odd = torch.tensor([math.nan, math.inf, 1.0])
    assert agrees(odd.clone(), odd, precision="fp32", errors=none)
    assert not agrees(torch.ones(3), odd, precision="fp32", errors=none)


def test_zeros_stay_wrong_where_the_reference_is_no_measure() -> None:
    """A bf16 running sum stalls once its steps are below half a unit in the last place."""
    steps = torch.rand(4, 32768, dtype=torch.float64).to(torch.bfloat16)
    oracle = steps.double().cumsum(1)
    stalled = torch.empty_like(steps)
    total = torch.zeros(4, dtype=torch.bfloat16)
    for column in range(steps.shape[1]):
        total = total + steps[:, column]
        stalled[:, column] = total
    given = {"precision": "bf16", "reference_output": stalled}
    assert reference_errors(stalled, oracle, precision="bf16").element > 0.25
    assert not check(torch.zeros_like(stalled), oracle, **given).passed
    assert not check(steps, oracle, **given).passed
    assert check(oracle.to(torch.bfloat16), oracle, **given).passed
    assert check(stalled, oracle, **given).passed


@pytest.mark.parametrize("spoilt", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["output", "reference", "both"])
def test_agreement_is_not_settled_by_a_row_that_holds_no_number(spoilt: float, where: str) -> None:
    reference = torch.rand(8, 64)
    output = reference.clone()
    if where in ("output", "both"):
        output[3, 5] = spoilt
    if where in ("reference", "both"):
        reference[3, 5] = spoilt
    errors = ReferenceErrors(1e-6, 1e-7)
    agreed = agrees(output, reference, precision="fp32", errors=errors)
    assert agreed is (where == "both")
    output[3, 9] += 1.0
    assert not agrees(output, reference, precision="fp32", errors=errors)


def test_a_running_sum_in_fp32_is_right_beside_a_reference_that_sums_in_float64() -> None:
    """Its errors are carried along the row, so a whole bin is off the same way."""
    for seed in range(5):
        x = torch.randn(64, 8192, generator=torch.Generator().manual_seed(seed)) * 0.05
        carry, parts = torch.zeros(64, 1), []
        for part in x.split(128, dim=1):
            parts.append(part.cumsum(1) + carry)
            carry = parts[-1][:, -1:]
        exact = x.double().cumsum(1)
        found = check(torch.cat(parts, 1), exact, precision="fp32", reference_output=exact.float())
        assert found.passed, found.reason
