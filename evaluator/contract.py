"""The row every part of the project agrees on: verdicts, flags, one evaluation, its evidence.

Written by the evaluator, read by the store (`reach`) and the pages. Standard library only, so
that everything can import it; the closed sets below are the vocabulary of the UI as well.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

EVALUATOR_VERSION = "0.1.0"


@functools.cache
def evaluator_version() -> str:
    """Version and a digest of the evaluator's own source: `0.1.0+1a2b3c4d5e6f`.

    The digest names the exact code wherever it runs, also in a copy without its repository:
    SHA-256 over name and content of `evaluator/*.py` in order of names, its first 12 digits.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{EVALUATOR_VERSION}+{digest.hexdigest()[:12]}"


class Verdict(StrEnum):
    """What was decided about a candidate. Closed: a new outcome needs a new member here."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    REJECTED = "rejected"
    MALFORMED = "malformed"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    INCONCLUSIVE = "inconclusive"


class Severity(StrEnum):
    """Whether a flag takes the verdict away or only informs the reader."""

    REJECTING = "rejecting"
    INFORMING = "informing"


class FlagCode(StrEnum):
    """Why a result is not to be trusted. Closed, like the verdicts."""

    ZERO_OUTPUT = "zero_output"
    PARTIAL_WRITE = "partial_write"
    STALE_MEMORY = "stale_memory"
    ALIASED_OUTPUT = "aliased_output"
    TOLERANCE_ONLY = "tolerance_only"
    PRECISION_DOWNGRADE = "precision_downgrade"
    DISTRIBUTION_SPECIFIC = "distribution_specific"
    SHAPE_SPECIFIC = "shape_specific"
    MEMOISED = "memoised"
    INPUT_MUTATED = "input_mutated"
    REFERENCE_USED = "reference_used"
    ASYNC_ESCAPE = "async_escape"
    LAZY_OUTPUT = "lazy_output"
    TIMING_TAMPERED = "timing_tampered"
    HARNESS_TAMPERED = "harness_tampered"
    ENVIRONMENT_TAMPERED = "environment_tampered"
    IMPOSSIBLE_TIME = "impossible_time"
    LIBRARY_FALLBACK = "library_fallback"
    NO_CUSTOM_KERNEL = "no_custom_kernel"
    NOISY_TIMING = "noisy_timing"
    IMPLAUSIBLE_SPEEDUP = "implausible_speedup"
    RAISES_ON_OTHER_SHAPE = "raises_on_other_shape"

    @property
    def severity(self) -> Severity:
        """The severity that belongs to this code, always the same one."""
        return Severity.INFORMING if self in INFORMING_FLAGS else Severity.REJECTING


INFORMING_FLAGS = frozenset(
    {
        FlagCode.LIBRARY_FALLBACK,
        FlagCode.NO_CUSTOM_KERNEL,
        FlagCode.NOISY_TIMING,
        FlagCode.IMPLAUSIBLE_SPEEDUP,
        FlagCode.RAISES_ON_OTHER_SHAPE,
    }
)


class Stage(StrEnum):
    """The stages a grading passes through, in this order (the Grade page shows them)."""

    QUEUED = "queued"
    CHECKING = "checking"
    BUILDING = "building"
    CORRECTNESS = "correctness"
    TIMING = "timing"
    VERIFICATION = "verification"
    DONE = "done"


PRECISIONS = ("fp32", "bf16", "fp16")
CONFIGURATION_KINDS = (
    "frontier",
    "open_weights",
    "rl_system",
    "compiler",
    "in_house",
    "adversarial",
    "unknown",
)
MAX_CANDIDATE_BYTES = 1 << 20


@dataclass(frozen=True)
class Flag:
    """One reason not to trust a result: a closed code and a plain sentence with the number."""

    code: FlagCode
    sentence: str

    def to_json(self) -> dict[str, str]:
        return {
            "code": self.code.value,
            "severity": self.code.severity.value,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Trial:
    """One checked call.

    `name` says which inputs it saw (as_given, negate, scale, ...), `poison` with which sentinel
    the memory was filled before (none, a, b). `error_ratio` is the largest scaled error over the
    one that the strict reference makes at the same precision.
    """

    name: str
    poison: str
    passed: bool
    error_ratio: float | None = None
    max_scaled_error: float | None = None
    right_fraction: float | None = None


@dataclass(frozen=True)
class TrivialAnswer:
    """An answer that does no work, held against the checks on the same data."""

    answer: str
    passes_benchmark: bool
    passes_benchmark_2025: bool
    passes_check: bool


@dataclass
class Evidence:
    """What shows the verdict. Maps have at most 1,024 bins; `*_folded` ones run over the last
    dimension (share of all rows at each position), the others over the flattened output.

    Fractions are in [0, 1], the error profiles are the largest scaled error of each bin in units
    of the reference's own error (`bound_factor` is what is allowed), times are milliseconds.
    """

    output_shape: list[int] = field(default_factory=list)
    output_dtype: str | None = None
    written_map: list[float] = field(default_factory=list)
    written_map_folded: list[float] = field(default_factory=list)
    right_map: list[float] = field(default_factory=list)
    right_map_folded: list[float] = field(default_factory=list)
    error_profile: list[float] = field(default_factory=list)
    error_profile_folded: list[float] = field(default_factory=list)
    reference_error: float | None = None
    bound_factor: float | None = None
    max_abs_output: float | None = None
    trials: list[Trial] = field(default_factory=list)
    trivial_answers: list[TrivialAnswer] = field(default_factory=list)
    candidate_samples_ms: list[float] = field(default_factory=list)
    reference_samples_ms: list[float] = field(default_factory=list)
    gpu_before: dict[str, Any] = field(default_factory=dict)
    gpu_after: dict[str, Any] = field(default_factory=dict)
    stage_seconds: dict[str, float] = field(default_factory=dict)
    candidate_stdout: str = ""


@dataclass
class Evaluation:
    """One candidate graded on one problem at one precision on one device: one row.

    Shares are in [0, 1], `*_ms` are milliseconds (medians), `*_s` seconds; None means that the
    value was not measured or does not exist for this verdict, never zero.

    `reference_arithmetic` is ieee, or tf32 where the candidate computes in TF32 and is therefore
    compared with and timed against a TF32 reference. `time_hidden_ms` is what a call took by the
    judge's clock beyond what the candidate's own events say. `second_speedup*` come from the
    second, independent run that `verified` asks for. `samples` are the 5, 25, 50, 75 and 95 %
    quantiles of the candidate's time per call.
    """

    # identity
    evaluation_id: str = ""
    campaign: str = ""
    configuration: str = ""
    configuration_kind: str = "unknown"
    suite: str = "user"
    problem_id: int = 0
    problem: str = ""
    problem_version: str = "main-2026"
    scale_factor: float = 1.0
    operator_class: str = "other"
    precision: str = "fp32"
    backend: str = "torch"
    sample: int = 0
    owner: str | None = None
    # candidate
    source_sha256: str = ""
    source_url: str | None = None
    source: str | None = None
    licence: str | None = None
    # publisher
    published_correct: bool | None = None
    published_speedup: float | None = None
    published_hardware: str | None = None
    published_failure_cause: str | None = None
    # verdict
    verdict: Verdict = Verdict.INCONCLUSIVE
    sentence: str = ""
    flags: list[Flag] = field(default_factory=list)
    correct_as_given: bool | None = None
    benchmark_check: bool | None = None
    benchmark_check_2025: bool | None = None
    benchmark_speedup: float | None = None
    # correctness
    written_fraction: float | None = None
    right_fraction: float | None = None
    error_ratio: float | None = None
    relative_l2: float | None = None
    max_scaled_error: float | None = None
    oracle: str | None = None
    reference_arithmetic: str | None = None
    trials: int = 0
    zero_passes: bool | None = None
    degenerate: bool | None = None
    # time
    candidate_ms: float | None = None
    reference_ms: float | None = None
    compiled_ms: float | None = None
    floor_ms: float | None = None
    time_kind: str | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    speedup_vs_compiled: float | None = None
    time_hidden_ms: float | None = None
    verified: bool = False
    second_speedup: float | None = None
    second_speedup_low: float | None = None
    samples: list[float] = field(default_factory=list)
    # provenance
    device: str = ""
    driver: str | None = None
    cuda: str | None = None
    torch: str = ""
    triton: str | None = None
    python: str = ""
    evaluator_version: str = ""
    isolation: str = ""
    started_at: str = ""
    compile_s: float | None = None
    grade_s: float | None = None
    message: str | None = None
    # what shows the verdict (a table of its own once stored)
    evidence: Evidence = field(default_factory=Evidence)

    def assign_id(self) -> None:
        """Sets `evaluation_id` from the row key, the source and the start: readable in a URL."""
        key = "|".join(
            str(part)
            for part in (
                self.campaign,
                self.configuration,
                self.problem,
                self.problem_version,
                self.sample,
                self.precision,
                self.source_sha256,
                self.device,
                self.started_at,
            )
        )
        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        self.evaluation_id = f"{self.suite}-{self.problem_id}-{self.precision}-{digest}"

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON types; flags are objects with `code`, `severity`, `sentence`."""
        row = dataclasses.asdict(self)
        row["verdict"] = self.verdict.value
        row["flags"] = [flag.to_json() for flag in self.flags]
        return finite(row)


def finite(value: Any) -> Any:
    """`value` with NaN and infinities as None: JSON has neither, and neither is a measurement."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
