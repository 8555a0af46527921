"""Figures of the Overview: the paper's values (hollow squares) beside ours (filled)."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import polars as pl

from reach.argument import Step
from reach.charts.marks import (
    PERCENT_AXIS,
    figure,
    ours_marker,
    paper_marker,
    row_heads,
    speedup_axis,
    unity_line,
)
from reach.measured import CorrectShare
from reach.style.formats import (
    NBSP,
    count,
    percent,
    share,
    share_interval,
    span,
    speedup,
    speedup_interval,
)
from reach.style.tokens import Mode, palette
from reach.style.words import verdict_colour


def chain(steps: Sequence[Step], mode: Mode) -> go.Figure:
    """The argument's steps on one axis in percent: our value as a bar, the paper's as a square."""
    tokens = palette(mode)
    fig = figure(mode, 44 * len(steps) + 54, barmode="overlay", bargap=0.62)
    names = [step.name for step in steps]
    fig.add_bar(
        x=[step.ours for step in steps],
        y=names,
        orientation="h",
        marker={"color": tokens["series"]["s1"]},
        customdata=[[step.ours_text, step.detail] for step in steps],
        hovertemplate="<b>%{y}</b><br>%{customdata[0]}<br>%{customdata[1]}"
        "<extra>measured here</extra>",
    )
    fig.add_scatter(
        x=[step.paper for step in steps],
        y=names,
        mode="markers",
        marker=paper_marker(mode),
        customdata=[[step.paper_text, step.status] for step in steps],
        hovertemplate="<b>%{y}</b><br><i>%{customdata[0]}</i><br>%{customdata[1]}"
        "<extra>paper</extra>",
    )
    heads = [
        (step.name, f"<b>{step.ours_text}</b>   <i>paper {step.paper_text}</i>") for step in steps
    ]
    fig.update_xaxes(**PERCENT_AXIS)
    row_heads(fig, heads, 9)
    fig.update_layout(margin={"t": 22, "b": 24})
    return fig


def correct_shares(
    shares: Sequence[CorrectShare], paper: Sequence[tuple[str, float]], mode: Mode
) -> go.Figure:
    """Share of evaluations judged correct, with its 95 % Wilson interval; a tick marks the share
    that is right at the shipped shapes. `paper`: (row name, value in percent), drawn below."""
    colour = verdict_colour(mode, "correct")
    fig = figure(mode, 44 * (len(shares) + len(paper)) + 62)
    names = [item.label for item in shares]
    values = [100 * item.share for item in shares]
    ends = [item.interval for item in shares]
    fig.add_scatter(
        x=values,
        y=names,
        mode="markers",
        marker=ours_marker(colour),
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [100 * high - v for v, (_, high) in zip(values, ends, strict=True)],
            "arrayminus": [v - 100 * low for v, (low, _) in zip(values, ends, strict=True)],
            "color": colour,
        },
        customdata=[
            [
                share_interval(item.share, *item.interval),
                count(item.correct, item.tried),
                share(item.share_as_given),
            ]
            for item in shares
        ],
        hovertemplate="<b>%{y}</b><br>correct %{customdata[0]}, %{customdata[1]}"
        "<br>right at the shipped shapes %{customdata[2]}<extra>measured here</extra>",
    )
    fig.add_scatter(
        x=[100 * item.share_as_given for item in shares],
        y=names,
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 11,
            "line": {"color": palette(mode)["muted"], "width": 1.5},
        },
        hoverinfo="skip",
    )
    fig.add_scatter(
        x=[value for _, value in paper],
        y=[name for name, _ in paper],
        mode="markers",
        marker=paper_marker(mode),
        hovertemplate="<b>%{y}</b><br>correct <i>%{x:.1f} %</i>, no interval published"
        "<extra>paper</extra>",
    )
    heads = [
        (item.label, f"<b>{share(item.share)}</b> ({_ends(item.interval)})") for item in shares
    ]
    heads += [(name, f"<i>{percent(value)}</i>") for name, value in paper]
    fig.update_xaxes(**PERCENT_AXIS)
    row_heads(fig, heads, 9)
    fig.update_yaxes(
        showgrid=True, categoryorder="array", categoryarray=[name for name, _ in heads]
    )
    fig.update_layout(margin={"t": 18, "b": 28})
    return fig


def _ends(interval: tuple[float, float]) -> str:
    low, high = interval
    return span(f"{100 * low:.1f}", f"{100 * high:.1f}")


def verified_speedups(best: pl.DataFrame, mode: Mode) -> go.Figure:
    """The best kernel of each problem on a log axis, fastest on top, with 95 % intervals.

    `best` is `Store.best_by_problem` of one precision; a grey dot is not verified, a tick is
    torch.compile. customdata starts with the evaluation's id.
    """
    tokens = palette(mode)
    rows = best.sort("valid_speedup").to_dicts()  # plotly draws the first row at the bottom
    fig = figure(mode, 24 * max(len(rows), 1) + 76)
    names = [row["problem"] for row in rows]
    known = [
        value
        for row in rows
        for value in (
            row["valid_speedup"],
            row["speedup_low"],
            row["speedup_high"],
            row["compiled_speedup"],
        )
        if value
    ]
    fig.add_scatter(
        x=[row["compiled_speedup"] for row in rows],
        y=names,
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"color": tokens["muted"], "width": 1.5}},
        customdata=[[speedup(row["compiled_speedup"])] for row in rows],
        hovertemplate="<b>%{y}</b><br>torch.compile %{customdata[0]}<extra>measured here</extra>",
    )
    for verified, colour in ((True, verdict_colour(mode, "correct")), (False, tokens["axis"])):
        some = [row for row in rows if row["verified"] is verified]
        fig.add_scatter(
            x=[row["valid_speedup"] for row in some],
            y=[row["problem"] for row in some],
            mode="markers",
            marker=ours_marker(colour),
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [_gap(row["speedup_high"], row["valid_speedup"]) for row in some],
                "arrayminus": [_gap(row["valid_speedup"], row["speedup_low"]) for row in some],
                "color": colour,
            },
            customdata=[
                [
                    row["evaluation_id"],
                    speedup_interval(row["valid_speedup"], row["speedup_low"], row["speedup_high"]),
                    row["configuration"],
                    "verified" if verified else "not verified",
                ]
                for row in some
            ],
            hovertemplate="<b>%{y}</b><br>%{customdata[1]} over PyTorch eager"
            "<br>%{customdata[2]}, %{customdata[3]}<extra>measured here</extra>",
        )
    fig.update_xaxes(**speedup_axis(known or [1.0]))
    fig.update_yaxes(
        showgrid=True,
        griddash="2px,3px",
        tickfont_color=tokens["ink"],
        categoryorder="array",
        categoryarray=names,
        tickvals=names,
        ticktext=[_short(name) for name in names],
    )
    unity_line(fig, mode)
    fig.update_layout(margin={"t": 24})
    return fig


def _gap(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None else max(0.0, high - low)


def _short(name: str, limit: int = 22) -> str:
    """A problem's name that leaves room for the axis at 390 px; the full one is on hover."""
    return name if len(name) <= limit else f"{name[: limit - 1]}…"


