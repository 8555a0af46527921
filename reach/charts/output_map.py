"""The output map: what was written, what is right, and how large the error is, by position."""

from __future__ import annotations

import itertools
import math
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from reach.charts.marks import figure, hatched
from reach.charts.output_view import ALL, NOTHING, OutputView
from reach.style.formats import NBSP, integer, multiple, share, span
from reach.style.swatches import LegendGroup, LegendItem
from reach.style.templates import TEMPLATES
from reach.style.tokens import Mode, palette

_DECADES_SHOWN = 12  # an exact bin beside a wrong one: no axis of thirty decades


def map_legend(view: OutputView, mode: Mode) -> list[LegendGroup]:
    """The fills of the strip, as they occur in it."""
    verdict = palette(mode)["verdict"]
    items: list[LegendItem] = []
    if view.right and max(view.right) > NOTHING:
        items.append(("fill", verdict["correct"], "written and right"))
    if any(w - r > NOTHING for w, r in zip(view.written, view.right, strict=False)):
        items.append(("fill", verdict["incorrect"], "written, not right"))
    if not view.right:
        items.append(("fill", verdict["correct"], "written"))
    if view.written and min(view.written) < ALL:
        items.append(("hatch", "", "never written"))
    return [(None, items)]


def _positions(view: OutputView) -> list[str]:
    edges = view.edges
    return [span(integer(start), integer(stop - 1)) for start, stop in itertools.pairwise(edges)]


def _strip(fig: go.Figure, view: OutputView, mode: Mode, **cell: Any) -> None:
    """Hatched ground, what is written over it, what is right over that."""
    verdict = palette(mode)["verdict"]
    written = view.written or [1.0] * view.bins
    right = [min(r, w) for r, w in zip(view.right, written, strict=True)] if view.right else written
    hover = [
        [place, share(w), share(r) if view.right else "not recorded"]
        for place, w, r in zip(_positions(view), written, right, strict=True)
    ]
    fig.add_bar(
        x=[view.length / 2], y=[1], width=view.length, marker=hatched(mode), hoverinfo="skip",
        **cell,
    )  # fmt: skip
    layers = [(right, verdict["correct"])]
    if view.right:
        layers.insert(0, (written, verdict["incorrect"]))
    for values, colour in layers:
        fig.add_scatter(
            x=view.edges,
            y=[*values, values[-1]],
            mode="lines",
            line={"shape": "hv", "width": 0},
            fill="tozeroy",
            fillcolor=colour,
            customdata=[*hover, hover[-1]],
            hovertemplate=(
                "elements %{customdata[0]}<br>written %{customdata[1]}<br>right %{customdata[2]}"
                "<extra>measured here</extra>"
            ),
            **cell,
        )


def _error_axis(view: OutputView) -> tuple[list[float], list[float], list[str]]:
    """Range in decades, ticks, and the ticks' words, of the error's log axis."""
    known = [e for e in view.error if e is not None and e > 0]
    held = [*known, 1.0, view.allowed or 1.0]
    low, high = math.floor(math.log10(min(held))), math.ceil(math.log10(max(held)) + 0.1)
    low = max(low, high - _DECADES_SHOWN)
    step = max(1, math.ceil((high - low) / 3))
    powers = range(math.ceil(low / step) * step, high + 1, step)  # 1 is always among them
    words = [f"{10.0**p:,.{max(0, -p)}f}" if -3 <= p <= 6 else f"10<sup>{p}</sup>" for p in powers]
    return [low - 0.1, high], [10.0**p for p in powers], words


