"""The Grade page during and after a grading: stages, what was handed in, the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from evaluator import jobs
from reach import grading as say
from reach.store import data_dir
from reach.style.formats import MISSING
from reach.style.words import escape_markdown, verdict_badge
from ui.blocks import heading
from ui.data import store
from ui.shell import Action, link, page
from ui.source import message, source

_SUBMITTED = "grade-submitted"
MARKS = {
    "done": ":green[:material/check:]",
    "now": ":material/pending:",
    "waiting": ":gray[:material/circle:]",
    "skipped": ":gray[:material/remove:]",
    "failed": ":red[:material/error:]",
}


def again() -> None:
    """Back to the form; what was pasted is still there."""
    st.query_params.clear()


def remember(job_id: str, text: str) -> None:
    """Keeps the submitted source for this session, to show it beside the stages."""
    st.session_state[_SUBMITTED] = {job_id: text}


def stop(job_id: str) -> None:
    """Ends the grading; nothing is stored."""
    jobs.cancel(job_id, data_dir=data_dir())


def stage_table(rows: list[say.StageRow]) -> None:
    """The stages with mark, detail and duration; the current one in bold."""
    lines = [
        (
            f"{MARKS[row.state]} {row.words.name}",
            escape_markdown(row.detail),
            row.time,
        )
        for row in rows
    ]
    bold = [
        tuple(f"**{cell}**" for cell in line) if row.state == "now" else line
        for line, row in zip(lines, rows, strict=True)
    ]
    st.table(
        pl.DataFrame(bold, schema=["Stage", "What", "Time"], orient="row"),
        border="horizontal",
        hide_index=True,
        hide_header=True,
        alt="Stages of this grading",
    )


def handed_in(job_id: str, row: Mapping[str, Any] | None = None) -> None:
    """What was submitted: from the finished row, else what the address says of it."""
    ask = st.query_params.get
    facts = [
        ("Candidate", ask("candidate", MISSING)),
        ("Problem", row["problem"] if row else ask("problem", MISSING)),
        ("Precision", row["precision"] if row else ask("precision", MISSING)),
    ]
    if row:
        facts += [
            ("Device", row["device"] or MISSING),
            ("Confined by", row["isolation"] or MISSING),
        ]
    heading("Handed in")
    st.table(
        pl.DataFrame(
            [(name, escape_markdown(value)) for name, value in facts],
            schema=["Setting", "Value"],
            orient="row",
        ),
        border="horizontal",
        hide_index=True,
        hide_header=True,
        alt="What was handed in",
    )
    submitted = st.session_state.get(_SUBMITTED, {}).get(job_id)
    text = (row["source"] if row else None) or submitted
    if text:
        source(text, height=340)
    st.caption("Runs confined: limits on time, memory and files. The judge never imports it.")


def running(job_id: str, status: jobs.JobStatus, rows: list[say.StageRow]) -> None:
    """The whole page while the job runs."""
    name = escape_markdown(st.query_params.get("candidate", "a candidate"))
    with page(
        say.running_headline(name, rows),
        f"{escape_markdown(status.detail)} · nothing is decided yet",
        crumb=f"Job {job_id} · keep this address to come back",
        actions=[Action("Stop", ":material/stop_circle:", stop, (job_id,))],
    ):
        left, right = st.columns([7, 5], gap="large")
        with left:
            heading("Stages")
            st.progress(say.progress(rows))
            stage_table(rows)
        with right:
            handed_in(job_id)


def ended(job_id: str, status: jobs.JobStatus, rows: list[say.StageRow]) -> None:
    """The whole page afterwards: the verdict and a link to its row, or why there is none."""
    row = store().evaluation(status.evaluation_id) if status.evaluation_id else None
    headline = escape_markdown(status.sentence or "The grading ended without a verdict")
    deck = verdict_badge(row["verdict"]) if row else None
    if row:
        deck = f"{deck} {escape_markdown(row['problem'])} · {row['precision']} · kept in the table"
    with page(
        headline,
        deck,
        crumb=f"Job {job_id}",
        actions=[Action("Grade another", ":material/replay:", again)],
    ):
        if row:
            link(
                "kernel",
                "Open the result",
                {"id": row["evaluation_id"]},
                icon=":material/arrow_forward:",
            )
        if status.error:
            st.error(escape_markdown(status.error), title="No verdict was reached")
        left, right = st.columns([7, 5], gap="large")
        with left:
            heading("Stages")
            stage_table(rows)
            if row and row["message"]:
                heading("Message", "What the candidate's build or run said")
                message(row["message"])
        with right:
            handed_in(job_id, row)


def state_of(job_id: str) -> tuple[jobs.JobStatus, list[say.StageRow]]:
    """The job now and its stages. Raises KeyError where there is no such job."""
    status = jobs.status(job_id, data_dir=data_dir())
    events = [(event.stage, event.detail, event.seconds) for event in status.stages]
    return status, say.stage_rows(events, status.state)


@st.fragment(run_every=1)
def live(job_id: str) -> None:
    """Redraws once a second while the job runs, then hands over to the whole page."""
    status, rows = state_of(job_id)
    if status.state != "running":
        st.rerun()
    running(job_id, status, rows)
