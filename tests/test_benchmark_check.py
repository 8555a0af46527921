"""KernelBench's rule, held against torch.allclose itself."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from evaluator import slices
from evaluator.benchmark_check import benchmark_check, benchmark_check_2025, tolerance
from evaluator.scaled_error import DTYPES

VALUES = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-4, 1e-2, 0.0101, 1.0, 1e30]),
    st.floats(-2.0, 2.0, width=16),
)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(VALUES, st.sampled_from([0.0, 9e-5, 2e-4, 9e-3, 2e-2])), max_size=40),
    st.sampled_from(list(DTYPES)),
    st.sampled_from([1, 3, 7, 2**25]),
)
def test_same_as_allclose(pairs: list[tuple[float, float]], precision: str, step: int) -> None:
    dtype = DTYPES[precision]
    reference = torch.tensor([value for value, _ in pairs], dtype=dtype)
    output = torch.tensor([value + value * off + off / 2 for value, off in pairs], dtype=dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SLICE_ELEMENTS", step)
        for rule, t in ((benchmark_check, tolerance(precision)), (benchmark_check_2025, 1e-2)):
            expected = torch.allclose(reference, output, atol=t, rtol=t)
            assert rule(output, reference, precision) == expected


def test_tolerances_of_both_rules() -> None:
    zeros, small = torch.zeros(8), torch.full((8,), 5e-3)
    assert not benchmark_check(zeros, small, "fp32")
    assert benchmark_check_2025(zeros, small, "fp32")
    assert benchmark_check(zeros.bfloat16(), small.bfloat16(), "bf16")
    assert benchmark_check(zeros.half(), small.half(), "fp16")


def test_the_relative_part_belongs_to_the_candidate() -> None:
    small, large = torch.tensor([1.0]), torch.tensor([1.02015])
    assert benchmark_check_2025(large, small, "fp32")
    assert not benchmark_check_2025(small, large, "fp32")


def test_integers_are_compared_by_the_same_formula() -> None:
    index = torch.tensor([4000, 5])
    assert benchmark_check(torch.tensor([4030, 5]), index, "bf16")
    assert not benchmark_check(torch.tensor([4030, 5]), index, "fp32")


@pytest.mark.parametrize(
    "output",
    [torch.ones(3), torch.ones(4, 1), torch.ones(4).double(), (torch.ones(4),), None, 1.0],
)
def test_what_raises_there_is_false_here(output: object) -> None:
    reference: Tensor = torch.ones(4)
    assert not benchmark_check(output, reference, "fp32")
    assert not benchmark_check_2025(output, reference, "fp32")
    assert not benchmark_check((reference,), (reference,), "fp32")
    assert not benchmark_check(reference > 0, reference > 0, "fp32")
