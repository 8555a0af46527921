"""Grade a candidate: hand it in, watch the stages, get the verdict as a row of the table."""

from __future__ import annotations

import streamlit as st

from ui import grade_form, grade_job
from ui.notices import damaged_files
from ui.shell import Action, page


def form() -> None:
    with page(
        "Grade a candidate: correct, faster, and not by a trick",
        "It runs confined, beside the reference. The verdict, its evidence and the row stay on "
        "this machine and appear in the table.",
    ):
        damaged_files()
        if not grade_form.allowed():
            return
        left, right = st.columns([7, 5], gap="large")
        with left:
            candidate, name = grade_form.candidate_field()
        with right:
            chosen = grade_form.settings()
            pressed = st.button("Grade", icon=":material/play_arrow:", shortcut="G")
        if pressed:
            grade_form.submit(candidate, name, chosen)


def unknown(job_id: str) -> None:
    with page(
        "No grading has this address",
        f"`{job_id[:60]}` is not among the gradings of this machine.",
        actions=[Action("Grade a candidate", ":material/replay:", grade_job.again)],
    ):
        pass


job = st.query_params.get("job")
if not job:
    form()
else:
    try:
        now, stages = grade_job.state_of(job)
    except KeyError:
        unknown(job)
    else:
        if now.state == "running":
            grade_job.live(job)
        else:
            grade_job.ended(job, now, stages)
