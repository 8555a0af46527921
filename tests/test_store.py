"""The store: what goes in comes out, filters mean what they say, nothing damaged breaks it."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from itertools import chain
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.contract import Evaluation, Evidence, Verdict
from reach.__main__ import main
from reach.store import FACETS, Filter, Sort, Store, convert
from reach.store.compact import CompactionError, compact
from reach.store.convert import NotAnEvaluation, parse_evaluation, read_evaluations
from reach.store.schema import EVIDENCE_SCHEMA, ROW_SCHEMA
from reach.store.sql import COLUMNS, SORTABLE
from tests.synthetic import evaluation, failed, mixed, partial_write, write_user


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store whose only rows are the synthetic ones, as a user's."""
    write_user(mixed(), tmp_path)
    return Store(tmp_path / "no-shipped", tmp_path)


def ids(frame: pl.DataFrame) -> list[str]:
    return frame["evaluation_id"].to_list()


# -- schema and conversion ---------------------------------------------------------------------


def test_schema_names_every_column_of_the_contract() -> None:
    row = {f.name for f in dataclasses.fields(Evaluation)} - {"evidence"}
    assert set(ROW_SCHEMA.names()) == row
    evidence = {f.name for f in dataclasses.fields(Evidence)} | {"evaluation_id"}
    assert set(EVIDENCE_SCHEMA.names()) == evidence


@pytest.mark.parametrize("row", mixed(), ids=lambda r: f"{r.configuration}-{r.verdict}")
def test_row_and_evidence_come_back_as_they_went_in(row: Evaluation, tmp_path: Path) -> None:
    source, shipped = tmp_path / "rows.json", tmp_path / "shipped"
    source.write_text(json.dumps([row.to_json()]))
    compact([source], shipped / "evaluations.parquet", shipped / "evidence.parquet")
    store = Store(shipped, tmp_path)
    stored = store.evaluation(row.evaluation_id)
    assert stored is not None and stored["origin"] == "shipped_public"
    expected = row.to_json()
    evidence = expected.pop("evidence")
    assert {name: stored[name] for name in expected if name != "samples"} == {
        name: value for name, value in expected.items() if name != "samples"
    }
    back = store.evidence(row.evaluation_id)
    assert back is not None
    for name, value in evidence.items():
        if name == "trials":
            value = [dict(t) for t in value]
        floats = isinstance(value, list) and value and isinstance(value[0], float)
        assert back[name] == (pytest.approx(value, rel=1e-6) if floats else value), name


def test_user_evidence_is_read_from_its_file(store: Store) -> None:
    evidence = store.evidence(mixed()[0].evaluation_id)
    assert evidence is not None
    assert evidence["gpu_before"] == {"sm_clock_mhz": 1}
    assert evidence["trials"][0]["name"] == "as_given"
    assert store.evidence("no-such-id") is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"verdict": "splendid"}, "verdict"),
        ({"evaluation_id": ""}, "evaluation_id"),
        ({"speedup": "fast"}, "speedup"),
        ({"verified": None}, "verified"),
        ({"problem_id": 1.5}, "problem_id"),
        ({"flags": [{"code": "made_up"}]}, "flag"),
        ({"evidence": {"written_map": "all"}}, "written_map"),
        ({"evidence": {"written_map": [None, 1.0]}}, "written_map"),
        ({"samples": {"a": 1}}, "samples"),
    ],
)
def test_wrong_values_are_refused_by_name(change: dict, word: str) -> None:
    with pytest.raises(NotAnEvaluation, match=word):
        parse_evaluation(evaluation().to_json() | change)


def test_an_infinite_error_is_kept_as_null() -> None:
    data = evaluation().to_json()
    data["evidence"]["error_profile"] = [0.5, None]
    assert parse_evaluation(data).evidence["error_profile"] == [0.5, None]


def test_older_rows_get_defaults_and_unknown_columns_are_left_out() -> None:
    data = evaluation().to_json()
    del data["samples"], data["isolation"]
    parsed = parse_evaluation(data | {"column_of_tomorrow": 1})
    assert parsed.row["isolation"] == "" and parsed.row["samples"] == []
    assert "column_of_tomorrow" not in parsed.row


