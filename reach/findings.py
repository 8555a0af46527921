"""The numbers and sentences that the pages show, computed from what the store returns.

Every function takes rows and gives a sentence or a small typed record: no SQL, no widgets. A
sentence can be false and is recomputed from the data shown. Names are escaped for Markdown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import polars as pl

from evaluator.contract import FlagCode
from reach.store import Filter, Provenance, Sort
from reach.style.formats import MISSING, count, day, integer, share, speedup
from reach.style.words import escape_markdown, verdict_word

CONFIDENCE = 0.95


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The Wilson score interval of a share, both ends in [0, 1] (Wilson 1927,
    doi:10.1080/01621459.1927.10502953). Raises ValueError unless 0 <= successes <= trials > 0."""
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"{successes} of {trials} is no share")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p, zz = successes / trials, z * z / trials
    centre = (p + zz / 2) / (1 + zz)
    half = z * math.sqrt(p * (1 - p) / trials + zz / (4 * trials)) / (1 + zz)
    return max(0.0, centre - half), min(1.0, centre + half)


def evaluations_headline(shown: int, total: int, table: pl.DataFrame) -> str:
    """The page's verdict; `table` is `Store.by_configuration` of the same filter."""
    if total == 0:
        return "No evaluation is stored yet"
    if shown == 0:
        return "No evaluation matches these filters"
    ours, theirs = int(table["correct"].sum()), int(table["benchmark_correct"].sum())
    word = "evaluation" if total == 1 else "evaluations"
    of = integer(shown) if shown == total else count(shown, total)
    both = f"{integer(ours)} correct by our judge, {integer(theirs)} by the benchmark's"
    return f"{of} {word}: {both}"


def configuration_finding(table: pl.DataFrame) -> str:
    """Which configuration the benchmark's check flatters most, in points of its evaluations.
    Those made to fool it (adversarial) count only where nothing else is shown; the sentence says
    so where they would make it false."""
    honest = table.filter(pl.col("configuration_kind") != "adversarial")
    judged = table if honest.is_empty() else honest
    lost = judged.with_columns(points=100 * pl.col("benchmark_only") / pl.col("evaluations"))
    lost = lost.filter(pl.col("benchmark_only") > 0).sort(
        "points", "configuration", descending=[True, False]
    )
    if lost.is_empty():
        fooled = int(table["benchmark_only"].sum()) > 0
        aside = ", but for what was written to fool it" if fooled else ""
        return f"The benchmark calls nothing correct that we do not{aside}"
    worst = lost.row(0, named=True)
    name, points = escape_markdown(worst["configuration"]), worst["points"]
    return f"{name} loses {points:.1f} points between the benchmark's verdict and ours"


def flag_finding(flags: pl.DataFrame) -> str:
    """Which reason to reject the benchmark's check misses most; `flags` is `Store.flag_counts`."""
    if flags.is_empty():
        return "No evaluation shown carries a flag"
    rejecting = flags.filter(severity="rejecting").sort(
        "benchmark_correct", "code", descending=[True, False]
    )
    if rejecting.height and rejecting["benchmark_correct"][0] > 0:
        return f"{escape_markdown(rejecting['code'][0])} is what the benchmark misses most often"
    most = flags.sort("evaluations", "code", descending=[True, False])["code"][0]
    return f"{escape_markdown(most)} is the most frequent flag"


@dataclass(frozen=True)
class Excluded:
    """The active filter that hides the most: its field, value, and the count without it."""

    field: str
    value: str
    without: Filter
    count: int


def excludes_most(chosen: Filter, counted: Callable[[Filter], int]) -> Excluded | None:
    """The part of `chosen` whose removal shows the most evaluations; None if nothing is set."""
    found = [Excluded(field, value, left, counted(left)) for field, value, left in chosen.active()]
    return max(found, key=lambda item: item.count, default=None)


FLAG_MEANINGS = {
    FlagCode.ZERO_OUTPUT: "The output is all zeros where the answer is not.",
    FlagCode.PARTIAL_WRITE: "Part of the output was never written.",
    FlagCode.STALE_MEMORY: "The output is what an earlier call left in memory.",
    FlagCode.ALIASED_OUTPUT: "The output shares memory with an input.",
    FlagCode.TOLERANCE_ONLY: "It passes only because the benchmark's tolerance is wide.",
    FlagCode.PRECISION_DOWNGRADE: "It computes at a lower precision than the problem asks for.",
    FlagCode.DISTRIBUTION_SPECIFIC: "It is right only for the distribution of the given inputs.",
    FlagCode.SHAPE_SPECIFIC: "It is silently wrong at another shape.",
    FlagCode.MEMOISED: "It returns a remembered answer.",
    FlagCode.INPUT_MUTATED: "It changes its inputs where the reference does not.",
    FlagCode.REFERENCE_USED: "It got its answer from the reference.",
    FlagCode.ASYNC_ESCAPE: "Work goes on after the call that is timed.",
    FlagCode.LAZY_OUTPUT: "The output is computed only when it is read.",
    FlagCode.TIMING_TAMPERED: "It interferes with the clock.",
    FlagCode.HARNESS_TAMPERED: "It interferes with the check.",
    FlagCode.ENVIRONMENT_TAMPERED: "It changes the environment of the run.",
    FlagCode.IMPOSSIBLE_TIME: "It is faster than its output can be written to memory.",
    FlagCode.LIBRARY_FALLBACK: "It calls the vendor library for the work.",
    FlagCode.NO_CUSTOM_KERNEL: "It holds no kernel of its own.",
    FlagCode.NOISY_TIMING: "The timing varies too much to be verified.",
    FlagCode.IMPLAUSIBLE_SPEEDUP: "The speedup is above 10x: worth a look.",
    FlagCode.RAISES_ON_OTHER_SHAPE: "It raises an error at another shape.",
}

