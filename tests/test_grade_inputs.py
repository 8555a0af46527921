"""What is handed in on the Grade page: refusals in one sentence, sizes, stages, who may grade."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from evaluator.catalogue import Problem, all_problems
from evaluator.contract import Stage
from reach import grading, problem_size

GOOD = b"class ModelNew:\n    pass\n"
PROBLEM = b"class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\t ", "is empty"),
        (b"#" * (grading.MAX_BYTES + 1), "1.0 MiB; 1 MiB is the most"),
        (b"class ModelNew: ...\n# \xff", "not UTF-8 text: byte 22"),
        (b"def broken(:\n", "syntax error in line 1"),
        (b"class ModelNew:\n\n  x = (\n", "syntax error in line 3"),
        (b"a\0b", "null bytes"),
        (b"(" * 5000, "The candidate"),
        (b"class Model: ...\n", "defines no ModelNew"),
    ],
)
def test_a_candidate_that_cannot_be_graded_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(grading.CannotGrade) as refusal:
        grading.check_candidate(content)
    assert words in str(refusal.value) and str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD,
        b"from kernels import ModelNew\n",
        b"from kernels import Fast as ModelNew\n",
        b"from kernels import *\n",
        b"ModelNew = type('ModelNew', (), {})\n",
        b"exec('class ModelNew: ...')\n",
        b"def ModelNew(): ...\n",
    ],
)
def test_any_way_to_define_the_class_is_left_to_the_judge(content: bytes) -> None:
    assert "ModelNew" in grading.check_candidate(content) or b"*" in content


def test_an_uploaded_problem_is_kept_once_and_never_outside(tmp_path: Path) -> None:
    path = grading.keep_problem(PROBLEM, "../../etc/my problem.py", tmp_path)
    assert path.read_bytes() == PROBLEM and path.is_relative_to(tmp_path / "problems")
    assert path.name == "my_problem.py"
    assert grading.keep_problem(PROBLEM, "../../etc/my problem.py", tmp_path) == path
    other = grading.keep_problem(PROBLEM + b"\n", "my problem.py", tmp_path)
    assert other != path and path.read_bytes() == PROBLEM
    with pytest.raises(grading.CannotGrade, match="get_init_inputs"):
        grading.keep_problem(PROBLEM.replace(b"get_init_inputs", b"other"), "p.py", tmp_path)


# -- sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return [torch.rand(N, 3)]", 8 * 3 * 4),
        ("return [torch.randn((N, 3)), torch.randint(0, 9, (N,))]", 8 * 3 * 4 + 8 * 8),
        ("shape = (N, 2 * N)\n    return [torch.rand(shape)]", 8 * 16 * 4),
        ("return [torch.rand(N, *SHAPE)]", 8 * 4 * 5 * 4),
        ("scale = torch.rand(())\n    return [torch.rand(N) * scale]", 4 + 32),
        ("return [torch.rand(N) for _ in range(3)]", None),
        ("return [helper(N)]", None),
        ("return [torch.rand(N, unknown)]", None),
        ("return [torch.rand(N).to(torch.float16)]", None),
        ("return []", None),
    ],
)
def test_sizes_are_read_from_the_text_or_unknown(body: str, expected: int | None) -> None:
    source = f"import torch\nN = 8\nSHAPE = (4, 5)\n\ndef get_inputs():\n    {body}\n"
    assert problem_size.input_bytes(source, "fp32") == expected


def test_half_precision_takes_half() -> None:
    source = "def get_inputs():\n    return [torch.rand(10)]\n"
    assert problem_size.input_bytes(source, "bf16") == 20
    assert problem_size.input_bytes("not python(", "fp32") is None


@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.spec)
def test_sizes_of_the_shipped_problems_are_right(problem: Problem) -> None:
    torch = pytest.importorskip("torch")
    estimate = problem_size.file_input_bytes(problem.path, "fp32")
    if estimate is None:
        pytest.skip("its size cannot be read from the text, and the page says so")
    names: dict = {"__name__": problem.name}
    exec(compile(problem.path.read_text(), problem.name, "exec"), names)
    with torch.device("meta"):
        inputs = names["get_inputs"]()
    real = sum(x.numel() * x.element_size() for x in inputs if isinstance(x, torch.Tensor))
    assert estimate == pytest.approx(real, rel=0.01)


def test_most_shipped_sizes_are_known() -> None:
    known = [problem_size.file_input_bytes(p.path, "fp32") for p in all_problems()]
    assert sum(size is not None for size in known) > 100


@pytest.mark.parametrize(
    ("size", "free", "words"),
    [
        (10**9, 10**10, "it fits"),
        (5 * 10**9, 10**10, "may run out"),
        (10**11, 10**10, "does not fit"),
        (None, 10**10, "cannot be read"),
    ],
)
def test_the_memory_sentence(size: int | None, free: int, words: str) -> None:
    assert words in problem_size.memory_sentence(size, free)


def test_fitting_problems_are_counted_among_the_known() -> None:
    sizes = {"a": 10**6, "b": 10**12, "c": None}
    assert problem_size.fitting_sentence(sizes, 10**9).startswith("1 of the 2 problems")
    assert problem_size.free_bytes() > 2**20


# -- stages ------------------------------------------------------------------------------------

EVENTS = [
    ("queued", "", 0.0),
    ("checking", "reading", 0.1),
    ("building", "a", 2.1),
    ("building", "b", 5.0),
]


def test_stages_of_a_running_job() -> None:
    rows = grading.stage_rows(EVENTS, "running")
    assert [row.state for row in rows] == ["done", "done", "now", *["waiting"] * 4]
    assert [row.time for row in rows][:3] == ["0.1\u00a0s", "2.0\u00a0s", "2.9\u00a0s"]
    assert rows[2].detail == "b"
    assert grading.running_headline("x.py", rows) == "Grading x.py: read, now building it"
    assert 0 < grading.progress(rows) < 1


def test_stages_of_a_job_that_ended() -> None:
    done = grading.stage_rows([*EVENTS, ("done", "malformed", 6.1)], "done")
    assert [row.state for row in done] == ["done"] * 3 + ["skipped"] * 3 + ["done"]
    assert done[2].time == "4.0\u00a0s" and grading.progress(done) == 1
    failed = grading.stage_rows(EVENTS, "failed")
    assert failed[2].state == "failed" and failed[3].state == "skipped"


def test_stages_before_the_first_event() -> None:
    rows = grading.stage_rows([], "running")
    assert all(row.state == "waiting" for row in rows)
    assert grading.running_headline("x.py", rows) == "Grading x.py: now waiting in line"
    assert list(grading.STAGE_WORDS) == list(Stage)


# -- who may grade -----------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_token(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(grading.TOKEN_VARIABLE, raising=False)
    assert grading.required_token(address, signed_in=False) is None


@pytest.mark.parametrize("address", [None, "0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_elsewhere_it_is_off_until_the_operator_turns_it_on(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(grading.TOKEN_VARIABLE, raising=False)
    assert grading.required_token(address, signed_in=False) == ""
    assert grading.required_token(address, signed_in=True) is None
    monkeypatch.setenv(grading.TOKEN_VARIABLE, "secret")
    assert grading.required_token(address, signed_in=False) == "secret"


def test_without_torch_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "no PyTorch" in (grading.cannot_grade_here() or "")
