"""The clock of record: interleaved batches, timed by the judge from request to reply.

Both sides run the same protocol on the same inputs, so what the protocol costs (messages, copies
into the judge's buffers) is the same on both. The reference's worker is trusted, so the cost is
its wall time less its own events; the same cost taken off the candidate's wall time says what its
calls took by the judge's clock. The candidate's own events refine that number only while they
agree with it: where they claim much less, work was hidden from them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from evaluator.intervals import Speedup, interval_rank, quantile
from evaluator.intervals import speedup as paired_speedup

MIN_PAIRS = 11  # the least at which an order-statistics interval of the median reaches 95 %
MAX_PAIRS = 41
TARGET_HALF_WIDTH = 0.01
TIME_BUDGET_S = {"cuda": 8.0, "cpu": 3.0}  # a CPU's noise does not get narrower with time
# Claims may fall short of the judge's clock by this share of themselves, by what a batch's start
# and end may differ between the sides, and by what launching a call may; more is hidden work.
# Beyond the smaller share they are not used and the time is the judge's: a small lie gains nothing,
# and an honest candidate on a busy host is not accused.
HIDDEN_SHARE = 0.25
DOUBTED_SHARE = 0.05
HIDDEN_BATCH_MS = {"cuda": 0.1, "cpu": 1.0}
HIDDEN_CALL_MS = {"cuda": 0.005, "cpu": 0.05}


@dataclass(frozen=True)
class Batch:
    """One batch of calls on one side: the judge's wall time and the worker's claims, in ms."""

    wall_ms: float
    claimed_ms: list[float]


@dataclass
class Timing:
    """Times per call in ms, one sample a batch, candidate and reference paired by index."""

    kind: str = "device"
    candidate_ms: list[float] = field(default_factory=list)
    reference_ms: list[float] = field(default_factory=list)
    speedup: Speedup | None = None
    hidden_ms: float = 0.0
    claims_dropped: bool = False
    work_hidden: bool = False
    wrong_batches: int = 0


def measure(
    *,
    calls_per_batch: int,
    device_kind: str,
    prepare: Callable[[int], None],
    run_reference: Callable[[], Batch],
    run_candidate: Callable[[], Batch],
    outputs_agree: Callable[[], bool],
    seconds_left: Callable[[], float],
    on_progress: Callable[[Speedup], None],
) -> Timing:
    """Runs pairs of batches until the interval is narrow, the pairs or the time are spent.

    `prepare(k)` draws fresh inputs for pair k and poisons the outputs; `outputs_agree` checks
    every call of the pair afterwards. Even pairs run the reference first, odd ones the candidate.
    """
    timing = Timing()
    pairs: list[tuple[Batch, Batch]] = []
    for number in range(-1, MAX_PAIRS):  # pair -1 warms up and is checked, but not counted
        prepare(number)
        if number % 2 == 0:
            reference, candidate = run_reference(), run_candidate()
        else:
            candidate, reference = run_candidate(), run_reference()
        if not outputs_agree():
            timing.wrong_batches += 1
        if number < 0:
            continue
        pairs.append((reference, candidate))
        _settle(timing, pairs, calls_per_batch, device_kind)
        if len(pairs) >= MIN_PAIRS and timing.speedup is not None:
            on_progress(timing.speedup)
            if _half_width(timing.speedup) < TARGET_HALF_WIDTH or seconds_left() <= 0:
                break
    return timing


def _half_width(speedup: Speedup) -> float:
    """Half the interval's width as a share of the median."""
    assert speedup.low is not None and speedup.high is not None
    return (speedup.high - speedup.low) / 2 / speedup.median


def _settle(timing: Timing, pairs: list[tuple[Batch, Batch]], calls: int, device_kind: str) -> None:
    """Times per call from all pairs so far, by the claims or, where they lie, by the wall."""
    reference = [sum(r.claimed_ms) / calls for r, _ in pairs]
    claimed = [sum(c.claimed_ms) / calls for _, c in pairs]
    by_wall = [(c.wall_ms - (r.wall_ms - sum(r.claimed_ms))) / calls for r, c in pairs]
    # Noise must not look like a lie: what counts is the low end of the median's interval.
    gaps = sorted(w - c for w, c in zip(by_wall, claimed, strict=True))
    rank = interval_rank(len(gaps))
    hidden = gaps[rank - 1] if rank is not None else 0.0
    claim = statistics.median(claimed)
    timing.hidden_ms = max(0.0, hidden)
    unexplained = HIDDEN_BATCH_MS[device_kind] / calls + HIDDEN_CALL_MS[device_kind]
    timing.claims_dropped = hidden > max(DOUBTED_SHARE * claim, unexplained)
    # A busy host makes gaps of its own, as large as what the trusted side's overhead varies by.
    overheads = [r.wall_ms - sum(r.claimed_ms) for r, _ in pairs]
    noise = (quantile(overheads, 0.75) - quantile(overheads, 0.25)) / calls
    timing.work_hidden = hidden > max(HIDDEN_SHARE * claim, unexplained, noise)
    timing.candidate_ms = by_wall if timing.claims_dropped else claimed
    timing.reference_ms = reference
    # Events behind a spinning device see the device alone; a wall clock sees the launch as well.
    timing.kind = "call" if device_kind == "cpu" or timing.claims_dropped else "device"
    timing.speedup = None
    if len(pairs) >= MIN_PAIRS and min(timing.candidate_ms) > 0:
        timing.speedup = paired_speedup(timing.reference_ms, timing.candidate_ms)
