"""The Overview in-process: with nothing measured, with the user's rows only, with shipped rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import streamlit as st

from evaluator.contract import Evaluation
from reach.store import store as store_module
from reach.store.compact import compact
from tests.app_pages import only_rows, open_page, text_of
from tests.synthetic import evaluation, failed, mixed, partial_write


def shipped(rows: list[Evaluation], folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Makes `rows` the shipped ones: adversarial and in-house as ours, all others as public."""
    data = folder / "shipped"
    for name, ours in (("kernels", True), ("evaluations", False)):
        some = [r for r in rows if (r.configuration_kind in ("in_house", "adversarial")) == ours]
        source = folder / f"{name}.json"
        source.write_text(json.dumps([row.to_json() for row in some]))
        compact([source], data / f"{name}.parquet", data / "evidence.parquet")
    patch.setattr(store_module, "shipped_dir", lambda: data)
    patch.setenv("KERNEL_REACH_DATA", str(folder / "user"))
    st.cache_resource.clear()


def test_with_nothing_measured_the_papers_figures_stand_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_rows([], tmp_path, monkeypatch)
    app = open_page("overview")
    assert not app.exception
    text = text_of(app)
    assert app.title[0].value.startswith("A frontier model's kernels are correct on *91.1\u00a0%*")
    assert "no workload profiled here yet" in text and "Nothing measured here yet" in text
    assert "No public candidate is graded here yet" in text
    assert "No speedup is measured here yet" in text
    assert "(our inference)" in text


def test_the_users_rows_do_not_enter_the_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_rows(mixed(), tmp_path, monkeypatch)
    app = open_page("overview")
    assert not app.exception and "No speedup is measured here yet" in text_of(app)


def test_with_shipped_rows_ours_stand_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        *(evaluation(problem_id=n, problem=f"{n}_P") for n in range(1, 5)),
        failed(
            problem_id=5, problem="5_P", configuration="config-a", configuration_kind="frontier"
        ),
        partial_write(),
        partial_write(configuration="config-a", configuration_kind="frontier", problem="6_P"),
    ]
    shipped(rows, tmp_path, monkeypatch)
    app = open_page("overview")
    assert not app.exception
    text = text_of(app)
    assert "1 of 1 configurations solve more than *30.4\u00a0%* of the problems" in text
    assert "4 of 6 problems got a verified faster kernel, 0 of them above 2x" in text
    # of the public ones: four correct and one partial write pass the benchmark's check
    assert "Of the kernels that the benchmark calls correct, 20.0\u00a0% are not" in text
    assert "no frontier model's candidate graded here yet" not in text
    links = [link.proto.label for link in app.get("page_link")]
    assert any("~~200x~~, rejected" in label for label in links)


def test_precision_changes_the_speedups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped([r for r in mixed() if r.configuration == "config-a"], tmp_path, monkeypatch)
    app = open_page("overview")
    assert "2 of 2 problems got a verified" in text_of(app)
    app.segmented_control(key="speedups-precision").set_value("fp32").run()
    assert not app.exception and "0 of 1 problems got a verified" in text_of(app)
