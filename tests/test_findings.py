"""The numbers and sentences of the pages: computed from the rows, false when the rows say so."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.contract import CONFIGURATION_KINDS, FlagCode
from reach import argument, findings, measured
from reach.published import published
from reach.store import SORTABLE, Filter, Store
from tests.synthetic import evaluation, failed, mixed, partial_write, write_user

PAPER = published()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    write_user(mixed(), tmp_path)
    return Store(tmp_path / "no-shipped", tmp_path)


def share_of(
    correct: int, tried: int, kind: str = "frontier", name: str = "x"
) -> measured.CorrectShare:
    return measured.CorrectShare(name, kind, "bf16", correct, correct, correct // 2, tried)


# -- interval ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_equals_published_intervals(
    successes: int, trials: int, low: float, high: float
) -> None:
    assert findings.wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)  # a busy machine is no failure
@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_stays_a_share(pair: tuple[int, int]) -> None:
    successes, trials = pair
    low, high = findings.wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12 and successes / trials - 1e-12 <= high <= 1
    mirrored = findings.wilson(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_wilson_refuses_what_is_no_share() -> None:
    for pair in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="no share"):
            findings.wilson(*pair)


# -- Evaluations -------------------------------------------------------------------------------


def test_headline_counts_both_judges(store: Store) -> None:
    table = store.by_configuration()
    assert findings.evaluations_headline(8, 8, table) == (
        "8 evaluations: 3 correct by our judge, 5 by the benchmark's"
    )
    assert findings.evaluations_headline(8, 9, table).startswith("8 of 9 evaluations")
    assert findings.evaluations_headline(0, 9, table) == "No evaluation matches these filters"
    assert findings.evaluations_headline(0, 0, table) == "No evaluation is stored yet"


def test_the_flattered_configuration_is_named_and_adversarial_ones_are_not(store: Store) -> None:
    sentence = findings.configuration_finding(store.by_configuration())
    assert sentence == r"config\-b loses 25.0 points between the benchmark's verdict and ours"
    only = store.by_configuration(Filter(kinds=("adversarial",)))
    assert findings.configuration_finding(only).startswith(r"config\-partial loses 100.0 points")
    honest = store.by_configuration(Filter(outcomes=("correct",)))
    assert findings.configuration_finding(honest).endswith("nothing correct that we do not")
    fooled = pl.concat([honest, only])
    assert findings.configuration_finding(fooled).endswith("but for what was written to fool it")


def test_the_most_missed_flag_is_named(store: Store) -> None:
    assert findings.flag_finding(store.flag_counts()) == (
        r"partial\_write is what the benchmark misses most often"
    )
    informing = store.flag_counts(Filter(verdicts=("correct",)))
    assert findings.flag_finding(informing) == "No evaluation shown carries a flag"
    flags = pl.DataFrame(
        {
            "code": ["noisy_timing"],
            "severity": ["informing"],
            "evaluations": [2],
            "benchmark_correct": [2],
        }
    )
    assert findings.flag_finding(flags) == r"noisy\_timing is the most frequent flag"


def test_the_filter_that_excludes_most_is_named(store: Store) -> None:
    chosen = Filter(outcomes=("rejected",), precisions=("fp32",), search="softmax")
    assert store.count(chosen) == 0
    worst = findings.excludes_most(chosen, store.count)
    assert worst is not None and (worst.field, worst.value) in {
        ("outcomes", "rejected"),
        ("precisions", "fp32"),
    }
    assert store.count(worst.without) == worst.count == 1
    assert "1 evaluation would show" in findings.excluded_sentence(worst)
    assert findings.excludes_most(Filter(), store.count) is None


def test_the_table_shows_no_invalid_score(store: Store) -> None:
    rows = store.rows(columns=findings.TABLE_COLUMNS)
    shown = findings.table_frame(rows)
    rejected = shown.row(rows["verdict"].to_list().index("rejected"), named=True)
    assert rejected["Speedup"] is None and rejected["95 % CI"] == "–"
    assert rejected["Benchmark says"] == "correct, 200x" and rejected["Flags"] == ["partial_write"]
    assert findings.table_frame(rows.clear()).columns == shown.columns


def test_words_cover_the_closed_sets() -> None:
    assert set(findings.FLAG_MEANINGS) == set(FlagCode)
    assert all(sort.column in SORTABLE for sort in findings.SORTS)
    assert findings.rows_heading(1, findings.Sort("message")) == "1 row, by message, descending"


def test_the_source_line_names_device_and_dates(store: Store) -> None:
    assert (
        findings.measured_line(store.provenance()) == "Measured here, synthetic device, 2000-01-01"
    )
    nothing = store.provenance(Filter(search="no such row"))
    assert findings.measured_line(nothing) == "Nothing measured here yet"


# -- the paper ---------------------------------------------------------------------------------


def test_published_figures_are_the_papers(shared_folder: Path) -> None:
    facts = json.loads((shared_folder / "facts" / "paper.json").read_text())
    assert {v["key"] for v in facts["published"]} == set(PAPER.values)
    for item in facts["published"]:
        ours, value = PAPER[item["key"]], item["value"]
        assert ours.value == (tuple(value) if isinstance(value, list) else value)
        assert (ours.unit, ours.source) == (item["unit"], item["source"])
        weak = item["source"].startswith("secondary summary")
        assert (ours.status == "secondary summary") == weak
    assert [s.doi for s in PAPER.sources_cited] == [s["doi"] for s in facts["sources_cited"]]
    assert {v["key"]: v["status"] for v in facts["inferred"]} == {
        k: v.status for k, v in PAPER.inferred.items()
    }


def test_a_range_is_not_read_as_a_number() -> None:
    assert PAPER["addressable_fraction_transformers"].ends == (0.089, 0.168)
    with pytest.raises(TypeError):
        _ = PAPER["addressable_fraction_transformers"].number
    with pytest.raises(TypeError):
        _ = PAPER["frontier_correct_share"].ends


# -- Overview ----------------------------------------------------------------------------------


def test_without_our_rows_every_step_is_a_dash_with_its_reason() -> None:
    steps = argument.chain(PAPER, [])
    assert [s.paper_text for s in steps] == [
        "91.1\u00a0%", "22 of 56", "58.2\u00a0%", "8.9\u00a0%", "8.63\u00a0%", "about 1\u00a0%",
    ]  # fmt: skip
    assert all(s.ours is None and s.ours_text == "–" and s.reason for s in steps)
    assert argument.missing_reasons(steps) == f"{argument.NO_FRONTIER}; {argument.NO_WORKLOAD}"


def test_the_best_frontier_configuration_stands_beside_the_paper() -> None:
    shares = [share_of(40, 100), share_of(80, 100, name="y"), share_of(99, 100, "open_weights")]
    correct, verified, *rest = argument.chain(PAPER, shares)
    assert (correct.ours, correct.ours_text, correct.reason) == (80, "80.0\u00a0%", "")
    assert (verified.ours, verified.ours_text) == (40, "40 of 100")
    assert all(step.ours is None for step in rest)  # no workload is measured
    assert argument.missing_reasons([correct, verified]) == ""


def test_correct_shares_leave_survivors_only_out(store: Store) -> None:
    table = store.by_configuration()
    survivors = table.with_columns(configuration=pl.lit("triton-dump_h200"))
    assert measured.correct_shares({"bf16": survivors}) == []
    assert "triton" in measured.left_out_sentence(survivors)
    assert measured.left_out_sentence(table) == ""
    first = measured.correct_shares({"bf16": table})[0]
    assert (first.configuration, first.correct, first.tried) == ("config-a", 3, 3)
    assert measured.shares_frame([first])["share"].to_list() == [1.0]


def test_share_finding_counts_models_not_ours() -> None:
    assert measured.share_finding([], PAPER) == "No model's pass rate is measured here yet"
    shares = [share_of(50, 100), share_of(10, 100), share_of(99, 100, "in_house")]
    assert (
        measured.share_finding(shares, PAPER)
        == "1 of 2 configurations solve more than *30.4\u00a0%* of the problems"
    )


def test_speedup_finding_counts_verified_problems(store: Store) -> None:
    best = store.best_by_problem()
    tried = measured.problems_by_precision(store.rows(columns=measured.TRIED_COLUMNS))
    assert tried == {"bf16": 4, "fp32": 1}
    bf16 = store.best_by_problem(Filter(precisions=("bf16",)))
    assert measured.speedup_finding(bf16, tried["bf16"]) == (
        "2 of 4 problems got a verified faster kernel, 1 of them above 2x"
    )
    assert best["compiled_speedup"].to_list()[1] == pytest.approx(1.5 / 1.25)


def test_flow_finding_counts_what_the_benchmark_lets_through(store: Store) -> None:
    assert measured.flow_finding(store.verdict_flow()) == (
        "Of the kernels that the benchmark calls correct, 40.0\u00a0% are not"
    )
    assert measured.flow_finding(store.verdict_flow(Filter(outcomes=("correct",)))) == (
        "All 3 kernels that the benchmark calls correct are"
    )
    nothing = store.verdict_flow(Filter(outcomes=("failed",)))
    assert measured.flow_finding(nothing) == "The benchmark called no graded kernel correct"


def test_the_argument_rests_on_shipped_rows_that_were_not_made_to_fool(tmp_path: Path) -> None:
    write_user([evaluation(), partial_write(), failed()], tmp_path)
    assert Store(tmp_path / "none", tmp_path).count(measured.SHIPPED) == 0
    assert set(CONFIGURATION_KINDS) - set(measured.SHIPPED.kinds) == {"adversarial"}


def test_every_figure_of_the_sources_table_is_the_papers() -> None:
    table = argument.sources_table(PAPER)
    assert table.height == len(argument.WORDS)
    assert all(text.startswith("*") and text.endswith("*") for text in table["The paper"])
    written = dict(zip(table["Figure"], table["The paper"], strict=True))
    assert written["In reach, transformers"] == "*8.9\u2060–\u206016.8\u00a0%*"
    assert written["Score of the partial write (invalid)"] == "*~~283x~~*"
    assert "our inference" in argument.citations(PAPER)
