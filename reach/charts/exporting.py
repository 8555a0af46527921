"""A figure as a file: title, units, legend, source and stamp go inside the picture.

Pictures are drawn by plotly.js in a local Chromium that is started once and kept
(`kaleido.start_sync_server`): 0.1-0.2 s each instead of seconds. Without Chromium `available()`
says why, and the page falls back to the browser's own download.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import threading
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Literal

import kaleido
import plotly.graph_objects as go

from reach.charts.marks import hatched, tinted
from reach.style.swatches import LegendGroup
from reach.style.tokens import ROOT, Mode

PictureFormat = Literal["png", "svg", "pdf"]
PICTURE_WIDTH = 880
# 880 px are printed 170 mm wide (the memo's text width); 300 dpi need 2008 px
SCALE_300_DPI = 2.3
PAD = 16
_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# kaleido's Chromium would otherwise call home
_QUIET_FLAGS = (
    "--disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-domain-reliability --disable-features=OptimizationHints,MediaRouter"
)
_ESCAPED = re.compile(r"\\([^a-zA-Z0-9\s])")
_lock = threading.Lock()


class ExportUnavailable(RuntimeError):
    """No picture can be drawn on this server; the message is a sentence for the reader."""


@cache
def find_chromium() -> str | None:
    """The Chromium to draw with: $BROWSER_PATH, else the first known name on the path."""
    named = os.environ.get("BROWSER_PATH")
    if named:
        return named if Path(named).exists() else None
    return next(filter(None, map(shutil.which, _CHROMIUM_NAMES)), None)


def unavailable_reason() -> str | None:
    """Why pictures cannot be drawn here, as a sentence; None where they can."""
    if find_chromium():
        return None
    return (
        "This server has no Chromium, which PNG, SVG and PDF are drawn with. "
        "Point at the figure and use its camera button, or take the data as CSV."
    )


def _wrapper(chromium: str, folder: Path) -> Path:
    """A script that starts `chromium` with background networking off and the product's fonts."""
    fonts = folder / "fonts.conf"
    fonts.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>'
        f"<dir>{ROOT / 'static' / 'ttf'}</dir><cachedir>{folder / 'cache'}</cachedir></fontconfig>"
    )
    script = folder / "chromium"
    script.write_text(
        f'#!/bin/sh\nFONTCONFIG_FILE="{fonts}" exec "{chromium}" {_QUIET_FLAGS} "$@"\n'
    )
    script.chmod(0o700)
    return script


@cache
def _server() -> None:
    """Starts the picture server once a process; it ends with it."""
    chromium = find_chromium()
    if chromium is None:
        raise ExportUnavailable(unavailable_reason())
    folder = tempfile.TemporaryDirectory(prefix="kernel-reach-export-")
    atexit.register(folder.cleanup)
    kaleido.start_sync_server(
        n=1, silence_warnings=True, path=str(_wrapper(chromium, Path(folder.name)))
    )
    atexit.register(kaleido.stop_sync_server, silence_warnings=True)


def plotly_text(markdown: str) -> str:
    """Page Markdown as plotly's HTML subset: *8.9 %* in italics, ~~283x~~ struck, **1** bold.

    Escaped characters come out as they are, and nothing else is taken for HTML.
    """
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[1])
        return f"\ue000{len(kept) - 1}\ue001"  # private use: no Markdown inside

    text = _ESCAPED.sub(keep, markdown)
    text = escape(text, quote=False)
    for pattern, tag in ((r"~~(.+?)~~", "s"), (r"\*\*(.+?)\*\*", "b"), (r"\*(.+?)\*", "i")):
        text = re.sub(pattern, rf"<{tag}>\1</{tag}>", text)
    return re.sub("\ue000(\\d+)\ue001", lambda m: escape(kept[int(m[1])], quote=False), text)


