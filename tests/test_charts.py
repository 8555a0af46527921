"""Formats, marks, maps and times: what a figure holds, not how it looks. All data is synthetic."""

from __future__ import annotations

import html
import math
from typing import Any

import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.contract import FlagCode, Verdict
from reach.charts import exporting, marks
from reach.charts.output_map import map_figure, map_legend, strip_figure
from reach.charts.output_view import choose_view, view_finding, view_frame, view_units
from reach.charts.timing import log_ticks, timing_figure, timing_finding, timing_frame, timing_of
from reach.style import formats as f
from reach.style.candidate_source import marked_lines, origin_of
from reach.style.highlight import source_html
from reach.style.kernel_sentences import FLAG_REASONS
from reach.style.swatches import legend_html
from reach.style.templates import TEMPLATES
from reach.style.tokens import MODES
from reach.style.words import chip_options, escape_markdown, verdict_badge
from tests.synthetic import evaluation, partial_write

NB, WJ = "\u00a0", "\u2060"


def layout_of(fig: go.Figure) -> Any:
    """The layout, whose attributes plotly makes at run time."""
    return fig.layout


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.236, "1.24x"), (9.994, "9.99x"), (9.996, "10.0x"), (12.44, "12.4x"), (99.96, "100x"),
     (283.2, "283x"), (1124.0, "1,124x"), (None, "–"), (math.inf, "–")],
)  # fmt: skip
def test_speedups(value: float | None, written: str):
    assert f.speedup(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.582, f"58.2{NB}%"), (0.0, f"0.0{NB}%"), (0.0004, f"<0.1{NB}%"), (1.0, f"100.0{NB}%"),
     (0.99999, f">99.9{NB}%"), (None, "–")],
)  # fmt: skip
def test_shares(value: float | None, written: str):
    assert f.share(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.2351, f"1.24{NB}ms"), (0.01242, f"12.4{NB}µs"), (124.2, f"124{NB}ms"),
     (0.99961, f"1.00{NB}ms"), (1240.0, f"1.24{NB}s"), (None, "–")],
)  # fmt: skip
def test_times(value: float | None, written: str):
    assert f.milliseconds(value) == written


def test_intervals_do_not_wrap():
    assert f.speedup_interval(1.24, 1.21, 1.27) == f"1.24x (1.21{WJ}–{WJ}1.27)"
    assert f.speedup_interval(1.24, None, 1.27) == "1.24x"
    assert f.count(22, 56) == "22 of 56"
    assert f.scientific_plain(4.02e-6) == "0.00000402"


@given(st.floats(1e-9, 1e9))
def test_three_significant_digits_are_kept(value: float):
    written = f.significant(value)
    assert "e" not in written
    assert float(written.replace(",", "")) == pytest.approx(value, rel=5.01e-3)


# private-use characters stand in for escaped ones on the way, so no text may hold them
@given(st.text(st.characters(exclude_categories=("Co", "Cs", "Cc")), max_size=60))
@example("my_kernel_name **bold** ~~no~~ <b>")
def test_escaped_text_leaves_no_markdown(text: str):
    assert html.unescape(exporting.plotly_text(escape_markdown(text))) == html.unescape(text)


def test_every_verdict_and_flag_has_words():
    assert set(FLAG_REASONS) == set(FlagCode)
    for verdict in Verdict:
        assert verdict.value.replace("_", " ") in verdict_badge(verdict)
    words, colours = chip_options("dark")
    assert len(words) == len(colours) == len(Verdict)


