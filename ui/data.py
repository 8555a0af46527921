"""The one store of this app process, and what the footer says about it."""

from __future__ import annotations

import streamlit as st

from reach.store import Store, open_store


@st.cache_resource(show_spinner=False)
def _opened() -> Store:
    return open_store()


def store() -> Store:
    """The evaluations' store: opened once a process, shared by all sessions, up to date."""
    opened = _opened()
    opened.refresh()
    return opened


def footer_line() -> str:
    """Product, data version and number of rows."""
    opened = store()
    return f"Kernel Reach · data version {opened.data_version()} · {opened.count():,} evaluations"
