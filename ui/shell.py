"""The page shell: a centred column of 1,200 px, the verdict sentence as h1, blocks, footer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from reach.style.swatches import three_marks_html
from reach.style.tokens import ROOT, TOKENS, Mode, palette
from ui.data import footer_line


@dataclass(frozen=True)
class Action:
    """A quiet button right of the crumb line; `shortcut` is printed on it by Streamlit."""

    label: str
    icon: str
    on_click: Callable[..., None] | None = None
    args: tuple[Any, ...] = ()
    shortcut: str | None = None
    help: str | None = None


def mode() -> Mode:
    """The theme that the reader sees; light until the browser has said."""
    return "dark" if st.context.theme.type == "dark" else "light"


def tokens() -> dict[str, Any]:
    """The colours of the theme that the reader sees."""
    return palette(mode())


def page_exists(name: str) -> bool:
    """Whether this installation has the page `pages/<name>.py`; only those are in navigation."""
    return (ROOT / "pages" / f"{name}.py").exists()


def link(name: str, label: str, query: Mapping[str, Any] | None = None, icon: str | None = None):
    """A link to the page `name`, with query parameters; nothing where the page does not exist."""
    if page_exists(name):
        st.page_link(f"pages/{name}.py", label=label, icon=icon, query_params=dict(query or {}))


@contextmanager
def page(
    headline: str,
    deck: str | None = None,
    *,
    crumb: str | None = None,
    back: tuple[str, str, Mapping[str, Any]] | None = None,
    actions: Sequence[Action] = (),
    deck_width: int = 760,
) -> Iterator[None]:
    """The column that a page's blocks are drawn in, with heading above and footer below.

    `headline` states the page's verdict (Markdown; serif, h1), `deck` is one or two sentences or
    the badges under it, `crumb` where the reader is, `back` the page one step up with its label
    and query. Do not `st.stop()` inside: the footer would
    be lost.
    """
    space = TOKENS["space"]
    centre = st.container(horizontal_alignment="center")
    with centre.container(width=space["page_width"], gap="medium"):
        if crumb or back or actions:
            _crumb_line(crumb, back, actions)
        with st.container(gap="small"):
            st.title(headline, anchor=False)
            if deck:
                st.markdown(deck, width=deck_width)
        yield
        st.divider()
        st.html(three_marks_html(mode(), footer_line()))


def _crumb_line(
    crumb: str | None, back: tuple[str, str, Mapping[str, Any]] | None, actions: Sequence[Action]
) -> None:
    line = st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    )
    with line:
        where = st.container(
            horizontal=True, width="content", gap="xsmall", vertical_alignment="center"
        )
        if back:
            target, label, query = back
            with where:
                link(target, label, query)
        if crumb:
            where.caption(f"› {crumb}" if back else crumb, width="content")
        with st.container(horizontal=True, width="content", gap="small"):
            for action in actions:
                st.button(
                    action.label,
                    icon=action.icon,
                    type="tertiary",
                    key=f"action-{action.label}",
                    on_click=action.on_click,
                    args=action.args,
                    shortcut=action.shortcut,
                    help=action.help,
                )
