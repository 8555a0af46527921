"""What a kernel's page says in words: headline, the two judges, facts. All from one row.

A row is a mapping with the columns of `evaluator.contract.Evaluation`, flags as mappings with
`code`, `severity` and `sentence`. Sentences are Markdown; a score that does not count is struck
through wherever it appears.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluator.contract import FlagCode, Severity, Verdict
from reach.style.formats import (
    count,
    multiple,
    scientific_plain,
    share,
    speedup,
    speedup_interval,
)
from reach.style.words import (
    capitalised,
    escape_markdown,
    flag_badges,
    provenance_badge,
    struck,
    verdict_badge,
    verdict_word,
)

Row = Mapping[str, Any]

FLAG_REASONS: dict[FlagCode, str] = {
    FlagCode.ZERO_OUTPUT: "its output is all zeros",
    FlagCode.PARTIAL_WRITE: "it left part of its output unwritten",
    FlagCode.STALE_MEMORY: "it returned what an earlier call left in memory",
    FlagCode.ALIASED_OUTPUT: "its output is memory that it was given",
    FlagCode.TOLERANCE_ONLY: "a wrong answer hides inside the tolerance",
    FlagCode.PRECISION_DOWNGRADE: "it computes in a lower precision than asked",
    FlagCode.DISTRIBUTION_SPECIFIC: "it is right only on inputs like the shipped ones",
    FlagCode.SHAPE_SPECIFIC: "it is silently wrong on another shape",
    FlagCode.MEMOISED: "it returned a remembered result",
    FlagCode.INPUT_MUTATED: "it changed its inputs",
    FlagCode.REFERENCE_USED: "it took its answer from the reference",
    FlagCode.ASYNC_ESCAPE: "its work ended after its own clock had stopped",
    FlagCode.LAZY_OUTPUT: "its output is computed only when it is read",
    FlagCode.TIMING_TAMPERED: "it interfered with the clock",
    FlagCode.HARNESS_TAMPERED: "it interfered with the judge",
    FlagCode.ENVIRONMENT_TAMPERED: "it changed its surroundings",
    FlagCode.IMPOSSIBLE_TIME: "its time is too short to write its output",
    FlagCode.LIBRARY_FALLBACK: "a vendor library did the work",
    FlagCode.NO_CUSTOM_KERNEL: "its file defines no kernel",
    FlagCode.NOISY_TIMING: "its times scatter too much",
    FlagCode.IMPLAUSIBLE_SPEEDUP: "its speedup is larger than we expect of an honest kernel",
    FlagCode.RAISES_ON_OTHER_SHAPE: "it raises an error on another shape",
}
_NEVER_RAN = {
    Verdict.MALFORMED: "there is nothing in it to run",
    Verdict.COMPILE_ERROR: "it could not be built",
    Verdict.RUNTIME_ERROR: "it stopped with an error while it ran",
    Verdict.TIMEOUT: "it did not finish in the time allowed",
    Verdict.OUT_OF_MEMORY: "it needed more memory than there is",
}
_BACKENDS = {"triton": "Triton", "cuda": "CUDA", "cpp": "C++", "torch": "PyTorch"}


def is_valid(row: Row) -> bool:
    """Whether the row's times count: only those of a correct kernel do."""
    return row["verdict"] == Verdict.CORRECT


def never_ran(row: Row) -> bool:
    """Whether the candidate ended without a result that could be judged."""
    return row["verdict"] in set(_NEVER_RAN)


def rejecting_flags(row: Row) -> list[dict[str, str]]:
    """The flags that take the verdict away, in the order of the closed set."""
    order = list(FlagCode)
    found = [flag for flag in row["flags"] if flag["severity"] == Severity.REJECTING]
    return sorted(found, key=lambda flag: order.index(FlagCode(flag["code"])))


def informing_flags(row: Row) -> list[dict[str, str]]:
    """The flags that only inform."""
    return [flag for flag in row["flags"] if flag["severity"] != Severity.REJECTING]


def _why(row: Row) -> str:
    """The reason behind a verdict that is not *correct*, with its number."""
    verdict = Verdict(row["verdict"])
    if verdict in _NEVER_RAN:
        return _NEVER_RAN[verdict]
    if verdict is Verdict.INCONCLUSIVE:
        return "nothing could be decided"
    rejecting = rejecting_flags(row)
    if rejecting:
        code = FlagCode(rejecting[0]["code"])
        if code is FlagCode.PARTIAL_WRITE and row["written_fraction"] is not None:
            return f"it wrote {share(row['written_fraction'])} of its output"
        return FLAG_REASONS[code]
    right, ratio = row["right_fraction"], row["error_ratio"]
    if right is not None and right < 1:
        return f"{share(right)} of its output is right"
    if ratio is not None:
        return f"its error is {multiple(ratio)} times PyTorch's own"
    return "its output is not the reference's"