def test_jsonl_names_the_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(evaluation().to_json()) + "\n\n{broken\n")
    with pytest.raises(NotAnEvaluation, match="line 3"):
        list(read_evaluations(path))


# -- compaction --------------------------------------------------------------------------------


def test_compaction_merges_by_key_without_doubling(tmp_path: Path) -> None:
    rows_out, evidence_out = tmp_path / "out" / "kernels.parquet", tmp_path / "out" / "ev.parquet"
    first = tmp_path / "first.jsonl"
    first.write_text("\n".join(json.dumps(r.to_json()) for r in mixed()))
    assert (
        main(["compact", str(first), "--rows", str(rows_out), "--evidence", str(evidence_out)]) == 0
    )
    again = compact([first], rows_out, evidence_out)
    assert (again.total, again.added, again.replaced) == (len(mixed()), 0, 0)
    newer = evaluation(started_at="2000-02-01T00:00:00Z", sentence="Graded again.")
    second = tmp_path / "second.json"
    second.write_text(json.dumps(newer.to_json()))
    merged = compact([second], rows_out, evidence_out)
    assert (merged.total, merged.added, merged.replaced) == (len(mixed()), 0, 1)
    rows, evidence = pl.read_parquet(rows_out), pl.read_parquet(evidence_out)
    assert rows.schema == ROW_SCHEMA and evidence.schema == EVIDENCE_SCHEMA
    assert newer.evaluation_id in ids(rows) and mixed()[0].evaluation_id not in ids(rows)
    assert sorted(ids(evidence)) == sorted(ids(rows))
    older = compact([first], rows_out, evidence_out)  # the older grading never wins back
    assert older.replaced == 0 and newer.evaluation_id in ids(pl.read_parquet(rows_out))


def test_one_evidence_file_serves_two_row_files(tmp_path: Path) -> None:
    ours, public = tmp_path / "ours.json", tmp_path / "public.json"
    ours.write_text(json.dumps(evaluation(configuration="ours").to_json()))
    public.write_text(json.dumps(evaluation(configuration="theirs").to_json()))
    evidence = tmp_path / "evidence.parquet"
    compact([ours], tmp_path / "kernels.parquet", evidence)
    compact([public], tmp_path / "evaluations.parquet", evidence)
    assert pl.read_parquet(evidence).height == 2


def test_a_bad_file_leaves_the_outputs_untouched(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(evaluation().to_json()))
    bad.write_text("[1")
    rows_out, evidence_out = tmp_path / "rows.parquet", tmp_path / "evidence.parquet"
    compact([good], rows_out, evidence_out)
    before = rows_out.read_bytes(), evidence_out.read_bytes()
    command = [
        "compact",
        str(good),
        str(bad),
        "--rows",
        str(rows_out),
        "--evidence",
        str(evidence_out),
    ]
    assert main(command) == 2
    assert "bad.json" in capsys.readouterr().err
    assert (rows_out.read_bytes(), evidence_out.read_bytes()) == before
    rows_out.write_bytes(b"no parquet")
    with pytest.raises(CompactionError, match=r"rows\.parquet"):
        compact([good], rows_out, evidence_out)


# -- filters -----------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)
filters = st.builds(
    Filter,
    **{name: st.lists(words, max_size=3).map(tuple) for name in FACETS},
    speedup_from=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    speedup_to=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    verified=st.booleans(),
    disagrees=st.booleans(),
    search=st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=300),
)


@settings(deadline=None)  # a busy machine is no failure
@given(filters)
def test_a_filter_survives_the_address(chosen: Filter) -> None:
    assert Filter.from_query(chosen.to_query()) == chosen
    assert Filter.from_url(chosen.to_url()) == chosen


@settings(deadline=None)  # a busy machine is no failure
@given(filters)
def test_removing_every_active_part_shows_everything(chosen: Filter) -> None:
    left = chosen
    while left.active():
        left = left.active()[0][2]
    assert left == Filter()


@settings(deadline=None)  # a busy machine is no failure
@given(st.dictionaries(words, st.lists(words, max_size=3)))
def test_no_address_is_an_error(query: dict[str, list[str]]) -> None:
    Filter.from_query(query)
    Sort.from_query(query, SORTABLE)


