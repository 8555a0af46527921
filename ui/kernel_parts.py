"""Blocks about one evaluation, shared by Kernel, Flagged and Grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from evaluator.contract import FlagCode
from reach.charts import output_map, timing
from reach.charts.output_view import choose_view, view_finding, view_frame, view_units
from reach.style import kernel_sentences as say
from reach.style.candidate_source import marked_lines, origin_of
from reach.style.formats import (
    MISSING,
    count,
    counted_word,
    day,
    integer,
    speedup_interval,
)
from reach.style.kernel_facts import trial_rows
from reach.style.words import capitalised, escape_markdown, verdict_badge
from ui.blocks import chart, heading
from ui.shell import link, mode
from ui.source import message, source

MOST_ROWS = 16
Row = Mapping[str, Any]
Evidence = Mapping[str, Any]


def judges(row: Row, evidence: Evidence | None) -> None:
    """The benchmark's check and our judge side by side, the benchmark first."""
    both = (
        ("The benchmark's check", say.benchmark_judge(row, evidence)),
        ("Our judge", say.our_judge(row, evidence)),
    )
    for column, (name, (verdict, sentences)) in zip(
        st.columns(2, gap="medium", border=True), both, strict=True
    ):
        with column:
            st.caption(name)
            st.header(verdict, anchor=False)
            st.markdown(" ".join(sentences))


def output_block(row: Row, evidence: Evidence | None, key: str) -> None:
    """Where the output is written and right, over the error; or why there is no such picture."""
    view = choose_view(evidence) if evidence else None
    if view is None:
        heading("No map of the output is stored")
        st.markdown(_no_map(row, evidence))
        return
    trials = len((evidence or {}).get("trials") or [])
    counted = f", {counted_word(trials, 'checked call')}" if trials else ""
    chart(
        output_map.map_figure(view, mode()),
        view_finding(view),
        view_units(view),
        key=key,
        source=f"Measured here{counted}, {row['device']}, {day(row['started_at'])}",
        data=view_frame(view),
        groups=output_map.map_legend(view, mode()),
        export_left=64,
    )


def _no_map(row: Row, evidence: Evidence | None) -> str:
    if not evidence:
        return "This row came without evidence, so what it says about the output cannot be shown."
    if say.never_ran(row):
        return "The candidate produced no output to look at."
    return "The output is too small to cut into bins, or the run ended before it was compared."


def timing_block(row: Row, evidence: Evidence | None, key: str) -> None:
    """Both time distributions; or why there is none."""
    times = timing.timing_of(evidence) if evidence else None
    if times is None:
        heading("No time was taken" if row["candidate_ms"] is None else "No single runs are stored")
        st.markdown(
            "A time counts only after the output was found right."
            if row["candidate_ms"] is None
            else "The row holds medians only; they are in the table."
        )
        return
    valid = say.is_valid(row)
    chart(
        timing.timing_figure(times, mode()),
        timing.timing_finding(row, times, valid),
        timing.timing_units(row, times),
        key=key,
        source=f"Measured here, {row['device']}, {day(row['started_at'])}",
        data=timing.timing_frame(times),
        groups=timing.timing_legend(mode(), valid),
    )


def flag_list(row: Row) -> None:
    """Each flag with its sentence, the rejecting ones first; nothing without flags."""
    for flags, one, many in (
        (say.rejecting_flags(row), "One reason not to trust it", "reasons not to trust it"),
        (say.informing_flags(row), "One remark", "remarks"),
    ):
        if not flags:
            continue
        with st.container(gap="xsmall"):
            heading(one if len(flags) == 1 else f"{len(flags)} {many}")
            for flag in flags:
                reason = capitalised(say.FLAG_REASONS[FlagCode(flag["code"])])
                sentence = escape_markdown(capitalised(flag["sentence"]))
                st.markdown(f":gray-badge[{flag['code']}] **{reason}.** {sentence}", width=880)


