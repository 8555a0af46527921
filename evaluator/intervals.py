"""Speedups with a confidence interval from paired timings. Standard library only.

The statistic is the median of the paired ratios reference / candidate (its logarithm, so that
2x and 1/2x are equally far from 1). The interval is the classical one of the sign test: for n
independent pairs the number of ratios below the true median is Binomial(n, 1/2), so the k-th
smallest and k-th largest ratio enclose it with probability 1 - 2 P(Binomial(n, 1/2) < k),
whatever the distribution of the noise (W. J. Conover, Practical Nonparametric Statistics,
"confidence interval for a quantile"). No resampling: bootstrapped medians of few samples cover
far less than they say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.95


@dataclass(frozen=True)
class Speedup:
    """Median of the paired ratios and the interval that covers the true median.

    `low` and `high` are None where n is too small for any interval at the level asked for
    (below 6 pairs at 95 %). `coverage` is the exact probability, at least the level.
    """

    median: float
    low: float | None
    high: float | None
    n: int
    coverage: float | None


def coverage(n: int, rank: int) -> float:
    """Probability that the `rank`-th smallest and largest of n values enclose the median.

    Exact for a continuous distribution, a lower bound where values are tied.
    """
    below = sum(math.comb(n, successes) for successes in range(rank))
    return 1.0 - 2.0 * below / 2.0**n


def interval_rank(n: int, level: float = LEVEL) -> int | None:
    """The largest rank k whose interval [k-th smallest, k-th largest] still has the level.

    Returns None when even the extremes do not reach it. For n = 11 and 95 % it is 2: the 2nd
    and the 10th value, which cover 98.8 %.
    """
    ranks = [rank for rank in range(1, n // 2 + 1) if coverage(n, rank) >= level]
    return ranks[-1] if ranks else None


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError if empty."""
    return quantile(values, 0.5)


def quantile(values: Sequence[float], probability: float) -> float:
    """Quantile with linear interpolation between order statistics.

    Raises ValueError for no values or a probability outside [0, 1].
    """
    if not values:
        raise ValueError("a quantile needs at least one value")
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"a probability lies in [0, 1], not {probability}")
    ordered = sorted(values)
    position = probability * (len(ordered) - 1)
    lower = math.floor(position)
    upper = min(lower + 1, len(ordered) - 1)
    weight = position - lower
    if weight == 0.0:
        return ordered[lower]
    return ordered[lower] * (1.0 - weight) + ordered[upper] * weight


def quantiles(values: Sequence[float], probabilities: Sequence[float]) -> list[float]:
    """`quantile` for each of the probabilities."""
    return [quantile(values, probability) for probability in probabilities]


def speedup(
    reference_ms: Sequence[float], candidate_ms: Sequence[float], level: float = LEVEL
) -> Speedup:
    """Speedup of the candidate from pairs timed next to each other (same unit, same order).

    Raises ValueError when the lengths differ, there is no pair, or a time is not positive.
    """
    if len(reference_ms) != len(candidate_ms):
        raise ValueError(
            f"pairs needed: {len(reference_ms)} reference and {len(candidate_ms)} candidate times"
        )
    if not reference_ms:
        raise ValueError("a speedup needs at least one pair of times")
    if any(not (t > 0.0 and math.isfinite(t)) for t in (*reference_ms, *candidate_ms)):
        raise ValueError("times must be positive and finite")
    logs = sorted(
        math.log(reference / candidate)
        for reference, candidate in zip(reference_ms, candidate_ms, strict=True)
    )
    n = len(logs)
    middle = math.exp(median(logs))
    rank = interval_rank(n, level)
    if rank is None:
        return Speedup(middle, None, None, n, None)
    low, high = math.exp(logs[rank - 1]), math.exp(logs[n - rank])
    return Speedup(middle, low, high, n, coverage(n, rank))
