"""Where a candidate's output was written, where it is right, and how large the error is there.

A partial write along the last axis is spread evenly over a flattened output and reads as a blank
strip; folded over the last dimension it is an edge. Both are stored; the one that varies more is
shown, and the figure says which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import pvariance
from typing import Any

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

from reach.charts.marks import hatched
from reach.style.formats import NBSP, integer, multiple, share, span
from reach.style.swatches import LegendGroup, LegendItem
from reach.style.templates import TEMPLATES
from reach.style.tokens import Mode, palette

ALL, NOTHING = 0.9995, 0.0005  # a bin that is written in full, or not at all


@dataclass(frozen=True)
class OutputMap:
    """One view of the output in equal bins.

    `written` and `right` are shares in [0, 1] of each bin, `error` the largest scaled error of a
    bin in units of the reference's own (None where it is no number), `length` the number of
    elements along the view and `rows` how many of them are folded on each other (1 = flattened).
    Any of the three may be empty where it was not recorded.
    """

    folded: bool
    written: list[float]
    right: list[float]
    error: list[float | None]
    length: int
    rows: int
    allowed: float | None

    @property
    def bins(self) -> int:
        """Number of bins, the same for all three."""
        return max(len(self.written), len(self.right), len(self.error))

    def elements(self, index: int) -> tuple[int, int]:
        """First and last element (from 0, inclusive) of a bin along the view."""
        first = index * self.length // self.bins
        return first, max(first, (index + 1) * self.length // self.bins - 1)

    def written_ahead(self) -> int | None:
        """How many elements from the start are written, if everything after them is not.

        None where the view is written in full, not at all, or with holes.
        """
        full = next((i for i, part in enumerate(self.written) if part < ALL), self.bins)
        rest = self.written[full + 1 :]
        if not 0 < full < self.bins or any(part > NOTHING for part in rest):
            return None
        edge = self.written[full]
        first, last = self.elements(full)
        return first + round((edge if edge > NOTHING else 0) * (last - first + 1))


def _variation(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return pvariance(known) if len(known) > 1 else 0.0


def choose_map(evidence: Mapping[str, Any]) -> OutputMap | None:
    """The view of `evidence` (fields of `evaluator.contract.Evidence`) whose bins vary more.

    The written map decides; where it is the same all over, the right map, then the error. None
    where no map was stored or the output has a single element.
    """
    shape = [int(size) for size in evidence.get("output_shape") or []]
    total = math.prod(shape) if shape else 0
    views: list[OutputMap] = []
    for folded in (False, True):
        suffix = "_folded" if folded else ""
        length = shape[-1] if folded and shape else total
        view = OutputMap(
            folded=folded,
            written=list(evidence.get(f"written_map{suffix}") or []),
            right=list(evidence.get(f"right_map{suffix}") or []),
            error=list(evidence.get(f"error_profile{suffix}") or []),
            length=length,
            rows=total // length if folded and length else 1,
            allowed=evidence.get("bound_factor"),
        )
        # without a shape the bins still have an order: count in bins
        if view.bins > 1:
            views.append(view if view.length else OutputMap(**{**vars(view), "length": view.bins}))
    if not views:
        return None
    return max(
        views,
        key=lambda view: (
            round(_variation(view.written), 9),
            round(_variation(view.right), 9),
            _variation([math.log10(e) if e else None for e in view.error]),
        ),
    )


def map_finding(view: OutputMap) -> str:
    """What the map shows, as a sentence that can be false (Markdown)."""
    ahead = view.written_ahead()
    if ahead is not None:
        whole = "each row's" if view.folded else "the output's"
        return (
            f"Of {whole} {integer(view.length)} elements, only the first {integer(ahead)} "
            "are written"
        )
    if view.written and max(view.written) < NOTHING:
        return "Nothing of the output is written"
    known = [value for value in view.error if value is not None]
    written = sum(view.written) / len(view.written) if view.written else None
    if written is not None and written < ALL:
        return f"{share(written)} of the output is written, the rest never"
    start = "Every element is written" if view.written else "By position"
    right = sum(view.right) / len(view.right) if view.right else None
    if right is not None and right < ALL:
        return f"{start}, " + (
            f"but only {share(right)} are right" if right else "and none is right"
        )
    if known and view.allowed:
        worst = max(known)
        verb = "stays at" if worst <= view.allowed else "reaches"
        return (
            f"{start}, and the error {verb} {multiple(worst)} times PyTorch's own, "
            f"{view.allowed:g} allowed"
        )
    return f"{start}, and all of it is right" if right is not None else start


def map_units(view: OutputMap) -> str:
    """The line under the finding: which view this is, its bins, and what the error is against."""
    bins = f"cut into {integer(view.bins)} bins"
    if view.folded:
        what = f"One output row, folded over all {integer(view.rows)} rows and {bins}"
    else:
        what = f"The whole output, {integer(view.length)} elements in memory order, {bins}"
    return f"{what}; below, the largest error of each bin" if view.error else what


def map_legend(view: OutputMap, mode: Mode) -> list[LegendGroup]:
    """The fills of the strip, as they occur in it."""
    verdict = palette(mode)["verdict"]
    items: list[LegendItem] = []
    if view.right and max(view.right) > NOTHING:
        items.append(("fill", verdict["correct"], "written and right"))
    if view.right and any(w - r > NOTHING for w, r in zip(view.written, view.right, strict=False)):
        items.append(("fill", verdict["incorrect"], "written, not right"))
    if not view.right:
        items.append(("fill", verdict["correct"], "written"))
    if view.written and min(view.written) < ALL:
        items.append(("hatch", "", "never written"))
    return [(None, items)]


def map_frame(view: OutputMap) -> pl.DataFrame:
    """The map as a table, one row a bin; columns that were not recorded are null."""
    indices = range(view.bins)
    return pl.DataFrame(
        {
            "bin": indices,
            "first_element": [view.elements(i)[0] for i in indices],
            "last_element": [view.elements(i)[1] for i in indices],
            "written_share": view.written or [None] * view.bins,
            "right_share": view.right or [None] * view.bins,
            "error_times_reference": view.error or [None] * view.bins,
        },
        schema_overrides={
            "written_share": pl.Float64,
            "right_share": pl.Float64,
            "error_times_reference": pl.Float64,
        },
    )


def _strip(fig: go.Figure, view: OutputMap, mode: Mode, row: dict[str, Any]) -> None:
    """Hatched ground, what is written over it, what is right over that."""
    verdict, edges = palette(mode)["verdict"], list(range(view.bins + 1))
    fig.add_bar(
        x=[view.bins / 2], y=[1], width=view.bins, marker=hatched(mode), hoverinfo="skip", **row
    )
    written = view.written or [1.0] * view.bins
    right = [min(r, w) for r, w in zip(view.right, written, strict=True)] if view.right else written
    hover = [
        [span(*(integer(e) for e in view.elements(i))), share(w), share(r) if view.right else "–"]
        for i, (w, r) in enumerate(zip(written, right, strict=True))
    ]
    layers = [(right, verdict["correct"])]
    if view.right:
        layers.insert(0, (written, verdict["incorrect"]))
    for values, colour in layers:
        fig.add_scatter(
            x=edges,
            y=[*values, values[-1]],
            mode="lines",
            line={"shape": "hv", "width": 0},
            fill="tozeroy",
            fillcolor=colour,
            customdata=[*hover, hover[-1]],
            hovertemplate=(
                "elements %{customdata[0]}<br>written %{customdata[1]}, right %{customdata[2]}"
                "<extra>measured here</extra>"
            ),
            **row,
        )


def _error_axis(view: OutputMap) -> tuple[list[float], list[float], list[str]]:
    """Range (decades), ticks and their words of the error's log axis."""
    known = [e for e in view.error if e is not None and e > 0]
    held = [*known, 1.0, view.allowed or 1.0]
    low, high = math.floor(math.log10(min(held))), math.ceil(math.log10(max(held)) + 0.1)
    low = max(low, high - 12)  # an exact bin beside a wrong one: no axis of thirty decades
    step = max(1, math.ceil((high - low) / 3))
    powers = range(low, high + 1, step) if low >= 0 else range(low - low % step, high + 1, step)
    text = [f"{10.0**p:,.{max(0, -p)}f}" if -3 <= p <= 6 else f"10<sup>{p}</sup>" for p in powers]
    return [low - 0.1, high], [10.0**p for p in powers], text


