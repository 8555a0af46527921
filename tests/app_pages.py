"""Runs a page of the dashboard in-process, on a store that holds synthetic rows alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from evaluator.contract import Evaluation
from reach.store import store as store_module
from tests.synthetic import write_user

ROOT = Path(__file__).resolve().parent.parent


def only_rows(rows: list[Evaluation], folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Makes `rows` all that the dashboard sees; what is shipped in data/ stays out."""
    write_user(rows, folder)
    nothing_shipped = folder / "shipped"
    nothing_shipped.mkdir(exist_ok=True)
    patch.setattr(store_module, "shipped_dir", lambda: nothing_shipped)
    patch.setenv("KERNEL_REACH_DATA", str(folder))
    st.cache_resource.clear()
    st.cache_data.clear()


def open_page(name: str, **query: str) -> AppTest:
    """The page after its first run, reached through app.py as a reader does."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page(f"pages/{name}.py")
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def text_of(app: AppTest) -> str:
    """Everything the page says in titles, headings, Markdown, captions and HTML, in one string."""
    kinds = ("title", "header", "markdown", "caption", "html")
    return "\n".join(
        str(getattr(element, "value", None) or element.proto.body)
        for kind in kinds
        for element in app.get(kind)
    )


def table_of(app: AppTest, alt: str) -> dict[str, str]:
    """The st.table with this alternative text as a mapping from its first column to the second."""
    table = next(element for element in app.table if element.proto.alt == alt)
    frame = table.value
    return dict(zip(frame.iloc[:, 0], frame.iloc[:, 1], strict=True))
