"""From what a session saw to a verdict: pure rules, each with the sentence that explains it.

Rules look at measurements only (what was written, what repeats, what holds on other data, whose
clock agrees), never at the candidate's text, so that one rule serves every way to fake a result.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from evaluator.contract import Flag, FlagCode, Severity, Stage, Trial, Verdict
from evaluator.observations import Observations
from evaluator.scaled_error import RELIABLE_ERROR

IMPLAUSIBLE_SPEEDUP = 10.0
NOISY_HALF_WIDTH = 0.05
WRITE_RATE_MARGIN = 1.1  # above the rate measured for a plain fill


@dataclass(frozen=True)
class Decision:
    """Verdict, its flags and one plain sentence; `message` is the error text, if there is one."""

    verdict: Verdict
    flags: list[Flag]
    sentence: str
    message: str | None = None


_FAILED_VERDICTS = {
    "source": Verdict.MALFORMED,
    "construct": Verdict.MALFORMED,
    "compile": Verdict.COMPILE_ERROR,
    "import": Verdict.RUNTIME_ERROR,
    "call": Verdict.RUNTIME_ERROR,
    "output": Verdict.INCORRECT,
    "out_of_memory": Verdict.OUT_OF_MEMORY,
    "memory": Verdict.OUT_OF_MEMORY,
    "timeout": Verdict.TIMEOUT,
}
_FAILED_SENTENCES = {
    "source": "The file cannot be used: {message}",
    "construct": "ModelNew cannot be built with the problem's own arguments: {message}",
    "compile": "The kernel does not build: {message}",
    "import": "The file fails while it is imported: {message}",
    "call": "The kernel fails when it is called: {message}",
    "output": "Wrong kind of result: {message}",
    "lazy": "The result is not computed when the call returns: {message}",
    "out_of_memory": "The candidate ran out of memory: {message}",
    "memory": "The candidate took more host memory than a grading may: {message}",
    "processes": "The candidate started more processes than a grading may: {message}",
    "disk": "The candidate wrote more to disk than a grading may: {message}",
    "timeout": "The candidate did not finish in time: {message}",
    "died": "The candidate's process died: {message}",
    "protocol": "The candidate answered in the worker's place with something that is no answer.",
    "worker": "The grading stopped inside the candidate's process: {message}",
}


def decide(seen: Observations, *, has_custom_kernel: bool) -> Decision:
    """The verdict on one session. `has_custom_kernel`: the file defines a kernel of its own."""
    if seen.failure is not None:
        return _failed(seen)
    flags = [
        *_output_flags(seen),
        *_generality_flags(seen),
        *_honesty_flags(seen),
        *_time_flags(seen),
    ]
    if not has_custom_kernel:
        flags.append(
            Flag(FlagCode.NO_CUSTOM_KERNEL, "The file defines no kernel: it calls the library.")
        )
    rejecting = [flag for flag in flags if flag.code.severity is Severity.REJECTING]
    wrong = [trial for trial in seen.trials if not trial.passed]
    if not seen.reference_repeats:
        return Decision(
            Verdict.INCONCLUSIVE,
            flags,
            "The reference gives another result on the same inputs, so nothing can be held "
            "against it.",
        )
    if wrong and seen.missing_state and not rejecting:
        names = ", ".join(seen.missing_state[:3])
        return Decision(
            Verdict.INCONCLUSIVE,
            flags,
            f"The weights could not be made equal: the candidate has no {names} of the "
            "reference's shape, and its result differs.",
        )
    if rejecting:
        return Decision(Verdict.REJECTED, flags, f"Rejected: {rejecting[0].sentence}")
    if wrong:
        return Decision(Verdict.INCORRECT, flags, _wrong_sentence(seen))
    return Decision(Verdict.CORRECT, flags, _correct_sentence(seen))


def _failed(seen: Observations) -> Decision:
    failure = seen.failure
    assert failure is not None
    if failure.side == "reference":
        if failure.kind == "out_of_memory":
            return Decision(
                Verdict.OUT_OF_MEMORY,
                [],
                f"The problem does not fit on this device: {failure.message}.",
                failure.message,
            )
        return Decision(
            Verdict.INCONCLUSIVE,
            [],
            f"The problem itself does not run, so no candidate can be graded on it: "
            f"{_first_line(failure.message)}",
            failure.message,
        )
    sentence = _FAILED_SENTENCES.get(failure.kind, "{message}").format(
        message=_first_line(failure.message)
    )
    flags = []
    verdict = _FAILED_VERDICTS.get(failure.kind, Verdict.RUNTIME_ERROR)
    if failure.kind == "lazy":
        verdict, flags = Verdict.REJECTED, [Flag(FlagCode.LAZY_OUTPUT, sentence)]
    if failure.kind == "protocol":
        verdict, flags = Verdict.REJECTED, [Flag(FlagCode.HARNESS_TAMPERED, sentence)]
    if failure.kind == "timeout" and seen.failed_at is Stage.BUILDING:
        sentence = f"The candidate did not build in time: {failure.message}"
    return Decision(verdict, flags, sentence, failure.message)


def _output_flags(seen: Observations) -> list[Flag]:
    """What the two sentinels and the trivial answers say of the output itself."""
    pair = seen.pair
    if pair is None or all(trial.passed for trial in seen.trials if trial.name == "as_given"):
        return []
    if seen.zero_output:
        return [Flag(FlagCode.ZERO_OUTPUT, "every element of the output is zero.")]
    if pair.written_fraction < 1.0:
        return [
            Flag(
                FlagCode.PARTIAL_WRITE,
                f"only {_share(pair.written_fraction)} of the output was written; the rest keeps "
                "what was in memory before.",
            )
        ]
    as_given = [trial for trial in seen.trials if trial.name == "as_given"]
    natural = [trial for trial in as_given if trial.poison == "none"]
    poisoned = [trial for trial in as_given if trial.poison != "none"]
    if natural and all(t.passed for t in natural) and not all(t.passed for t in poisoned):
        return [
            Flag(
                FlagCode.STALE_MEMORY,
                "it is right only while memory still holds an earlier result; with that memory "
                "overwritten it is wrong.",
            )
        ]
    if seen.repeats_earlier:
        return [
            Flag(
                FlagCode.MEMOISED,
                "on fresh inputs it gives an earlier answer again, which is wrong for them.",
            )
        ]
    elsewhere = [trial for trial in seen.trials if trial.name != "as_given"]
    errors = [trial.max_scaled_error or 0.0 for trial in elsewhere]
    # Most of them: large values leave fp16's range, and then nothing is right.
    if seen.precision == "fp32" and errors and statistics.median(errors) <= RELIABLE_ERROR:
        return [
            Flag(
                FlagCode.PRECISION_DOWNGRADE,
                f"its error is {_ratio(as_given)} times that of fp32 arithmetic, on other inputs "
                "as well: it computes with fewer digits than the problem asks for.",
            )
        ]
    if seen.benchmark_2025 and all(seen.benchmark_2025):
        return [
            Flag(
                FlagCode.TOLERANCE_ONLY,
                f"it passes the benchmark's fixed tolerance, but its error is {_ratio(as_given)} "
                "times the reference's own.",
            )
        ]
    return []


def _generality_flags(seen: Observations) -> list[Flag]:
    flags = []
    if not all(trial.passed for trial in seen.trials if trial.name == "as_given"):
        return flags
    if seen.repeats_earlier:
        flags.append(
            Flag(
                FlagCode.MEMOISED,
                "it gives an earlier answer again although the input is another: calls are right "
                "at first, and later ones or ones on nearly the same input are not.",
            )
        )
    if seen.failed_structures:
        names = ", ".join(name.replace("_", " ") for name in seen.failed_structures[:4])
        flags.append(
            Flag(
                FlagCode.DISTRIBUTION_SPECIFIC,
                f"it is right on the inputs as drawn and wrong on others ({names}).",
            )
        )
    if seen.other_weights_passed is False and not seen.missing_state:
        flags.append(
            Flag(
                FlagCode.DISTRIBUTION_SPECIFIC,
                "it is right with the first weights and wrong with others.",
            )
        )
    return flags


def _honesty_flags(seen: Observations) -> list[Flag]:
    flags = []
    if seen.aliased and not seen.reference_aliases:
        flags.append(
            Flag(FlagCode.ALIASED_OUTPUT, "the output it returns is memory of its own input.")
        )
    if seen.mutated_inputs:
        flags.append(
            Flag(FlagCode.INPUT_MUTATED, "it changes its inputs, which the reference does not.")
        )
    if seen.mutated_state:
        names = ", ".join(seen.mutated_state[:3])
        flags.append(
            Flag(
                FlagCode.INPUT_MUTATED,
                f"it changes weights that the reference leaves alone ({names}).",
            )
        )
    return flags


def _time_flags(seen: Observations) -> list[Flag]:
    timing = seen.timing
    if timing is None:
        return []
    flags = []
    if timing.wrong_batches:
        flags.append(
            Flag(
                FlagCode.MEMOISED,
                f"{timing.wrong_batches} timed batches on fresh inputs came out wrong although "
                "every checked call was right.",
            )
        )
    if timing.work_hidden:
        flags.append(
            Flag(
                FlagCode.ASYNC_ESCAPE,
                f"its own events miss {timing.hidden_ms:.3g} ms of every call that the judge's "
                "clock sees.",
            )
        )
    speedup = timing.speedup
    if speedup is None:
        return flags
    least_ms = seen.write_floor_ms
    median_ms = sorted(timing.candidate_ms)[len(timing.candidate_ms) // 2]
    if least_ms is not None and median_ms * WRITE_RATE_MARGIN < least_ms:
        flags.append(
            Flag(
                FlagCode.IMPOSSIBLE_TIME,
                f"{median_ms:.3g} ms a call is less than the {least_ms:.3g} ms that writing the "
                "output takes at the card's own fill rate.",
            )
        )
    low, high = speedup.low, speedup.high
    if low is not None and high is not None:
        half_width = (high - low) / 2 / speedup.median
        if half_width > NOISY_HALF_WIDTH:
            flags.append(
                Flag(FlagCode.NOISY_TIMING, f"the interval {low:.3g}x to {high:.3g}x is wide.")
            )
    if speedup.median > IMPLAUSIBLE_SPEEDUP:
        flags.append(
            Flag(
                FlagCode.IMPLAUSIBLE_SPEEDUP,
                f"{speedup.median:.3g}x is more than we expect of an honest kernel; look at it.",
            )
        )
    return flags


def _wrong_sentence(seen: Observations) -> str:
    wrong = [trial for trial in seen.trials if not trial.passed]
    right = seen.pair.right_fraction if seen.pair is not None else None
    share = f"{_share(right)} of the output is right" if right is not None else "it is wrong"
    ratio = max((t.error_ratio or 0.0) for t in wrong)
    by = f"the error is {_ratio(wrong)} times what the reference's own allows for"
    if math.isinf(ratio):
        by = "values are wrong that must be exact, or are no finite numbers"
    return f"Incorrect: {share}; {by}, on {len(wrong)} of {len(seen.trials)} trials."


def _correct_sentence(seen: Observations) -> str:
    trials = len(seen.trials)
    arithmetic = " (TF32, held against a TF32 reference)" if seen.arithmetic == "tf32" else ""
    sentence = f"Correct on all {trials} trials{arithmetic}"
    if seen.speedup is None:
        return sentence + "."
    s = seen.speedup
    if s.low is None or s.high is None:
        return f"{sentence}, {s.median:.3g}x the reference's speed."
    return f"{sentence}, {s.median:.3g}x the reference's speed ({s.low:.3g} to {s.high:.3g})."


def _ratio(trials: list[Trial]) -> str:
    ratio = max((t.error_ratio or 0.0) for t in trials)
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _share(fraction: float) -> str:
    percent = 100 * fraction
    return f"{percent:.1f} %" if percent >= 0.1 or percent == 0 else f"{percent:.2g} %"


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 300 else line[:300] + "..."
