"""Every trial of a candidate: as the benchmark runs it, poisoned, on other data and weights.

Right means right for the float64 oracle within `evaluator.comparison`'s bound. Where an output
is also what the reference computes, and the reference is close to the oracle, the oracle is not
asked again: that is the cheap path for honest candidates.
"""

from __future__ import annotations

import copy
import math
import secrets
from dataclasses import replace

import torch

from evaluator.benchmark_check import benchmark_check, benchmark_check_2025
from evaluator.bounds import CEILING, FACTOR, Comparison
from evaluator.comparison import agrees, check, reference_errors
from evaluator.contract import Stage, Trial, TrivialAnswer
from evaluator.indices import point_at_the_same
from evaluator.maps import compare_pair
from evaluator.scaled_error import epsilon
from evaluator.sides import Sides, StageCallback
from evaluator.workers import WorkerFailed

BENCHMARK_TRIALS = 5  # KernelBench's own number
FEW_ELEMENTS = 4096
SAMPLE_ELEMENTS = 4096
TF32_EPSILON = 2.0**-10
COARSEST_ERROR = 4 * 2.0**-7  # 4 eps of bfloat16
HONEST_ERRORS = 8  # honest kernels were seen to make up to 8 times the reference's error
# Structures that no kernel takes longer or shorter for than for the data as drawn.
SURPRISES = ("negate", "shift", "alternate_rows", "reverse_rows", "ramp_last")
ROOM = 4.0  # between a structure's trial and its place in a batch: no draw is a close call there
BEYOND_FP16 = 2.0**20  # drawn values of 1e-1 and more leave fp16's range, fp32 has room left