@pytest.mark.parametrize("sort", [Sort(), Sort("problem", False), Sort("valid_speedup", True)])
def test_a_sort_survives_the_address(sort: Sort) -> None:
    assert Sort.from_query(sort.to_query(), SORTABLE) == sort


def test_unknown_sort_columns_are_refused(store: Store) -> None:
    assert Sort.from_query({"sort": "-1; drop table evaluations"}, SORTABLE) == Sort()
    with pytest.raises(ValueError, match="sort"):
        store.rows(sort=Sort("1; drop table evaluations"))
    with pytest.raises(ValueError, match="unknown columns"):
        store.rows(columns=("problem, secret",))


def keeps(chosen: Filter, row: Evaluation) -> bool:
    """The meaning of a filter, written again without SQL."""
    verdict = row.verdict.value
    grouped = ("correct", "incorrect", "rejected", "inconclusive")
    outcome = verdict if verdict in grouped else "failed"
    speed = row.speedup if verdict == "correct" else None
    values = {
        "outcomes": {outcome},
        "verdicts": {verdict},
        "flags": {f.code.value for f in row.flags},
        "configurations": {row.configuration},
        "precisions": {row.precision},
        "problems": {row.problem},
        "origins": {"user"},
    }
    if any(getattr(chosen, n) and not set(getattr(chosen, n)) & v for n, v in values.items()):
        return False
    low, high = chosen.speedup_from, chosen.speedup_to
    if low is not None and (speed is None or speed < low):
        return False
    if high is not None and (speed is None or speed > high):
        return False
    if chosen.verified and not row.verified:
        return False
    if chosen.disagrees and row.benchmark_check in (None, verdict == "correct"):
        return False
    said = (row.problem, row.configuration, row.configuration_kind, row.suite, row.operator_class)
    said += (verdict, outcome, row.precision, row.backend, *values["flags"], row.sentence)
    text = " ".join([*said, row.message or "", row.source_url or ""])
    return all(word.lower() in text.lower() for word in chosen.search.split())


known = {
    "outcomes": ["correct", "rejected", "failed", "incorrect", "inconclusive"],
    "verdicts": [v.value for v in Verdict],
    "flags": ["partial_write", "tolerance_only", "library_fallback", "zero_output"],
    "configurations": ["config-a", "config-b", "config-partial", "nobody"],
    "precisions": ["bf16", "fp32", "fp16"],
    "problems": ["23_Softmax", "26_GELU_", "40_LayerNorm"],
    "origins": ["user", "shipped_ours"],
}
real_filters = st.builds(
    Filter,
    **{n: st.lists(st.sampled_from(v), max_size=2).map(tuple) for n, v in known.items()},
    speedup_from=st.none() | st.sampled_from([0.5, 1.0, 2.0]),
    speedup_to=st.none() | st.sampled_from([0.9, 1.5, 3.0]),
    verified=st.booleans(),
    disagrees=st.booleans(),
    search=st.sampled_from(
        ["", "softmax", "SOFTMAX partial_write", "expected ';'", "%", "nothing"]
    ),
)


def test_filters_mean_what_they_say(store: Store) -> None:
    @settings(deadline=None)  # a busy machine is no failure
    @given(real_filters)
    def check(chosen: Filter) -> None:
        expected = {r.evaluation_id for r in mixed() if keeps(chosen, r)}
        assert set(ids(store.rows(chosen))) == expected
        assert store.count(chosen) == len(expected)
        for facet, values in store.facets(chosen).items():
            for value in values[:2]:
                alone = chosen.with_(**{facet: (value.value,)})
                assert store.count(alone) == value.count, (facet, value)

    check()


# -- asking ------------------------------------------------------------------------------------


def test_pages_cover_all_rows_once_in_order(store: Store) -> None:
    sort = Sort("valid_speedup")
    whole = ids(store.rows(sort=sort))
    pages = [ids(store.rows(sort=sort, page=p, page_size=3)) for p in (1, 2, 3, 4)]
    assert [len(p) for p in pages] == [3, 3, 2, 0] and list(chain(*pages)) == whole
    speeds = store.rows(sort=sort)["valid_speedup"].to_list()
    assert speeds[:3] == [2.5, 1.5, 0.8] and set(speeds[3:]) == {None}


