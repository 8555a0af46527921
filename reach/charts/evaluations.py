"""Figures of the Evaluations page: verdicts by configuration, flags raised. Bars are clickable."""

from __future__ import annotations

from collections.abc import Collection

import plotly.graph_objects as go
import polars as pl

from reach.charts.marks import PERCENT_AXIS, figure, hatched, row_heads
from reach.findings import FLAG_MEANINGS
from reach.store.schema import OUTCOMES
from reach.style.formats import count, integer, percent
from reach.style.swatches import LegendItem
from reach.style.tokens import Mode, palette
from reach.style.words import verdict_colour

ROW_HEIGHT = 44
FADED = 0.35  # opacity of bars that the filter leaves out


def outcome_legend(mode: Mode) -> list[LegendItem]:
    """The five outcomes in the order in which they are stacked."""
    tokens = palette(mode)
    return [
        ("hatch", tokens["axis"], outcome)
        if outcome == "inconclusive"
        else ("fill", verdict_colour(mode, outcome), outcome)
        for outcome in OUTCOMES
    ]


def flag_legend(mode: Mode) -> list[LegendItem]:
    """Flags that take the verdict away, and those that only inform."""
    return [
        ("fill", verdict_colour(mode, "rejected"), "rejects"),
        ("fill", palette(mode)["axis"], "informs"),
    ]


def verdicts_by_configuration(
    table: pl.DataFrame, mode: Mode, chosen: Collection[str] = (), outcomes: Collection[str] = ()
) -> go.Figure:
    """Outcomes of each configuration as parts of 100 %.

    `table` is `Store.by_configuration`; `chosen` configurations and `outcomes` stay solid, all
    others fade (nothing chosen: all solid). A bar's customdata starts with (configuration,
    outcome), which is what a click filters by.
    """
    names = table["configuration"].to_list()
    totals = table["evaluations"].to_list()
    fig = figure(mode, ROW_HEIGHT * max(len(names), 1) + 44, barmode="stack", bargap=0.56)
    for outcome in OUTCOMES:
        counts = table[outcome].to_list()
        shares = [100 * n / total for n, total in zip(counts, totals, strict=True)]
        solid = [
            (not chosen or name in chosen) and (not outcomes or outcome in outcomes)
            for name in names
        ]
        marker = (
            hatched(mode) if outcome == "inconclusive" else {"color": verdict_colour(mode, outcome)}
        )
        fig.add_bar(
            x=shares,
            y=names,
            orientation="h",
            name=outcome,
            marker={**marker, "opacity": [1 if keep else FADED for keep in solid]},
            customdata=[
                [name, outcome, percent(part), count(n, total)]
                for name, part, n, total in zip(names, shares, counts, totals, strict=True)
            ],
            hovertemplate="<b>%{y}</b><br>%{customdata[1]} %{customdata[2]}"
            "<br>%{customdata[3]} evaluations<extra>click: only these</extra>",
        )
    fig.update_xaxes(**PERCENT_AXIS)
    heads = [
        (name, f"correct <b>{percent(100 * correct / total)}</b> of {integer(total)}")
        for name, correct, total in zip(names, table["correct"], totals, strict=True)
    ]
    row_heads(fig, heads, 10)
    fig.update_layout(margin={"t": 20, "b": 24})
    return fig


def flags_raised(flags: pl.DataFrame, mode: Mode, chosen: Collection[str] = ()) -> go.Figure:
    """How many evaluations carry each flag. `flags` is `Store.flag_counts`; a bar's customdata
    starts with the code; `chosen` codes stay solid."""
    tokens = palette(mode)
    codes = flags["code"].to_list()
    counts = flags["evaluations"].to_list()
    fig = figure(mode, ROW_HEIGHT * max(len(codes), 1) + 44, bargap=0.56)
    fig.add_bar(
        x=counts,
        y=codes,
        orientation="h",
        marker={
            "color": [
                verdict_colour(mode, "rejected") if severity == "rejecting" else tokens["axis"]
                for severity in flags["severity"]
            ],
            "opacity": [1 if not chosen or code in chosen else FADED for code in codes],
        },
        customdata=[
            [row["code"], FLAG_MEANINGS[row["code"]], row["benchmark_correct"]]
            for row in flags.iter_rows(named=True)
        ],
        hovertemplate="<b>%{y}</b><br>%{customdata[1]}<br>%{x} evaluations, of them "
        "%{customdata[2]} correct for the benchmark<extra>click: only these</extra>",
    )
    row_heads(
        fig, [(code, f"<b>{integer(n)}</b>") for code, n in zip(codes, counts, strict=True)], 10
    )
    largest = max(counts, default=1)
    fig.update_xaxes(range=[0, largest * 1.02], nticks=5, tickformat=",d")
    if largest < 4:
        fig.update_xaxes(tickvals=list(range(largest + 1)))
    fig.update_layout(margin={"t": 20, "b": 24})
    return fig
