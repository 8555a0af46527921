"""Entry of the dashboard: page config, theme, navigation. Run with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

from reach.style.tokens import ROOT
from ui.shell import mode, page_exists

# reading order of the argument; Kernel is reached from a row, so it is hidden
PAGES = ("overview", "evaluations", "kernel", "flagged", "grade", "audit")
HIDDEN = frozenset({"kernel"})

st.logo(f"static/logo-{mode()}.svg", size="medium")


def _page(name: str) -> st.Page:
    return st.Page(
        ROOT / "pages" / f"{name}.py",
        title=name.capitalize(),
        url_path=name,
        default=name == "overview",
        visibility="hidden" if name in HIDDEN else "visible",
    )


page = st.navigation([_page(name) for name in PAGES if page_exists(name)], position="top")
st.set_page_config(
    page_title=f"{page.title} · Kernel Reach", page_icon="static/logo-light.svg", layout="wide"
)
page.run()
