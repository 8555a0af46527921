"""The facts of one evaluation as pairs and rows for quiet tables. Values are Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from reach.style.formats import (
    MISSING,
    day,
    milliseconds,
    multiple,
    scientific_plain,
    seconds,
    share,
    speedup,
    speedup_interval,
)
from reach.style.kernel_sentences import Row, is_valid
from reach.style.words import escape_markdown, struck

_CLOCKS = {"device": "time on the device", "call": "time per call"}


def measurement_facts(row: Row) -> list[tuple[str, str]]:
    """Times and errors as pairs of name and value (Markdown). A time that was not taken says so;
    what does not exist for this verdict is left out."""

    def timed(value: float | None) -> str:
        return "– not measured" if value is None else milliseconds(value)

    invalid = "" if is_valid(row) else ", invalid"
    candidate = row["candidate_ms"]
    versus = row["speedup_vs_compiled"]
    measured = speedup_interval(row["speedup"], row["speedup_low"], row["speedup_high"])
    if row["speedup"] is not None and not is_valid(row):
        measured, versus = struck(speedup(row["speedup"])), None
    second = MISSING
    if is_valid(row):
        second = speedup(row["second_speedup"])
        if row["second_speedup_low"] is not None:
            second += f", at least {speedup(row['second_speedup_low'])}"
    times = [("Times", timed(None))]
    if candidate is not None or row["reference_ms"] is not None:
        times = [
            ("Candidate", timed(candidate) + (invalid if candidate is not None else "")),
            ("PyTorch eager", timed(row["reference_ms"])),
            ("torch.compile", timed(row["compiled_ms"])),
            ("Bytes and FLOPs at measured rates", timed(row["floor_ms"])),
        ]
    clock = _CLOCKS.get(row["time_kind"])
    facts = [
        *times,
        ("Speedup, 95 % CI", measured),
        ("Over torch.compile", speedup(versus)),
        ("In the second run", second),
        ("Clock", clock or MISSING),
        ("Beyond its own events", milliseconds(row["time_hidden_ms"])),
        ("Written", share(row["written_fraction"])),
        ("Right", share(row["right_fraction"])),
        ("Error ÷ PyTorch's own", multiple(row["error_ratio"])),
        ("Relative L2 error", scientific_plain(row["relative_l2"])),
        ("Oracle", escape_markdown(row["oracle"]) if row["oracle"] else MISSING),
        (
            "Reference's arithmetic",
            escape_markdown((row["reference_arithmetic"] or MISSING).upper()),
        ),
    ]
    return [(name, value) for name, value in facts if value != MISSING]


def provenance_facts(row: Row) -> list[tuple[str, str]]:
    """Where, when and with what the row was made, as pairs of name and value (Markdown), without
    what was not recorded."""
    unset = MISSING

    def said(*values: Any) -> str:
        return " · ".join(escape_markdown(str(value)) for value in values if value) or unset

    sha = row["source_sha256"]
    problem = f"{row['suite']}, {row['problem_version']}"
    if row["scale_factor"] != 1:
        problem += f", scaled by {row['scale_factor']:g}"
    facts = [
        ("Device", said(row["device"])),
        ("Driver, CUDA", said(row["driver"], row["cuda"])),
        ("torch, Triton", said(row["torch"], row["triton"])),
        ("Python", said(row["python"])),
        ("Evaluator", said(row["evaluator_version"])),
        ("Confinement", said(row["isolation"])),
        ("Graded", said(f"{day(row['started_at'])}, in {seconds(row['grade_s'])}")),
        ("Built in", seconds(row["compile_s"])),
        ("Problem", said(problem)),
        ("Campaign", said(row["campaign"])),
        ("Source", f"`sha256 {sha[:12]}`" if sha else unset),
        ("Licence", said(row["licence"])),
    ]
    return [(name, value) for name, value in facts if value != unset]


def trial_rows(evidence: Mapping[str, Any]) -> list[dict[str, str]]:
    """The checked calls as table rows: inputs and sentinel, result, error (Markdown).

    Calls that follow each other and say the same share a row with their number.
    """
    rows = []
    for trial in evidence.get("trials") or []:
        poison = trial["poison"]
        sentinel = "" if poison in (None, "", "none") else f", sentinel {poison}"
        right = trial.get("right_fraction")
        result = "passed" if trial["passed"] else "failed"
        if right is not None and right < 1:
            result += f", {share(right)} right" if right else ", none right"
        name = str(trial["name"]).replace("_", " ")
        rows.append(
            (
                escape_markdown(f"{name}{sentinel}"),
                f":{'green' if trial['passed'] else 'red'}[{result}]",
                multiple(trial.get("error_ratio")),
            )
        )
    return [
        {
            "Inputs": inputs if (same := len(list(group))) == 1 else f"{inputs}, {same} calls",
            "Result": result,
            "Error ÷ PyTorch's own": error,
        }
        for (inputs, result, error), group in groupby(rows)
    ]