def _error(fig: go.Figure, view: OutputMap, mode: Mode, row: dict[str, Any]) -> None:
    """The error profile over the allowed line; an exact bin sits on the axis' lower end."""
    tokens = palette(mode)
    limits, ticks, words = _error_axis(view)
    floor = 10 ** limits[0]
    shown = [None if e is None else max(e, floor) for e in view.error]
    hover = [
        [span(*(integer(n) for n in view.elements(i))), multiple(e)]
        for i, e in enumerate(view.error)
    ]
    fig.add_scatter(
        x=list(range(view.bins + 1)),
        y=[*shown, shown[-1]],
        mode="lines",
        line={"color": tokens["verdict"]["rejected"], "width": 1.5, "shape": "hv"},
        customdata=[*hover, hover[-1]],
        hovertemplate=(
            "elements %{customdata[0]}<br>error %{customdata[1]} times PyTorch's own"
            "<extra>measured here</extra>"
        ),
        **row,
    )
    fig.update_yaxes(type="log", range=limits, tickvals=ticks, ticktext=words, **row)
    if view.allowed:
        fig.add_hline(y=view.allowed, line={"color": tokens["ink"], "width": 1}, **row)
        fig.add_annotation(
            x=view.bins,
            y=math.log10(view.allowed),
            xref="x2",
            yref="y2",
            xanchor="right",
            yanchor="bottom",
            text=f"allowed: {view.allowed:g}",
            font={"color": tokens["muted"]},
            bgcolor=tokens["page"],
        )