def partial(columns: int, written: int, rows: int = 16, bins: int = 1024) -> dict:
    """Evidence of a synthetic row-wise partial write, with the evaluator's bin edges."""
    width = max(1, -(-columns // bins))
    starts = range(0, columns, width)
    folded = [
        max(0.0, min(1.0, (written - start) / (min(start + width, columns) - start)))
        for start in starts
    ]
    return {
        "output_shape": [rows, columns],
        "written_map": [written / columns] * bins,
        "written_map_folded": folded,
        "bound_factor": 16.0,
    }


@given(st.integers(2, 400_000), st.data())
def test_a_partial_write_is_found_folded_and_counted_exactly(columns: int, data: st.DataObject):
    written = data.draw(st.integers(max(1, -(-columns // 1024)), columns - 1))
    view = choose_view(partial(columns, written))
    assert view is not None
    assert view.folded
    assert view.edges[0] == 0
    assert view.edges[-1] == columns
    # a bin that lacks less than 0.05 % of its elements counts as full
    assert view.written_ahead() == pytest.approx(written, abs=max(1, columns / 1024 * 0.001))


def test_the_flattened_map_is_shown_where_whole_rows_are_missing():
    evidence = {
        "output_shape": [64, 32],
        "written_map": [1.0] * 512 + [0.0] * 512,
        "written_map_folded": [0.5] * 32,
    }
    view = choose_view(evidence)
    assert view is not None
    assert not view.folded
    assert view_finding(view) == (
        "Of the output's 2,048 elements, only the first 1,024 are written"
    )
    assert "in memory order" in view_units(view)


def test_findings_name_the_share_that_is_right():
    evidence = {
        "output_shape": [8, 4],
        "written_map": [1.0] * 32,
        "written_map_folded": [1.0] * 4,
        "right_map": [1.0] * 32,
        "right_map_folded": [1.0] * 4,
        "error_profile": [0.5] * 32,
        "error_profile_folded": [0.5] * 4,
        "bound_factor": 16.0,
    }
    view = choose_view(evidence)
    assert view is not None
    assert "stays at 0.50 times PyTorch's own, 16 allowed" in view_finding(view)
    wrong = choose_view(evidence | {"right_map": [0.0] * 32, "right_map_folded": [0.0] * 4})
    assert wrong is not None
    assert view_finding(wrong) == "Every element is written, and none is right"
    labels = [label for _, items in map_legend(wrong, "light") for _, _, label in items]
    assert labels == ["written, not right"]


def test_no_map_no_view():
    assert choose_view({}) is None
    assert choose_view({"output_shape": [1], "written_map": [1.0]}) is None


@pytest.mark.parametrize("mode", MODES)
def test_the_map_draws_infinite_and_exact_errors_inside_its_axis(mode):
    evidence = partial(4, 2) | {"error_profile_folded": [0.0, 1.0, None, 5e4], "written_map": []}
    view = choose_view(evidence)
    assert view is not None
    fig: Any = map_figure(view, mode)
    low, high = layout_of(fig).yaxis2.range
    line = fig.data[-1]
    assert all(10**low <= y <= 10**high * 1.001 for y in line.y)
    assert line.customdata[2][1] == "not finite"
    assert layout_of(fig).template == TEMPLATES[mode]
    assert layout_of(strip_figure(view, mode)).height < 100
    frame = view_frame(view)
    assert frame["error_times_reference"].to_list() == [0.0, 1.0, None, 5e4]


def test_times_keep_every_run():
    times = timing_of({"candidate_samples_ms": [1.0, 1.1, None], "reference_samples_ms": [2.0]})
    assert times is not None
    assert timing_frame(times)["time_ms"].to_list() == [1.0, 1.1, 2.0]
    assert timing_of({"candidate_samples_ms": [1.0], "reference_samples_ms": []}) is None
    fig: Any = timing_figure(times, "light")
    drawn = sorted(10**x for trace in fig.data for x in trace.x)
    assert drawn == pytest.approx([1.0, 1.1, 2.0])
    low, high = (10**end for end in layout_of(fig).xaxis.range)
    assert low < 1.0 < 2.0 < high


def test_an_invalid_time_claims_no_speedup():
    times = timing_of({"candidate_samples_ms": [1.0], "reference_samples_ms": [200.0]})
    assert times is not None
    assert "200x" not in timing_finding(partial_write().to_json(), times, valid=False)
    assert "1.50x" in timing_finding(evaluation().to_json(), times, valid=True)


@given(st.floats(1e-4, 1e4), st.floats(1.05, 1e4))
def test_log_ticks_lie_inside_and_are_few(low: float, factor: float):
    ticks = log_ticks(low, low * factor)
    assert 2 <= len(ticks) <= 6
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)


@given(st.lists(st.floats(0.01, 2000), min_size=1, max_size=20))
def test_a_speedup_axis_holds_its_values_and_one(values: list[float]):
    axis = marks.speedup_axis(values)
    low, high = (10**end for end in axis["range"])
    assert low < min([*values, 1.0])
    assert max([*values, 1.0]) < high
    assert "1.0x" in axis["ticktext"]
    assert len(axis["tickvals"]) <= 8


def test_a_speedup_axis_refuses_zero():
    with pytest.raises(ValueError, match="positive"):
        marks.speedup_axis([0.0])


def test_projections_and_nothing_look_unlike_measurements():
    tint, hatch = marks.tinted("#1F5FA8"), marks.hatched("light")
    assert tint["color"] == "rgba(31,95,168,0.3)"
    assert tint["line"]["color"] == "#1F5FA8"
    assert hatch["pattern"]["shape"] == "/"
    assert marks.paper_marker("dark")["symbol"] != marks.ours_marker("#FFFFFF")["symbol"]


def test_a_legend_escapes_names():
    assert "<b>" not in legend_html([("<b>", [("fill", "#000000", "<b>x")])], "light")


def test_source_is_escaped_numbered_and_marked():
    shown = source_html('a = "<script>"\nb = 2\n', "light", marked={2})
    assert "<script>" not in shown
    assert shown.count("box-shadow") == 1
    assert shown.index("box-shadow") > shown.index("&lt;script&gt;")


def test_only_a_single_store_is_marked():
    one = "import triton.language as tl\ntl.store(p,\n  x)\n"
    assert marked_lines(one, ["partial_write"]) == {2, 3}
    assert marked_lines(one, ["memoised"]) == set()
    assert marked_lines(one + "tl.store(q, y)\n", ["partial_write"]) == set()
    assert marked_lines("not python (", ["partial_write"]) == set()


def test_origins_need_a_commit():
    found = origin_of("owner/name@0123456:a/b.py")
    assert found is not None
    assert found.repository == "github.com/owner/name"
    assert found.command.endswith("show 0123456:'a/b.py'")
    assert origin_of("https://github.com/owner/name/blob/main/a.py") is None
    assert origin_of(None) is None


def bars() -> go.Figure:
    fig = marks.figure("light", 120)
    fig.add_bar(x=[1, 2], y=["a", "b"], orientation="h")
    return fig


def test_a_picture_carries_finding_units_source_legend_and_stamp():
    fig: Any = bars()
    out: Any = exporting.picture_figure(
        fig, "light", "Saves *8.6 %*, not ~~283x~~", "Share, %", "Measured here",
        [(None, [("tint", "#1F5FA8", "saved")])], stamp="projected",
    )  # fmt: skip
    assert layout_of(out).title.text == "Saves <i>8.6 %</i>, not <s>283x</s>"
    assert layout_of(out).title.subtitle.text == "Share, %"
    assert [trace.name for trace in out.data if trace.showlegend] == ["saved"]
    texts = [note.text for note in layout_of(out).annotations]
    assert "projected" in texts
    assert any(text.startswith("Measured here") for text in texts)
    assert layout_of(fig).title.text is None  # the figure on the screen is left alone


def test_without_chromium_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    exporting.find_chromium.cache_clear()
    try:
        reason = exporting.unavailable_reason()
        assert reason is not None
        assert "CSV" in reason
    finally:
        exporting.find_chromium.cache_clear()


def test_pictures_are_drawn_in_our_fonts():
    reason = exporting.unavailable_reason()
    if reason:
        pytest.skip(reason)
    picture = exporting.picture_figure(bars(), "light", "A finding", "Units", "Measured here")
    png, svg, pdf = (exporting.render(picture, kind) for kind in ("png", "svg", "pdf"))
    width = int.from_bytes(png[16:20], "big")
    assert width / (170 / 25.4) == pytest.approx(300, abs=5)  # dpi at 170 mm
    assert svg.startswith(b"<svg")
    assert b"IBMPlexSans" in pdf
    assert b"IBMPlexSerif" in pdf
