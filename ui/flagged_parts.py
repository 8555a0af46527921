"""Blocks of the gallery of what fooled the benchmark's check."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from reach.charts.output_map import strip_figure
from reach.charts.output_view import choose_view, view_finding
from reach.published import published
from reach.style import kernel_sentences as say
from reach.style.flag_gallery import UNFLAGGED, Card, beside_the_paper
from reach.style.formats import counted_word, speedup
from reach.style.templates import CONFIG
from reach.style.words import capitalised, escape_markdown, struck
from ui.blocks import heading, legend
from ui.kernel_parts import Evidence, Row, judges, output_block
from ui.shell import link, mode, tokens


def case(row: Row, evidence: Evidence | None) -> None:
    """One kernel in full width: its verdict, both judges, its output; the rest is on its page."""
    with st.container(gap="xsmall"):
        heading(say.headline(row))
        st.markdown(say.badges(row))
        if beside := beside_the_paper(row, published()):
            st.markdown(beside, width=880)
    judges(row, evidence)
    output_block(row, evidence, "case-map")
    _open(row, "Timing, source and every checked call of this kernel")


def flag_card(card: Card, evidence: Evidence | None) -> None:
    """A flag: the strip of its example left, what happened and what it scored right."""
    row, view = card.example, choose_view(evidence) if evidence else None
    with st.container(border=True):
        left, right = st.columns([5, 7], gap="medium", vertical_alignment="center")
        with left, st.container(gap="xsmall"):
            if view:
                finding = view_finding(view)
                st.plotly_chart(
                    strip_figure(view, mode()),
                    theme=None,
                    config=CONFIG,
                    key=f"strip-{card.code}",
                    alt=finding,
                )
                st.caption(finding)
            else:
                st.caption("No map of its output is stored.")
        with right, st.container(gap="xsmall"):
            badge = f":gray-badge[{card.code}] " if card.code != UNFLAGGED else ""
            kernels = counted_word(len(card.rows), "kernel")
            heading(card.title)
            st.markdown(f"{badge} {kernels} · {escape_markdown(capitalised(card.sentence))}")
            score = row["benchmark_speedup"]
            scored = f"scored it {struck(speedup(score))}" if score is not None else "passed it"
            st.caption(
                f"{escape_markdown(row['problem'])}, {row['precision']}, "
                f"{escape_markdown(row['configuration'])}: the benchmark {scored}"
            )
            _open(row, "Open this kernel")


def gallery_heading(shown: Sequence[Card]) -> None:
    """The heading over the cards, and what the fills of their strips mean."""
    with st.container(gap="xsmall"):
        heading(
            f"{capitalised(counted_word(len(shown), 'way'))} past the benchmark's check",
            "One card a reason, with the kernel that scored highest; a kernel with several reasons "
            "counts for each",
        )
        verdict = tokens()["verdict"]
        legend(
            (
                None,
                [
                    ("fill", verdict["correct"], "written and right"),
                    ("fill", verdict["incorrect"], "written, not right"),
                    ("hatch", "", "never written"),
                ],
            )
        )


def _open(row: Row, label: str) -> None:
    link("kernel", label, {"id": row["evaluation_id"]}, ":material/arrow_forward:")
