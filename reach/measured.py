"""What the shipped rows show: correct shares, verified speedups, what the benchmark lets through.

Markdown: *italics* mark the paper's values, upright ones are measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evaluator.contract import CONFIGURATION_KINDS
from reach.findings import wilson
from reach.published import Published, as_published
from reach.store import Filter
from reach.style.formats import count, integer, share, speedup
from reach.style.words import escape_markdown, struck, verdict_word

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
    """How many models' configurations exceed the paper's best open-weights share. Ours (in-house)
    are no model's and not counted."""
    bar = paper["open_weights_best_correct_share"].number
    models = [item for item in shares if item.kind != "in_house"]
    if not models:
        return "No model's pass rate is measured here yet"
    above = sum(item.share > bar for item in models)
    which = f"{count(above, len(models))} configurations"
    return f"{which} solve more than *{as_published(bar)}* of the problems"


def shares_frame(shares: Sequence[CorrectShare]) -> pl.DataFrame:
    """Correct shares as a table for download; shares in [0, 1]."""
    return pl.DataFrame(
        [
            {
                "configuration": item.configuration,
                "kind": item.kind,
                "precision": item.precision,
                "correct": item.correct,
                "tried": item.tried,
                "share": item.share,
                "share_low": item.interval[0],
                "share_high": item.interval[1],
                "share_as_given": item.share_as_given,
            }
            for item in shares
        ]
    )


def survivors_sentence(table: pl.DataFrame) -> str:
    """Which of the configurations shown were published without their failures; empty if none."""
    names = sorted(SURVIVORS_ONLY & set(table["configuration"]))
    if not names:
        return ""
    return f" · of {escape_markdown(', '.join(names))} only survivors are published"


def left_out_sentence(table: pl.DataFrame) -> str:
    """Which configurations a pass rate leaves out, to follow a units line; empty if none."""
    names = sorted(SURVIVORS_ONLY & set(table["configuration"]))
    if not names:
        return ""
    return f" · without {escape_markdown(', '.join(names))}, which lists survivors only"


TRIED_COLUMNS = ("suite", "problem", "problem_version", "precision", "valid_speedup")


def problems_by_precision(rows: pl.DataFrame) -> dict[str, int]:
    """How many problems were tried at each precision that has a speedup; `rows` holds
    TRIED_COLUMNS. The precision with most speedups first."""
    timed = rows.group_by("precision").agg(
        problems=pl.struct("suite", "problem", "problem_version").n_unique(),
        speedups=pl.col("valid_speedup").count(),
    )
    timed = timed.filter(pl.col("speedups") > 0)
    timed = timed.sort("speedups", "precision", descending=[True, False])
    return dict(zip(timed["precision"], timed["problems"], strict=True))


def speedup_finding(best: pl.DataFrame, problems: int) -> str:
    """How many problems got a verified faster kernel; `best` is `Store.best_by_problem`."""
    verified = best.filter("verified")
    above = verified.filter(pl.col("valid_speedup") > 2).height
    return (
        f"{count(verified.height, problems)} problems got a verified faster kernel, "
        f"{integer(above)} of them above 2x"
    )


def speedup_units(found: int, drawn: int, precision: str) -> str:
    """What the speedup chart shows, and how many of the problems with a correct kernel."""
    some = f"the {drawn} fastest of {found:,} problems" if found > drawn else f"{found:,} problems"
    return (
        f"Best correct kernel of each problem over PyTorch eager, 95 % CI, log scale · {precision} "
        f"· {some}"
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


def case_label(case: Mapping[str, Any]) -> str:
    """The link to the partial-write case: what the benchmark scored, and our verdict."""
    score = struck(speedup(case["benchmark_speedup"]))
    return f"The clearest case: {score}, {verdict_word(case['verdict'])}"
