"""All evaluations: facets, search, two charts that filter, the table, the selection as a file."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from reach import findings as say
from reach.charts import evaluations as charts
from reach.store.export import to_csv, to_parquet
from reach.style.words import chip_options, flag_chip
from ui import filters
from ui.blocks import chart, heading
from ui.data import store
from ui.notices import damaged_files
from ui.shell import link, mode, page

PAGE_SIZE = 25
OPENERS = ("Problem", "Benchmark says", "Configuration")
SIDEBAR = (
    ("Our verdict", "outcomes", "failed: malformed, build or run error, timeout, out of memory"),
    ("Suite", "suites", None),
    ("Configuration", "configurations", "Who or what produced the candidate"),
    ("Kind", "kinds", None),
    ("Operator class", "operator_classes", None),
    ("Precision", "precisions", None),
    ("Backend", "backends", None),
    ("Flag", "flags", "Why a result is not to be trusted, or what a reader should know"),
    ("Origin", "origins", "shipped with the product, or graded on this machine (user)"),
    ("Device", "devices", None),
    ("Campaign", "campaigns", None),
)


def sidebar(view: filters.View) -> None:
    facets = store().facets(view.filter)
    with st.sidebar:
        st.markdown("**Filters**")
        for label, name, help in SIDEBAR:
            filters.facet(label, name, facets[name], help)
        filters.speedup_range("Speedup", "Over PyTorch eager; only correct rows have one")
        filters.switch("Verified faster only", "verified", "Faster in two independent runs")
        filters.switch("Where the benchmark disagrees", "disagrees")
        filters.clear("sidebar-clear")


def two_charts(view: filters.View) -> None:
    chosen = view.filter
    left, right = st.columns(2, gap="large")
    with left:
        table = store().by_configuration(chosen.with_(configurations=(), outcomes=()))
        key = filters.clicks("verdicts")
        chart(
            charts.verdicts_by_configuration(table, mode(), chosen.configurations, chosen.outcomes),
            say.configuration_finding(table),
            "Verdicts by configuration, % of its evaluations · click a bar to filter",
            key=key,
            source=source,
            data=table,
            groups=[(None, charts.outcome_legend(mode()))],
            on_select=partial(filters.configuration_clicked, key),
        )
    with right:
        flags = store().flag_counts(chosen.with_(flags=()))
        if flags.is_empty():
            heading(say.flag_finding(flags), "A flag says why a result is not to be trusted")
            return
        key = filters.clicks("flags")
        chart(
            charts.flags_raised(flags, mode(), chosen.flags),
            say.flag_finding(flags),
            "Flags raised, number of evaluations · click a bar to filter",
            key=key,
            source=source,
            data=flags,
            groups=[(None, charts.flag_legend(mode()))],
            on_select=partial(filters.flag_clicked, key),
        )


def downloads(view: filters.View) -> None:
    rows = partial(store().rows, view.filter, view.sort)
    with st.popover("Export", icon=":material/download:", type="tertiary"):
        for label, suffix, mime, write in (
            ("CSV", "csv", "text/csv", to_csv),
            ("Parquet", "parquet", "application/vnd.apache.parquet", to_parquet),
        ):
            st.download_button(
                label,
                data=lambda write=write: write(rows()),
                file_name=f"kernel-reach-evaluations.{suffix}",
                mime=mime,
                key=f"download-{suffix}",
                on_click="ignore",
                type="tertiary",
            )


def opener(name: str, width: int, **settings: Any) -> Any:
    """A column of names that open their row when clicked."""
    return st.column_config.ButtonColumn(
        width=width, type="tertiary", alignment="left", key=f"open-{name}", **settings
    )


def table(view: filters.View, shown: int) -> None:
    pages = -(-shown // PAGE_SIZE)
    number = min(view.page, pages)
    rows = store().rows(view.filter, view.sort, number, PAGE_SIZE, say.TABLE_COLUMNS)
    st.header(say.rows_heading(shown, view.sort), anchor=False)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"
    ):
        filters.order("Sort", say.SORTS)
        downloads(view)
    words, fills = chip_options(mode())
    column = st.column_config
    event = st.dataframe(
        say.table_frame(rows),
        hide_index=True,
        placeholder="–",
        key=filters.clicks("rows"),
        on_select="rerun",
        # not cells: with the arrow keys the first step would already open a row
        selection_mode="single-row",
        height="content",
        alt="Evaluations that match the filters; choosing one opens it",
        column_config={
            "Problem": opener("Problem", 164, pinned=True),
            "Our verdict": column.MultiselectColumn(options=words, color=fills, width=112),
            "Benchmark says": opener("Benchmark says", 124, help="KernelBench's own check"),
            "Speedup": column.NumberColumn(
                format="%.2fx", width=70, help="Over PyTorch eager; only where correct"
            ),
            "95 % CI": column.TextColumn(width=84, alignment="right"),
            "Flags": column.MultiselectColumn(
                options=say.FLAG_CODES, color=flag_chip(mode()), width=140
            ),
            "Configuration": opener("Configuration", 140),
            "Precision": column.TextColumn(width=66),
            "Verified": column.TextColumn(width=64, help="Faster in two independent runs"),
            "Written": column.TextColumn(width=70, alignment="right", help="Share of the output"),
            "Graded": column.TextColumn(width=92),
        },
    )
    clicks = [st.session_state.get(f"open-{name}") for name in OPENERS]
    chosen = [*event.selection.rows, *(click.row for click in clicks if click)]
    if chosen:
        st.switch_page(
            "pages/kernel.py",
            query_params={"id": rows["evaluation_id"][chosen[0]], **view.to_query()},
        )
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        how = "Click a name to open its row, or press Shift and Space on it."
        st.caption(f"{how} {source}", width="content")
        filters.pagination(pages)


def no_match(view: filters.View) -> None:
    worst = say.excludes_most(view.filter, store().count)
    if worst is None:
        st.markdown("Grade a candidate, and it appears here.")
        link("grade", "Grade a candidate")
        return
    st.markdown(say.excluded_sentence(worst))
    st.button(
        f"Remove {say.filter_label(worst.field, worst.value)}",
        icon=":material/close:",
        on_click=filters.show_filter,
        args=(worst.without,),
    )


view = filters.current()
source = say.measured_line(store().provenance(view.filter))
matching, total = store().count(view.filter), store().count()
sidebar(view)
with page(
    say.evaluations_headline(matching, total, store().by_configuration(view.filter)),
    "Click a bar or a row. The address keeps the whole view: copy it to share what you see."
    if matching
    else None,
):
    damaged_files()
    filters.search("Search problem, configuration, flag or message", "softmax partial_write")
    filters.chips()
    if matching:
        two_charts(view)
        table(view, matching)
    else:
        no_match(view)
