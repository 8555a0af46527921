"""The chart block, always in one order: finding, units, legend, figure, source and Export menu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import plotly.graph_objects as go
import polars as pl
import streamlit as st

from reach.charts import exporting
from reach.style.swatches import LegendGroup, legend_html
from reach.style.templates import BROWSER_EXPORT_CONFIG, CONFIG
from ui.shell import mode

_MIME = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


def heading(finding: str, units: str | None = None) -> None:
    """A block's finding (h2, Markdown) and the line with units and sample under it."""
    with st.container(gap="xsmall"):
        st.header(finding, anchor=False)
        if units:
            st.caption(units)


def legend(*groups: LegendGroup) -> None:
    """An HTML legend; each group is `(title or None, [(swatch, colour, label), ...])`."""
    st.html(legend_html(groups, mode()))


def chart(
    figure: go.Figure,
    finding: str,
    units: str,
    *,
    key: str,
    source: str,
    data: pl.DataFrame,
    groups: Sequence[LegendGroup] = (),
    alt: str | None = None,
    stamp: str | None = None,
    export_left: int = 4,
    on_select: Any = "ignore",
    selection_mode: Any = ("points",),
) -> Any:
    """Draws one chart block and returns what `st.plotly_chart` returns.

    `figure` is built for the shown theme (`mode()`) and has neither title nor legend; `data` is
    what it shows, for the CSV; `source` says where the numbers come from; `stamp` goes on an
    exported picture ("projected"); `export_left` is the picture's left margin in px where the
    figure has labels left of its axis. `key` names the block and is unique on its page.
    """
    # a camera button only where the server cannot draw the picture itself
    config = CONFIG if exporting.unavailable_reason() is None else BROWSER_EXPORT_CONFIG
    with st.container(gap="xsmall", key=f"block-{key}"):
        heading(finding, units)
        if groups:
            legend(*groups)
        figure.update_layout(showlegend=False)
        state = st.plotly_chart(
            figure,
            theme=None,
            config=config,
            key=key,
            alt=alt or f"{finding}. {units}",
            on_select=on_select,
            **({} if on_select == "ignore" else {"selection_mode": selection_mode}),
        )
        name = key.split(".")[0]  # what follows the dot only tells apart redraws of one chart
        picture = partial(
            exporting.picture_figure,
            figure,
            mode(),
            finding,
            units,
            source,
            list(groups),
            stamp,
            export_left,
        )
        with st.container(
            horizontal=True,
            horizontal_alignment="distribute",
            vertical_alignment="center",
            gap="small",
        ):
            st.caption(source, width="content")
            _export_menu(picture, data, key, name)
    return state


def _export_menu(picture: partial[go.Figure], data: pl.DataFrame, key: str, name: str) -> None:
    """Downloads are made when they are clicked, so an unopened menu costs nothing."""
    reason = exporting.unavailable_reason()
    menu = st.popover("Export", icon=":material/download:", type="tertiary", key=f"export-{key}")
    with menu, st.container(gap="xxsmall"):
        if reason:
            st.caption(reason, width=260)
        else:
            kinds: tuple[tuple[str, exporting.PictureFormat], ...] = (
                ("PNG, 300 dpi", "png"),
                ("SVG", "svg"),
                ("PDF", "pdf"),
            )
            for label, kind in kinds:
                st.download_button(
                    label,
                    data=partial(_render, picture, kind),
                    file_name=f"kernel-reach-{name}.{kind}",
                    mime=_MIME[kind],
                    key=f"export-{key}-{kind}",
                    on_click="ignore",
                    type="tertiary",
                )
        st.download_button(
            "Data as CSV",
            data=data.write_csv,
            file_name=f"kernel-reach-{name}.csv",
            mime="text/csv",
            key=f"export-{key}-csv",
            on_click="ignore",
            type="tertiary",
        )


def _render(picture: partial[go.Figure], kind: exporting.PictureFormat) -> bytes:
    return exporting.render(picture(), kind)
