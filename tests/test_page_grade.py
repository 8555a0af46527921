"""The Grade page in-process: refusals keep the text, a job is followed to its row.

The grading itself is stood in for here (its own tests run it); what the page does with it is real.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st

from evaluator import jobs
from reach import grading
from tests.app_pages import only_rows, open_page, text_of
from tests.synthetic import evaluation, write_user

GOOD = "class ModelNew:\n    pass\n"
JOB = "20000101-000000-0a0b0c0d"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store on a machine without a GPU, listening on loopback."""
    only_rows([], tmp_path, monkeypatch)
    monkeypatch.setattr(jobs, "devices", lambda: ["cpu"])
    monkeypatch.setattr(grading, "is_loopback", lambda address: True)
    st.cache_data.clear()
    return tmp_path


class Submitted:
    """Stands in for `jobs`: records what was submitted and reports the state it is given."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[dict] = []
        self.cancelled: list[str] = []
        self.now = status("running", [("checking", "reading", 0.1), ("building", "nvcc", 1.0)])
        patch.setattr(jobs, "submit", self.submit)
        patch.setattr(jobs, "status", self.status)
        patch.setattr(jobs, "cancel", lambda job, *, data_dir: self.cancelled.append(job))

    def submit(self, candidate: bytes, **settings) -> str:
        self.calls.append({"candidate": candidate, **settings})
        return JOB

    def status(self, job_id: str, *, data_dir: Path) -> jobs.JobStatus:
        if job_id != JOB:
            raise KeyError(job_id)
        return self.now


def status(state: str, events: list[tuple[str, str, float]], **more) -> jobs.JobStatus:
    stages = [jobs.StageEvent(*event) for event in events]
    return jobs.JobStatus(JOB, state, stages[-1].stage, stages[-1].detail, stages, **more)


@pytest.fixture
def job(here: Path, monkeypatch: pytest.MonkeyPatch) -> Submitted:
    return Submitted(monkeypatch)


def grade_button(app):
    return next(button for button in app.button if button.label == "Grade")


def test_the_form_says_what_a_machine_without_a_gpu_can_do(here: Path) -> None:
    app = open_page("grade")
    assert not app.exception
    assert "has no GPU: the grading runs on the CPU" in app.info[0].value
    assert "problems whose size is known fit here" in text_of(app)
    assert len(app.selectbox(key="grade-problem").options) == 116


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("class Model: ...", "defines no ModelNew"),
        ("class ModelNew(:\n", "syntax error in line 1"),
        ("#" * (grading.MAX_BYTES + 1), "1 MiB is the most"),
    ],
)
def test_bad_input_is_refused_and_kept(job: Submitted, text: str, words: str) -> None:
    app = open_page("grade")
    app.text_area(key="grade-text").set_value(text).run()
    grade_button(app).click().run()
    assert not app.exception and len(app.error) == 1
    assert words in app.error[0].value.replace("\\", "")
    assert app.text_area(key="grade-text").value == text and job.calls == []
    assert "job" not in app.query_params


def test_a_file_that_is_not_text_is_refused(job: Submitted) -> None:
    app = open_page("grade")
    app.file_uploader(key="grade-file").upload(
        "k.py", b"class ModelNew: ...\n\xff\xfe", "text/x-python"
    )
    app.run()
    grade_button(app).click().run()
    assert "not UTF-8 text" in app.error[0].value.replace("\\", "") and job.calls == []


def test_what_the_grader_refuses_is_shown_too(
    job: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_, **__) -> str:
        raise jobs.BadSubmission("There is no room.")

    monkeypatch.setattr(jobs, "submit", refuse)
    app = open_page("grade")
    app.text_area(key="grade-text").set_value(GOOD).run()
    grade_button(app).click().run()
    assert "There is no room" in app.error[0].value


def test_a_submission_carries_the_settings_and_is_followed(job: Submitted) -> None:
    app = open_page("grade")
    app.text_area(key="grade-text").set_value(GOOD)
    app.selectbox(key="grade-problem").select("level1/23_Softmax")
    app.segmented_control(key="grade-precision").set_value("bf16").run()
    grade_button(app).click().run()
    assert not app.exception
    (call,) = job.calls
    assert call["candidate"] == GOOD.encode() and call["problem"] == "level1/23_Softmax"
    assert (call["precision"], call["device"]) == ("bf16", "cpu")
    assert app.query_params["job"] in (JOB, [JOB])
    assert app.title[0].value == "Grading the pasted source: read, now building it"
    assert "23\\_Softmax" in app.table[1].value.to_string()
    assert "nvcc" in app.table[0].value.to_string()
    next(button for button in app.button if button.label == "Stop").click().run()
    assert job.cancelled == [JOB]


def test_a_problem_of_ones_own_is_kept_and_submitted(job: Submitted, here: Path) -> None:
    app = open_page("grade")
    app.text_area(key="grade-text").set_value(GOOD)
    app.selectbox(key="grade-problem").select_index(115).run()
    grade_button(app).click().run()
    assert "Choose the problem file" in app.error[0].value
    text = b"class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"
    app.file_uploader(key="grade-problem-file").upload("mine.py", text, "text/x-python").run()
    grade_button(app).click().run()
    assert not app.exception
    stored = Path(job.calls[0]["problem"])
    assert stored.read_bytes() == text and stored.is_relative_to(here / "problems")


def test_the_verdict_links_to_its_row(job: Submitted, here: Path) -> None:
    row = evaluation(configuration="uploaded")
    write_user([row], here)
    job.now = status(
        "done",
        [("checking", "", 0.1), ("timing", "", 2.0), ("done", "", 3.0)],
        evaluation_id=row.evaluation_id,
        sentence="Every element is within the bound.",
    )
    app = open_page("grade", job=JOB)
    assert not app.exception
    assert app.title[0].value == r"Every element is within the bound\."
    assert [link.proto.label for link in app.get("page_link")] == ["Open the result"]
    assert ":green-badge" in text_of(app) and "kept in the table" in text_of(app)


def test_a_failed_grading_says_why(job: Submitted) -> None:
    job.now = status("failed", [("building", "", 0.1)], error="Its process was stopped.")
    app = open_page("grade", job=JOB)
    assert app.title[0].value == "The grading ended without a verdict"
    assert "stopped" in app.error[0].value
    next(button for button in app.button if button.label == "Grade another").click().run()
    assert "job" not in app.query_params and app.title[0].value.startswith("Grade a candidate")


@pytest.mark.parametrize("address", ["no-such-job", "../../etc/passwd", "<script>"])
def test_an_unknown_job_is_no_error(here: Path, address: str) -> None:
    app = open_page("grade", job=address)
    assert not app.exception and app.title[0].value == "No grading has this address"


def test_elsewhere_grading_needs_the_operators_token(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "is_loopback", lambda address: False)
    monkeypatch.delenv(grading.TOKEN_VARIABLE, raising=False)
    app = open_page("grade")
    assert "off where the app listens to other machines" in app.info[0].value
    assert not app.text_area
    monkeypatch.setenv(grading.TOKEN_VARIABLE, "secret")
    app = open_page("grade")
    assert not app.text_area
    app.text_input(key="grade-token").set_value("guess").run()
    assert "not the token" in app.error[0].value and not app.text_area
    app.text_input(key="grade-token").set_value("secret").run()
    assert not app.exception and app.text_area
