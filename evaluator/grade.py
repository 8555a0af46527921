"""One evaluation from a problem and a candidate: the public entry point of the evaluator.

    from evaluator.grade import grade
    row = grade(problem=find("level1/23"), candidate=Path("my_softmax.py").read_bytes())

A candidate that is correct and looks faster is run a second time in fresh processes with fresh
seeds; only if both runs agree is its speedup `verified`.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from evaluator import gpu
from evaluator.catalogue import Problem
from evaluator.contract import (
    MAX_CANDIDATE_BYTES,
    Evaluation,
    Evidence,
    Flag,
    FlagCode,
    Severity,
    Stage,
    Verdict,
    evaluator_version,
)
from evaluator.decide import Decision, decide
from evaluator.intervals import Speedup, median, quantiles
from evaluator.observations import Observations
from evaluator.session import run_session

FASTER = 1.02  # the interval's low end above which a speedup is worth verifying
SAME_MEDIAN = 0.05
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAX_MESSAGE = 4000
MAX_STDOUT = 4000

OnStage = Callable[[Stage, str], None]


@dataclass(frozen=True)
class Identity:
    """Who or what produced a candidate, and where its text comes from (see `Evaluation`)."""

    campaign: str = "manual"
    configuration: str = "unknown"
    configuration_kind: str = "unknown"
    sample: int = 0
    owner: str | None = None
    source_url: str | None = None
    licence: str | None = None
    keep_source: bool = True


def grade(
    *,
    problem: Problem,
    candidate: bytes,
    precision: str | None = None,
    device: str | None = None,
    identity: Identity | None = None,
    verify: bool = True,
    on_stage: OnStage = lambda stage, detail: None,
) -> Evaluation:
    """Grades `candidate` (the file's bytes) on `problem`; always returns a row with a verdict.

    `precision` defaults to the problem's own, `device` to the first GPU or else the CPU;
    `verify` False leaves out the second run, and no speedup is then verified. Raises
    OSError when the problem file cannot be read; whatever the candidate does is a verdict.
    """
    identity = identity or Identity()
    precision = precision or problem.native_precision
    device = device or ("cuda:0" if torch.cuda.is_available() else "cpu")
    started = time.monotonic()
    row = new_row(problem, candidate, precision, device, identity)
    on_stage(Stage.CHECKING, "reading the candidate")
    text, refusal = read_candidate(candidate)
    if refusal is not None:
        _apply(row, Decision(Verdict.MALFORMED, [], refusal, refusal))
        on_stage(Stage.DONE, row.sentence)
        return _finished(row, started)
    row.backend = backend_of(text)
    row.source = text if identity.keep_source else None
    problem_source = Path(problem.path).read_text(encoding="utf-8")

    def session(thorough: bool, report: OnStage) -> Observations:
        return run_session(
            problem_source=problem_source,
            candidate_source=text,
            precision=precision,
            device=device,
            on_stage=report,
            thorough=thorough,
        )

    seen = session(True, on_stage)
    decision = decide(seen, has_custom_kernel=row.backend != "torch")
    _observed(row, seen)
    _apply(row, decision)
    if verify and _worth_verifying(decision, seen.speedup):
        on_stage(Stage.VERIFICATION, "once more, in fresh processes with fresh seeds")
        again = session(False, lambda stage, detail: on_stage(Stage.VERIFICATION, detail))
        _verify(row, seen, again, decide(again, has_custom_kernel=row.backend != "torch"))
        row.evidence.stage_seconds[Stage.VERIFICATION.value] = sum(again.stage_seconds.values())
    on_stage(Stage.DONE, row.sentence)
    return _finished(row, started)


def read_candidate(candidate: bytes) -> tuple[str, str | None]:
    """The candidate's text, or why it cannot be read as one sentence."""
    if not candidate.strip():
        return "", "The file is empty."
    if len(candidate) > MAX_CANDIDATE_BYTES:
        size = len(candidate) / (1 << 20)
        return "", f"The file has {size:.1f} MiB; a candidate may have 1 MiB at most."
    try:
        text = candidate.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", f"The file is not UTF-8 text (byte {error.start} cannot be read)."
    if "\0" in text:
        return "", "The file contains a NUL byte, so it is no Python source."
    return text, None


def backend_of(text: str) -> str:
    """What the file says its kernels are written in: triton, cuda, cpp or torch (none).

    A label for the reader, not a defence: no verdict depends on it.
    """
    if re.search(r"@(triton\.)?jit\b|@triton\.autotune", text) and "triton" in text:
        return "triton"
    if re.search(r"__global__|cuda_sources|\.cu\b|cupy|RawKernel", text):
        return "cuda"
    if re.search(r"load_inline|cpp_extension|cpp_sources", text):
        return "cpp"
    return "torch"


def new_row(
    problem: Problem, candidate: bytes, precision: str, device: str, identity: Identity
) -> Evaluation:
    """A row with its identity and provenance, and no verdict yet."""
    facts = gpu.environment(device)
    return Evaluation(
        campaign=identity.campaign,
        configuration=identity.configuration,
        configuration_kind=identity.configuration_kind,
        suite=problem.suite,
        problem_id=problem.problem_id,
        problem=problem.name,
        problem_version=problem.version,
        operator_class=problem.operator_class,
        precision=precision,
        sample=identity.sample,
        owner=identity.owner,
        source_sha256=hashlib.sha256(candidate).hexdigest(),
        source_url=identity.source_url,
        licence=identity.licence,
        device=facts["device"] or "",
        driver=facts["driver"],
        cuda=facts["cuda"],
        torch=facts["torch"] or "",
        triton=facts["triton"],
        python=facts["python"] or "",
        evaluator_version=evaluator_version(),
        started_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
    )


def _apply(row: Evaluation, decision: Decision) -> None:
    row.verdict = decision.verdict
    row.flags = decision.flags
    row.sentence = decision.sentence
    row.message = decision.message[:MAX_MESSAGE] if decision.message else None


def _observed(row: Evaluation, seen: Observations) -> None:
    """Copies what was measured into the row's columns and its evidence."""
    as_given = [trial for trial in seen.trials if trial.name == "as_given"]
    row.isolation = seen.isolation
    row.oracle = seen.oracle
    row.reference_arithmetic = seen.arithmetic if seen.trials else None
    row.trials = len(seen.trials)
    row.benchmark_check = all(seen.benchmark) if seen.benchmark else None
    row.benchmark_check_2025 = all(seen.benchmark_2025) if seen.benchmark_2025 else None
    row.benchmark_speedup = seen.benchmark_speedup
    row.zero_passes = seen.zero_passes
    row.correct_as_given = all(trial.passed for trial in as_given) if as_given else None
    row.floor_ms = seen.floor_ms
    row.compile_s = seen.compile_s
    if seen.as_given is not None:
        row.error_ratio = seen.as_given.error_ratio
        row.relative_l2 = seen.as_given.relative_l2
        row.max_scaled_error = seen.as_given.max_scaled_error
        row.right_fraction = seen.as_given.right_fraction
    if seen.pair is not None:
        row.written_fraction = seen.pair.written_fraction
        row.right_fraction = seen.pair.right_fraction
    row.degenerate = seen.degenerate
    if seen.timing is not None and seen.timing.candidate_ms:
        timing = seen.timing
        row.candidate_ms = median(timing.candidate_ms)
        row.reference_ms = median(timing.reference_ms)
        row.time_kind = timing.kind
        row.time_hidden_ms = timing.hidden_ms
        row.samples = quantiles(timing.candidate_ms, QUANTILES)
        if timing.speedup is not None:
            row.speedup = timing.speedup.median
            row.speedup_low = timing.speedup.low
            row.speedup_high = timing.speedup.high
    row.evidence = _evidence(seen)


def _evidence(seen: Observations) -> Evidence:
    evidence = Evidence(
        reference_error=seen.reference_error,
        max_abs_output=seen.max_abs_output,
        trials=seen.trials,
        trivial_answers=seen.trivial,
        gpu_before=seen.gpu_before,
        gpu_after=seen.gpu_after,
        stage_seconds=seen.stage_seconds,
        candidate_stdout=seen.stdout[:MAX_STDOUT],
    )
    if seen.output_spec is not None:
        evidence.output_shape = list(seen.output_spec.shape)
        evidence.output_dtype = seen.output_spec.dtype
    if seen.as_given is not None:
        evidence.bound_factor = seen.factor
    if seen.pair is not None:
        evidence.written_map = seen.pair.written_map
        evidence.written_map_folded = seen.pair.written_map_folded
        evidence.right_map = seen.pair.right_map
        evidence.right_map_folded = seen.pair.right_map_folded
        evidence.error_profile = seen.pair.error_profile
        evidence.error_profile_folded = seen.pair.error_profile_folded
    if seen.timing is not None:
        evidence.candidate_samples_ms = seen.timing.candidate_ms
        evidence.reference_samples_ms = seen.timing.reference_ms
    return evidence


def _worth_verifying(decision: Decision, speedup: Speedup | None) -> bool:
    low = speedup.low if speedup is not None else None
    return decision.verdict is Verdict.CORRECT and low is not None and low > FASTER


def _verify(row: Evaluation, first: Observations, again: Observations, second: Decision) -> None:
    """Sets `verified`: correct twice, faster twice, medians within 5 % (design, section 3)."""
    if second.verdict is not Verdict.CORRECT:
        # Two runs that disagree are no basis for either verdict, so the worse one stands.
        sentence = f"It was correct once, but not when it was run again. {second.sentence}"
        _apply(row, replace(second, sentence=sentence))
        return
    if first.speedup is None or again.speedup is None or again.speedup.low is None:
        return
    row.second_speedup = again.speedup.median
    row.second_speedup_low = again.speedup.low
    apart = abs(again.speedup.median / first.speedup.median - 1)
    row.verified = again.speedup.low > FASTER and apart <= SAME_MEDIAN
    if apart > SAME_MEDIAN and not any(f.code is FlagCode.NOISY_TIMING for f in row.flags):
        row.flags = [
            *row.flags,
            Flag(
                FlagCode.NOISY_TIMING,
                f"two runs gave {first.speedup.median:.3g}x and {again.speedup.median:.3g}x.",
            ),
        ]


def _finished(row: Evaluation, started: float) -> Evaluation:
    row.grade_s = time.monotonic() - started
    if any(flag.code.severity is Severity.REJECTING for flag in row.flags):
        row.verified = False
    row.assign_id()
    return row
