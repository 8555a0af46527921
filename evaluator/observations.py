"""What one session saw: every fact that a verdict needs, and nothing decided yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evaluator.bounds import FACTOR, Comparison
from evaluator.contract import Stage, Trial, TrivialAnswer
from evaluator.intervals import Speedup
from evaluator.maps import PairComparison
from evaluator.timing import Timing
from evaluator.values import TensorSpec
from evaluator.workers import WorkerFailed


@dataclass
class Observations:
    """What one session saw. Lists are empty and values None where it did not get that far."""

    precision: str = "fp32"
    failure: WorkerFailed | None = None
    failed_at: Stage = Stage.CHECKING
    isolation: str = ""
    oracle: str | None = None
    arithmetic: str = "ieee"
    factor: float = FACTOR
    benchmark: list[bool] = field(default_factory=list)
    benchmark_2025: list[bool] = field(default_factory=list)
    zero_passes: bool | None = None
    trials: list[Trial] = field(default_factory=list)
    as_given: Comparison | None = None
    pair: PairComparison | None = None
    reference_error: float | None = None
    max_abs_output: float | None = None
    output_spec: TensorSpec | None = None
    degenerate: bool | None = None
    trivial: list[TrivialAnswer] = field(default_factory=list)
    reference_repeats: bool = True
    missing_state: list[str] = field(default_factory=list)
    aliased: bool = False
    reference_aliases: bool = False
    zero_output: bool = False
    repeats_earlier: bool = False
    mutated_inputs: bool = False
    mutated_state: list[str] = field(default_factory=list)
    failed_structures: list[str] = field(default_factory=list)
    other_weights_passed: bool | None = None
    timing: Timing | None = None
    benchmark_speedup: float | None = None
    output_bytes: int = 0
    floor_ms: float | None = None
    write_floor_ms: float | None = None
    compile_s: float | None = None
    stdout: str = ""
    gpu_before: dict[str, Any] = field(default_factory=dict)
    gpu_after: dict[str, Any] = field(default_factory=dict)
    stage_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def speedup(self) -> Speedup | None:
        return self.timing.speedup if self.timing else None
