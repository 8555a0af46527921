"""Grade a candidate: hand it in, watch the stages, get the verdict as a row of the table."""

from __future__ import annotations

import hmac

import polars as pl
import streamlit as st
from streamlit.typing import UploadedFile

from evaluator import jobs
from evaluator.catalogue import Problem, all_problems, find
from evaluator.contract import PRECISIONS
from reach import grading as say
from reach import problem_size as size
from reach.store import data_dir
from reach.style.words import escape_markdown, verdict_badge
from ui.blocks import heading
from ui.data import store
from ui.notices import damaged_files
from ui.shell import Action, link, page
from ui.source import message, source

OWN = "a problem file of your own"
UPLOAD_LIMIT_MB = 5  # above what is graded (1 MiB), so that the refusal is ours, with its reason
MARKS = {
    "done": ":green[:material/check:]",
    "now": ":material/pending:",
    "waiting": ":gray[:material/circle:]",
    "skipped": ":gray[:material/remove:]",
    "failed": ":red[:material/error:]",
}


@st.cache_data(ttl=60, show_spinner=False)
def devices() -> list[str]:
    return jobs.devices()


@st.cache_data(show_spinner=False)
def input_sizes(precision: str | None) -> dict[str, int | None]:
    return {
        problem.spec: size.file_input_bytes(problem.path, precision or problem.native_precision)
        for problem in all_problems()
    }


def allowed() -> bool:
    """Whether this visitor may grade; says why not, or asks for the operator's token."""
    refusal = say.cannot_grade_here()
    if refusal:
        st.info(refusal, icon=":material/info:")
        return False
    signed_in = bool(st.user.get("is_logged_in", False))
    token = say.required_token(st.get_option("server.address"), signed_in)
    if token is None:
        return True
    if not token:
        st.info(
            "Grading runs the code that is handed in, so it is off where the app listens to "
            f"other machines. The operator turns it on with `{say.TOKEN_VARIABLE}`.",
            icon=":material/lock:",
        )
        return False
    given = st.text_input("Token for grading", type="password", key="grade-token")
    if given and not hmac.compare_digest(given.encode(), token.encode()):
        st.error("This is not the token. Ask whoever runs this dashboard.")
    return bool(given) and hmac.compare_digest(given.encode(), token.encode())


def candidate_field() -> tuple[bytes, str]:
    """The candidate's bytes and name: a chosen file, else the text."""
    heading("Candidate", "A Python file with `ModelNew`: Triton, CUDA or C++ inline, plain PyTorch")
    file = st.file_uploader(
        "Choose a file",
        type="py",
        key="grade-file",
        max_upload_size=UPLOAD_LIMIT_MB,
    )
    text = st.text_area(
        "or paste the source" if file is None else "The file is graded, not this text",
        height=340,
        key="grade-text",
        persist_state="session",
        placeholder="import torch\n\n\nclass ModelNew(torch.nn.Module):\n    ...",
    )
    return (file.getvalue(), file.name) if file else ((text or "").encode(), "the pasted source")


def problem_label(spec: str, problems: dict[str, Problem]) -> str:
    if spec == OWN:
        return f"Upload {OWN}"
    problem = problems[spec]
    return spec if problem.suite == "level1" else f"{spec} ({problem.operator_class})"


