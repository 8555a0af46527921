"""Order-statistics intervals: exact ranks, exact coverage, and coverage by simulation.

The simulations draw synthetic noise with fixed seeds: they test the method, they are no
measurement.
"""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.intervals import coverage, interval_rank, median, quantile, quantiles, speedup


def test_known_ranks_and_coverages() -> None:
    assert interval_rank(11) == 2 and coverage(11, 2) == 1 - 2 * 12 / 2048
    assert interval_rank(5) is None and interval_rank(6) == 1
    assert coverage(6, 1) == 1 - 2 / 64
    assert interval_rank(100) == 40  # the textbook value


@given(st.integers(1, 300), st.floats(0.5, 0.999))
def test_the_rank_is_the_tightest_that_has_the_level(n: int, level: float) -> None:
    rank = interval_rank(n, level)
    if rank is None:
        assert coverage(n, 1) < level
    else:
        assert coverage(n, rank) >= level
        assert rank == n // 2 or coverage(n, rank + 1) < level


def test_eleven_pairs_give_the_second_and_the_tenth() -> None:
    ratios = [1.0 + i / 10 for i in range(11)]
    random.Random(1).shuffle(ratios)
    result = speedup(ratios, [1.0] * 11)
    assert result.median == pytest.approx(1.5)
    assert result.low == pytest.approx(1.1) and result.high == pytest.approx(1.9)
    assert result.n == 11


@pytest.mark.parametrize("n", [11, 15, 41])
@pytest.mark.parametrize("noise", ["lognormal", "spikes"])
def test_the_interval_covers_the_true_median(n: int, noise: str) -> None:
    """Synthetic: 4,000 repetitions; spikes are the one-sided noise of a preempted host."""
    rng = random.Random(20 + n)

    def time(centre: float) -> float:
        value = centre * math.exp(rng.gauss(0.0, 0.05))
        return value * 3.0 if noise == "spikes" and rng.random() < 0.1 else value

    repetitions, hits = 4000, 0
    for _ in range(repetitions):
        result = speedup([time(2.0) for _ in range(n)], [time(1.0) for _ in range(n)])
        assert result.low is not None and result.high is not None
        hits += result.low <= 2.0 <= result.high
    rank = interval_rank(n)
    assert rank is not None
    expected = coverage(n, rank)
    spread = 4 * math.sqrt(expected * (1 - expected) / repetitions)
    assert hits / repetitions == pytest.approx(expected, abs=spread)


def test_drift_common_to_a_pair_cancels() -> None:
    reference = [2.0 * 1.1**i for i in range(11)]
    candidate = [1.0 * 1.1**i for i in range(11)]
    result = speedup(reference, candidate)
    assert result.low == pytest.approx(2.0) and result.high == pytest.approx(2.0)


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=30))
def test_swapping_the_sides_inverts_the_speedup(times: list[float]) -> None:
    ones = [1.0] * len(times)
    forward, backward = speedup(times, ones), speedup(ones, times)
    assert forward.median == pytest.approx(1 / backward.median)
    if forward.low is not None and backward.high is not None and forward.high is not None:
        assert forward.low == pytest.approx(1 / backward.high)
        assert forward.low <= forward.median <= forward.high


def test_few_pairs_have_no_interval_and_bad_times_are_refused() -> None:
    assert speedup([2.0] * 5, [1.0] * 5).low is None
    for reference, candidate in (
        ([], []),
        ([1.0], [1.0, 2.0]),
        ([0.0], [1.0]),
        ([1.0], [math.nan]),
    ):
        with pytest.raises(ValueError):
            speedup(reference, candidate)


def test_quantiles_interpolate() -> None:
    values = [3.0, 1.0, 2.0, 4.0]
    assert median(values) == 2.5
    assert quantiles(values, [0.0, 0.25, 1.0]) == [1.0, 1.75, 4.0]
    assert quantile([7.0], 0.3) == 7.0
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError):
            quantile(values, bad)
    with pytest.raises(ValueError):
        quantile([], 0.5)