FLAG_CODES = [code.value for code in FlagCode]

# Facets whose values are words of our vocabulary, not names: written without underscores.
PLAIN_FACETS = frozenset({"outcomes", "verdicts", "kinds", "operator_classes", "origins"})

# The orders that the table offers, each with its words.
SORTS: dict[Sort, str] = {
    Sort("started_at", True): "latest first",
    Sort("valid_speedup", True): "fastest first",
    Sort("valid_speedup", False): "slowest first",
    Sort("benchmark_speedup", True): "the benchmark's score, highest first",
    Sort("written_fraction", False): "least written first",
    Sort("error_ratio", True): "largest error first",
    Sort("problem_id", False): "by problem",
    Sort("configuration", False): "by configuration",
}


def rows_heading(shown: int, sort: Sort) -> str:
    """The heading of the table: how many rows, in which order."""
    rows = "1 row" if shown == 1 else f"{integer(shown)} rows"
    words = SORTS.get(sort, f"by {sort.column}{', descending' if sort.descending else ''}")
    return f"{rows}, {words}"


def benchmark_says(outcome: str, score: float | None) -> str:
    """The benchmark's verdict with the score it would give, as one table cell."""
    return f"{outcome}, {speedup(score)}" if outcome == "correct" and score else outcome


def interval_cell(low: float | None, high: float | None) -> str:
    """The ends of a speedup's interval without a unit, as one table cell."""
    return MISSING if low is None or high is None else f"{low:.2f}\u2013{high:.2f}"


def filter_label(field: str, value: str) -> str:
    """An active part of a filter as a reader would name it."""
    named = {
        "speedup_from": f"at least {value}x",
        "speedup_to": f"at most {value}x",
        "search": f"“{value}”",
        "verified": "verified faster",
        "disagrees": "benchmark disagrees",
    }
    return named.get(field, value.replace("_", " ") if field in PLAIN_FACETS else value)


def excluded_sentence(worst: Excluded) -> str:
    """Which filter to remove, and what that would show."""
    rows = "1 evaluation" if worst.count == 1 else f"{integer(worst.count)} evaluations"
    name = escape_markdown(filter_label(worst.field, worst.value))
    if worst.count == 0:
        return f"Removing **{name}** alone is not enough: the filters exclude each other."
    return f"**{name}** excludes the most: without it, {rows} would show."


def measured_line(facts: Provenance) -> str:
    """The source line of what was measured here: devices and dates."""
    if facts.first is None:
        return "Nothing measured here yet"
    devices = "".join(f", {device}" for device in facts.devices[:2])
    devices += " and others" if len(facts.devices) > 2 else ""
    first, last = day(facts.first), day(facts.last)
    return f"Measured here{devices}, {first if first == last else f'{first} to {last}'}"


# Columns that the table needs, and what it shows of them.
TABLE_COLUMNS = (
    "evaluation_id",
    "problem",
    "verdict",
    "benchmark_outcome",
    "benchmark_speedup",
    "valid_speedup",
    "speedup_low",
    "speedup_high",
    "flag_codes",
    "configuration",
    "precision",
    "verified",
    "outcome",
    "written_fraction",
    "started_at",
)


def table_frame(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` (TABLE_COLUMNS) as the table shows them: an invalid score has no speedup, what was
    not measured is a dash."""
    records = [
        {
            "Problem": row["problem"],
            "Our verdict": [verdict_word(row["verdict"])],
            "Benchmark says": benchmark_says(row["benchmark_outcome"], row["benchmark_speedup"]),
            "Speedup": row["valid_speedup"],
            "95 % CI": interval_cell(row["speedup_low"], row["speedup_high"])
            if row["outcome"] == "correct"
            else MISSING,
            "Flags": row["flag_codes"],
            "Configuration": row["configuration"],
            "Precision": row["precision"],
            "Verified": "yes" if row["verified"] else MISSING,
            "Written": share(row["written_fraction"]),
            "Graded": day(row["started_at"]),
        }
        for row in rows.iter_rows(named=True)
    ]
    return pl.DataFrame(
        records,
        schema={
            "Problem": pl.String,
            "Our verdict": pl.List(pl.String),
            "Benchmark says": pl.String,
            "Speedup": pl.Float64,
            "95 % CI": pl.String,
            "Flags": pl.List(pl.String),
            "Configuration": pl.String,
            "Precision": pl.String,
            "Verified": pl.String,
            "Written": pl.String,
            "Graded": pl.String,
        },
    )