def settings() -> tuple[str, str | None, str, UploadedFile | None]:
    """The chosen problem's spec (or OWN), precision, device and uploaded problem file."""
    heading("Problem and settings", "115 problems are shipped: KernelBench level 1 and DLRM-Bench")
    problems = {problem.spec: problem for problem in all_problems()}
    spec = st.selectbox(
        "Problem",
        [*problems, OWN],
        format_func=lambda item: problem_label(item, problems),
        key="grade-problem",
        persist_state="session",
    )
    file = None
    if spec == OWN:
        file = st.file_uploader(
            "Problem file, KernelBench format",
            type="py",
            key="grade-problem-file",
            max_upload_size=UPLOAD_LIMIT_MB,
        )
    own = problems[spec].native_precision if spec in problems else "the file's own"
    precision = st.segmented_control(
        "Precision",
        PRECISIONS,
        key="grade-precision",
        persist_state="session",
        help=f"Unset: {own}",
    )
    found = devices()
    device = st.selectbox("Device", found, key="grade-device") if len(found) > 1 else found[0]
    if device == "cpu":
        st.info(
            "This machine has no GPU: the grading runs on the CPU. Verdicts on correctness hold; "
            "times are the CPU's, and a Triton or CUDA candidate needs a GPU.",
            icon=":material/info:",
        )
        if spec in problems:
            needed = input_sizes(precision)[spec]
            free = size.free_bytes()
            sentence = size.memory_sentence(needed, free)
            st.caption(f"{sentence} {size.fitting_sentence(input_sizes(precision), free)}")
    return spec, precision, device, file


def submit(candidate: bytes, name: str, chosen: tuple) -> None:
    """Checks what was handed in and starts the grading; a refusal leaves every field as it is."""
    spec, precision, device, file = chosen
    data = data_dir()
    try:
        say.check_candidate(candidate)
        if spec == OWN:
            if file is None:
                raise say.CannotGrade("Choose the problem file, or one of the shipped problems.")
            spec = str(say.keep_problem(file.getvalue(), file.name, data))
        job = jobs.submit(
            candidate, problem=spec, precision=precision, device=device, data_dir=data
        )
    except (say.CannotGrade, jobs.BadSubmission) as refusal:
        st.error(
            f"{escape_markdown(str(refusal))} Nothing was submitted, and your text is kept.",
            title="This cannot be graded",
        )
        return
    except OSError as error:
        st.error(
            f"The data directory cannot be written: {escape_markdown(str(error))}.",
            title="The submission could not be stored",
        )
        return
    problem = find(spec)
    facts = {
        "candidate": name,
        "problem": problem.name,
        "precision": precision or problem.native_precision,
    }
    st.session_state["grade-submitted"] = {job: candidate.decode("utf-8-sig", "replace")}
    st.query_params.from_dict({"job": job, **facts})
    st.rerun()


def form() -> None:
    with page(
        "Grade a candidate: correct, faster, and not by a trick",
        "It runs confined, beside the reference. The verdict, its evidence and the row stay on "
        "this machine and appear in the table.",
    ):
        damaged_files()
        if not allowed():
            return
        left, right = st.columns([7, 5], gap="large")
        with left:
            candidate, name = candidate_field()
        with right:
            chosen = settings()
            pressed = st.button("Grade", icon=":material/play_arrow:", shortcut="G")
        if pressed:
            submit(candidate, name, chosen)


def stop(job_id: str) -> None:
    jobs.cancel(job_id, data_dir=data_dir())


def stage_table(rows: list[say.StageRow]) -> None:
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


def handed_in(job_id: str) -> None:
    facts = [
        (name.capitalize(), st.query_params.get(name, "–"))
        for name in ("candidate", "problem", "precision")
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
    text = st.session_state.get("grade-submitted", {}).get(job_id)
    if text:
        source(text, height=340)
    st.caption("Runs confined: limits on time, memory and files. The judge never imports it.")


def again() -> None:
    st.query_params.clear()


def running(job_id: str, status: jobs.JobStatus, rows: list[say.StageRow]) -> None:
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
            handed_in(job_id)


def state_of(job_id: str) -> tuple[jobs.JobStatus, list[say.StageRow]]:
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


def unknown(job_id: str) -> None:
    with page(
        "No grading has this address",
        f"`{job_id[:60]}` is not among the gradings of this machine.",
        actions=[Action("Grade a candidate", ":material/replay:", again)],
    ):
        pass


job = st.query_params.get("job")
if not job:
    form()
else:
    try:
        now, stages = state_of(job)
    except KeyError:
        unknown(job)
    else:
        if now.state == "running":
            live(job)
        else:
            ended(job, now, stages)