class Correctness:
    """The trials of one session, in order; what they show goes into `sides.seen`."""

    def __init__(self, sides: Sides, on_stage: StageCallback, factor: float = FACTOR) -> None:
        self.sides = sides
        self.on_stage = on_stage
        self.factor = factor
        self.precision = sides.precision
        self.reference_floor = 0.0
        self.terms_per_output = 1.0
        self.constant: float | None = None
        sides.seen.factor = factor

    def run(self, *, thorough: bool) -> None:
        """All trials; a second, verifying session needs neither other data nor other weights."""
        sides = self.sides
        self._measure_reference_error()
        self._benchmark_trials(BENCHMARK_TRIALS if thorough else 1)
        self._poisoned_pair()
        if thorough:
            self._trivial_answers()
        if not self.right_so_far() and self._may_be_tf32():
            self._try_tf32()
        if not thorough:
            return
        if self.right_so_far():
            self._few_changed()
            self._structured_trials()
            if sides.seen.failed_structures:
                # What was right at first and is wrong on such data now goes by the calls.
                self._another("as_given_again")
            self._other_weights()
            sides.seen.degenerate = self.constant is not None
        elif self._is_nearly_right():
            # Fewer digits stay fewer digits on other data; a guess is then off by everything.
            self._structured_trials()

    def right_so_far(self) -> bool:
        """Whether every trial up to now has passed."""
        return all(trial.passed for trial in self.sides.seen.trials)

    # -- as given ---------------------------------------------------------------------------
    def _measure_reference_error(self) -> None:
        """Widens the bound of outputs with few elements, where one draw says too little.

        A loss is a single number: on one draw the reference may be exact by luck, so several
        are drawn. And a sum of n terms loses digits with the order of summation, from none
        (pairwise) to the square root of n (a running sum): the fourth root is allowed.
        """
        sides = self.sides
        outputs = sum(spec.numel for spec in sides.outputs.specs)
        if outputs >= FEW_ELEMENTS:
            return
        self.terms_per_output = max(1.0, sum(s.numel for s in sides.inputs.specs) / outputs)
        allowed = epsilon(self.precision) * self.terms_per_output**0.25
        self.reference_floor = allowed / self.factor
        for _ in range(BENCHMARK_TRIALS):
            sides.draw()
            sides.call(sides.reference, "a")
            for given, exact in zip(sides.output(sides.reference), sides.oracle(), strict=True):
                errors = reference_errors(given, exact, precision=self.precision)
                self.reference_floor = max(self.reference_floor, errors.element)

    def _benchmark_trials(self, count: int) -> None:
        """As KernelBench would see it: natural memory, fresh draws, its own two checks."""
        sides, seen = self.sides, self.sides.seen
        first_answer: list[torch.Tensor] = []
        for number in range(count):
            self.on_stage(Stage.CORRECTNESS, f"trial {number + 1} of {count}")
            sides.draw()
            sides.call_both("none")
            reference, candidate = sides.output(sides.reference), sides.output(sides.candidate)
            now, then = (
                all(rule(c, r, self.precision) for c, r in zip(candidate, reference, strict=True))
                for rule in (benchmark_check, benchmark_check_2025)
            )
            seen.benchmark.append(now)
            seen.benchmark_2025.append(then)
            if number == 0:
                seen.zero_passes = all(
                    benchmark_check(_constant(0, given), given, self.precision)
                    for given in reference
                )
                seen.mutated_state = sorted(sides.changed_state())
                sides.reload_state()
                self._note_as_given(self._compare(candidate, sides.oracle(), reference), "none")
                first_answer = [sample(output) for output in candidate]
            else:
                right = self.right()
                seen.trials.append(Trial("as_given", "none", right))
                answer = [sample(output) for output in candidate]
                if not right and all(map(torch.equal, first_answer, answer)):
                    seen.repeats_earlier = True

    def _poisoned_pair(self) -> None:
        """Two calls on the same inputs with two sentinels: what was written, what is right."""
        sides, seen = self.sides, self.sides.seen
        self.on_stage(Stage.CORRECTNESS, "two sentinels")
        sides.draw()
        sides.reload_state()
        sides.call_both("a")
        first = [output.clone() for output in sides.output(sides.candidate)]
        reference_first = [output.clone() for output in sides.output(sides.reference)]
        sides.reload_state()
        sides.call_both("b")
        oracle = sides.oracle()
        reference, second = sides.output(sides.reference), sides.output(sides.candidate)
        seen.reference_repeats = self._agree(reference, reference_first)
        del reference_first
        self._measure_errors(oracle, reference)
        pairs = [
            compare_pair(
                (
                    self._untied(first[index], oracle[index]),
                    self._untied(second[index], oracle[index]),
                ),
                oracle[index],
                precision=self.precision,
                reference_output=reference[index],
                errors=self.errors[index],
                factor=self.factor,
            )
            for index in range(len(oracle))
        ]
        for number, poison in enumerate("ab"):
            self._note_as_given(_worst([pair.comparisons[number] for pair in pairs]), poison)
        # The maps show one output; where there are several, the one that is right the least.
        shown = min(range(len(pairs)), key=lambda index: pairs[index].right_fraction)
        seen.pair = pairs[shown]
        seen.reference_error = self.errors[shown].element
        seen.output_spec = sides.outputs.specs[shown]
        seen.max_abs_output = float(oracle[shown].abs().max())
        seen.zero_output = seen.max_abs_output > 0 and not any(bool(o.any()) for o in second)

    def _trivial_answers(self) -> None:
        """Answers that do no work, on the data of the pair: each must fail our check."""
        sides = self.sides
        oracle = sides.oracles.views(sides.oracle_buffer.tensor)
        reference = sides.output(sides.reference)
        if len(oracle) != 1:
            return
        target, given = oracle[0], reference[0]
        answers = {"zeros": _constant(0, given)}
        if given.is_floating_point():
            answers["the mean"] = _constant(float(target.mean(dtype=torch.float64)), given)
        for number, tensor in enumerate(sides.inputs.views(sides.reference_inputs.tensor)):
            if tensor.shape == given.shape and tensor.dtype == given.dtype:
                answers[f"input {number} as it is"] = tensor
        for name, answer in answers.items():
            # The oracle is asked only where the reference's own output does not settle it.
            close = not self._reference_is_a_measure() or self._agree([answer], [given])
            passes = close and self._held_against([answer], [target], [given]).passed
            if passes and name in ("zeros", "the mean"):
                self.constant = float(answer.flatten()[0])
            sides.seen.trivial.append(
                TrivialAnswer(
                    answer=name,
                    passes_benchmark=benchmark_check(answer, given, self.precision),
                    passes_benchmark_2025=benchmark_check_2025(answer, given, self.precision),
                    passes_check=passes,
                )
            )

    def _is_nearly_right(self) -> bool:
        """Whether every call as given is off by no more than the coarsest precision rounds."""
        errors = [trial.max_scaled_error for trial in self.sides.seen.trials]
        return max(error for error in errors if error is not None) <= COARSEST_ERROR

    # -- TF32 -------------------------------------------------------------------------------
    def _may_be_tf32(self) -> bool:
        """Only products have a TF32 form, and only fp32 ones on a GPU; an error above what TF32
        rounding explains is no TF32 result."""
        worst = max((trial.max_scaled_error or 0.0) for trial in self.sides.seen.trials)
        on_gpu = self.sides.device.type == "cuda"
        if not on_gpu or self.precision != "fp32" or worst > 2 * TF32_EPSILON:
            return False
        return self.sides.flops() > 0

    def _try_tf32(self) -> None:
        """Holds the candidate against a TF32 reference, and says so if it passes.

        Hardware cuts TF32 operands off where libraries round them, so an error of 2 eps of TF32
        is allowed. fp16 has the same digits but not the range: inputs beyond it tell the two
        apart. bf16 has fewer digits, which spikes among the structured inputs show.
        """
        sides = self.sides
        strict = copy.copy(sides.seen)
        kept_errors, kept_floor = self.errors, self.reference_floor
        self.on_stage(Stage.CORRECTNESS, "against a TF32 reference")
        sides.set_tf32(True)
        seen = sides.seen
        seen.trials, seen.as_given, seen.benchmark, seen.benchmark_2025 = [], None, [], []
        self.reference_floor = max(kept_floor, 2 * TF32_EPSILON / self.factor)
        self._benchmark_trials(BENCHMARK_TRIALS)
        self._poisoned_pair()
        if self.right_so_far():
            sides.draw(scale=BEYOND_FP16)
            sides.call_both("a")
            self._passes("beyond_fp16", "a")
        seen.benchmark, seen.benchmark_2025 = strict.benchmark, strict.benchmark_2025
        if self.right_so_far():
            seen.arithmetic = "tf32"
            return
        for name in ("trials", "as_given", "pair", "reference_error", "max_abs_output"):
            setattr(seen, name, getattr(strict, name))
        self.errors, self.reference_floor = kept_errors, kept_floor
        sides.set_tf32(False)

    # -- other data -------------------------------------------------------------------------
    def _structured_trials(self) -> None:
        """Other distributions: what is right only for the one given breaks on one of these."""
        sides, seen = self.sides, self.sides.seen
        for number, name in enumerate(sides.loaded["transforms"]):
            self.on_stage(Stage.CORRECTNESS, f"inputs: {name.replace('_', ' ')}")
            try:
                sides.draw(name)
                sides.reload_state()
                sides.call(sides.reference, "a")
            except WorkerFailed as failure:
                if failure.side != "reference" or failure.kind != "call":
                    raise
                continue  # the problem itself refuses such data
            if not all(bool(torch.isfinite(o).all()) for o in sides.output(sides.reference)):
                continue  # the problem itself is not defined there
            self._hold_constant_against_reference()
            poison = "ab"[number % 2]
            try:
                sides.call_both(poison)
            except WorkerFailed as failure:
                if failure.side != "candidate" or failure.kind not in ("call", "output"):
                    raise
                seen.trials.append(Trial(name, poison, False))
                seen.failed_structures.append(name)
                continue
            if not self._passes(name, poison):
                seen.failed_structures.append(name)
            elif name in SURPRISES and self._is_clearly_right():
                sides.surprises.append(name)

    def _is_clearly_right(self) -> bool:
        """Whether the reference alone settles the last call on other data, with room to spare."""
        sides = self.sides
        if not self._floating or not self._reference_is_a_measure():
            return False
        candidate, reference = sides.output(sides.candidate), sides.output(sides.reference)
        return self._agree_on_other_data(candidate, reference, 1.0)

    def _agree_on_other_data(
        self, ours: list[torch.Tensor], theirs: list[torch.Tensor], room: float
    ) -> bool:
        """Whether both are the same within what other data may cost, or the bound if that is
        wider: a quarter of it with a `room` of 1, all of it with one of 4."""
        kept = self.errors
        least = self._allowed() / ROOM / self.factor
        self.errors = [errors.at_least(room * max(least, errors.element)) for errors in kept]
        same = self._agree(ours, theirs)
        self.errors = kept
        return same

    def _allowed(self) -> float:
        """The scaled error that other data may cost: half of the digits, see `_passes`."""
        eps = epsilon(self.precision)
        return max(math.sqrt(eps), eps * math.sqrt(self.terms_per_output))

    @property
    def _floating(self) -> bool:
        return all(s.dtype.startswith(("float", "bfloat")) for s in self.sides.outputs.specs)

    def _few_changed(self) -> None:
        """Inputs of which only one element in about a thousand is another than a call before.

        An answer that is kept under a fingerprint of the inputs (some elements, a corner, a
        shape) comes back here although the result is another.
        """
        if "spikes" not in self.sides.loaded["transforms"]:
            return
        self.on_stage(Stage.CORRECTNESS, "inputs: few elements changed")
        self._another("as_given_again")
        try:
            self._another("few_changed", "spikes", again=True)
        except WorkerFailed as failure:
            if failure.kind not in ("call", "output"):
                raise  # that it fails on spikes is said by the trial of that name

    def _another(self, name: str, structure: str = "as_given", *, again: bool = False) -> None:
        """A trial on another draw; notes where the answer before comes back and is wrong now."""
        sides = self.sides
        before = [output.clone() for output in sides.output(sides.candidate)]
        sides.draw(structure, again=again)
        sides.reload_state()
        sides.call_both("b")
        if not all(bool(torch.isfinite(o).all()) for o in sides.output(sides.reference)):
            return  # the problem itself is not defined there
        if self._passes(name, "b"):
            return
        if all(map(torch.equal, before, sides.output(sides.candidate))):
            sides.seen.repeats_earlier = True

    def _hold_constant_against_reference(self) -> None:
        """A constant that is right on every kind of data is the problem's answer: degenerate."""
        if self.constant is not None:
            given = self.sides.output(self.sides.reference)
            if not self._agree([_constant(self.constant, given[0])], given):
                self.constant = None

    def _other_weights(self) -> None:
        """A second instance from another seed, with the state copied where names agree."""
        sides = self.sides
        if not sides.state.specs:
            return
        self.on_stage(Stage.CORRECTNESS, "other weights")
        sides.rebuild()
        sides.draw()
        sides.call_both("a")
        sides.seen.other_weights_passed = self._passes("other_weights", "a")
        sides.reload_state()

    def _passes(self, name: str, poison: str) -> bool:
        """Notes a trial on other data. Half of the precision's digits must be right there.

        A formula that loses digits where it was not asked to work is inaccurate, but no cheat;
        a shortcut that holds only for the data as drawn is off by far more. A sum into few
        elements may lose what a running sum loses, the square root of its terms. Where the
        reference itself has elements out of bounds, 8 times as many are no shortcut either.
        """
        sides = self.sides
        candidate, reference = sides.output(sides.candidate), sides.output(sides.reference)
        if self._reference_is_a_measure() and self._agree(candidate, reference):
            sides.seen.trials.append(Trial(name, poison, True))
            return True
        kept, kept_floor = self.errors, self.reference_floor
        oracle = sides.oracle()
        if not all(bool(torch.isfinite(exact).all()) for exact in oracle):
            return True  # the problem itself is not defined there: no trial
        self.reference_floor = max(kept_floor, self._allowed() / self.factor)
        comparison = self._compare(candidate, oracle, reference)
        passed = comparison.passed
        if not passed and not self._reference_is_a_measure():
            own = self._held_against(reference, oracle, reference, excused=False)
            wrong, own_wrong = 1 - comparison.right_fraction, 1 - own.right_fraction
            passed = wrong <= HONEST_ERRORS * own_wrong
        self.errors, self.reference_floor = kept, kept_floor
        sides.seen.trials.append(replace(_trial(name, poison, comparison), passed=passed))
        return passed

    # -- comparing --------------------------------------------------------------------------
    def right(self, slots: int = 1) -> bool:
        """Whether the candidate's outputs of the first slots are right, the cheap way if possible.

        Outputs are held against the reference's own. Where that is no measure (a bf16 cumulative
        sum stalls), one of them, picked only now, is held against the oracle instead.
        """
        sides = self.sides
        if self._reference_is_a_measure():
            view = sides.output if slots == 1 else sides.stacked_outputs
            same = self._agree(view(sides.candidate), view(sides.reference))
            return same or (sides.odd_slot is not None and self._agree_but_for(sides.odd_slot))
        kept = self.errors
        # Ties of indices are looked up in the inputs of the first slot.
        slot = secrets.randbelow(slots) if self._floating else 0
        candidate, reference = (sides.output(s, slot) for s in (sides.candidate, sides.reference))
        comparison = self._compare(candidate, sides.oracle(slot), reference)
        self.errors = kept
        return comparison.passed

    def _agree_but_for(self, odd: int) -> bool:
        """Slots as drawn within the bound; the odd one by the rule for other data (`_passes`)."""
        sides = self.sides
        ours, theirs = (sides.stacked_outputs(s) for s in (sides.candidate, sides.reference))
        for part in (slice(odd), slice(odd + 1, None)):
            a, b = [tensor[part] for tensor in ours], [tensor[part] for tensor in theirs]
            if len(b[0]) and not self._agree(a, b):
                return False
        a, b = [tensor[odd] for tensor in ours], [tensor[odd] for tensor in theirs]
        return self._agree_on_other_data(a, b, ROOM)

    def _reference_is_a_measure(self) -> bool:
        """Whether it is so close to the oracle that the bound round it means the same."""
        return all(errors.reliable and errors.element <= CEILING for errors in self.errors)

    def _agree(self, ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> bool:
        """Whether two sets of outputs at the precision are the same within the bound."""
        return all(
            agrees(a, b, precision=self.precision, errors=errors, factor=self.factor)
            or self._tied(a, b)
            for a, b, errors in zip(ours, theirs, self.errors, strict=True)
        )

    def _untied(self, output: torch.Tensor, oracle: torch.Tensor) -> torch.Tensor:
        """The output, or the oracle where it is indices that are as right as the oracle's."""
        return oracle if self._tied(output, oracle) else output

    def _tied(self, ours: torch.Tensor, right: torch.Tensor) -> bool:
        """Whether both are indices of equally large (or small) values of an input."""
        sides = self.sides
        if ours.dtype != torch.int64:
            return False
        if ours.shape == right.shape and ours.dim() > len(sides.outputs.specs[0].shape):
            inputs = sides.stacked_inputs()
        else:
            inputs = sides.inputs.views(sides.reference_inputs.tensor)
        return point_at_the_same(ours, right, inputs)

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
        excused: bool = True,
    ) -> Comparison:
        """Against the oracle with the errors at hand; `excused`: also right where the reference
        itself is wrong in the same way."""
        results = []
        for c, o, r, errors in zip(candidate, oracle, reference, self.errors, strict=True):
            results.append(
                check(
                    self._untied(c, o),
                    o,
                    precision=self.precision,
                    reference_output=r if excused else None,
                    errors=errors,
                    factor=self.factor,
                )
            )
        return _worst(results)

    def _note_as_given(self, comparison: Comparison, poison: str) -> None:
        """One trial on inputs as drawn; the worst of them is the row's error."""
        seen = self.sides.seen
        seen.trials.append(_trial("as_given", poison, comparison))
        if seen.as_given is None or comparison.error_ratio > seen.as_given.error_ratio:
            seen.as_given = comparison


def sample(output: torch.Tensor) -> torch.Tensor:
    """A few elements from all over an output, copied: enough to know an answer again."""
    flat = output.flatten()
    return flat[:: max(1, flat.numel() // SAMPLE_ELEMENTS)].clone()


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
