"""Two plotly templates, light and dark, built from the tokens.

Every figure gets its template explicitly: `import streamlit` replaces plotly's default by one
whose placeholder colours come out black on the server.

A template carries three named annotations that a figure fills in and never restyles: `source`
(bottom left of an exported picture), `stamp` (bottom right: "projected", "imported, not graded
here") and `unity` (the word above a speedup axis's 1.0 line).
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from reach.style.tokens import MODES, TOKENS, Mode, palette

CONFIG: dict[str, Any] = {
    "displayModeBar": False,
    "responsive": True,
    "scrollZoom": False,
    "doubleClick": "reset",
}
# where the server has no Chromium, the browser draws the picture that it shows
BROWSER_EXPORT_CONFIG: dict[str, Any] = {
    **CONFIG,
    "displayModeBar": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
}


def _fonts(mode: Mode) -> tuple[dict[str, Any], dict[str, Any]]:
    """The font of labels, and the quieter one of axes and captions."""
    kind, tokens = TOKENS["type"], palette(mode)
    # a family name is quoted: plotly.js drops the whole list over an unquoted name with a digit
    family = f"'{kind['sans']}', 'Source Sans 3', sans-serif"
    label = {"family": family, "size": kind["chart_axis"], "color": tokens["ink"]}
    return label, {**label, "color": tokens["muted"]}


def _named_annotations(mode: Mode) -> list[dict[str, Any]]:
    tokens, (label, quiet) = palette(mode), _fonts(mode)
    note = {"showarrow": False, "xref": "paper", "yref": "paper", "align": "left"}
    # visible=False: an empty named annotation still draws its box
    source = {
        "name": "source", "x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "yshift": -46,
        "font": {**quiet, "size": TOKENS["type"]["chart_source"]}, "text": "", "visible": False,
    }  # fmt: skip
    stamp = {
        "name": "stamp", "x": 1, "xanchor": "right", "y": 0, "yanchor": "top", "yshift": -44,
        "bordercolor": tokens["stamp"], "borderwidth": 1, "borderpad": 3, "bgcolor": tokens["page"],
        "font": {**label, "size": 11, "color": tokens["stamp"]}, "text": "", "visible": False,
    }  # fmt: skip
    unity = {
        "name": "unity", "showarrow": False, "yref": "paper", "y": 1, "yanchor": "bottom",
        "align": "center", "font": {**quiet, "size": 11}, "text": "",
    }  # fmt: skip
    return [{**source, **note}, {**stamp, **note}, unity]


def _layout(mode: Mode) -> go.Layout:
    """Axes are quiet: a grid along the value axis, no box, no ticks, labels in `muted`."""
    tokens, kind, (label, quiet) = palette(mode), TOKENS["type"], _fonts(mode)
    axis = {
        "ticklabelstandoff": 4, "automargin": True, "showgrid": True, "gridcolor": tokens["grid"],
        "gridwidth": 1, "zeroline": False, "showline": False, "linecolor": tokens["axis"],
        "linewidth": 1, "ticks": "", "tickcolor": tokens["axis"], "tickfont": quiet,
        "title": {"font": quiet, "standoff": 10}, "fixedrange": True, "minor": {"showgrid": False},
    }  # fmt: skip
    serif = f"'{kind['serif']}', 'Source Serif 4', serif"
    title = {
        "font": {"family": serif, "size": kind["chart_title"], "color": tokens["ink"],
                 "weight": 600},
        "subtitle": {"font": {**quiet, "size": kind["chart_subtitle"]}},
        "x": 0, "xanchor": "left", "xref": "container", "y": 1, "yanchor": "top",
        "yref": "container", "pad": {"t": 6, "l": 0},
    }  # fmt: skip
    legend = {
        "orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
        "font": label, "title": {"font": quiet}, "itemclick": False, "itemdoubleclick": False,
        "traceorder": "normal", "bgcolor": "rgba(0,0,0,0)",
    }  # fmt: skip
    deep = tokens["class"]["gemm" if mode == "light" else "attention"]
    return go.Layout(
        font=label,
        paper_bgcolor=tokens["page"],
        plot_bgcolor=tokens["page"],
        colorway=list(tokens["series"].values()),
        colorscale={"sequential": [[0, tokens["panel"]], [1, deep]]},
        title=title,
        margin=TOKENS["space"]["chart_margin_screen"],
        xaxis=axis,
        yaxis=axis,
        bargap=0.36,
        barcornerradius=0,
        separators=".,",
        hovermode="closest",
        hoverlabel={
            "bgcolor": tokens["panel"],
            "bordercolor": tokens["axis"],
            "font": {**label, "size": kind["small"]},
            "align": "left",
            "namelength": -1,
        },
        legend=legend,
        annotationdefaults={
            "font": label,
            "showarrow": False,
            "arrowcolor": tokens["axis"],
            "arrowwidth": 1,
            "arrowhead": 0,
        },
        shapedefaults={"line": {"color": tokens["ink"], "width": 1}, "layer": "above"},
        annotations=_named_annotations(mode),
    )


def _data(mode: Mode) -> go.layout.template.Data:
    tokens, (label, quiet) = palette(mode), _fonts(mode)
    # 1 px of page colour between segments: a boundary that does not depend on two fills' contrast
    edge = {"color": tokens["page"], "width": 1}
    pattern = {
        "fillmode": "overlay", "size": 5, "solidity": 0.28, "fgcolor": tokens["page"],
        "fgopacity": 0.9,
    }  # fmt: skip
    whisker = {"thickness": 1.5, "width": 0}
    return go.layout.template.Data(
        bar=[
            go.Bar(
                marker={"line": edge, "pattern": pattern},
                textfont={**label, "size": 11},
                insidetextanchor="middle",
                textangle=0,
                cliponaxis=False,
            )
        ],
        scatter=[
            go.Scatter(
                line={"width": 2},
                marker={"size": 10, "line": {"width": 1.5, "color": tokens["page"]}},
                textfont=label,
                cliponaxis=False,
                error_x=whisker,
                error_y=whisker,
            )
        ],
        sankey=[
            go.Sankey(
                textfont={**label, "shadow": "none"},
                node={"pad": 18, "thickness": 10, "line": {"width": 0}},
            )
        ],
        violin=[
            go.Violin(
                line={"width": 1.5},
                points=False,
                side="positive",
                spanmode="soft",
                meanline={"visible": False},
                scalemode="width",
            )
        ],
        heatmap=[
            go.Heatmap(
                xgap=1, ygap=1, colorbar={"thickness": 8, "outlinewidth": 0, "tickfont": quiet}
            )
        ],
    )


TEMPLATES: dict[Mode, go.layout.Template] = {
    mode: go.layout.Template(layout=_layout(mode), data=_data(mode)) for mode in MODES
}
