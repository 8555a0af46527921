"""The Grade page before a grading: who may, the candidate, the problem, and handing both in."""

from __future__ import annotations

import hmac

import streamlit as st
from streamlit.typing import UploadedFile

from evaluator import jobs
from evaluator.catalogue import Problem, all_problems, find
from evaluator.contract import PRECISIONS
from reach import grading as say
from reach import problem_size as size
from reach.store import data_dir
from reach.style.words import escape_markdown
from ui.blocks import heading
from ui.grade_job import remember

OWN = "a problem file of your own"
UPLOAD_LIMIT_MB = 5  # above what is graded (1 MiB), so that the refusal is ours, with its reason


@st.cache_data(ttl=60, show_spinner=False)
def devices() -> list[str]:
    """The devices to grade on, asked for once a minute."""
    return jobs.devices()


@st.cache_data(show_spinner=False)
def input_sizes(precision: str | None) -> dict[str, int | None]:
    """Bytes of every shipped problem's inputs; None where the file does not say."""
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
    if file:
        return file.getvalue(), file.name
    # a lone surrogate is kept, and then refused as not being UTF-8
    return (text or "").encode(errors="surrogatepass"), "the pasted source"


def problem_label(spec: str, problems: dict[str, Problem]) -> str:
    """A problem as the list names it."""
    if spec == OWN:
        return f"Upload {OWN}"
    problem = problems[spec]
    return spec if problem.suite == "level1" else f"{spec} ({problem.operator_class})"


def settings() -> tuple[str, str | None, str, UploadedFile | None]:
    """The chosen problem's spec (or OWN), precision, device and uploaded problem file."""
    problems = {problem.spec: problem for problem in all_problems()}
    shipped = f"{len(problems)} problems are shipped: KernelBench level 1 and DLRM-Bench"
    heading("Problem and settings", shipped)
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
        f"Precision (none chosen: {own})",
        PRECISIONS,
        key="grade-precision",
        persist_state="session",
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
    remember(job, candidate.decode("utf-8-sig", "replace"))
    st.query_params.from_dict({"job": job, **facts})
    st.rerun()
