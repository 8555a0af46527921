"""Source and messages in a page."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from reach.style.highlight import source_html
from ui.shell import mode


def source(code: str, marked: Collection[int] = (), height: int | None = None) -> None:
    """Python source with line numbers; `marked` lines stand out, `height` px scroll."""
    st.html(source_html(code, mode(), marked, height))


def message(text: str, label: str = "Message", height: int | None = 320) -> None:
    """A compiler's or interpreter's message as it came, wrapped and without colours."""
    st.html(source_html(text, mode(), max_height=height, label=label, plain=True))
