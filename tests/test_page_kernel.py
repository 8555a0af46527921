"""The Kernel page in every state a row can be in. All rows are synthetic."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.contract import Evaluation, Evidence, Flag, FlagCode, Trial, Verdict
from reach.charts.exporting import find_chromium
from reach.store import Store
from tests.app_pages import ROOT, only_rows, open_page, table_of, text_of
from tests.synthetic import evaluation, failed, mixed, partial_write

STORE = "import triton.language as tl\n\n\ndef kernel(p, x):\n    tl.store(p,\n             x)\n"
BINS = 1024


def softmax_case() -> Evaluation:
    """A synthetic partial write of 1,024 of each row's 393,216 columns, none of them right."""
    folded = [1.0, 1.0, 2 / 3] + [0.0] * (BINS - 3)
    return partial_write(
        source=STORE,
        zero_passes=True,
        benchmark_speedup=200.4,
        written_fraction=1024 / 393216,
        right_fraction=0.0,
        evidence=Evidence(
            output_shape=[4096, 393216],
            written_map=[1024 / 393216] * BINS,
            written_map_folded=folded,
            right_map=[0.0] * BINS,
            right_map_folded=[0.0] * BINS,
            error_profile=[4000.0] * BINS,
            error_profile_folded=[4000.0] * BINS,
            bound_factor=16.0,
            max_abs_output=0.000004,
            trials=[Trial("as_given", "a", False, 4000.0, right_fraction=0.0)],
            candidate_samples_ms=[0.03, 0.031, 0.032],
            reference_samples_ms=[6.9, 7.0, 7.1],
        ),
    )


def show(
    rows: list[Evaluation],
    chosen: Evaluation,
    folder: Path,
    patch: pytest.MonkeyPatch,
    **query: str,
):
    only_rows(rows, folder, patch)
    app = open_page("kernel", id=chosen.evaluation_id, **query)
    assert not app.exception, app.exception[0].message
    return app


def test_the_partial_write_is_told_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    case = softmax_case()
    app = show([case, evaluation()], case, tmp_path, monkeypatch)
    assert app.title[0].value == (
        "Rejected: it wrote 0.3\u00a0% of its output, and the benchmark scored it ~~200x~~"
    )
    headings = [header.value for header in app.header]
    assert headings[:2] == ["Correct, ~~200x~~", "Rejected, no speedup"]
    assert "Of each row's 393,216 elements, only the first 1,024 are written" in headings
    assert "One reason not to trust it" in headings
    assert "1 of 1 other kernels for this problem hold up" in headings
    said = text_of(app)
    assert "folded over all 4,096 rows" in said
    assert "an output of zeros passes as well" in said
    assert "Marked: the only store to the output" in said


def test_an_invalid_score_is_never_shown_unstruck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    case = softmax_case()
    app = show([case], case, tmp_path, monkeypatch)
    facts = " ".join(table_of(app, "Times and errors").values())
    for text in (text_of(app), facts):
        assert "200x" not in text.replace("~~200x~~", "")
    assert "~~200x~~" in facts


def test_a_correct_kernel_states_its_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row = evaluation(source=STORE, licence="MIT", evaluator_version="0+synthetic")
    app = show([row], row, tmp_path, monkeypatch)
    assert app.title[0].value.startswith("Correct: 1.50x (1.45\u2060–\u20601.55) over PyTorch")
    assert "~~" not in text_of(app)
    facts = table_of(app, "Provenance")
    assert facts["Licence"] == "MIT"
    assert facts["Evaluator"] == "0\\+synthetic"
    assert "Driver, CUDA" not in facts  # not recorded in this row, so not claimed