def _position_axis(fig: go.Figure, view: OutputMap, mode: Mode) -> None:
    """The ends of the view in words; plotly hides a tick label that leaves the picture."""
    fig.update_xaxes(range=[0, view.bins], showgrid=False, showticklabels=False)
    whole = "one row" if view.folded else "the output"
    for x, anchor, text in (
        (0, "left", "first element"),
        (1, "right", f"last of {integer(view.length)} in {whole}"),
    ):
        fig.add_annotation(
            x=x, y=0, xref="paper", yref="paper", xanchor=anchor, yanchor="top", yshift=-4,
            text=text, font={"color": palette(mode)["muted"]},
        )  # fmt: skip


def map_figure(view: OutputMap, mode: Mode) -> go.Figure:
    """The strip of written and right shares over the error profile, on one position axis."""
    tokens, two = palette(mode), bool(view.error)
    fig = make_subplots(
        rows=2 if two else 1,
        cols=1,
        shared_xaxes=True,
        row_heights=[0.4, 0.6] if two else [1],
        vertical_spacing=0.2 if two else 0,
    )
    fig.update_layout(
        template=TEMPLATES[mode],
        height=310 if two else 150,
        bargap=0,
        showlegend=False,
        margin={"t": 24, "b": 26},
    )
    top: dict[str, Any] = {"row": 1, "col": 1}
    bottom: dict[str, Any] = {"row": 2, "col": 1}
    _strip(fig, view, mode, top)
    heads = [(1.0, "<b>Share of each bin</b>, 100 % = every element")]
    fig.update_yaxes(
        range=[0, 1], tickvals=[0, 1], ticktext=["0", f"100{NBSP}%"], showgrid=False, **top
    )
    if two:
        _error(fig, view, mode, bottom)
        heads.append((0.48, "<b>Error</b>, times PyTorch's own at this precision, log scale"))
    for y, text in heads:
        fig.add_annotation(
            x=0, y=y, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4,
            text=text,
        )  # fmt: skip
    _position_axis(fig, view, mode)
    ahead = view.written_ahead()
    if ahead is not None:
        edge = ahead * view.bins / view.length
        early = edge < 0.55 * view.bins
        fig.add_annotation(
            x=edge, y=0.5, xref="x", yref="y", showarrow=True, ax=36 if early else -36, ay=0,
            text=f"written: {integer(ahead)} of {integer(view.length)}", standoff=2, borderpad=3,
            xanchor="left" if early else "right", bgcolor=tokens["page"], arrowcolor=tokens["ink"],
        )  # fmt: skip
    return fig


def strip_figure(view: OutputMap, mode: Mode) -> go.Figure:
    """The strip alone, small, for a gallery."""
    fig = go.Figure(layout={"template": TEMPLATES[mode], "height": 92, "bargap": 0})
    _strip(fig, view, mode, {})
    fig.update_layout(showlegend=False, margin={"t": 4, "b": 24, "l": 0, "r": 0})
    fig.update_yaxes(range=[0, 1], showgrid=False, showticklabels=False)
    _position_axis(fig, view, mode)
    return fig