def _wrapped(text: str, limit: int) -> list[str]:
    """`text` in lines of at most `limit` characters, broken at spaces."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(re.sub(r"<.*?>", "", f"{lines[-1]} {word}")) > limit:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


_SYMBOLS = {
    "ours": "circle",
    "paper": "square-open",
    "claim": "diamond-open-dot",
    "tick": "line-ns-open",
    "whisker": "line-ew-open",
}


def _legend_traces(fig: go.Figure, groups: list[LegendGroup], mode: Mode) -> None:
    """The page's HTML legend as empty traces, so that plotly draws the same marks."""
    for _, items in groups:
        for kind, colour, label in items:
            shown: dict[str, Any] = {"x": [None], "y": [None], "name": label, "showlegend": True}
            if kind in _SYMBOLS:
                marker = {"symbol": _SYMBOLS[kind], "color": colour, "size": 11}
                fig.add_scatter(mode="markers", marker=marker, **shown)
                continue
            fills: dict[str, dict[str, Any]] = {
                "hatch": hatched(mode),
                "tint": tinted(colour) if kind == "tint" else {},
                "twin": {"color": colour, "pattern": {"shape": "."}},
            }
            fig.add_bar(marker=fills.get(kind, {"color": colour}), **shown)


def picture_figure(
    fig: go.Figure,
    mode: Mode,
    finding: str,
    units: str,
    source: str,
    groups: list[LegendGroup] | None = None,
    stamp: str | None = None,
    left: int = 4,
) -> go.Figure:
    """A copy of `fig` with title, units line, legend, source line and stamp inside the picture.

    `left` is a fixed left margin in px, so that title, legend and source share one left edge:
    annotations only know the plot area.
    """
    out = go.Figure(fig)
    traces: Any = out.data
    # a flow names its nodes itself, and has no axes for the legend's empty traces
    cartesian = all(trace.type != "sankey" for trace in traces)
    if cartesian:
        out.update_traces(showlegend=False)
    groups = groups or []
    if groups and cartesian:
        _legend_traces(out, groups, mode)
    shown_legend = bool(groups) and cartesian
    titles, subtitles = _wrapped(plotly_text(finding), 92), _wrapped(plotly_text(units), 128)
    head = 24 * len(titles) + 18 * len(subtitles) + 10
    screen_top = out.layout.margin.t if out.layout.margin.t is not None else 8
    screen_bottom = out.layout.margin.b if out.layout.margin.b is not None else 36
    top = PAD + head + screen_top + (28 if shown_legend else 0)
    bottom = PAD + max(44, screen_bottom + 10) + 26
    right = max(24, out.layout.margin.r or 0) + PAD - 8
    height = (out.layout.height or 360) - screen_top - screen_bottom + top + bottom
    out.update_layout(
        width=PICTURE_WIDTH,
        height=height,
        showlegend=shown_legend,
        margin={"l": left + PAD, "r": right, "t": top, "b": bottom, "pad": 0},
        title={
            "text": "<br>".join(titles),
            "subtitle": {"text": "<br>".join(subtitles)},
            "pad": {"l": PAD, "t": PAD - 2},
        },
        legend={
            "font": {"size": 12},
            "xref": "container",
            "yref": "container",
            "x": PAD / PICTURE_WIDTH,
            "y": 1 - (PAD + head) / height,
            "yanchor": "top",
        },
    )
    out.add_annotation(
        templateitemname="source",
        visible=True,
        text=f"{plotly_text(source)} · Kernel Reach",
        xshift=-left,
        yshift=-(bottom - PAD - 16),
    )
    if stamp:
        out.add_annotation(
            templateitemname="stamp",
            visible=True,
            text=stamp,
            xshift=right - PAD,
            yshift=-(bottom - PAD - 14),
        )
    return out


def render(fig: go.Figure, kind: PictureFormat) -> bytes:
    """`fig` as PNG (300 dpi at 170 mm), SVG or PDF.

    Raises ExportUnavailable where no Chromium is at hand or it does not start.
    """
    with _lock:  # one Chromium tab: exports of two sessions wait for each other
        try:
            _server()
            opts = {"format": kind, "scale": SCALE_300_DPI if kind == "png" else 1}
            data = kaleido.calc_fig_sync(fig.to_plotly_json(), opts=opts)
        except ExportUnavailable:
            raise
        except Exception as error:
            raise ExportUnavailable(f"The picture could not be drawn: {error}") from error
    if not isinstance(data, bytes):
        raise ExportUnavailable("The picture could not be drawn: Chromium answered without one.")
    return data
