"""Marks and axes that several figures share. Colour says what it is, fill how real it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from reach.style.formats import NBSP
from reach.style.templates import TEMPLATES
from reach.style.tokens import TOKENS, Mode, palette, rgba

# ticksuffix is dropped by plotly.js once tickvals are set, so the unit goes into ticktext
PERCENT_AXIS: dict[str, Any] = {
    "range": [0, 100],
    "tickvals": [0, 25, 50, 75, 100],
    "ticktext": ["0", "25", "50", "75", f"100{NBSP}%"],
}


def figure(mode: Mode, height: int, **layout: Any) -> go.Figure:
    """An empty figure with the template of `mode` and a fixed height in px."""
    return go.Figure(layout={"template": TEMPLATES[mode], "height": height, **layout})


def hatched(mode: Mode) -> dict[str, Any]:
    """Marker where nothing happened: idle GPU, elements not written, inconclusive."""
    tokens = palette(mode)
    return {
        "color": tokens["page"],
        "line": {"color": tokens["axis"], "width": 1},
        "pattern": {
            "shape": TOKENS["reality"]["hatch"],
            "fgcolor": tokens["axis"],
            "fgopacity": 1,
            "size": 6,
            "solidity": 0.18,
        },
    }


def tinted(colour: str) -> dict[str, Any]:
    """Marker of a projection: a tint with an outline of the same hue."""
    return {
        "color": rgba(colour, TOKENS["reality"]["tint"]),
        "line": {"color": colour, "width": 1.5},
    }


def ours_marker(colour: str) -> dict[str, Any]:
    """Marker of a value measured here: a filled circle."""
    return {"symbol": TOKENS["provenance"]["ours"]["marker"], "color": colour}


def paper_marker(mode: Mode) -> dict[str, Any]:
    """Marker of the paper's value: a hollow square that stays hollow on top of a bar."""
    tokens = palette(mode)
    return {
        "symbol": TOKENS["provenance"]["paper"]["marker"],
        "color": tokens["page"],
        "size": 11,
        "line": {"color": tokens["ink"], "width": 1.75},
    }


def row_heads(fig: go.Figure, rows: Iterable[tuple[str, str]], shift: int) -> None:
    """Puts labels above each bar or dot, name left and result right, `shift` px over its middle.

    No left margin is needed, so one figure is readable at 390 px, where Streamlit gives the
    server no width to choose another layout by. `rows`: (the y category, the result as HTML).
    """
    for name, result in rows:
        for x, anchor, text in ((0, "left", name), (1, "right", result)):
            fig.add_annotation(
                x=x, xref="paper", y=name, xanchor=anchor, yanchor="bottom", yshift=shift, text=text
            )
    fig.update_yaxes(autorange="reversed", showgrid=False, showticklabels=False)
    fig.update_xaxes(showgrid=False, ticks="outside", ticklen=4, showline=True)


def speedup_axis(values: Sequence[float]) -> dict[str, Any]:
    """A log axis in powers of two that holds `values` (positive) and 1.0, with `x` in its ticks.

    Raises ValueError where a value is not positive.
    """
    if any(value <= 0 for value in values):
        raise ValueError("a speedup on a log axis must be positive")
    low = min([*values, 0.5]) / 1.12
    high = max([*values, 2.0]) * 1.12
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, math.ceil((last - first + 1) / 6))
    # 1.0 is always a tick: count outwards from 2^0
    powers = [p for p in range(first, last + 1) if p % step == 0]
    ticks = [2.0**power for power in powers]
    return {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "tickvals": ticks,
        "ticktext": ["1.0x" if tick == 1 else f"{tick:g}x" for tick in ticks],
    }


def unity_line(fig: go.Figure, mode: Mode, text: str = "as fast as PyTorch") -> None:
    """The labelled 1.0 line that every speedup axis has."""
    fig.add_vline(x=1, line={"color": palette(mode)["ink"], "width": 1})
    fig.add_annotation(templateitemname="unity", x=0, xref="x", text=text)