def _correct_headline(row: Row) -> str:
    value, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    written = speedup_interval(value, low, high)
    if value is None:
        said = "Correct, but not timed"
    elif low is not None and low > 1:
        said = f"Correct: {written} over PyTorch"
        said += ", verified in two runs" if row["verified"] else ", not verified"
    elif high is not None and high < 1:
        said = f"Correct, but slower than PyTorch: {written}"
    elif low is not None and high is not None and low >= 0.95 and high <= 1.05:
        said = f"Correct, and as fast as PyTorch: {written}"
    else:
        said = f"Correct, with no certain speedup: {written}"
    return said if row["benchmark_check"] is not False else f"{said}; the benchmark calls it wrong"


def headline(row: Row) -> str:
    """The page's verdict in one sentence: ours, why, and what the benchmark said."""
    if is_valid(row):
        return _correct_headline(row)
    ours = f"{capitalised(verdict_word(row['verdict']))}: {_why(row)}"
    if row["benchmark_check"]:
        score = row["benchmark_speedup"]
        if score is not None:
            return f"{ours}, and the benchmark scored it {struck(speedup(score))}"
        return f"{ours}, and the benchmark calls it correct"
    if row["benchmark_check"] is False and not never_ran(row):
        return f"{ours}, and the benchmark refuses it too"
    return ours


def badges(row: Row) -> str:
    """Verdict and flags as badges, then what was graded."""
    flags = flag_badges(flag["code"] for flag in [*rejecting_flags(row), *informing_flags(row)])
    parts = [
        row["problem"],
        row["precision"],
        _BACKENDS.get(row["backend"], row["backend"]),
        row["configuration"],
    ]
    what = " · ".join(escape_markdown(str(part)) for part in parts if part not in ("", "unknown"))
    return f"{verdict_badge(row['verdict'])} {flags} &nbsp; {what}".replace("  ", " ")


def _score(row: Row) -> str:
    score = row["benchmark_speedup"]
    if score is None:
        return ""
    return f", {speedup(score) if is_valid(row) else struck(speedup(score))}"


def benchmark_judge(row: Row, evidence: Mapping[str, Any] | None) -> tuple[str, list[str]]:
    """What KernelBench's own check says of the same run: a heading and its sentences."""
    said = row["benchmark_check"]
    if said is None:
        never = never_ran(row)
        reason = "It had no output to compare." if never else "It was not applied to this run."
        return ("Did not run" if never else "Not checked"), [reason, *_published(row)]
    tolerance = "0.0001" if row["precision"] == "fp32" else "0.01"
    sentences = [
        f"At {row['precision']} it allows an error of {tolerance} plus "
        f"{tolerance} times the right value."
    ]
    largest = (evidence or {}).get("max_abs_output")
    if largest is not None:
        text = f"The largest right answer here is {scientific_plain(largest)}"
        zeros = ", so an output of zeros passes as well" if row["zero_passes"] else ""
        sentences.append(f"{text}{zeros}.")
    elif row["zero_passes"]:
        sentences.append("An output of zeros passes it on this problem.")
    older = row["benchmark_check_2025"]
    if older is not None and row["precision"] == "fp32":
        word = "correct" if older else "incorrect"
        sentences.append(f"The rule of 2025, 0.01 throughout, says {word}.")
    return f"{'Correct' if said else 'Incorrect'}{_score(row)}", [*sentences, *_published(row)]


def _published(row: Row) -> list[str]:
    """What the candidate's publisher reported, in quotation marks: not checked by us."""
    claim, correct = row["published_speedup"], row["published_correct"]
    if claim is None and correct is None:
        return []
    said = [] if correct is None else ["correct" if correct else "incorrect"]
    if claim is not None:
        said.append(speedup(claim) if is_valid(row) else struck(speedup(claim)))
    where = row["published_hardware"]
    place = f" on {escape_markdown(where)}" if where else ""
    return [f"Its publisher reports “{', '.join(said)}”{place}. {provenance_badge('claim')}"]


def our_judge(row: Row, evidence: Mapping[str, Any] | None) -> tuple[str, list[str]]:
    """What we decided: a heading and its sentences."""
    verdict = capitalised(verdict_word(row["verdict"]))
    if is_valid(row):
        factor = speedup_interval(row["speedup"], row["speedup_low"], row["speedup_high"])
        heading = f"{verdict}, {factor}" if row["speedup"] is not None else f"{verdict}, not timed"
    else:
        heading = f"{verdict}, no speedup"
    # the evaluator's sentence starts with the verdict, which is the heading here
    said = capitalised(row["sentence"].removeprefix(f"{verdict}: "))
    sentences = [escape_markdown(said)] if said else []
    trials = (evidence or {}).get("trials") or []
    if trials:
        passed = sum(bool(trial["passed"]) for trial in trials)
        sentences.append(f"{count(passed, len(trials))} checked calls pass.")
    if row["degenerate"]:
        sentences.append("The problem's right output does not depend on its input.")
    return heading, sentences
