"""The rules alone, on observations made up in the test: what is flagged, and what wins."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.contract import FlagCode, Stage, Trial, Verdict
from evaluator.decide import decide
from evaluator.intervals import Speedup
from evaluator.maps import PairComparison
from evaluator.observations import Observations
from evaluator.timing import Timing
from evaluator.workers import WorkerFailed

RIGHT = Trial("as_given", "none", True, 1.0, 1e-7, 1.0)
WRONG = Trial("as_given", "none", False, 5e4, 0.6, 0.0)


def pair(written: float = 1.0, right: float = 1.0) -> PairComparison:
    empty: list[float] = []
    none: Any = None  # no rule looks at the comparisons
    return PairComparison((none, none), written, right, *([empty] * 6))


def timing(speedup: float = 1.5, **changes: Any) -> Timing:
    interval = Speedup(speedup, 0.99 * speedup, 1.01 * speedup, 11, 0.988)
    times = {"candidate_ms": [1.0] * 11, "reference_ms": [speedup] * 11}
    return Timing(speedup=interval, **{**times, **changes})


def codes(seen: Observations) -> tuple[Verdict, list[FlagCode]]:
    decision = decide(seen, has_custom_kernel=True)
    assert decision.sentence
    return decision.verdict, [flag.code for flag in decision.flags]


def test_right_and_timed_is_correct() -> None:
    seen = Observations(trials=[RIGHT] * 8, pair=pair(), timing=timing())
    assert codes(seen) == (Verdict.CORRECT, [])


@pytest.mark.parametrize(
    ("seen", "flag"),
    [
        (Observations(trials=[WRONG], pair=pair(0.25, 0.2)), FlagCode.PARTIAL_WRITE),
        (Observations(trials=[WRONG], pair=pair(), zero_output=True), FlagCode.ZERO_OUTPUT),
        (
            Observations(trials=[RIGHT, Trial("as_given", "a", False)], pair=pair()),
            FlagCode.STALE_MEMORY,
        ),
        (
            Observations(trials=[RIGHT, WRONG], pair=pair(), repeats_earlier=True),
            FlagCode.MEMOISED,
        ),
        (
            Observations(
                trials=[
                    Trial("as_given", "none", False, 600.0, 1e-4),
                    Trial("negate", "a", False, 700.0, 2e-4),
                ],
                pair=pair(),
            ),
            FlagCode.PRECISION_DOWNGRADE,
        ),
        (
            Observations(
                trials=[
                    Trial("as_given", "none", False, 600.0, 1e-3),
                    Trial("negate", "a", False, 9e6, 1.2),
                ],
                pair=pair(),
                benchmark_2025=[True],
            ),
            FlagCode.TOLERANCE_ONLY,
        ),
        (
            Observations(trials=[RIGHT], pair=pair(), failed_structures=["negate"]),
            FlagCode.DISTRIBUTION_SPECIFIC,
        ),
        (
            Observations(trials=[RIGHT], pair=pair(), other_weights_passed=False),
            FlagCode.DISTRIBUTION_SPECIFIC,
        ),
        (Observations(trials=[RIGHT], pair=pair(), aliased=True), FlagCode.ALIASED_OUTPUT),
        (Observations(trials=[RIGHT], pair=pair(), mutated_inputs=True), FlagCode.INPUT_MUTATED),
        (Observations(trials=[RIGHT], pair=pair(), mutated_state=["w"]), FlagCode.INPUT_MUTATED),
        (
            Observations(trials=[RIGHT], pair=pair(), timing=timing(wrong_batches=2)),
            FlagCode.MEMOISED,
        ),
        (
            Observations(
                trials=[RIGHT], pair=pair(), timing=timing(work_hidden=True, hidden_ms=2.0)
            ),
            FlagCode.ASYNC_ESCAPE,
        ),
        (
            Observations(trials=[RIGHT], pair=pair(), timing=timing(), write_floor_ms=2.0),
            FlagCode.IMPOSSIBLE_TIME,
        ),
    ],
)
def test_each_forbidden_route_is_rejected_by_name(seen: Observations, flag: FlagCode) -> None:
    assert codes(seen) == (Verdict.REJECTED, [flag])


def test_lies_are_told_where_there_is_no_speedup_either() -> None:
    wrong = Timing(wrong_batches=42, candidate_ms=[0.0] * 11)
    seen = Observations(trials=[RIGHT], pair=pair(), timing=wrong)
    assert codes(seen) == (Verdict.REJECTED, [FlagCode.MEMOISED])


def test_wrong_now_and_then_is_no_memory() -> None:
    seen = Observations(trials=[RIGHT, WRONG, RIGHT], pair=pair(1.0, 0.4))
    assert codes(seen) == (Verdict.INCORRECT, [])


def test_plain_errors_are_incorrect_and_not_rejected() -> None:
    assert codes(Observations(trials=[WRONG], pair=pair(1.0, 0.4))) == (Verdict.INCORRECT, [])


def test_noise_and_doubt_only_inform() -> None:
    wide = Speedup(2.0, 1.0, 3.0, 11, 0.988)
    seen = Observations(trials=[RIGHT], pair=pair(), timing=timing(2.0))
    assert seen.timing is not None
    seen.timing.speedup = wide
    assert codes(seen) == (Verdict.CORRECT, [FlagCode.NOISY_TIMING])
    fast = Observations(trials=[RIGHT], pair=pair(), timing=timing(20.0))
    assert codes(fast) == (Verdict.CORRECT, [FlagCode.IMPLAUSIBLE_SPEEDUP])


def test_a_reference_that_does_not_repeat_itself_settles_nothing() -> None:
    seen = Observations(trials=[WRONG], pair=pair(), reference_repeats=False)
    assert codes(seen)[0] is Verdict.INCONCLUSIVE


def test_unequal_weights_are_no_reason_to_call_a_result_wrong() -> None:
    seen = Observations(trials=[WRONG], pair=pair(1.0, 0.4), missing_state=["linear.weight"])
    assert codes(seen)[0] is Verdict.INCONCLUSIVE
    zeros = Observations(trials=[WRONG], pair=pair(), missing_state=["w"], zero_output=True)
    assert codes(zeros) == (Verdict.REJECTED, [FlagCode.ZERO_OUTPUT])


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("source", Verdict.MALFORMED),
        ("construct", Verdict.MALFORMED),
        ("compile", Verdict.COMPILE_ERROR),
        ("import", Verdict.RUNTIME_ERROR),
        ("call", Verdict.RUNTIME_ERROR),
        ("output", Verdict.INCORRECT),
        ("lazy", Verdict.REJECTED),
        ("out_of_memory", Verdict.OUT_OF_MEMORY),
        ("memory", Verdict.OUT_OF_MEMORY),
        ("timeout", Verdict.TIMEOUT),
        ("processes", Verdict.RUNTIME_ERROR),
        ("disk", Verdict.RUNTIME_ERROR),
        ("died", Verdict.RUNTIME_ERROR),
        ("protocol", Verdict.REJECTED),
        ("worker", Verdict.RUNTIME_ERROR),
    ],
)
def test_every_failure_has_its_verdict_and_keeps_its_message(kind: str, verdict: Verdict) -> None:
    failure = WorkerFailed(kind, "the reason\nand more")
    seen = Observations(failure=failure, failed_at=Stage.CORRECTNESS)
    decision = decide(seen, has_custom_kernel=True)
    assert decision.verdict is verdict
    assert decision.message == "the reason\nand more"
    problem = Observations(failure=WorkerFailed(kind, failure.message, "reference"))
    expected = Verdict.OUT_OF_MEMORY if kind == "out_of_memory" else Verdict.INCONCLUSIVE
    assert decide(problem, has_custom_kernel=True).verdict is expected
