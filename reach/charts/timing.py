"""The distribution of a candidate's times beside the reference's, every batch a tick."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import plotly.graph_objects as go
import polars as pl

from reach.charts.marks import figure, row_heads
from reach.style.formats import NBSP, milliseconds, significant, span, speedup_interval
from reach.style.swatches import LegendGroup
from reach.style.tokens import Mode, palette, rgba

CANDIDATE, REFERENCE = "Candidate", "PyTorch eager"
_MIN_FOR_DENSITY = 11  # below that a density curve shows its kernel, not the data


@dataclass(frozen=True)
class Timing:
    """Time of a call in ms, one mean a batch, in the order taken; positive and finite."""

    candidate: list[float]
    reference: list[float]


def timing_of(evidence: Mapping[str, Any]) -> Timing | None:
    """The stored samples; None unless both sides have one."""
    sides = [
        [t for t in evidence.get(name) or [] if t is not None and t > 0]
        for name in ("candidate_samples_ms", "reference_samples_ms")
    ]
    return Timing(*sides) if all(sides) else None


def timing_finding(row: Mapping[str, Any], timing: Timing, valid: bool) -> str:
    """How long a call takes against PyTorch's; `valid` says whether the score counts."""
    ours = milliseconds(row.get("candidate_ms") or median(timing.candidate))
    theirs = milliseconds(row.get("reference_ms") or median(timing.reference))
    against = f"{ours} against PyTorch's {theirs}"
    if valid:
        factor = speedup_interval(
            row.get("speedup"), row.get("speedup_low"), row.get("speedup_high")
        )
        return f"A call takes {against}: {factor}" if row.get("speedup") else f"A call: {against}"
    written = row.get("written_fraction")
    if written is not None and written < 0.9995:
        return f"It is fast because it leaves work out: {ours} against {theirs}"
    return f"A call takes {against}, which counts for nothing"


def timing_units(row: Mapping[str, Any], timing: Timing) -> str:
    """What was timed, in how many batches, and what the brackets hold."""
    kind = {"device": "time on the device", "call": "time per call"}.get(
        row.get("time_kind") or "", "time"
    )
    batches = f"mean of each of {len(timing.candidate)} and {len(timing.reference)} batches"
    return f"{kind.capitalize()}, {batches}, interleaved, log scale; brackets: their middle half"


def timing_legend(mode: Mode, valid: bool) -> list[LegendGroup]:
    """The two colours."""
    tokens = palette(mode)
    name = "candidate" if valid else "candidate, invalid"
    return [(None, [("ours", tokens["series"]["s1"], name), ("ours", tokens["axis"], REFERENCE)])]


def timing_frame(timing: Timing) -> pl.DataFrame:
    """One row a batch: side, its number from 1, the mean time of a call in ms."""
    sides = ((CANDIDATE, timing.candidate), (REFERENCE, timing.reference))
    return pl.DataFrame(
        [
            {"side": name, "batch": i, "time_ms": value}
            for name, values in sides
            for i, value in enumerate(values, 1)
        ]
    )


def log_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """At most `most` round values within [low, high], both positive; two at least if they fit."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [d * 10.0**p for p in range(first, last + 1) for d in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if 2 <= len(ticks) <= most:
            return ticks
    if len(ticks) > most:
        return ticks[:: math.ceil(len(ticks) / most)]
    # less than a factor of two wide: even steps in a round number
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(s * step for s in (1, 2, 5, 10) if (high - low) / (s * step) <= most)
    start = math.ceil(low / step)
    return [n * step for n in range(start, math.floor(high / step) + 1)]


def _tick(value: float) -> str:
    number, unit = milliseconds(value).split(NBSP)
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}{NBSP}{unit}"


def _head(values: Sequence[float]) -> str:
    if len(values) < 2:
        return f"<b>{milliseconds(values[0])}</b>"
    low, _, high = quantiles(values, n=4, method="inclusive")
    # the brackets take the unit of the median, so that it is written once
    middle = median(values)
    scale = 1000 if milliseconds(middle).endswith("µs") else 1
    scale = 1 / 1000 if middle >= 999.5 else scale
    ends = span(significant(low * scale), significant(high * scale))
    return f"median <b>{milliseconds(middle)}</b> ({ends})"


def timing_figure(timing: Timing, mode: Mode) -> go.Figure:
    """Two densities over one log scale, each above its batches as ticks.

    The axis holds log10 of ms and is ticked in ms: plotly estimates densities in the axis' plain
    numbers, and on a log axis their tails would reach below zero.
    """
    tokens = palette(mode)
    fig = figure(mode, 290, showlegend=False, violingap=0, violingroupgap=0)
    for name, values, colour in (
        (REFERENCE, timing.reference, tokens["axis"]),
        (CANDIDATE, timing.candidate, tokens["series"]["s1"]),
    ):
        x = [math.log10(value) for value in values]
        if len(x) >= _MIN_FOR_DENSITY and max(x) > min(x):
            fig.add_violin(
                x=x, y0=name, name=name, line={"color": colour, "width": 1.5}, width=1.3,
                fillcolor=rgba(colour, 0.28), hoveron="violins", hoverinfo="skip",
            )  # fmt: skip
        fig.add_scatter(
            x=x,
            y=[name] * len(x),
            mode="markers",
            marker={"symbol": "line-ns", "size": 8, "line": {"color": colour, "width": 1}},
            customdata=[[milliseconds(value)] for value in values],
            hovertemplate=(
                f"<b>{name}</b><br>%{{customdata[0]}} a call, one batch<extra>measured here</extra>"
            ),
        )
    both = [*timing.candidate, *timing.reference]
    pad = max((max(both) / min(both)) ** 0.12, 1.04)  # room for the densities' tails
    low, high = min(both) / pad, max(both) * pad
    inset = (high / low) ** 0.03  # plotly hides the label of a tick at the very edge
    ticks = log_ticks(low * inset, high / inset)
    fig.update_xaxes(
        range=[math.log10(low), math.log10(high)],
        tickvals=[math.log10(tick) for tick in ticks],
        ticktext=[_tick(tick) for tick in ticks],
        title_text="Time of one call, log scale",
    )
    row_heads(fig, [(CANDIDATE, _head(timing.candidate)), (REFERENCE, _head(timing.reference))], 78)
    fig.update_yaxes(range=[-0.2, 1.9], autorange=False)
    fig.update_layout(margin={"t": 12})
    return fig