def test_an_invalid_score_is_no_speedup(store: Store) -> None:
    row = store.evaluation(partial_write().evaluation_id)
    assert row is not None and row["speedup"] == 200.0 and row["valid_speedup"] is None
    assert row["disagrees"] is True and row["benchmark_outcome"] == "correct"
    assert partial_write().evaluation_id not in ids(store.best_by_problem())


def test_neighbours_walk_the_filtered_list(store: Store) -> None:
    chosen, sort = Filter(configurations=("config-b",)), Sort("problem", False)
    listed = ids(store.rows(chosen, sort))
    for place, identity in enumerate(listed):
        found = store.neighbours(identity, chosen, sort)
        assert found is not None and (found.position, found.total) == (place + 1, len(listed))
        assert found.previous == (listed[place - 1] if place else None)
        assert found.next == (listed[place + 1] if place + 1 < len(listed) else None)
    assert store.neighbours(mixed()[0].evaluation_id, chosen, sort) is None


def test_siblings_share_problem_and_precision(store: Store) -> None:
    found = store.siblings(mixed()[0].evaluation_id)
    assert set(ids(found)) == {partial_write().evaluation_id, failed().evaluation_id}


def test_the_gallery_and_its_case(store: Store) -> None:
    flagged = store.flagged()
    assert ids(flagged)[0] == partial_write().evaluation_id
    assert set(flagged["outcome"]) == {"rejected", "incorrect"}
    case = store.partial_write_case()
    assert case is not None and case["evaluation_id"] == partial_write().evaluation_id


def test_counts_by_configuration_flag_and_flow(store: Store) -> None:
    table = {r["configuration"]: r for r in store.by_configuration().iter_rows(named=True)}
    assert table["config-a"]["correct"] == 3 and table["config-a"]["verified_problems"] == 2
    b = table["config-b"]
    assert (b["failed"], b["incorrect"], b["inconclusive"], b["evaluations"]) == (2, 1, 1, 4)
    assert b["benchmark_only"] == 1
    flags = {r["code"]: r for r in store.flag_counts().iter_rows(named=True)}
    assert flags["partial_write"]["benchmark_correct"] == 1
    assert flags["library_fallback"]["severity"] == "informing"
    flow = {(a, b): n for a, b, n in store.verdict_flow().iter_rows()}
    assert flow["correct", "rejected"] == 1 and flow["did not run", "failed"] == 2
    assert sum(flow.values()) == len(mixed())


def test_an_empty_store_answers_everything(tmp_path: Path) -> None:
    empty = Store(tmp_path / "none", tmp_path / "neither")
    assert empty.count() == 0 and empty.rows().columns == list(COLUMNS)
    assert all(values == [] for values in empty.facets().values())
    assert empty.by_configuration().height == empty.flag_counts().height == 0
    assert empty.partial_write_case() is None and empty.evaluation("x") is None
    assert empty.flagged().height == empty.siblings("x").height == 0


# -- files that change or are damaged ----------------------------------------------------------


def test_new_results_appear_and_removed_ones_go(tmp_path: Path) -> None:
    store = Store(tmp_path / "none", tmp_path)
    assert not store.refresh()
    (path,) = write_user([evaluation()], tmp_path)
    assert store.refresh() and store.count() == 1 and not store.refresh()
    path.unlink()
    assert store.refresh() and store.count() == 0


DAMAGE = {
    "cut.json": b'{"evaluation_id": "x"',
    "empty.json": b"",
    "list.json": b"[]",
    "nan.json": b'{"evaluation_id": NaN}',
    "deep.json": b"[" * 100_000,
    "nested.json": b'{"evidence":' * 700 + b"1" + b"}" * 700,
    "utf16.json": '{"a": 1}'.encode("utf-16"),
    "html.json": b"<html>404</html>",
    "big_number.json": b"1" * 10_000,
}


