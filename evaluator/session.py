"""One independent run: fresh processes, fresh seeds, every fact that a verdict needs.

The session decides nothing: it returns `Observations`, and `decide` turns those into a verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from evaluator import confine, gpu
from evaluator.contract import Stage
from evaluator.correctness import Correctness
from evaluator.intervals import Speedup
from evaluator.observations import Observations
from evaluator.sides import Sides, StageCallback
from evaluator.timing import TIME_BUDGET_S, measure
from evaluator.workers import WorkerFailed, settle_spares

BENCHMARK_REPEATS_MS = 500.0  # about as long as its 100 repeats take where kernels are short


def run_session(
    *,
    problem_source: str,
    candidate_source: str,
    precision: str,
    device: str,
    on_stage: StageCallback,
    thorough: bool = True,
) -> Observations:
    """Runs one candidate against one problem; a failure of either side is part of what was seen.

    `thorough` adds the trials on other data and weights, which a verifying run need not repeat.
    """
    confine.hide_memory()  # of the judge: it holds the seeds
    seen = Observations(precision=precision)
    seen.gpu_before = gpu.read_facts(device)
    sides = Sides(precision, device, seen)
    try:
        _run_stages(sides, problem_source, candidate_source, on_stage, thorough)
    except WorkerFailed as failure:
        seen.failure = failure
    except torch.OutOfMemoryError as error:
        # The judge's own memory: the candidate's shows as a failure of its worker.
        seen.failure = WorkerFailed("out_of_memory", str(error), "reference")
    finally:
        sides.close()
    seen.gpu_after = gpu.read_facts(device)
    return seen


def _run_stages(
    sides: Sides, problem: str, candidate: str, on_stage: StageCallback, thorough: bool
) -> None:
    seen = sides.seen
    with _stage(seen, Stage.CHECKING):
        sides.load(problem, on_stage)
    with _stage(seen, Stage.BUILDING):
        on_stage(Stage.BUILDING, "building the candidate")
        sides.build(candidate)
    correctness = Correctness(sides, on_stage)
    with _stage(seen, Stage.CORRECTNESS):
        correctness.run(thorough=thorough)
        if thorough and all(seen.benchmark):
            seen.benchmark_speedup = _benchmark_speedup(sides)
    if correctness.right_so_far():
        with _stage(seen, Stage.TIMING):
            on_stage(Stage.TIMING, "interleaved batches")
            _time(sides, correctness, on_stage)


@contextmanager
def _stage(seen: Observations, stage: Stage) -> Iterator[None]:
    seen.failed_at = stage
    started = time.monotonic()
    try:
        yield
    finally:
        seen.stage_seconds[stage.value] = time.monotonic() - started


def _benchmark_speedup(sides: Sides) -> float | None:
    """What KernelBench's rule would score: mean over mean, on one input set."""
    forward_ms = sides.loaded["forward_ms"]
    repeats = int(max(3, min(20, BENCHMARK_REPEATS_MS / max(forward_ms, 0.01))))
    reference_ms = sides.benchmark_mean_ms(sides.reference, repeats)
    candidate_ms = sides.benchmark_mean_ms(sides.candidate, repeats)
    return reference_ms / candidate_ms if candidate_ms > 0 else None


def _time(sides: Sides, correctness: Correctness, on_stage: StageCallback) -> None:
    settle_spares()
    budget_s = TIME_BUDGET_S[sides.device.type]
    started = time.monotonic()
    sides.seen.timing = measure(
        calls_per_batch=sides.slots,
        device_kind=sides.device.type,
        prepare=sides.prepare_batch,
        run_reference=lambda: sides.batch(sides.reference),
        run_candidate=lambda: sides.batch(sides.candidate),
        outputs_agree=lambda: correctness.right(sides.slots),
        seconds_left=lambda: budget_s - (time.monotonic() - started),
        on_progress=lambda speedup: on_stage(Stage.TIMING, _progress(speedup)),
    )
    if sides.device.type == "cuda":
        _note_floors(sides)


def _note_floors(sides: Sides) -> None:
    """The least a call can take: bytes over the measured copy rate, or FLOPs over the measured.

    Inputs are counted only where the output depends on all of them; for look-ups that is not so,
    so the floor there is the output and the integer inputs alone.
    """
    seen = sides.seen
    ceilings = gpu.measure_ceilings(sides.device_name)
    inputs = sides.inputs.specs
    integers = [spec for spec in inputs if not spec.dtype.startswith(("float", "bfloat"))]
    counted = [*sides.outputs.specs, *(integers or inputs)]
    bytes_ms = sum(spec.nbytes for spec in counted) / ceilings.copy_bytes_per_s * 1e3
    flops_ms = sides.flops() / ceilings.flops_per_s[seen.precision] * 1e3
    # A TF32 product may beat the rate of an IEEE one, so only its bytes bound it.
    seen.floor_ms = bytes_ms if seen.arithmetic == "tf32" else max(bytes_ms, flops_ms)
    if seen.output_bytes > ceilings.l2_bytes:
        seen.write_floor_ms = seen.output_bytes / ceilings.write_bytes_per_s * 1e3


def _progress(speedup: Speedup) -> str:
    return f"{speedup.median:.3f}x ({speedup.low:.3f}-{speedup.high:.3f}), n = {speedup.n}"