def _error(fig: go.Figure, view: OutputView, mode: Mode, **cell: Any) -> None:
    """The error profile over the allowed line. An exact bin lies on the axis' lower end, one
    whose error is not finite on its upper end; the hover says so."""
    tokens = palette(mode)
    limits, ticks, words = _error_axis(view)
    floor, ceiling = 10 ** limits[0], 10 ** limits[1]
    within = all(e is not None and e <= (view.allowed or math.inf) for e in view.error)
    verdict = "correct" if within else "rejected"
    shown = [ceiling if e is None else max(e, floor) for e in view.error]
    hover = [
        [place, "not finite" if e is None else f"{multiple(e)} times PyTorch's own"]
        for place, e in zip(_positions(view), view.error, strict=True)
    ]
    fig.add_scatter(
        x=view.edges,
        y=[*shown, shown[-1]],
        mode="lines",
        line={"color": tokens["verdict"][verdict], "width": 1.5, "shape": "hv"},
        customdata=[*hover, hover[-1]],
        hovertemplate=(
            "elements %{customdata[0]}<br>error %{customdata[1]}<extra>measured here</extra>"
        ),
        **cell,
    )
    fig.update_yaxes(type="log", range=limits, tickvals=ticks, ticktext=words, **cell)
    if view.allowed:
        fig.add_hline(y=view.allowed, line={"color": tokens["ink"], "width": 1}, **cell)
        fig.add_annotation(
            x=view.length,
            y=math.log10(view.allowed),
            xref="x2",
            yref="y2",
            xanchor="right",
            yanchor="bottom",
            text=f"allowed: {view.allowed:g}",
            font={"color": tokens["muted"]},
            bgcolor=tokens["page"],
        )


def _position_axis(fig: go.Figure, view: OutputView, mode: Mode) -> None:
    """The ends of the view in words; plotly hides a tick label that leaves the picture."""
    fig.update_xaxes(range=[0, view.length], showgrid=False, showticklabels=False)
    whole = "one row" if view.folded else "the output"
    for x, anchor, text in (
        (0, "left", "first element"),
        (1, "right", f"last of {integer(view.length)} in {whole}"),
    ):
        fig.add_annotation(
            x=x, y=0, xref="paper", yref="paper", xanchor=anchor, yanchor="top", yshift=-4,
            text=text, font={"color": palette(mode)["muted"]},
        )  # fmt: skip


def _mark_edge(fig: go.Figure, view: OutputView, mode: Mode) -> None:
    """Names the edge of a write that stops early; at 0.3 % it is a hair's breadth."""
    ahead = view.written_ahead()
    if ahead is None:
        return
    early = ahead < 0.55 * view.length
    fig.add_annotation(
        x=ahead, y=0.5, xref="x", yref="y", showarrow=True, ax=36 if early else -36, ay=0,
        text=f"written: {integer(ahead)} of {integer(view.length)}", standoff=2, borderpad=3,
        xanchor="left" if early else "right", bgcolor=palette(mode)["page"],
        arrowcolor=palette(mode)["ink"],
    )  # fmt: skip


def map_figure(view: OutputView, mode: Mode) -> go.Figure:
    """The strip of written and right shares over the error profile, on one position axis."""
    two = bool(view.error)
    fig = make_subplots(
        rows=2 if two else 1,
        cols=1,
        shared_xaxes=True,
        row_heights=[0.4, 0.6] if two else [1],
        vertical_spacing=0.2 if two else 0,
    )
    fig.update_layout(
        template=TEMPLATES[mode], height=310 if two else 150, bargap=0, showlegend=False
    )
    fig.update_layout(margin={"t": 24, "b": 26})
    _strip(fig, view, mode, row=1, col=1)
    percent = {"tickvals": [0, 1], "ticktext": ["0", f"100{NBSP}%"]}
    fig.update_yaxes(range=[0, 1], showgrid=False, **percent)
    heads = [(1.0, "<b>Share of each bin</b>, 100 % = every element")]
    if two:
        _error(fig, view, mode, row=2, col=1)
        heads.append((0.48, "<b>Error</b>, times PyTorch's own at this precision, log scale"))
        fig.update_yaxes(showgrid=True, row=2, col=1)
    for y, text in heads:
        fig.add_annotation(
            x=0, y=y, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4,
            text=text,
        )  # fmt: skip
    _position_axis(fig, view, mode)
    _mark_edge(fig, view, mode)
    return fig


def strip_figure(view: OutputView, mode: Mode) -> go.Figure:
    """The strip alone, small, for a gallery."""
    fig = figure(mode, 92, bargap=0, showlegend=False, margin={"t": 4, "b": 24, "l": 0, "r": 0})
    _strip(fig, view, mode)
    fig.update_yaxes(range=[0, 1], showgrid=False, showticklabels=False)
    _position_axis(fig, view, mode)
    return fig