@pytest.mark.parametrize("verdict", [Verdict.MALFORMED, Verdict.COMPILE_ERROR, Verdict.TIMEOUT])
def test_what_never_ran_shows_its_message(
    verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    row = failed(verdict=verdict, message="line 3: <unexpected> token")
    app = show([row], row, tmp_path, monkeypatch)
    assert app.title[0].value.startswith(verdict.value.replace("_", " ").capitalize())
    assert "line 3: &lt;unexpected&gt; token" in text_of(app)
    headings = [header.value for header in app.header]
    assert "Did not run" in headings
    assert not any("map" in heading or "time" in heading for heading in headings)


def test_a_row_without_evidence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row = dataclasses.replace(evaluation(), evidence=Evidence())
    app = show([row], row, tmp_path, monkeypatch)
    headings = [header.value for header in app.header]
    assert "No map of the output is stored" in headings
    assert "No single runs are stored" in headings
    assert "No checked call is stored" in headings


def test_unreadable_evidence_leaves_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row = softmax_case()
    only_rows([row], tmp_path, monkeypatch)

    def broken(self: Store, evaluation_id: str) -> None:
        raise OSError("disk *gone*")

    monkeypatch.setattr(Store, "evidence", broken)
    app = open_page("kernel", id=row.evaluation_id)
    assert not app.exception
    assert app.title[0].value.startswith("Rejected: it wrote 0.3")
    assert "disk \\*gone\\*" in app.error[0].value
    assert "Provenance" in [table.proto.alt for table in app.table]


def test_a_row_without_a_time_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    row = evaluation(
        candidate_ms=None,
        reference_ms=None,
        speedup=None,
        speedup_low=None,
        speedup_high=None,
        evidence=Evidence(),
    )
    app = show([row], row, tmp_path, monkeypatch)
    assert app.title[0].value == "Correct, but not timed"
    assert "No time was taken" in [header.value for header in app.header]
    assert table_of(app, "Times and errors")["Times"] == "– not measured"


def test_every_flag_has_its_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    flags = [Flag(code, f"What shows {code.name} is *this*.") for code in FlagCode]
    row = partial_write(flags=flags)
    said = text_of(show([row], row, tmp_path, monkeypatch))
    for code in FlagCode:
        assert f":gray-badge[{code.value}]" in said
        assert f"What shows {code.name} is".replace("_", "\\_") in said
    # a candidate's text is shown as it is, not as Markdown
    assert "\\*this\\*" in said


def test_a_public_source_is_named_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    url = f"https://github.com/owner/name/blob/{commit}/kernels/one.py"
    row = evaluation(source_url=url, source=None)
    said = text_of(show([row], row, tmp_path, monkeypatch))
    assert f"git clone https://github.com/owner/name &amp;&amp; git -C name show {commit}" in said
    assert row.source_sha256 in said


def test_unknown_and_missing_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    only_rows([evaluation()], tmp_path, monkeypatch)
    for query, title in (
        ({"id": "level1-0-none"}, "No evaluation has this address"),
        ({}, "No kernel is chosen"),
    ):
        app = open_page("kernel", **query)
        assert not app.exception
        assert app.title[0].value == title


def test_previous_and_next_follow_the_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = [
        evaluation(configuration=name, started_at=f"2000-01-0{day}T00:00:00Z")
        for day, name in ((3, "config-a"), (2, "config-other"), (1, "config-c"))
    ]
    app = show([*rows, failed()], rows[0], tmp_path, monkeypatch, configuration="config-a")
    assert any("config\\-a › 1 of 1" in caption.value for caption in app.caption)
    assert not [button for button in app.button if button.label == "Next"]
    app = show([*rows, failed()], rows[0], tmp_path, monkeypatch, outcome="correct")
    assert any("correct › 1 of 3" in caption.value for caption in app.caption)
    next(button for button in app.button if button.label == "Next").click().run()
    assert not app.exception
    assert app.query_params["id"] == rows[1].evaluation_id
    assert app.query_params["outcome"] == "correct"
    assert any("correct › 2 of 3" in caption.value for caption in app.caption)


def test_every_synthetic_row_has_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = mixed()
    only_rows(rows, tmp_path, monkeypatch)
    for row in rows:
        app = open_page("kernel", id=row.evaluation_id)
        assert not app.exception, (row.verdict, app.exception[0].message)
        assert app.title[0].value


def test_pages_hold_layout_only():
    for name in ("kernel", "flagged"):
        text = (ROOT / "pages" / f"{name}.py").read_text()
        assert "SELECT" not in text
        assert not any(
            line.startswith(("import polars", "import plotly")) for line in text.splitlines()
        )


@pytest.fixture
def no_chromium(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server without a browser to draw pictures with."""
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    find_chromium.cache_clear()
    yield
    find_chromium.cache_clear()


@pytest.mark.usefixtures("no_chromium")
def test_without_chromium_the_data_is_still_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    case = softmax_case()
    app = show([case], case, tmp_path, monkeypatch)
    assert "This server has no Chromium" in text_of(app)
    labels = {button.proto.label for button in app.get("download_button")}
    assert labels == {"Data as CSV"}
