"""The Flagged page: the case it opens on, a card a reason, and the honest empty page.

All rows are synthetic.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.contract import Evidence, Flag, FlagCode, Verdict
from reach.style.flag_gallery import UNFLAGGED, cards, gallery_headline
from tests.app_pages import only_rows, open_page, text_of
from tests.synthetic import evaluation, failed, partial_write


def test_opens_on_the_partial_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = partial_write(
        configuration="config-memo", flags=[Flag(FlagCode.MEMOISED, "Call 9 took no time.")]
    )
    only_rows([partial_write(), other, evaluation(), failed()], tmp_path, monkeypatch)
    app = open_page("flagged")
    assert not app.exception, app.exception[0].message
    assert app.title[0].value == "2 kernels passed the benchmark and failed ours"
    headings = [header.value for header in app.header]
    assert headings[0].startswith("Rejected: it wrote 0.3\u00a0% of its output")
    assert headings[0].endswith("~~200x~~")
    assert headings[1:3] == ["Correct, ~~200x~~", "Rejected, no speedup"]
    assert "2 ways past the benchmark's check" in headings
    assert "It returned a remembered result" in headings
    said = text_of(app)
    assert "Call 9 took no time\\." in said
    assert "was scored ~~*283x*~~" in said  # the paper's, in italics and with its badge
    assert "200x" not in said.replace("~~200x~~", "")


def test_without_a_partial_write_the_cards_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wrong = evaluation(
        verdict=Verdict.INCORRECT, sentence="Off by a factor.", speedup=None, evidence=Evidence()
    )
    only_rows([wrong], tmp_path, monkeypatch)
    app = open_page("flagged")
    assert not app.exception, app.exception[0].message
    assert app.title[0].value == "One kernel passed the benchmark and failed ours"
    assert "One way past the benchmark's check" in [header.value for header in app.header]
    assert "No map of its output is stored." in text_of(app)


def test_empty_says_that_it_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    only_rows([evaluation(), failed()], tmp_path, monkeypatch)
    app = open_page("flagged")
    assert not app.exception
    assert app.title[0].value == "No stored kernel passed the benchmark and failed ours"
    assert not app.header


def as_row(row):
    return row.to_json()


def test_a_row_counts_for_each_of_its_reasons_and_examples_differ():
    both = partial_write(
        flags=[Flag(FlagCode.TOLERANCE_ONLY, "t"), Flag(FlagCode.PARTIAL_WRITE, "p")],
        benchmark_speedup=300.0,
    )
    one = partial_write(
        configuration="config-t", flags=[Flag(FlagCode.TOLERANCE_ONLY, "t2")], benchmark_speedup=2.0
    )
    plain = evaluation(configuration="config-p", verdict=Verdict.INCORRECT)
    made = cards([as_row(row) for row in (both, one, plain)])
    assert [(card.code, len(card.rows)) for card in made] == [
        ("tolerance_only", 2),
        (UNFLAGGED, 1),
        ("partial_write", 1),
    ]
    # tolerance_only is only the second reason of `both`, so `one` stands for it
    assert [card.example["configuration"] for card in made] == [
        "config-t",
        "config-p",
        "config-partial",
    ]
    assert made[0].sentence == "t2"


def test_the_headline_counts_what_we_wrote_ourselves():
    rows = [as_row(partial_write()), as_row(partial_write(configuration_kind="frontier"))]
    title, deck = gallery_headline(rows, cards(rows))
    assert title == (
        "2 kernels passed the benchmark and failed ours; "
        "partial\\_write is the most frequent reason"
    )
    assert "1 of 2 were written on purpose" in deck
