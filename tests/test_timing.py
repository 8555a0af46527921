"""The clock of record on made-up batches: who is believed, and what noise may not do."""

from __future__ import annotations

import random
from itertools import chain, cycle

import pytest

from evaluator.intervals import Speedup
from evaluator.timing import MIN_PAIRS, Batch, Timing, measure

CALLS = 40


def run(
    reference_ms: float,
    candidate_ms: float,
    *,
    hidden_ms: float = 0.0,
    overhead_ms: float = 1.0,
    noise_ms: float = 0.0,
    device: str = "cuda",
    right: bool = True,
    budget_s: float = 0.0,
) -> Timing:
    """40 calls a batch; the candidate's events miss `hidden_ms` of each. Times are invented."""
    draw = random.Random(7)

    def batch(each: float, hidden: float) -> Batch:
        wall = overhead_ms + CALLS * (each + hidden) + draw.uniform(0, noise_ms)
        return Batch(wall, [each] * CALLS)

    return measure(
        calls_per_batch=CALLS,
        device_kind=device,
        prepare=lambda number: None,
        run_reference=lambda: batch(reference_ms, 0.0),
        run_candidate=lambda: batch(candidate_ms, hidden_ms),
        outputs_agree=lambda: right,
        seconds_left=lambda: budget_s,
        on_progress=lambda speedup: None,
    )


def test_an_honest_candidate_is_timed_by_its_events() -> None:
    timing = run(3.0, 1.5)
    assert timing.speedup is not None
    assert timing.speedup == Speedup(2.0, 2.0, 2.0, MIN_PAIRS, timing.speedup.coverage)
    assert not timing.claims_dropped and timing.kind == "device"
    assert timing.wrong_batches == 0


def test_hidden_work_is_found_and_charged() -> None:
    timing = run(3.0, 0.1, hidden_ms=2.9)
    assert timing.claims_dropped and timing.work_hidden
    assert timing.hidden_ms == pytest.approx(2.9)
    assert timing.speedup is not None and timing.speedup.median == pytest.approx(1.0)


def test_a_short_kernel_cannot_hide_behind_the_floor() -> None:
    timing = run(0.06, 0.001, hidden_ms=0.059, overhead_ms=0.3)
    assert timing.claims_dropped and timing.work_hidden
    assert timing.speedup is not None and timing.speedup.median == pytest.approx(1.0)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_small_lie_gains_nothing_and_is_no_accusation(device: str) -> None:
    timing = run(3.0, 2.6, hidden_ms=0.4, device=device)
    assert timing.claims_dropped and not timing.work_hidden
    assert timing.speedup is not None and timing.speedup.median == pytest.approx(1.0)


def test_a_speedup_of_fewer_pairs_does_not_outlive_a_time_of_nothing() -> None:
    claims = chain([2.0, 1.0] * (MIN_PAIRS // 2 + 1), [0.0], cycle([2.0, 1.0]))
    timing = measure(
        calls_per_batch=1,
        device_kind="cpu",
        prepare=lambda number: None,
        run_reference=lambda: Batch(3.0, [2.0]),
        run_candidate=lambda: Batch(3.0, [next(claims)]),
        outputs_agree=lambda: True,
        seconds_left=lambda: 1.0,
        on_progress=lambda speedup: None,
    )
    assert timing.speedup is None


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_noise_of_the_host_is_no_lie(device: str) -> None:
    assert not run(3.0, 2.0, noise_ms=30.0, device=device, budget_s=1.0).claims_dropped


def test_a_gap_within_what_the_host_varies_by_accuses_nobody() -> None:
    timing = run(3.0, 2.0, hidden_ms=2.5, noise_ms=120.0, device="cpu")
    assert timing.claims_dropped and not timing.work_hidden


def test_wrong_timed_calls_are_counted() -> None:
    assert run(3.0, 1.5, right=False).wrong_batches == MIN_PAIRS + 1


def test_it_says_what_was_timed() -> None:
    assert run(0.04, 0.02).kind == "device"
    assert run(3.0, 1.5, device="cpu").kind == "call"
    assert run(3.0, 0.1, hidden_ms=2.9).kind == "call"
