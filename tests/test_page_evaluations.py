"""The Evaluations page in-process: every state, and the address as the only truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.contract import Evaluation
from reach.store import Filter
from tests.app_pages import only_rows, open_page, text_of
from tests.synthetic import evaluation, mixed, write_user


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Evaluation]:
    only_rows(mixed(), tmp_path, monkeypatch)
    return mixed()


def query_of(app) -> dict[str, list[str]]:
    values = {key: app.query_params[key] for key in app.query_params}
    return {key: [v] if isinstance(v, str) else list(v) for key, v in values.items()}


def test_all_rows_with_both_charts(rows: list[Evaluation]) -> None:
    app = open_page("evaluations")
    assert not app.exception
    assert app.title[0].value == "8 evaluations: 3 correct by our judge, 5 by the benchmark's"
    assert app.header[0].value.endswith("between the benchmark's verdict and ours")
    assert "8 rows, latest first" in text_of(app)
    assert len(app.dataframe) == 1 and app.dataframe[0].value.shape[0] == len(rows)
    assert len(app.get("plotly_chart")) == 2


def test_a_shared_address_shows_the_same_rows(rows: list[Evaluation]) -> None:
    app = open_page("evaluations", outcome="correct", precision="bf16")
    assert app.title[0].value.startswith("2 of 8 evaluations")
    assert set(app.dataframe[0].value["Precision"]) == {"bf16"}
    chips = [button.label for button in app.button]
    assert "correct" in chips and "bf16" in chips


def test_pills_write_the_address_and_chips_take_it_back(rows: list[Evaluation]) -> None:
    app = open_page("evaluations")
    app.button_group(key="facet-configurations").set_value(["config-b"]).run()
    assert query_of(app) == {"configuration": ["config-b"]}
    assert app.title[0].value.startswith("4 of 8")
    app.button(key="chip-configurations-config-b").click().run()
    assert query_of(app) == {} and app.title[0].value.startswith("8 evaluations")
    assert not app.exception


def test_search_switches_and_speedup(rows: list[Evaluation]) -> None:
    app = open_page("evaluations")
    app.text_input(key="filter-search").set_value("softmax partial_write").run()
    assert query_of(app) == {"q": ["softmax partial_write"]} and app.title[0].value.startswith(
        "1 of"
    )
    app.text_input(key="filter-search").set_value("").run()
    app.toggle(key="filter-verified").set_value(True).run()
    assert query_of(app) == {"verified": ["1"]}
    app.toggle(key="filter-verified").set_value(False).run()
    app.select_slider[0].set_range(2.0, float("inf")).run()
    assert query_of(app) == {"speedup_from": ["2.0"]} and app.title[0].value.startswith("1 of 8")
    assert not app.exception


def test_no_match_names_the_filter_that_excludes_most(rows: list[Evaluation]) -> None:
    app = open_page("evaluations", outcome="rejected", q="no such thing")
    assert app.title[0].value == "No evaluation matches these filters"
    assert "“no such thing”** excludes the most: without it, 1 evaluation would show" in text_of(
        app
    )
    next(b for b in app.button if b.label == "Remove “no such thing”").click().run()
    assert query_of(app) == {"outcome": ["rejected"]} and app.title[0].value.startswith("1 of 8")


def test_an_empty_store_sends_the_reader_to_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_rows([], tmp_path, monkeypatch)
    app = open_page("evaluations")
    assert not app.exception and app.title[0].value == "No evaluation is stored yet"
    assert "Grade a candidate" in text_of(app)


def test_a_damaged_file_is_named_and_the_rest_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_rows([evaluation()], tmp_path, monkeypatch)
    (tmp_path / "evaluations" / "cut off.json").write_text('{"evaluation_id": "x", ')
    app = open_page("evaluations")
    assert not app.exception and app.title[0].value.startswith("1 evaluation: 1 correct")
    assert len(app.warning) == 1 and "cut off.json" in app.warning[0].value
    assert len(app.dataframe[0].value) == 1


def test_nonsense_in_the_address_shows_everything(rows: list[Evaluation]) -> None:
    app = open_page("evaluations", sort="-flags; drop", page="-4", speedup_from="nan", verified="?")
    assert not app.exception and app.title[0].value.startswith("8 evaluations")


def test_pages_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_rows([evaluation(sample=n, problem_id=n) for n in range(30)], tmp_path, monkeypatch)
    app = open_page("evaluations", sort="problem_id", page="2")
    assert len(app.dataframe[0].value) == 5
    assert "30 rows, by problem" in text_of(app)
    app.selectbox(key="filter-sort").select_index(0).run()  # another order starts at its top
    assert len(app.dataframe[0].value) == 25 and query_of(app) == {}
    beyond = open_page("evaluations", page="99")
    assert not beyond.exception and len(beyond.dataframe[0].value) == 5


def test_a_new_result_appears_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_rows([evaluation()], tmp_path, monkeypatch)
    app = open_page("evaluations")
    write_user([evaluation(configuration="just graded")], tmp_path)
    app.run()
    assert app.title[0].value.startswith("2 evaluations")


def test_the_address_of_any_filter_opens(rows: list[Evaluation]) -> None:
    chosen = Filter(flags=("partial_write",), disagrees=True, search="softmax")
    app = open_page("evaluations", **{k: v[0] for k, v in chosen.to_query().items()})
    assert not app.exception and app.title[0].value.startswith("1 of 8")
