"""The audit of the benchmark's own check: which answers that do no work it accepts.

Each problem is drawn twice. On the first draw the answers get their numbers (`no_work`), on the
second they are held against both of the benchmark's rules and against ours. An answer that is
right by ours on the data as given is tried again on structured inputs until it fails; one that
never fails is what the operator computes. Where a constant does, the problem is degenerate.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from evaluator.benchmark_check import (
    TOLERANCE_2025,
    benchmark_check,
    benchmark_check_2025,
    tolerance,
)
from evaluator.bounds import FACTOR, Tally, element_unit
from evaluator.catalogue import Problem, all_problems
from evaluator.contract import evaluator_version, finite
from evaluator.no_work import Answer, answers_from
from evaluator.scaled_error import (
    ReferenceErrors,
    ScaledError,
    error_source,
    flat,
    measure_reference,
)
from evaluator.strict_problem import StrictProblem, release, strict_arithmetic
from evaluator.structured_inputs import transforms_for

SEED = 2026
KINDS = ("zeros", "constant", "input", "affine", "previous")
RULES = ("benchmark_check", "benchmark_check_2025", "check_as_given", "check")


@dataclass
class AuditAnswer:
    """One answer on one problem. `check` is ours with structured inputs; `failed_on` names the
    inputs on which ours turned it down ("as_given" or a structure), None if it never did.
    """

    kind: str
    detail: str
    benchmark_check: bool
    benchmark_check_2025: bool
    check_as_given: bool
    check: bool = False
    failed_on: str | None = "as_given"


@dataclass
class AuditRow:
    """One problem. margin: how many times max |output| lies below the benchmark's tolerance at
    this precision (above 1, zeros pass it); margin_2025 the same for 1e-2; both None where the
    output is zero throughout. structures: those tried beyond the data as given. error: why the
    problem could not be audited.
    """

    problem: str
    problem_id: int
    precision: str
    output_shapes: list[list[int]] = field(default_factory=list)
    max_abs_output: float | None = None
    margin: float | None = None
    margin_2025: float | None = None
    answers: list[AuditAnswer] = field(default_factory=list)
    structures: list[str] = field(default_factory=list)
    degenerate: bool = False
    oracle: str | None = None
    seconds: float = 0.0
    error: str | None = None

    def passing(self, rule: str) -> list[str]:
        """Kinds of the answers that pass a rule (one of RULES), in the order of KINDS."""
        return list(dict.fromkeys(a.kind for a in self.answers if getattr(a, rule)))

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.problem}: not audited: {self.error}"
        parts = [f"{rule}: {', '.join(self.passing(rule)) or 'none'}" for rule in RULES]
        size = f"max |output| {self.max_abs_output:.3g}"
        note = "; degenerate: a constant is right" if self.degenerate else ""
        return f"{self.problem}: {size}; {'; '.join(parts)}{note}; {self.seconds:.1f} s"


def run_audit(
    suite: str | Sequence[Problem],
    precision: str,
    device: str | torch.device,
    on_row: Callable[[AuditRow], None] | None = None,
) -> list[AuditRow]:
    """Audits every problem of a suite (its name, or problems from the catalogue), in order.

    `on_row` sees each row when it is done. A problem that fails gets a row with its error.
    Runs the problem files in this process: only for files that are trusted.
    """
    problems = all_problems(suite) if isinstance(suite, str) else list(suite)
    rows = []
    for problem in problems:
        row = AuditRow(problem.spec, problem.problem_id, precision)
        started = time.perf_counter()
        try:
            with strict_arithmetic(), torch.no_grad():
                _audit(row, problem.path, precision, torch.device(device))
        except Exception as error:
            row.error = f"{type(error).__name__}: {str(error).strip()[:500]}"
        release(torch.device(device))
        row.seconds = round(time.perf_counter() - started, 3)
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return rows


def to_json(rows: Sequence[AuditRow]) -> dict[str, Any]:
    """The rows as plain JSON types, and for each kind of answer and rule the problems it passes."""
    summary = {
        kind: {rule: [row.problem for row in rows if kind in row.passing(rule)] for rule in RULES}
        for kind in KINDS
    }
    return finite(
        {
            "evaluator_version": evaluator_version(),
            "torch": torch.__version__,
            "summary": summary,
            "degenerate": [row.problem for row in rows if row.degenerate],
            "failed": [row.problem for row in rows if row.error is not None],
            "rows": [dataclasses.asdict(row) for row in rows],
        }
    )


def _audit(row: AuditRow, path: Path, precision: str, device: torch.device) -> None:
    """Fills the row. Tensors die with this frame; each draw is freed before the next."""
    problem = StrictProblem(path, precision, device)
    values = problem.draw(SEED)
    answers = answers_from(values, problem.run(values))
    del values

    values = problem.draw(SEED + 1)
    reference = problem.run(values)
    row.output_shapes = [list(one.shape) for one in reference]
    ends = [float(end) for one in reference if one.numel() for end in torch.aminmax(one)]
    row.max_abs_output = largest = max((abs(end) for end in ends), default=0.0)
    if largest:
        row.margin = tolerance(precision) / largest
        row.margin_2025 = TOLERANCE_2025 / largest
    names = transforms_for(values)
    yardstick = _Yardstick(problem, values, reference, precision)
    row.oracle = yardstick.oracle_kind
    survivors: list[tuple[Answer, AuditAnswer]] = []
    for answer in answers:
        outputs = answer.make(values, reference)
        judged = AuditAnswer(
            answer.kind,
            answer.detail,
            _benchmark(benchmark_check, outputs, reference, precision),
            _benchmark(benchmark_check_2025, outputs, reference, precision),
            yardstick.passes(outputs),
        )
        row.answers.append(judged)
        if judged.check_as_given:
            survivors.append((answer, judged))
        del outputs
    del values, reference, yardstick
    for number, name in enumerate(names or [None]):
        if not survivors:
            break
        survivors = _try_structure(row, problem, SEED + 2 + number, name, survivors)
    for _, judged in survivors:
        judged.check, judged.failed_on = True, None
    row.degenerate = any(a.check and a.kind in ("zeros", "constant") for a in row.answers)
    row.answers = _best_constant(row.answers)


def _try_structure(
    row: AuditRow,
    problem: StrictProblem,
    seed: int,
    name: str | None,
    survivors: list[tuple[Answer, AuditAnswer]],
) -> list[tuple[Answer, AuditAnswer]]:
    """Those that are right on these inputs too; all of them where the inputs say nothing.

    Without a name (inputs that hold no floating tensor) it is another draw as given.
    """
    values = problem.draw(seed, name)
    reference = problem.run(values)
    yardstick = _Yardstick(problem, values, reference, row.precision)
    if not yardstick.finite:
        return survivors
    name = name or "another_draw"
    row.structures.append(name)
    left = []
    for answer, judged in survivors:
        if yardstick.passes(answer.make(values, reference)):
            left.append((answer, judged))
        else:
            judged.failed_on = name
    return left


class _Yardstick:
    """Our check for many answers to one call: the oracle's measures are taken once."""

    def __init__(
        self, problem: StrictProblem, values: Sequence[Any], reference: list[Tensor], precision: str
    ) -> None:
        oracle, self.oracle_kind = problem.oracle(values, reference)
        self.precision = precision
        self.finite = all(_is_finite(one) for one in (*oracle, *reference))
        self.parts: list[tuple[ScaledError, ReferenceErrors, Tensor]] = []
        for exact, base in zip(oracle, reference, strict=True):
            source = error_source(exact, precision, problem.device)
            self.parts.append((source, measure_reference(base, source), base))

    def passes(self, outputs: Sequence[Tensor]) -> bool:
        """As `check`, but an answer that is wrong in the first slice is not looked at further."""
        return all(
            self._passes(output, *part) for output, part in zip(outputs, self.parts, strict=True)
        )

    def _passes(
        self, output: Tensor, source: ScaledError, errors: ReferenceErrors, base: Tensor
    ) -> bool:
        if output.shape != base.shape or output.dtype != base.dtype:
            return False
        bound = FACTOR * element_unit(errors, self.precision)
        tally = Tally(output.shape, output.device, bound)
        excused = None if errors.reliable else flat(base)
        for number, part in enumerate(source.walk(flat(output), excused)):
            tally.add(part)
            if number == 0 and int(tally.first_bad) < tally.numel:
                return False
        return tally.finish(source.squares, errors, self.precision, FACTOR).passed


def _is_finite(tensor: Tensor) -> bool:
    """Sums of finite numbers may overflow, the extremes cannot hide NaN or an infinity."""
    if not tensor.is_floating_point() or not tensor.numel():
        return True
    return bool(torch.stack(torch.aminmax(tensor)).isfinite().all())


def _benchmark(
    rule: Callable[[object, object, str], bool],
    outputs: Sequence[Tensor],
    reference: Sequence[Tensor],
    precision: str,
) -> bool:
    """The benchmark's rule; a tuple of outputs has no shape and fails there for every answer."""
    return len(reference) == 1 and rule(outputs[0], reference[0], precision)


def _best_constant(answers: list[AuditAnswer]) -> list[AuditAnswer]:
    """Keeps one of the two constants: the one that more of the rules accept, ours first."""
    constants = [answer for answer in answers if answer.kind == "constant"]
    if not constants:
        return answers
    best = max(constants, key=lambda a: [getattr(a, rule) for rule in reversed(RULES)])
    return [answer for answer in answers if answer.kind != "constant" or answer is best]