def paper_ranges(rows: Sequence[tuple[str, float, float, str]], mode: Mode) -> go.Figure:
    """Values of the paper alone, in percent: a hollow square, or two joined by a line for a range.
    `rows`: (name, low, high, status)."""
    tokens = palette(mode)
    fig = figure(mode, 44 * len(rows) + 62)
    for name, low, high, status in rows:
        ends = [low] if low == high else [low, high]
        fig.add_scatter(
            x=ends,
            y=[name] * len(ends),
            mode="lines+markers",
            line={"color": tokens["ink"], "width": 1.5, "dash": "2px,2px"},
            marker=paper_marker(mode),
            hovertemplate=f"<b>{name}</b><br><i>{_range_text(low, high)}</i><br>{status}"
            "<extra>paper</extra>",
        )
    # the status is said where it is weaker than "in the abstract"
    heads = [
        (name, f"<i>{_range_text(low, high)}{'' if status == 'published' else f', {status}'}</i>")
        for name, low, high, status in rows
    ]
    fig.update_xaxes(**PERCENT_AXIS)
    row_heads(fig, heads, 9)
    fig.update_yaxes(showgrid=True)
    fig.update_layout(margin={"t": 18, "b": 28})
    return fig


def _range_text(low: float, high: float) -> str:
    return percent(low) if low == high else span(f"{low:g}", f"{high:g}{NBSP}%")
