"""The overview's argument: from correct kernels to time saved, the paper's figures beside ours.

Markdown: *italics* mark the paper's values, upright ones are measured here. What was not measured
is None with its reason, never a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from evaluator.contract import CONFIGURATION_KINDS
from reach.findings import wilson
from reach.published import Published, PublishedValue
from reach.store import Filter
from reach.style.formats import MISSING, NBSP, count, integer, share

# Our own rows that carry the argument: shipped, and not made to fool a check.
SHIPPED = Filter(
    origins=("shipped_ours", "shipped_public"),
    kinds=tuple(kind for kind in CONFIGURATION_KINDS if kind != "adversarial"),
)
PUBLIC = Filter(origins=("shipped_public",))
# Its publisher lists only the candidates that survived, so a pass rate of it means nothing.
SURVIVORS_ONLY = frozenset({"triton-dump_h200"})


@dataclass(frozen=True)
class CorrectShare:
    """How many of a configuration's evaluations at one precision are correct; shares in [0, 1]."""

    configuration: str
    kind: str
    precision: str
    correct: int
    as_given: int
    verified: int
    tried: int

    @property
    def share(self) -> float:
        return self.correct / self.tried

    @property
    def share_as_given(self) -> float:
        """Right at the shipped shapes and distribution: the share comparable with published."""
        return self.as_given / self.tried

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.correct, self.tried)

    @property
    def label(self) -> str:
        return f"{self.configuration} · {self.precision}"


def correct_shares(tables: dict[str, pl.DataFrame]) -> list[CorrectShare]:
    """Correct shares, best first, from `Store.by_configuration` of each precision. Without the
    configurations whose publisher lists survivors only."""
    found = [
        CorrectShare(
            configuration=row["configuration"],
            kind=row["configuration_kind"],
            precision=precision,
            correct=row["correct"],
            as_given=row["correct_as_given"],
            verified=row["verified_problems"],
            tried=row["evaluations"],
        )
        for precision, table in tables.items()
        for row in table.iter_rows(named=True)
        if row["configuration"] not in SURVIVORS_ONLY
    ]
    return sorted(found, key=lambda item: (-item.share, item.label))


def best_of_kind(shares: Sequence[CorrectShare], kind: str) -> CorrectShare | None:
    """The configuration of a kind with the highest correct share, or None if none was graded."""
    return max((s for s in shares if s.kind == kind), key=lambda s: s.share, default=None)


def share_finding(shares: Sequence[CorrectShare], paper: Published) -> str:
    """How many configurations reach the paper's best open-weights share."""
    bar = paper["open_weights_best_correct_share"].number
    if not shares:
        return "No configuration has a pass rate measured here yet"
    above = sum(item.share > bar for item in shares)
    return (
        f"{count(above, len(shares))} configurations solve more than *{share(bar)}* of the problems"
    )


def speedup_finding(best: pl.DataFrame, problems: int) -> str:
    """How many problems got a verified faster kernel; `best` is `Store.best_by_problem`."""
    verified = best.filter("verified")
    above = verified.filter(pl.col("valid_speedup") > 2).height
    return (
        f"{count(verified.height, problems)} problems got a verified faster kernel, "
        f"{integer(above)} of them above 2x"
    )


def flow_finding(flow: pl.DataFrame) -> str:
    """The share of what the benchmark calls correct that is not; `flow`: `Store.verdict_flow`."""
    passed = flow.filter(benchmark_outcome="correct")
    total = int(passed["evaluations"].sum())
    if total == 0:
        return "The benchmark called no graded kernel correct"
    wrong = total - int(passed.filter(outcome="correct")["evaluations"].sum())
    if wrong == 0:
        return f"All {integer(total)} kernels that the benchmark calls correct are"
    return f"Of the kernels that the benchmark calls correct, {share(wrong / total)} are not"


@dataclass(frozen=True)
class Step:
    """One figure of the paper beside ours.

    `paper` and `ours` are in percent (for an axis), the texts are how they are written; `ours` is
    None where nothing was measured here, and `reason` then says why. `status` is how the paper's
    value reached us.
    """

    name: str
    paper: float
    paper_text: str
    status: str
    ours: float | None = None
    ours_text: str = MISSING
    reason: str = ""


NO_FRONTIER = "no frontier model's candidate graded here yet"
NO_OPEN_WEIGHTS = "no open-weights model's candidate graded here yet"
NO_WORKLOAD = "no workload profiled here yet"


def as_published(value: float) -> str:
    """A published share with the digits it was published with: 8.63 %, not 8.6 %."""
    text = f"{100 * value:.2f}".rstrip("0")
    return f"{text}0{NBSP}%" if text.endswith(".") else f"{text}{NBSP}%"


def _about(value: float) -> str:
    return f"about {100 * value:g}{NBSP}%"


def _share_step(name: str, paper: Published, key: str, ours: CorrectShare | None, why: str) -> Step:
    """A correct share beside ours."""
    value = paper[key]
    written = as_published(value.number)
    if ours is None:
        return Step(name, 100 * value.number, written, value.status, reason=why)
    return Step(
        name, 100 * value.number, written, value.status, 100 * ours.share, share(ours.share)
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


def open_weights(paper: Published, shares: Sequence[CorrectShare]) -> list[Step]:
    """The same two first steps for the best open-weights configuration."""
    best = best_of_kind(shares, "open_weights")
    share_key, verified_key = (
        "open_weights_best_correct_share",
        "open_weights_best_verified_speedups",
    )
    return [
        _share_step("Correct, best open weights", paper, share_key, best, NO_OPEN_WEIGHTS),
        _verified_step("Verified faster, open weights", paper, verified_key, best, NO_OPEN_WEIGHTS),
    ]


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