def test_damaged_files_are_named_and_nothing_else_breaks(tmp_path: Path) -> None:
    write_user(mixed(), tmp_path)
    for name, content in DAMAGE.items():
        (tmp_path / "evaluations" / name).write_bytes(content)
    (tmp_path / "evaluations" / "unfinished.json.tmp").write_bytes(b"{")
    store = Store(tmp_path / "none", tmp_path)
    assert store.count() == len(mixed())
    assert {file.name for file in store.damaged()} == set(DAMAGE)
    assert all(file.reason.endswith(".") for file in store.damaged())


def test_a_file_far_too_large_for_a_row_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_user([evaluation()], tmp_path)
    monkeypatch.setattr(convert, "MAX_ROW_BYTES", path.stat().st_size - 1)
    store = Store(tmp_path / "none", tmp_path)
    assert store.count() == 0 and "larger than" in store.damaged()[0].reason
    # many rows in one file are the usual case of a compaction, and may be larger
    rows, evidence = tmp_path / "rows.parquet", tmp_path / "evidence.parquet"
    assert compact([path], rows, evidence).total == 1


def test_a_damaged_shipped_file_leaves_the_user_rows(tmp_path: Path) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "evaluations.parquet").write_bytes(b"PAR1 but not really")
    pl.DataFrame({"evaluation_id": ["a"], "speedup": ["fast"]}).write_parquet(
        shipped / "kernels.parquet"
    )
    write_user([evaluation()], tmp_path)
    store = Store(shipped, tmp_path)
    assert store.count() == 1
    assert {f.name for f in store.damaged()} == {"evaluations.parquet", "kernels.parquet"}


def test_a_data_directory_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    (tmp_path / "evaluations").write_text("a file where a folder should be")
    store = Store(tmp_path / "none", tmp_path)
    assert store.count() == 0 and not store.refresh()
    assert [file.name for file in store.damaged()] == [str(tmp_path / "evaluations")]


def test_a_row_shipped_since_is_shown_once(tmp_path: Path) -> None:
    (path,) = write_user([evaluation()], tmp_path)
    shipped = tmp_path / "shipped"
    compact([path], shipped / "kernels.parquet", shipped / "evidence.parquet")
    store = Store(shipped, tmp_path)
    assert store.rows()["origin"].to_list() == ["shipped_ours"] and store.damaged() == []
    path.with_name("copy.json").write_bytes(path.read_bytes())
    assert Store(tmp_path / "none", tmp_path).damaged()[0].reason.startswith("it has the same")


def test_the_data_version_follows_the_shipped_files_only(tmp_path: Path) -> None:
    (path,) = write_user([evaluation()], tmp_path)
    shipped = tmp_path / "shipped"
    compact([path], shipped / "kernels.parquet", shipped / "evidence.parquet")
    store = Store(shipped, tmp_path)
    first = store.data_version()
    write_user([evaluation(configuration="another")], tmp_path)
    assert store.refresh() and store.data_version() == first
    (more,) = write_user([evaluation(configuration="third")], tmp_path)
    compact([more], shipped / "kernels.parquet", shipped / "evidence.parquet")
    assert store.refresh() and store.data_version() != first


def test_sql_cannot_leave_the_database(store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for attempt in (
        f"SELECT * FROM read_csv('{secret}')",
        f"COPY evaluations TO '{tmp_path / 'stolen.csv'}'",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error), store._snapshot.connection.cursor() as cursor:
            cursor.sql(attempt).fetchall()
    assert not (tmp_path / "stolen.csv").exists()


def test_many_threads_and_refreshes_give_right_answers(tmp_path: Path) -> None:
    write_user(mixed(), tmp_path)
    store = Store(tmp_path / "none", tmp_path)
    wrong: list[str] = []

    def ask() -> None:
        for _ in range(15):
            store.refresh()
            row = store.evaluation(partial_write().evaluation_id)
            if row is None or row["verdict"] != "rejected":
                wrong.append("row")
            if store.count(Filter(configurations=("config-b",))) != 4:
                wrong.append("count")

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    touched = tmp_path / "evaluations" / f"{partial_write().evaluation_id}.json"
    for second in range(10):
        os.utime(touched, (second, second))
    for thread in threads:
        thread.join()
    assert wrong == []