def facts_table(facts: Sequence[tuple[str, str]], alt: str) -> None:
    """Pairs of name and value as a quiet table."""
    frame = pl.DataFrame(facts, schema=["Fact", "Value"], orient="row")
    st.table(frame, border="horizontal", hide_index=True, hide_header=True, alt=alt)


def trials_block(evidence: Evidence | None) -> None:
    """The checked calls, one row each; long lists scroll."""
    rows = trial_rows(evidence) if evidence else []
    if not rows:
        heading("No checked call is stored")
        return
    passed = [bool(trial["passed"]) for trial in (evidence or {})["trials"]]
    heading(
        f"{count(sum(passed), len(passed))} checked calls pass",
        "What the inputs were, which sentinel filled the memory before the call, and the largest "
        "error",
    )
    scrolls = len(rows) > MOST_ROWS
    with st.container(height=560 if scrolls else "content", border=scrolls):
        st.table(pl.DataFrame(rows), border="horizontal", hide_index=True, alt="Checked calls")


def message_block(row: Row) -> None:
    """What the compiler, the interpreter or the judge said, as it came."""
    heading("What was reported when it was run", "The message as it came, shortened")
    message(row["message"], label="Message of the run")


def source_block(row: Row) -> None:
    """The candidate's text where we may show it, else where it is and how to get it."""
    text, origin = row["source"], origin_of(row["source_url"])
    licence = row["licence"] or "no licence stated"
    if text:
        marked = marked_lines(text, {flag["code"] for flag in row["flags"]})
        lines = integer(text.rstrip("\n").count("\n") + 1)
        place = f" · {origin.repository}@{origin.commit[:7]}" if origin else ""
        finding = "Its only store does not reach the rest of the output"
        heading(
            finding if marked else "The source, as it was graded",
            f"{lines} lines{place} · {licence}",
        )
        source(text, marked, height=560)
        if marked:
            st.caption("Marked: the only store to the output")
        return
    if not row["source_url"]:
        heading("The source is not stored with this row")
        st.caption(f"sha256 of the graded text: {row['source_sha256'] or MISSING}")
        return
    heading("The source is its publisher's, and is not copied here", capitalised(licence))
    if origin:
        st.markdown(
            f"`{origin.path}` in [{escape_markdown(origin.repository)}]"
            f"(https://{origin.repository}) at commit `{origin.commit[:12]}`. To read it:"
        )
        message(origin.command, label="Command that prints the source")
    else:
        st.markdown(f"It is at {row['source_url']}")
    st.caption(f"sha256 of the graded text: {row['source_sha256'] or MISSING}")


def siblings_block(row: Row, siblings: pl.DataFrame) -> None:
    """Other candidates for the same problem; each name opens its own page."""
    correct = siblings.filter(pl.col("verdict") == "correct").height
    problem = f"{row['problem']}, {row['precision']}"
    if siblings.is_empty():
        heading("No other kernel for this problem is stored", f"Same problem: {problem}")
        return
    shown = siblings.head(12)
    heading(
        f"{count(correct, siblings.height)} other kernels for this problem hold up",
        f"Siblings on {problem} · speedup over PyTorch eager, 95 % CI",
    )
    rows = [
        {
            "Configuration": f"[{escape_markdown(one['configuration'])}]"
            f"(kernel?id={one['evaluation_id']})",
            "Verdict": verdict_badge(one["verdict"]),
            "Speedup": speedup_interval(
                one["valid_speedup"], one["speedup_low"], one["speedup_high"]
            ),
        }
        for one in shown.iter_rows(named=True)
    ]
    st.table(pl.DataFrame(rows), border="horizontal", hide_index=True, alt="Siblings")
    link(
        "evaluations",
        f"All {integer(siblings.height + 1)} in the table",
        {"problem": row["problem"], "precision": row["precision"]},
        ":material/arrow_forward:",
    )
