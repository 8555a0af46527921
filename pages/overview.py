"""The argument in order: the paper's published figures beside what was measured here."""

from __future__ import annotations

import polars as pl
import streamlit as st

from reach import argument as say
from reach import measured
from reach.charts import overview as charts
from reach.charts.verdict_flow import verdict_flow
from reach.findings import measured_line
from reach.published import Published, published
from reach.style.swatches import LegendItem
from reach.style.words import PAPER_SOURCE, verdict_colour
from ui.blocks import chart, heading
from ui.data import store
from ui.notices import damaged_files
from ui.shell import link, mode, page, tokens

MOST_DOTS = 16


def paper_mark() -> LegendItem:
    return ("paper", tokens()["ink"], "the paper's value")


def chain(paper: Published, steps: list[say.Step], source: str) -> None:
    reasons = say.missing_reasons(steps)
    chart(
        charts.chain(steps, mode()),
        say.chain_finding(paper),
        "Share of problems, of a step's wall clock, of time saved end to end, % · the last two "
        "are projections; the paper's *8.63\u00a0%* rests on its DLRM-Bench kernels"
        + (f" · – means: {reasons}" if reasons else ""),
        key="chain",
        source=f"{source}; {PAPER_SOURCE}",
        data=pl.DataFrame(steps),
        groups=[(None, [("fill", tokens()["series"]["s1"], "measured here"), paper_mark()])],
    )


def correct(paper: Published, shares: list[measured.CorrectShare], source: str) -> None:
    rows = say.paper_shares(paper)
    chart(
        charts.correct_shares(shares, rows, mode()),
        measured.share_finding(shares, paper),
        "Share of evaluations judged correct, one candidate a problem, 95 % Wilson interval"
        + measured.left_out_sentence(store().by_configuration(measured.SHIPPED)),
        key="correct",
        source=f"{source}; {PAPER_SOURCE}",
        data=measured.shares_frame(shares),
        groups=[
            (
                None,
                [
                    ("ours", verdict_colour(mode(), "correct"), "correct, measured here"),
                    ("tick", tokens()["muted"], "right at the shipped shapes"),
                    paper_mark(),
                ],
            )
        ],
    )


def speedups(source: str) -> None:
    by_precision = measured.problems_by_precision(
        store().rows(measured.SHIPPED, columns=measured.TRIED_COLUMNS)
    )
    if not by_precision:
        heading(
            "No speedup is measured here yet",
            "Verified: two independent runs, each with its interval above 1.02x",
        )
        return
    options, key = list(by_precision), "speedups-precision"
    precision = st.session_state.get(key) or options[0]
    precision = precision if precision in by_precision else options[0]
    best = store().best_by_problem(measured.SHIPPED.with_(precisions=(precision,)))
    compiled = ("tick", tokens()["muted"], "torch.compile")
    chart(
        charts.verified_speedups(best.head(MOST_DOTS), mode()),
        measured.speedup_finding(best, by_precision[precision]),
        measured.speedup_units(best.height, MOST_DOTS, precision)
        + measured.survivors_sentence(best),
        key="speedups",
        source=source,
        data=best,
        groups=[
            (
                None,
                [
                    ("ours", verdict_colour(mode(), "correct"), "verified in two runs"),
                    ("ours", tokens()["axis"], "not verified"),
                    *([compiled] if best["compiled_speedup"].is_not_null().any() else []),
                ],
            )
        ],
        export_left=150,
    )
    if len(options) > 1:
        st.segmented_control("Precision", options, default=options[0], required=True, key=key)


def reach(paper: Published) -> None:
    rows = say.reach_ranges(paper)
    chart(
        charts.paper_ranges(rows, mode()),
        say.reach_finding(paper),
        "Share of a step's wall clock, % · the paper's values, none of them ours: no workload is "
        "profiled here yet",
        key="reach",
        source=f"{PAPER_SOURCE}, {paper.gpu}, {paper.precision}",
        data=pl.DataFrame(
            rows, schema=["value", "low_percent", "high_percent", "status"], orient="row"
        ),
        groups=[(None, [paper_mark()])],
        stamp="the paper's values",
    )


def flow(source: str) -> None:
    counted = store().verdict_flow(measured.PUBLIC)
    if counted.is_empty():
        heading(
            "No public candidate is graded here yet",
            "This block compares the benchmark's verdict with ours, candidate by candidate",
        )
    else:
        chart(
            verdict_flow(counted, mode()),
            measured.flow_finding(counted),
            "Public candidates by verdict; coloured where the two disagree · "
            f"{counted['evaluations'].sum():,} evaluations"
            + measured.survivors_sentence(store().by_configuration(measured.PUBLIC)),
            key="flow",
            source=source,
            data=counted,
        )
    case = store().partial_write_case()
    if case is not None:
        link(
            "kernel",
            measured.case_label(case),
            {"id": case["evaluation_id"]},
            icon=":material/arrow_forward:",
        )


def sources(paper: Published) -> None:
    heading("What this rests on", "Every value in italics, with how it reached us")
    st.table(
        say.sources_table(paper),
        border="horizontal",
        hide_index=True,
        alt="The paper's values with their source and status",
    )
    st.markdown(say.citations(paper), width=880)


paper = published()
precisions = [value.value for value in store().facets(measured.SHIPPED)["precisions"]]
shares = measured.correct_shares(
    {
        name: store().by_configuration(
            measured.SHIPPED.with_(precisions=(name,), suites=("level1",))
        )
        for name in precisions
    }
)
source = measured_line(store().provenance(measured.SHIPPED))
with page(say.overview_headline(paper), say.overview_deck(paper), deck_width=880):
    damaged_files()
    chain(paper, say.chain(paper, shares), source)
    left, right = st.columns(2, gap="large")
    with left:
        correct(paper, shares, source)
    with right:
        speedups(source)
    left, right = st.columns(2, gap="large")
    with left:
        reach(paper)
    with right:
        flow(source)
    sources(paper)
