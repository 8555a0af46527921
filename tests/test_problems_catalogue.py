"""The catalogue: what is shipped, how it is named, and what a wrong name gets to read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.catalogue import FOLDERS, PROBLEMS_DIR, UnknownProblem, all_problems, find

# The kernel classes of a trace that an operator can belong to.
KERNEL_CLASSES = {
    *("gemm", "attention", "convolution", "elementwise", "normalization", "softmax", "reduction"),
    *("embedding", "gather_scatter", "sort_scan", "optimizer", "fused", "quantization", "other"),
}


def test_every_file_is_in_the_catalogue_once() -> None:
    assert [len(all_problems(suite)) for suite in ("level1", "level1@jul-2025", "dlrm")] == [
        100,
        3,
        12,
    ]
    listed = [problem.path for problem in all_problems()]
    files = [path for folder in FOLDERS for path in (PROBLEMS_DIR / folder).iterdir()]
    assert sorted(listed) == sorted(path for path in files if path.name != "__pycache__")
    for suite in ("level1", "dlrm"):
        ids = [problem.problem_id for problem in all_problems(suite)]
        assert ids == list(range(1, len(ids) + 1))


def test_a_spec_leads_back_to_its_problem() -> None:
    for problem in all_problems():
        assert find(problem.spec) is problem
        assert find(str(problem.path)) is problem
        suite = problem.spec.partition("/")[0]
        assert find(f"{suite}/{problem.problem_id}") is problem
        assert find(f"{suite}/{problem.problem_id:03}") is problem
        assert problem.operator_class in KERNEL_CLASSES - {"other"}


def test_versions_precisions_and_classes_are_told_apart() -> None:
    now, then = find("level1/97"), find("level1@jul-2025/97")
    assert (now.suite, now.name) == (then.suite, then.name)
    assert (now.version, then.version) == ("main-2026", "jul-2025")
    halved = [problem.spec for problem in all_problems() if problem.native_precision != "fp32"]
    assert halved == [then.spec]
    assert then.native_precision == "fp16"
    classes = {spec: find(spec).operator_class for spec in ("level1/12", "level1@jul-2025/12")}
    assert list(classes.values()) == ["elementwise", "gemm"]
    assert find("level1/23").operator_class == "softmax"
    assert find("dlrm/12").operator_class == "optimizer"


def test_a_relative_path_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROBLEMS_DIR)
    assert find("level1/23_Softmax.py") is find("level1/23")
    monkeypatch.chdir(PROBLEMS_DIR / "dlrm")
    assert find("06_Dot_interaction.py") is find("dlrm/6")


def test_a_users_file_is_a_problem_of_its_own(tmp_path: Path) -> None:
    """Its class comes from the shipped namesake, its precision from the dtype it names."""
    own = tmp_path / "7_My_norm.py"
    own.write_text("import torch\nX = torch.bfloat16\n")
    problem = find(str(own))
    assert (problem.suite, problem.problem_id, problem.name) == ("user", 7, "7_My_norm")
    assert (problem.operator_class, problem.native_precision) == ("other", "bf16")
    assert problem.spec == str(own)
    checkout = tmp_path / "23_Softmax.py"
    checkout.write_text("# float16 in a comment counts for nothing\n")
    problem = find(str(checkout))
    assert (problem.suite, problem.version) == ("user", "as-given")
    assert (problem.operator_class, problem.native_precision) == ("softmax", "fp32")


@pytest.mark.parametrize("content", [b"def broken(:\n", b"\xff\xfe\x00", b"x" * 3 + b"\x00"])
def test_a_file_that_does_not_parse_is_still_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.py"
    path.write_bytes(content)
    assert find(str(path)).native_precision == "fp32"
    assert find(str(path)).problem_id == 0


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("level1/23_Softmx", "did you mean level1/23_Softmax"),
        ("softmax", "did you mean level1/23_Softmax"),
        ("level2/23", "did you mean level1/23_Softmax"),
        ("23", "did you mean level1/23_Softmax"),
        ("level1/24_softmax.py", "did you mean level1/24_LogSoftmax"),
        ("level1/101", "level1 has the ids 1 to 100"),
        ("level1@jul-2025/23", "level1@jul-2025 has the ids 12, 92, 97"),
        ("dlrm/²", "dlrm has the ids 1 to 12"),
        ("", "level1, level1@jul-2025, dlrm"),
        ("no/such/folder/zzz.py", "level1, level1@jul-2025, dlrm"),
        (".", "level1, level1@jul-2025, dlrm"),
    ],
)
def test_an_unknown_name_says_what_is_close(spec: str, hint: str) -> None:
    with pytest.raises(UnknownProblem, match="There is no problem") as caught:
        find(spec)
    assert hint in str(caught.value)
    assert repr(spec) in str(caught.value)


def test_an_unknown_suite_lists_the_suites() -> None:
    with pytest.raises(UnknownProblem, match="level1, level1@jul-2025, dlrm"):
        all_problems("level9")


def test_imports_the_standard_library_alone(root: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, '.'); import evaluator.catalogue as c; c.all_problems(); "
        "print({'torch', 'numpy', 'polars', 'streamlit'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
