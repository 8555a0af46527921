"""The overview's argument: from correct kernels to time saved, the paper's figures beside ours.

Markdown: *italics* mark the paper's values, upright ones are measured here. What was not measured
is None with its reason, never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from reach.measured import CorrectShare, best_of_kind
from reach.published import Published, PublishedValue, as_published
from reach.style.formats import MISSING, count, share, span
from reach.style.words import PAPER_SOURCE, struck

NO_FRONTIER = "no frontier model's candidate graded here yet"
NO_WORKLOAD = "no workload profiled here yet"
WORDS = {
    "level1_problems_scored": "Level-1 problems scored",
    "frontier_correct_share": "Frontier model: correct",
    "frontier_verified_speedups": "Frontier model: verified faster",
    "open_weights_best_correct_share": "Best open weights: correct",
    "open_weights_best_verified_speedups": "Best open weights: verified faster",
    "addressable_fraction_max": "In reach, recommender",
    "addressable_fraction_min": "In reach, least of seven workloads",
    "addressable_fraction_transformers": "In reach, transformers",
    "transformer_library_share": "Transformers: GEMM and attention libraries",
    "dlrm_bench_end_to_end_projection": "Saved, recommender (projection)",
    "transformer_end_to_end_bound": "Saved, transformer, about",
    "zero_tensor_passes": "Problems that zeros pass",
    "flagged_partial_write_score": "Score of the partial write (invalid)",
    "flagged_partial_write_share_written": "Share it wrote",
}


@dataclass(frozen=True)
class Step:
    """One figure of the paper beside ours.

    `paper` and `ours` are in percent (for an axis), the texts are how they are written; `ours` is
    None where nothing was measured here, and `reason` then says why; `detail` is a line for the
    hover. `status` is how the paper's value reached us.
    """

    name: str
    paper: float
    paper_text: str
    status: str
    ours: float | None = None
    ours_text: str = MISSING
    reason: str = ""
    detail: str = ""


def _about(value: float) -> str:
    return f"about {as_published(value)}"


def _share_step(name: str, paper: Published, key: str, ours: CorrectShare | None, why: str) -> Step:
    """A correct share beside ours."""
    value = paper[key]
    written = as_published(value.number)
    if ours is None:
        return Step(name, 100 * value.number, written, value.status, reason=why)
    return Step(
        name,
        100 * value.number,
        written,
        value.status,
        100 * ours.share,
        share(ours.share),
        detail=f"{share(ours.share_as_given)} at the shipped shapes, as published shares count",
    )


def _verified_step(
    name: str, paper: Published, key: str, ours: CorrectShare | None, why: str
) -> Step:
    """A count of verified speedups beside ours, as a share of the problems tried."""
    value, scored = paper[key], int(paper["level1_problems_scored"].number)
    percent, written = 100 * value.number / scored, count(int(value.number), scored)
    if ours is None:
        return Step(name, percent, written, value.status, reason=why)
    return Step(
        name,
        percent,
        written,
        value.status,
        100 * ours.verified / ours.tried,
        count(ours.verified, ours.tried),
    )


def chain(paper: Published, shares: Sequence[CorrectShare]) -> list[Step]:
    """How 91.1 % of problems becomes about 1 % of a transformer's time, in order."""
    frontier = best_of_kind(shares, "frontier")
    steps = [
        _share_step("Correct, frontier", paper, "frontier_correct_share", frontier, NO_FRONTIER),
        _verified_step(
            "Verified faster, frontier", paper, "frontier_verified_speedups", frontier, NO_FRONTIER
        ),
    ]
    for name, key, write in (
        ("In reach, recommender", "addressable_fraction_max", as_published),
        ("In reach, least of seven", "addressable_fraction_min", as_published),
        ("Saved, recommender", "dlrm_bench_end_to_end_projection", as_published),
        ("Saved, transformer", "transformer_end_to_end_bound", _about),
    ):
        value = paper[key]
        steps.append(
            Step(name, 100 * value.number, write(value.number), value.status, reason=NO_WORKLOAD)
        )
    return steps


