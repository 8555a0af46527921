"""One independent run: fresh processes, fresh seeds, every fact that a verdict needs.

The session owns the seeds, the buffers, the comparison and the clock. It decides nothing: it
returns `Observations`, and `decide` turns those into a verdict.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator import confine, gpu
from evaluator.benchmark_check import benchmark_check, benchmark_check_2025
from evaluator.bounds import CEILING
from evaluator.buffers import Buffer, allocate, free_bytes
from evaluator.comparison import Comparison, agrees, check, reference_errors
from evaluator.contract import Stage, Trial, TrivialAnswer
from evaluator.intervals import Speedup
from evaluator.maps import PairComparison, compare_pair
from evaluator.poison import SENTINELS
from evaluator.timing import TIME_BUDGET_S, Batch, Timing, measure
from evaluator.values import Layout, TensorSpec
from evaluator.workers import WorkerFailed, WorkerProcess, take_worker

BENCHMARK_TRIALS = 5  # KernelBench's own number
BUILD_TIMEOUT_S = 900.0
LOAD_TIMEOUT_S = 300.0
DRAW_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 30.0
BOUND_FACTOR = 16.0
TF32_FACTOR = 4.0
FEW_ELEMENTS = 4096
SPIN_CLOCK_HZ = 2e9  # about what current cards boost to; a slower clock only spins longer

StageCallback = Callable[[Stage, str], None]


@dataclass
class Observations:
    """What one session saw. Lists are empty and values None where it did not get that far."""

    precision: str = "fp32"
    failure: WorkerFailed | None = None
    failed_side: str = "candidate"
    failed_at: Stage = Stage.CHECKING
    isolation: str = ""
    oracle: str | None = None
    arithmetic: str = "ieee"
    factor: float = BOUND_FACTOR
    benchmark: list[bool] = field(default_factory=list)
    benchmark_2025: list[bool] = field(default_factory=list)
    zero_passes: bool | None = None
    trials: list[Trial] = field(default_factory=list)
    as_given: Comparison | None = None
    pair: PairComparison | None = None
    reference_error: float | None = None
    max_abs_output: float | None = None
    output_spec: TensorSpec | None = None
    trivial: list[TrivialAnswer] = field(default_factory=list)
    reference_repeats: bool = True
    missing_state: list[str] = field(default_factory=list)
    aliased: bool = False
    reference_aliases: bool = False
    zero_output: bool = False
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


class Session:
    """Runs one candidate against one problem once. Use as `Session(...).run()`."""

    def __init__(
        self,
        *,
        problem_source: str,
        candidate_source: str,
        precision: str,
        device: str,
        on_stage: StageCallback,
        thorough: bool = True,
        factor: float = BOUND_FACTOR,
    ) -> None:
        self.problem_source = problem_source
        self.candidate_source = candidate_source
        self.precision = precision
        self.device_name = device
        self.device = torch.device(device)
        self.on_stage = on_stage
        self.thorough = thorough
        self.factor = factor
        self.seen = Observations(precision=precision)

    def run(self) -> Observations:
        """Runs every step; a failure of either side ends it and is part of what was seen."""
        confine.hide_memory()
        seen = self.seen
        seen.gpu_before = gpu.read_facts(self.device_name)
        self.buffers: list[Buffer] = []
        # Both start at once: importing torch takes longer than everything that follows.
        self.reference = take_worker(self.device_name)
        self.candidate = take_worker(self.device_name)
        try:
            self._run_stages()
        except WorkerFailed as failure:
            seen.failure = failure
        except torch.OutOfMemoryError as error:
            seen.failed_side = "problem"
            seen.failure = WorkerFailed("out_of_memory", str(error))
        finally:
            seen.stdout = self.candidate.close()
            problem_output = self.reference.close()
            if seen.failure is not None and seen.failed_side == "problem":
                seen.stdout = problem_output
            for buffer in self.buffers:
                buffer.close()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        seen.factor = self.factor
        seen.gpu_after = gpu.read_facts(self.device_name)
        return seen

    # -- stages -----------------------------------------------------------------------------
    def _run_stages(self) -> None:
        with self._stage(Stage.CHECKING, "reading the problem"):
            self.seen.failed_side = "problem"
            self._load_problem()
        with self._stage(Stage.BUILDING, "building the candidate"):
            self._build_candidate()
        with self._stage(Stage.CORRECTNESS, "as the benchmark runs it"):
            self._measure_reference_error()
            self._benchmark_trials()
            self._poisoned_pair()
            self._trivial_answers()
            if not self._right_so_far() and self._may_be_tf32():
                self._try_tf32()
            if self.thorough and self._right_so_far():
                self._structured_trials()
                self._other_weights()
        self.seen.benchmark_speedup = self._benchmark_speedup()
        if self._right_so_far():
            with self._stage(Stage.TIMING, "interleaved batches"):
                self._time()

    @contextmanager
    def _stage(self, stage: Stage, detail: str) -> Iterator[None]:
        self.seen.failed_at = stage
        self.on_stage(stage, detail)
        started = time.monotonic()
        try:
            yield
        finally:
            self.seen.stage_seconds[stage.value] = time.monotonic() - started

    def _load_problem(self) -> None:
        self.on_stage(Stage.CHECKING, "starting two confined processes")
        self.reference.assign("reference")
        self.on_stage(Stage.CHECKING, "running the reference once")
        self.weight_seed = secrets.randbits(31)
        estimate = self.reference.request(
            "estimate", LOAD_TIMEOUT_S, source=self.problem_source, precision=self.precision
        )
        self._refuse_too_large(estimate["input_bytes"])
        self.loaded = self.reference.request(
            "load", LOAD_TIMEOUT_S, seed=self.weight_seed, input_seed=secrets.randbits(63)
        )
        self.on_stage(Stage.CHECKING, "sharing memory with both")
        inputs = tuple(TensorSpec.from_json(spec) for spec in self.loaded["inputs"])
        outputs = tuple(TensorSpec.from_json(spec) for spec in self.loaded["outputs"])
        state = tuple(TensorSpec.from_json(spec) for spec in self.loaded["state"])
        oracle = tuple(
            TensorSpec(spec.shape, _oracle_dtype(spec.dtype), spec.stride) for spec in outputs
        )
        if not outputs or any(spec.numel == 0 for spec in outputs):
            raise WorkerFailed("output", "the reference returns no tensor with elements")
        self.seen.output_bytes = sum(spec.nbytes for spec in outputs)
        self.moved_bytes = sum(spec.nbytes for spec in (*inputs, *outputs))
        self.slots = self._slots()
        self.inputs = Layout(inputs, self.slots)
        self.outputs = Layout(outputs, self.slots)
        self.state = Layout(state)
        self.oracle = Layout(oracle)
        self.reference_inputs = self._allocate(self.inputs.nbytes)
        self.candidate_inputs = self._allocate(self.inputs.nbytes)
        self.reference_outputs = self._allocate(self.outputs.nbytes)
        self.candidate_outputs = self._allocate(self.outputs.nbytes)
        self.reference_state = self._allocate(self.state.nbytes)
        self.candidate_state = self._allocate(self.state.nbytes)
        self.oracle_buffer = self._allocate(self.oracle.nbytes)
        layout = {
            "input_tree": self.loaded["input_tree"],
            "state_names": self.loaded["state_names"],
        }
        self.reference.bind(
            {
                "inputs": (self.reference_inputs, self.inputs),
                "outputs": (self.reference_outputs, self.outputs),
                "state": (self.reference_state, self.state),
                "oracle": (self.oracle_buffer, self.oracle),
            },
            **layout,
        )
        self._share_state()
        self.candidate.assign("candidate")
        self.seen.failed_side = "candidate"
        self.candidate.bind(
            {
                "inputs": (self.candidate_inputs, self.inputs),
                "outputs": (self.candidate_outputs, self.outputs),
                "state": (self.candidate_state, self.state),
            },
            **layout,
        )
        self.seen.isolation = self.candidate.isolation
        # A call may take long on its own account, but not for ever: a hang is told from a slow
        # kernel by a multiple of what the reference takes.
        self.call_timeout_s = CALL_TIMEOUT_S + 100 * self.loaded["forward_ms"] / 1e3

    def _refuse_too_large(self, input_bytes: int | None) -> None:
        """Stops before anything is allocated where the tensors cannot fit on this device."""
        if input_bytes is None:
            return
        needed = 6 * input_bytes
        free = free_bytes(self.device)
        if needed > free:
            raise WorkerFailed(
                "out_of_memory",
                f"grading needs about {needed / 1e9:.0f} GB and {free / 1e9:.0f} GB are free on "
                f"{self.device_name}; nothing was run",
            )

    def _slots(self) -> int:
        """Input sets in a batch: at least 2 ms of work, and several times the L2 in bytes."""
        enough_work = 2.0 / max(self.loaded["forward_ms"], 0.005)
        if self.device.type != "cuda":
            return max(1, min(16, round(enough_work)))
        cold = 4 * gpu.measure_ceilings(self.device_name).l2_bytes / max(self.moved_bytes, 1)
        affordable = free_bytes(self.device) / 8 / max(self.moved_bytes, 1)
        return max(1, min(256, int(affordable), round(max(enough_work, cold) + 0.5)))

    def _allocate(self, nbytes: int) -> Buffer:
        buffer = allocate(nbytes, self.device)
        self.buffers.append(buffer)
        return buffer

    def _share_state(self) -> None:
        """The reference's weights, through the judge, to where the candidate reads them."""
        self.reference.request("export_state", DRAW_TIMEOUT_S)
        self.candidate_state.tensor.copy_(self.reference_state.tensor)
        self._synchronize()

    def _build_candidate(self) -> None:
        started = time.monotonic()
        self.candidate.request(
            "build",
            BUILD_TIMEOUT_S,
            source=self.candidate_source,
            class_name="ModelNew",
            seed=self.weight_seed,
            init=self.loaded["init"],
            precision=self.precision,
        )
        self.seen.compile_s = time.monotonic() - started
        reply = self.candidate.request("load_state", DRAW_TIMEOUT_S)
        self.seen.missing_state = [str(name) for name in reply["missing"]]

    # -- one call ---------------------------------------------------------------------------
    def _draw(self, structure: str = "as_given", slots: int = 1) -> None:
        """Fresh inputs into the first `slots` slots, the same bytes for both sides."""
        self.reference.request(
            "draw",
            DRAW_TIMEOUT_S + slots,
            slots=list(range(slots)),
            seeds=[secrets.randbits(63) for _ in range(slots)],
            structure=structure,
        )
        self.candidate_inputs.tensor.copy_(self.reference_inputs.tensor)
        self._synchronize()

    def _call(self, side: WorkerProcess, poison: str, slots: int = 1) -> dict[str, Any]:
        """One call for each of the first `slots` slots, into outputs that hold the sentinel."""
        mine = side is self.candidate
        outputs = self.candidate_outputs if mine else self.reference_outputs
        outputs.tensor.fill_(SENTINELS.get(poison, SENTINELS["a"]))
        self._synchronize()
        if poison != "none":
            side.request("prepare", DRAW_TIMEOUT_S, poison=poison)
        reply = side.request("call", self.call_timeout_s, slots=list(range(slots)), spin_cycles=0)
        if "aliased" in reply:
            if mine:
                self.seen.aliased = True
            else:
                self.seen.reference_aliases = True
        return reply

    def _call_both(self, poison: str) -> None:
        """Reference, then candidate on the same inputs; notes inputs that only it changed."""
        self._call(self.reference, "a")
        reference_mutates = not self._same_inputs()
        self._call(self.candidate, poison)
        if not reference_mutates and not self._same_inputs():
            self.seen.mutated_inputs = True

    def _same_inputs(self) -> bool:
        ours, theirs = (
            buffer.tensor.view(torch.int64)
            for buffer in (self.reference_inputs, self.candidate_inputs)
        )
        return torch.equal(ours, theirs)

    def _output(self, side: WorkerProcess) -> list[torch.Tensor]:
        mine = side is self.candidate
        buffer = self.candidate_outputs if mine else self.reference_outputs
        return self.outputs.views(buffer.tensor)

    def _oracle(self) -> list[torch.Tensor]:
        reply = self.reference.request("oracle", LOAD_TIMEOUT_S)
        self.seen.oracle = str(reply["where"])
        return self.oracle.views(self.oracle_buffer.tensor)

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    # -- correctness ------------------------------------------------------------------------
    def _measure_reference_error(self) -> None:
        """The reference's own error over several draws, where one draw says too little of it.

        A loss is a single number, and on one draw it may be exact by luck.
        """
        self.reference_floor = 0.0
        if any(spec.numel >= FEW_ELEMENTS for spec in self.outputs.specs):
            return
        for _ in range(BENCHMARK_TRIALS):
            self._draw()
            self._call(self.reference, "a")
            for reference, oracle in zip(self._output(self.reference), self._oracle(), strict=True):
                errors = reference_errors(reference, oracle, precision=self.precision)
                self.reference_floor = max(self.reference_floor, errors.element)

    def _benchmark_trials(self) -> None:
        """As KernelBench would see it: natural memory, five draws, its own two checks."""
        seen = self.seen
        for number in range(BENCHMARK_TRIALS):
            self.on_stage(Stage.CORRECTNESS, f"trial {number + 1} of {BENCHMARK_TRIALS}")
            self._draw()
            self._call_both("none")
            reference, candidate = self._output(self.reference), self._output(self.candidate)
            now, then = (
                all(rule(c, r, self.precision) for c, r in zip(candidate, reference, strict=True))
                for rule in (benchmark_check, benchmark_check_2025)
            )
            seen.benchmark.append(now)
            seen.benchmark_2025.append(then)
            if number == 0:
                zeros = [_constant(0, r) for r in reference]
                seen.zero_passes = all(
                    benchmark_check(z, r, self.precision)
                    for z, r in zip(zeros, reference, strict=True)
                )
                self._mutated_state()
            if number == 0:
                comparison = self._compare(candidate, self._oracle(), reference)
                self._note_as_given(comparison, "none")
            else:
                seen.trials.append(Trial("as_given", "none", self._right()))

    def _note_as_given(self, comparison: Comparison, poison: str) -> None:
        """One trial on inputs as drawn; the worst of them is the row's error."""
        seen = self.seen
        seen.trials.append(_trial("as_given", poison, comparison))
        if seen.as_given is None or comparison.error_ratio > seen.as_given.error_ratio:
            seen.as_given = comparison

    def _right(self, slots: int = 1) -> bool:
        """Whether the candidate's outputs of the first slots are right, the cheap way if possible.

        Outputs are held against the reference's own. Where that is no measure (a bf16 cumulative
        sum stalls), the first of them is held against the oracle instead.
        """
        if self._reference_is_a_measure():
            if slots == 1:
                return self._agree(self._output(self.candidate), self._output(self.reference))
            return self._agree(
                self._stacked(self.candidate_outputs), self._stacked(self.reference_outputs)
            )
        kept = self.errors
        comparison = self._compare(
            self._output(self.candidate), self._oracle(), self._output(self.reference)
        )
        self.errors = kept
        return comparison.passed

    def _reference_is_a_measure(self) -> bool:
        """Whether it is so close to the oracle that the bound round it means the same."""
        return all(errors.reliable and errors.element <= CEILING for errors in self.errors)

    def _agree(self, ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> bool:
        """Whether two sets of outputs at the precision are the same within the bound."""
        return all(
            agrees(a, b, precision=self.precision, errors=errors, factor=self.factor)
            for a, b, errors in zip(ours, theirs, self.errors, strict=True)
        )

    def _mutated_state(self) -> None:
        """State that the candidate changed and the reference did not."""
        theirs = set(self.candidate.request("changed_state", DRAW_TIMEOUT_S)["changed"])
        own = set(self.reference.request("changed_state", DRAW_TIMEOUT_S)["changed"])
        self.seen.mutated_state = sorted(str(name) for name in theirs - own)
        self._reload_state()

    def _reload_state(self) -> None:
        for side in (self.reference, self.candidate):
            side.request("load_state", DRAW_TIMEOUT_S)

    def _compare(
        self,
        candidate: list[torch.Tensor],
        oracle: list[torch.Tensor],
        reference: list[torch.Tensor],
    ) -> Comparison:
        """All outputs of one call against the oracle; the worst of them speaks for the call."""
        self._measure_errors(oracle, reference)
        return self._held_against(candidate, oracle, reference)

    def _measure_errors(self, oracle: list[torch.Tensor], reference: list[torch.Tensor]) -> None:
        """The reference's own errors on the data at hand, the unit of every bound."""
        self.errors = [
            reference_errors(r, o, precision=self.precision).at_least(self.reference_floor)
            for r, o in zip(reference, oracle, strict=True)
        ]

    def _held_against(
        self,
        candidate: list[torch.Tensor],
        oracle: list[torch.Tensor],
        reference: list[torch.Tensor],
    ) -> Comparison:
        return _worst(
            [
                check(
                    c,
                    o,
                    precision=self.precision,
                    reference_output=r,
                    errors=errors,
                    factor=self.factor,
                )
                for c, o, r, errors in zip(candidate, oracle, reference, self.errors, strict=True)
            ]
        )

    def _poisoned_pair(self) -> None:
        """Two calls on the same inputs with two sentinels: what was written, what is right."""
        seen = self.seen
        self.on_stage(Stage.CORRECTNESS, "two sentinels")
        self._draw()
        self._reload_state()
        self._call_both("a")
        first = [output.clone() for output in self._output(self.candidate)]
        reference_first = [output.clone() for output in self._output(self.reference)]
        self._reload_state()
        self._call_both("b")
        oracle = self._oracle()
        reference, second = self._output(self.reference), self._output(self.candidate)
        seen.reference_repeats = self._agree(reference, reference_first)
        del reference_first
        self._measure_errors(oracle, reference)
        pairs = [
            compare_pair(
                (first[index], second[index]),
                oracle[index],
                precision=self.precision,
                reference_output=reference[index],
                errors=self.errors[index],
                factor=self.factor,
            )
            for index in range(len(oracle))
        ]
        for call, poison in enumerate("ab"):
            self._note_as_given(_worst([pair.comparisons[call] for pair in pairs]), poison)
        # The maps show one output; where there are several, the one that is right the least.
        shown = min(range(len(pairs)), key=lambda index: pairs[index].right_fraction)
        seen.pair = pairs[shown]
        seen.reference_error = self.errors[shown].element
        seen.output_spec = self.outputs.specs[shown]
        seen.max_abs_output = float(oracle[shown].abs().max())
        seen.zero_output = seen.max_abs_output > 0 and not any(bool(o.any()) for o in second)

    def _may_be_tf32(self) -> bool:
        """Only products have a TF32 form, and only fp32 ones on a GPU; an error above what TF32
        rounding explains is no TF32 result."""
        worst = max((trial.max_scaled_error or 0.0) for trial in self.seen.trials)
        if self.device.type != "cuda" or self.precision != "fp32" or worst >= 4 * 2.0**-10:
            return False
        return self._flops() > 0

    def _try_tf32(self) -> None:
        """Holds a TF32 candidate against a TF32 reference, with a bound of its own.

        TF32 and fp16 round alike, so the factor is smaller here; inputs beyond fp16's range
        among the structured ones tell the two apart.
        """
        seen = self.seen
        kept = (seen.trials, seen.as_given, seen.benchmark, seen.benchmark_2025, self.factor)
        strict_benchmark = (seen.benchmark, seen.benchmark_2025)
        self.on_stage(Stage.CORRECTNESS, "against a TF32 reference")
        self.reference.request("arithmetic", DRAW_TIMEOUT_S, tf32=True)
        seen.trials, seen.as_given, seen.benchmark, seen.benchmark_2025 = [], None, [], []
        self.factor = TF32_FACTOR
        self._benchmark_trials()
        self._poisoned_pair()
        if self._right_so_far():
            seen.arithmetic = "tf32"
            seen.benchmark, seen.benchmark_2025 = strict_benchmark
            return
        seen.trials, seen.as_given, seen.benchmark, seen.benchmark_2025, self.factor = kept
        self.reference.request("arithmetic", DRAW_TIMEOUT_S, tf32=False)

    def _trivial_answers(self) -> None:
        """Answers that do no work, on the data of the pair: each must fail our check."""
        seen = self.seen
        oracle = self.oracle.views(self.oracle_buffer.tensor)
        reference = self._output(self.reference)
        if len(oracle) != 1:
            return
        target, given = oracle[0], reference[0]
        answers = {"zeros": _constant(0, given)}
        if given.is_floating_point() and given.numel():
            answers["the mean"] = _constant(float(target.mean(dtype=torch.float64)), given)
        for number, tensor in enumerate(self.inputs.views(self.reference_inputs.tensor)):
            if tensor.shape == given.shape and tensor.dtype == given.dtype:
                answers[f"input {number} as it is"] = tensor
        for name, answer in answers.items():
            verdict = self._held_against([answer], [target], [given])
            seen.trivial.append(
                TrivialAnswer(
                    answer=name,
                    passes_benchmark=benchmark_check(answer, given, self.precision),
                    passes_benchmark_2025=benchmark_check_2025(answer, given, self.precision),
                    passes_check=verdict.passed,
                )
            )

    def _structured_trials(self) -> None:
        """Other distributions: what is right only for the one given breaks on one of these."""
        for number, name in enumerate(self.loaded["transforms"]):
            self.on_stage(Stage.CORRECTNESS, f"inputs: {name.replace('_', ' ')}")
            self._draw(name)
            self._reload_state()
            self._call(self.reference, "a")
            if not all(bool(torch.isfinite(o).all()) for o in self._output(self.reference)):
                continue  # the problem itself is not defined there
            poison = "ab"[number % 2]
            try:
                self._call_both(poison)
            except WorkerFailed as failure:
                if failure.kind not in ("call", "output"):
                    raise
                self.seen.trials.append(Trial(name, poison, False))
                self.seen.failed_structures.append(name)
                continue
            if not self._passes_cheaply(name, poison):
                self.seen.failed_structures.append(name)

    def _other_weights(self) -> None:
        """A second instance from another seed, with the state copied where names agree."""
        if not self.state.specs:
            return
        self.on_stage(Stage.CORRECTNESS, "other weights")
        seed = secrets.randbits(31)
        build = {
            "seed": seed,
            "init": self.loaded["init"],
            "precision": self.precision,
        }
        self.reference.request("construct", LOAD_TIMEOUT_S, class_name="Model", **build)
        self._share_state()
        self.candidate.request("construct", BUILD_TIMEOUT_S, class_name="ModelNew", **build)
        self._reload_state()
        self._draw()
        self._call_both("a")
        self.seen.other_weights_passed = self._passes_cheaply("other_weights", "a")
        self._reload_state()

    def _passes_cheaply(self, name: str, poison: str) -> bool:
        """Notes a trial on other data: an output like the reference's needs no oracle.

        Where it differs, the oracle says which of the two is off, and the reference's error on
        these data is the measure.
        """
        candidate, reference = self._output(self.candidate), self._output(self.reference)
        if self._reference_is_a_measure() and self._agree(candidate, reference):
            self.seen.trials.append(Trial(name, poison, True))
            return True
        kept = self.errors
        oracle = self._oracle()
        if not all(bool(torch.isfinite(o).all()) for o in oracle):
            return True  # the problem itself is not defined there: no trial
        comparison = self._compare(candidate, oracle, reference)
        self.errors = kept
        self.seen.trials.append(_trial(name, poison, comparison))
        return comparison.passed

    def _right_so_far(self) -> bool:
        return all(trial.passed for trial in self.seen.trials)

    # -- time -------------------------------------------------------------------------------
    def _benchmark_speedup(self) -> float | None:
        """What KernelBench's rule would score: mean over mean, where its check says correct."""
        if not all(self.seen.benchmark):
            return None
        reference_ms = self.loaded["forward_ms"]
        repeats = int(max(3, min(20, 500 / max(reference_ms, 0.01))))
        means = []
        for side in (self.reference, self.candidate):
            reply = side.request(
                "benchmark_times", 30.0 + repeats * self.call_timeout_s, repeats=repeats
            )
            times = [float(value) for value in reply["times_ms"]]
            means.append(sum(times) / len(times))
        return means[0] / means[1] if means[1] > 0 else None

    def _time(self) -> None:
        started = time.monotonic()
        slots = self.slots

        def prepare(number: int) -> None:
            self._draw(slots=slots)
            self._reload_state()
            for buffer in (self.reference_outputs, self.candidate_outputs):
                buffer.tensor.fill_(SENTINELS["ab"[number % 2]])
            for side in (self.reference, self.candidate):
                side.request("prepare", DRAW_TIMEOUT_S, poison=self._timing_poison(number))
            self._synchronize()

        self.seen.timing = measure(
            calls_per_batch=slots,
            device_kind=self.device.type,
            prepare=prepare,
            run_reference=lambda: self._batch(self.reference),
            run_candidate=lambda: self._batch(self.candidate),
            outputs_agree=lambda: self._right(slots),
            seconds_left=lambda: TIME_BUDGET_S - (time.monotonic() - started),
            on_progress=lambda speedup: self.on_stage(Stage.TIMING, _progress(speedup)),
        )
        self.seen.floor_ms = self._floor_ms()

    def _stacked(self, buffer: Buffer) -> list[torch.Tensor]:
        """Every output of all slots as one tensor: the calls of a batch are checked at once."""
        return [self.outputs.stacked(buffer.tensor, i) for i in range(len(self.outputs.specs))]

    def _timing_poison(self, number: int) -> str:
        # malloc's sentinel costs a pass over the output, which would be timed as the call's own
        return "none" if self.device.type == "cpu" else "ab"[number % 2]

    def _batch(self, side: WorkerProcess) -> Batch:
        timeout_s = self.call_timeout_s * (1 + self.slots / 10)
        started = time.perf_counter()
        slots = list(range(self.slots))
        reply = side.request("call", timeout_s, slots=slots, spin_cycles=self._spin_cycles())
        wall_ms = (time.perf_counter() - started) * 1e3
        claimed = [float(value) for value in reply["times_ms"]]
        if len(claimed) != self.slots:
            raise WorkerFailed("protocol", "the worker reports another number of calls")
        return Batch(wall_ms, claimed)

    def _spin_cycles(self) -> int:
        """Long enough for the host to launch a batch ahead of the device: 1 ms and 50 us a call."""
        if self.device.type != "cuda":
            return 0
        seconds = min(1e-3 + 50e-6 * self.slots, 10e-3)
        return int(seconds * SPIN_CLOCK_HZ)

    def _flops(self) -> int:
        return int(self.reference.request("flops", LOAD_TIMEOUT_S)["flops"])

    def _floor_ms(self) -> float | None:
        """Bytes over the measured copy rate or FLOPs over the measured rate, whichever is more.

        Inputs are counted only where the output depends on all of them; for look-ups that is
        not so, so the floor there is the output and the integer inputs alone.
        """
        if self.device.type != "cuda":
            return None
        ceilings = gpu.measure_ceilings(self.device_name)
        if self.seen.output_bytes > ceilings.l2_bytes:
            self.seen.write_floor_ms = self.seen.output_bytes / ceilings.write_bytes_per_s * 1e3
        floats = [spec for spec in self.inputs.specs if spec.dtype.startswith(("float", "bfloat"))]
        integers = [spec for spec in self.inputs.specs if spec not in floats]
        looked_up = bool(integers)
        counted = [*self.outputs.specs, *integers, *([] if looked_up else floats)]
        bytes_ms = sum(spec.nbytes for spec in counted) / ceilings.copy_bytes_per_s * 1e3
        flops_ms = self._flops() / ceilings.flops_per_s[self.precision] * 1e3
        return max(bytes_ms, flops_ms)


def _oracle_dtype(dtype: str) -> str:
    return "float64" if dtype.startswith(("float", "bfloat")) else dtype


def _constant(value: float, like: torch.Tensor) -> torch.Tensor:
    """A tensor of one value in the shape of `like` that takes no memory."""
    return torch.full((), value, dtype=like.dtype, device=like.device).expand(like.shape)


def _worst(results: list[Comparison]) -> Comparison:
    return min(results, key=lambda result: (result.passed, -result.error_ratio))


def _trial(name: str, poison: str, comparison: Comparison) -> Trial:
    return Trial(
        name=name,
        poison=poison,
        passed=comparison.passed,
        error_ratio=comparison.error_ratio,
        max_scaled_error=comparison.max_scaled_error,
        right_fraction=comparison.right_fraction,
    )


def _progress(speedup: Speedup) -> str:
    return f"{speedup.median:.3f}x ({speedup.low:.3f}-{speedup.high:.3f}), n = {speedup.n}"
