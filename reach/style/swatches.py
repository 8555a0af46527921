"""Legends as HTML: they wrap at any width, and Streamlit keeps `<img>` where it strips `<svg>`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import Literal

from reach.style.tokens import Mode, palette

Swatch = Literal["fill", "twin", "tint", "hatch", "ours", "paper", "claim", "tick", "whisker"]
LegendItem = tuple[Swatch, str, str]
LegendGroup = tuple[str | None, Sequence[LegendItem]]


def swatch(kind: Swatch, colour: str, mode: Mode, size: int = 12) -> str:
    """One mark as an `<img>` of `size` px; `hatch` takes its colour from the theme."""
    tokens = palette(mode)
    axis, page = tokens["axis"], tokens["page"]
    square = f'<rect width="12" height="12" fill="{colour}"/>'
    dots = "".join(
        f'<circle cx="{x}" cy="{y}" r="1.1" fill="{page}"/>'
        for x in (2.5, 6, 9.5)
        for y in (2.5, 6, 9.5)
    )
    shape = {
        "fill": square,
        "twin": square + dots,
        "tint": (
            f'<rect x=".75" y=".75" width="10.5" height="10.5" fill="{colour}" '
            f'fill-opacity=".3" stroke="{colour}" stroke-width="1.5"/>'
        ),
        "hatch": (
            f'<rect x=".5" y=".5" width="11" height="11" fill="none" stroke="{axis}"/>'
            f'<path d="M0 12L12 0M0 6L6 0M6 12L12 6" stroke="{axis}"/>'
        ),
        "ours": f'<circle cx="6" cy="6" r="5" fill="{colour}"/>',
        "paper": (
            '<rect x="1.75" y="1.75" width="8.5" height="8.5" fill="none" '
            f'stroke="{colour}" stroke-width="1.5"/>'
        ),
        "claim": (
            f'<path d="M6 1L11 6L6 11L1 6Z" fill="none" stroke="{colour}" stroke-width="1.3"/>'
            f'<circle cx="6" cy="6" r="1.2" fill="{colour}"/>'
        ),
        "tick": f'<path d="M6 1V11" stroke="{colour}" stroke-width="1.8"/>',
        "whisker": f'<path d="M1 6H11M1 3V9M11 3V9" stroke="{colour}" stroke-width="1.6"/>',
    }[kind]
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12" '
        f'viewBox="0 0 12 12">{shape}</svg>'
    )
    data = b64encode(svg.encode()).decode()
    return (
        f'<img alt="" width="{size}" height="{size}" style="flex:none" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def legend_html(groups: Sequence[LegendGroup], mode: Mode) -> str:
    """A legend of one or more groups, each `(title or None, [(swatch, colour, label), ...])`."""
    tokens = palette(mode)
    rows = []
    for title, items in groups:
        head = f'<span style="color:{tokens["muted"]}">{escape(title)}</span>' if title else ""
        marks = "".join(
            '<span style="display:inline-flex;gap:6px;align-items:center">'
            f"{swatch(kind, colour, mode)}{escape(label)}</span>"
            for kind, colour, label in items
        )
        rows.append(
            '<div style="display:flex;flex-wrap:wrap;gap:2px 14px;align-items:center">'
            f"{head}{marks}</div>"
        )
    return (
        f'<div style="font-size:0.8667rem;line-height:1.5;color:{tokens["ink"]};'
        f'display:grid;gap:2px">{"".join(rows)}</div>'
    )


def three_marks_html(mode: Mode, text: str) -> str:
    """The footer: `text`, then the three provenance marks drawn as shapes."""
    ink, muted = palette(mode)["ink"], palette(mode)["muted"]
    marks: tuple[tuple[Swatch, str], ...] = (
        ("ours", "measured here"),
        ("paper", "<i>the paper</i> (arXiv 2609.21058)"),
        ("claim", "“a publisher’s claim”, not checked"),
    )
    drawn = "".join(
        '<span style="display:inline-flex;gap:6px;align-items:center">'
        f"{swatch(kind, ink, mode, 10)}<span>{label}</span></span>"
        for kind, label in marks
    )
    return (
        f'<div style="font-size:0.8667rem;line-height:1.6;color:{muted}">{escape(text)}'
        f'<div style="display:flex;flex-wrap:wrap;gap:2px 18px">{drawn}</div></div>'
    )