def reach_ranges(paper: Published) -> list[tuple[str, float, float, str]]:
    """What of a step's wall clock the paper says kernels can reach: name, both ends in percent
    (equal for a single value), status. None of it is measured here."""
    low, high = paper["addressable_fraction_min"], paper["addressable_fraction_max"]
    transformers = paper["addressable_fraction_transformers"]
    library = paper["transformer_library_share"]
    return [
        ("In reach, recommender", 100 * high.number, 100 * high.number, high.status),
        ("In reach, least of seven", 100 * low.number, 100 * low.number, low.status),
        ("In reach, transformers", *_percent_ends(transformers), transformers.status),
        ("GEMM and attention libraries", *_percent_ends(library), library.status),
    ]


def _percent_ends(value: PublishedValue) -> tuple[float, float]:
    return 100 * value.ends[0], 100 * value.ends[1]


def reach_finding(paper: Published) -> str:
    """What kernels can reach, in the paper's numbers."""
    low = paper["addressable_fraction_min"].number
    high = paper["addressable_fraction_max"].number
    return (
        f"Kernels can reach *{as_published(high)}* of a recommender's time and as little as "
        f"*{as_published(low)}* of another workload's"
    )


def chain_finding(paper: Published) -> str:
    """The argument in one sentence, in the paper's numbers."""
    return (
        f"Right on *{as_published(paper['frontier_correct_share'].number)}* of problems, worth "
        f"*{as_published(paper['dlrm_bench_end_to_end_projection'].number)}* of a recommender's "
        f"time and *{_about(paper['transformer_end_to_end_bound'].number)}* of a transformer's"
    )


def overview_headline(paper: Published) -> str:
    """The page's verdict, in the paper's numbers."""
    return (
        f"A frontier model's kernels are correct on "
        f"*{as_published(paper['frontier_correct_share'].number)}* of problems. A transformer "
        f"gets *{_about(paper['transformer_end_to_end_bound'].number)}* faster."
    )


def missing_reasons(steps: Sequence[Step]) -> str:
    """The reasons behind the dashes of `steps`, each once; empty where there is no dash."""
    reasons = dict.fromkeys(step.reason for step in steps if step.ours is None)
    return "; ".join(reasons)


def paper_shares(paper: Published) -> list[tuple[str, float]]:
    """The paper's correct shares in percent, one row each."""
    return [
        ("The paper: frontier", 100 * paper["frontier_correct_share"].number),
        ("The paper: best open weights", 100 * paper["open_weights_best_correct_share"].number),
    ]


def overview_deck(paper: Published) -> str:
    """What the page does, and how to tell the paper's numbers from ours."""
    return (
        "Most kernels are right, fewer are faster, and most of a real workload's time is in "
        "vendor libraries that they do not replace. Numbers in *italics* are the paper's "
        f"([{PAPER_SOURCE}]({paper.url})), measured on an {paper.gpu.split(',')[0]} at "
        f"{paper.precision}; upright ones are ours."
    )


def _written(value: PublishedValue) -> str:
    """A published value as text: shares in percent, counts and speedups as they are."""
    if isinstance(value.value, tuple):
        low, high = value.ends
        return span(f"{100 * low:g}", as_published(high))
    if value.unit.startswith("x"):
        return struck(f"{value.number:g}x") if "invalid" in value.unit else f"{value.number:g}x"
    if value.number < 1:
        return as_published(value.number)
    return f"{value.number:g} {value.unit.removeprefix('x ')}"


def sources_table(paper: Published) -> pl.DataFrame:
    """Every published value that the page uses, in three columns of Markdown."""
    return pl.DataFrame(
        [(words, f"*{_written(paper[key])}*", paper[key].source) for key, words in WORDS.items()],
        schema=["Figure", "The paper", "Where it stands"],
        orient="row",
    )


def citations(paper: Published) -> str:
    """The paper and the works that the argument rests on, as Markdown links."""
    formula = paper.inferred["projection_formula"]
    saved = paper["dlrm_bench_end_to_end_projection"]
    cited = " · ".join(f"[{item.what}]({item.url})" for item in paper.sources_cited)
    return (
        f"{', '.join(paper.authors)}: [{paper.title}]({paper.url}), {paper.submitted}. "
        f"{paper.note}\n\n"
        f"The paper's *{as_published(saved.number)}* equals {formula.value}: {formula.check} "
        f"({formula.status}).\n\n"
        f"Cited: {cited}."
    )
