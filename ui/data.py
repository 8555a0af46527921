"""The one store of this app process: its rows, their evidence, and what the footer says."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from reach.store import Store, open_store
from reach.store.convert import NotAnEvaluation
from reach.style.words import escape_markdown


@st.cache_resource(show_spinner=False)
def _opened() -> Store:
    return open_store()


def store() -> Store:
    """The evaluations' store: opened once a process, shared by all sessions, up to date."""
    opened = _opened()
    opened.refresh()
    return opened


@st.cache_data(show_spinner=False, max_entries=256)
def _evidence(evaluation_id: str, data_version: str) -> dict[str, Any] | None:
    """An id names one run, so only another data version can change what belongs to it."""
    return store().evidence(evaluation_id)


def evidence(evaluation_id: str) -> dict[str, Any] | None:
    """The evidence of one evaluation or None; where it cannot be read, the page says so."""
    try:
        return _evidence(evaluation_id, store().data_version())
    except (OSError, pl.exceptions.PolarsError, NotAnEvaluation) as error:
        st.error(
            "The row itself is whole; its maps, single runs and checked calls are missing below. "
            f"The reason: {escape_markdown(str(error)[:300])}",
            title="The evidence of this evaluation cannot be read",
            icon=":material/error:",
        )
        return None


def footer_line() -> str:
    """Product, data version and number of rows."""
    opened = store()
    return f"Kernel Reach · data version {opened.data_version()} · {opened.count():,} evaluations"
