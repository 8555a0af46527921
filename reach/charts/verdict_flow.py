"""From the benchmark's verdict to ours: one flow a pair, coloured where the two disagree."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import polars as pl

from reach.charts.marks import figure
from reach.store.schema import OUTCOMES
from reach.style.formats import integer
from reach.style.tokens import Mode, palette, rgba
from reach.style.words import verdict_colour

BENCHMARK_OUTCOMES = ("correct", "incorrect", "did not run", "not checked")


def verdict_flow(flow: pl.DataFrame, mode: Mode) -> go.Figure:
    """From the benchmark's verdict to ours; coloured where the two disagree."""
    tokens = palette(mode)
    pairs = {(a, b): n for a, b, n in flow.iter_rows()}
    left = [o for o in BENCHMARK_OUTCOMES if any(a == o for a, _ in pairs)]
    right = [o for o in OUTCOMES if any(b == o for _, b in pairs)]
    totals_left = [sum(n for (a, _), n in pairs.items() if a == o) for o in left]
    totals_right = [sum(n for (_, b), n in pairs.items() if b == o) for o in right]
    links = [
        (left.index(a), right.index(b), n, a, b)
        for a in left
        for b in right
        if (n := pairs.get((a, b)))
    ]
    fig = figure(mode, 430)
    fig.add_sankey(
        arrangement="snap",
        node={
            "label": [f"<b>{o}</b>  {integer(n)}" for o, n in zip(left, totals_left, strict=True)]
            + [f"<b>{o}</b>  {integer(n)}" for o, n in zip(right, totals_right, strict=True)],
            "x": [0.001] * len(left) + [0.999] * len(right),
            "y": [*_middles(totals_left), *_middles(totals_right)],
            "color": [tokens["axis"]] * len(left) + [verdict_colour(mode, o) for o in right],
            "hovertemplate": "%{label} evaluations<extra>measured here</extra>",
        },
        link={
            "source": [a for a, *_ in links],
            "target": [len(left) + b for _, b, *_ in links],
            "value": [n for _, _, n, *_ in links],
            "color": [
                rgba(verdict_colour(mode, b), 0.65)
                if a == "correct" and b != "correct"
                else rgba(tokens["context"], 0.34)
                for *_, a, b in links
            ],
            "customdata": [f"{a}<br>ours: {b}" for *_, a, b in links],
            "hovertemplate": "benchmark: %{customdata}<br>%{value} evaluations"
            "<extra>measured here</extra>",
        },
    )
    for x, text, anchor in ((0, "The benchmark's check says", "left"), (1, "We say", "right")):
        fig.add_annotation(
            x=x, y=1, xref="paper", yref="paper", xanchor=anchor, yanchor="bottom", yshift=6,
            text=text, font={"color": tokens["muted"]},
        )  # fmt: skip
    fig.update_layout(margin={"t": 30, "b": 14, "l": 2, "r": 2})
    return fig


def _middles(counts: Sequence[int]) -> list[float]:
    """Where the nodes of one side stand, top to bottom, each in proportion to its count."""
    whole, gap = sum(counts), 0.05
    scale = (1 - gap * (len(counts) - 1)) / whole if whole else 0
    middles, top = [], 0.0
    for n in counts:
        middles.append(min(0.999, max(0.001, top + n * scale / 2)))
        top += n * scale + gap
    return middles
