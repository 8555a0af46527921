"""What a reader must know before believing a page: files that could not be read."""

from __future__ import annotations

import streamlit as st

from reach.style.words import escape_markdown
from ui.data import store

SHOWN = 5


def damaged_files() -> None:
    """Names each result file that was left out and says why; nothing where all are readable."""
    damaged = store().damaged()
    if not damaged:
        return
    lines = [f"- `{file.name}`: {escape_markdown(file.reason[:300])}" for file in damaged[:SHOWN]]
    if len(damaged) > SHOWN:
        lines.append(f"- and {len(damaged) - SHOWN} more")
    one = len(damaged) == 1
    files = (
        "1 file that cannot be read is" if one else f"{len(damaged)} files that cannot be read are"
    )
    st.warning(
        "\n".join(["All other rows are shown. Nothing was deleted.", "", *lines]),
        title=f"{files} left out of the table",
        icon=":material/warning:",
    )
