"""Which problems there are and how a person names one.

Standard library only: the command line, the store and the pages import it without torch. A
problem is a KernelBench-format file; the catalogue reads names and text, it never runs one.
"""

from __future__ import annotations

import ast
import difflib
import functools
import re
from dataclasses import dataclass
from pathlib import Path

PROBLEMS_DIR = Path(__file__).resolve().parent.parent / "problems"

# folder under problems/ -> (suite, version, how a spec spells the suite)
FOLDERS = {
    "level1": ("level1", "main-2026", "level1"),
    "level1_2025_07": ("level1", "jul-2025", "level1@jul-2025"),
    "dlrm": ("dlrm", "v1", "dlrm"),
}

# The kernel class of each problem by first and last id. Pooling and losses are reductions; cross
# entropy spends its time in the log-softmax; depthwise convolutions are convolutions.
OPERATOR_CLASSES: dict[str, list[tuple[int, int, str]]] = {
    "level1": [
        (1, 4, "gemm"),
        (5, 5, "elementwise"),
        (6, 11, "gemm"),
        (12, 12, "elementwise"),
        (13, 18, "gemm"),
        (19, 22, "elementwise"),
        (23, 24, "softmax"),
        (25, 32, "elementwise"),
        (33, 40, "normalization"),
        (41, 49, "reduction"),
        (50, 50, "convolution"),
        (51, 53, "reduction"),
        (54, 87, "convolution"),
        (88, 88, "elementwise"),
        (89, 93, "sort_scan"),
        (94, 94, "reduction"),
        (95, 95, "softmax"),
        (96, 96, "reduction"),
        (97, 97, "attention"),
        (98, 100, "reduction"),
    ],
    # In July 2025 problem 12 built the diagonal matrix and multiplied: a different kernel.
    "level1@jul-2025": [(12, 12, "gemm"), (92, 92, "sort_scan"), (97, 97, "attention")],
    "dlrm": [
        (1, 5, "embedding"),
        (6, 6, "fused"),
        (7, 7, "gemm"),
        (8, 8, "reduction"),
        (9, 9, "fused"),
        (10, 10, "reduction"),
        (11, 11, "fused"),
        (12, 12, "optimizer"),
    ],
}

# How torch's dtype attributes are called among our precisions.
DTYPE_PRECISIONS = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16"}


class UnknownProblem(ValueError):
    """No problem has this name; the sentence says which one is close."""


@dataclass(frozen=True)
class Problem:
    """One problem file.

    `suite` is level1, dlrm or user; `problem_id` the number in front of the file's name (0 where
    there is none); `name` the file's name without `.py`; `version` main-2026, jul-2025, v1
    (DLRM-Bench) or as-given (a user's file); `operator_class` a kernel class of the design;
    `native_precision` (fp32, bf16, fp16) the one its inputs are drawn in.
    """

    suite: str
    problem_id: int
    name: str
    version: str
    path: Path
    operator_class: str
    native_precision: str

    @property
    def spec(self) -> str:
        """How to name this problem on the command line, `level1/23_Softmax`; a path for users'."""
        for suite, version, spelling in FOLDERS.values():
            if (suite, version) == (self.suite, self.version):
                return f"{spelling}/{self.name}"
        return str(self.path)


def all_problems(suite: str | None = None) -> list[Problem]:
    """The shipped problems by id: all 115, or those of `level1`, `level1@jul-2025` or `dlrm`.

    Raises UnknownProblem if there is no such suite.
    """
    by_suite = _shipped()
    if suite is None:
        return [problem for problems in by_suite.values() for problem in problems]
    if suite not in by_suite:
        raise UnknownProblem(f"There is no suite {suite!r}; the suites are {', '.join(by_suite)}.")
    return list(by_suite[suite])


def find(spec: str) -> Problem:
    """The problem meant by `level1/23`, `level1/23_Softmax`, `dlrm/03`, `level1@jul-2025/97`, or
    by the path of any KernelBench-format file (suite `user`, unless it lies in `problems/`).

    Raises UnknownProblem with a sentence that names what is close.
    """
    path = Path(spec)
    if path.suffix == ".py" and path.is_file():
        return _from_path(path.resolve())
    suite, _, name = spec.removesuffix(".py").rpartition("/")
    if suite not in _shipped():
        raise UnknownProblem(_not_found(spec))
    for problem in _shipped()[suite]:
        same_number = name.isascii() and name.isdigit() and int(name) == problem.problem_id
        if same_number or name == problem.name:
            return problem
    raise UnknownProblem(_not_found(spec))


@functools.cache
def _shipped() -> dict[str, list[Problem]]:
    """The problems of each suite as spelled in a spec, ordered by id."""
    found: dict[str, list[Problem]] = {}
    for folder, (suite, version, spelling) in FOLDERS.items():
        problems = [
            Problem(
                suite=suite,
                problem_id=_number(path.stem),
                name=path.stem,
                version=version,
                path=path,
                operator_class=_class_of(spelling, _number(path.stem)),
                native_precision=_drawn_precision(path),
            )
            for path in (PROBLEMS_DIR / folder).glob("*.py")
        ]
        found[spelling] = sorted(problems, key=lambda problem: problem.problem_id)
    return found


def _from_path(path: Path) -> Problem:
    """The shipped problem at this path, else a user's own with the class of its namesake."""
    for problem in all_problems():
        if problem.path == path:
            return problem
    namesakes = [problem for problem in all_problems() if problem.name == path.stem]
    return Problem(
        suite="user",
        problem_id=_number(path.stem),
        name=path.stem,
        version="as-given",
        path=path,
        operator_class=namesakes[0].operator_class if namesakes else "other",
        native_precision=_drawn_precision(path),
    )


def _drawn_precision(path: Path) -> str:
    """fp16 or bf16 if the file's text uses that dtype of torch's, else fp32.

    A file that does not parse counts as fp32: whoever loads it reports what is wrong with it.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "fp32"
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="torch"), attr=attr) if attr in DTYPE_PRECISIONS:
                return DTYPE_PRECISIONS[attr]
    return "fp32"


def _class_of(spelling: str, problem_id: int) -> str:
    for first, last, operator_class in OPERATOR_CLASSES[spelling]:
        if first <= problem_id <= last:
            return operator_class
    return "other"


def _number(stem: str) -> int:
    match = re.match(r"\d+", stem)
    return int(match.group()) if match else 0


def _not_found(spec: str) -> str:
    """Why nothing was found, with up to three close names: the same number, then the spelling."""
    suite, _, name = spec.removesuffix(".py").rpartition("/")
    number = _number(name)
    close = [problem.spec for problem in all_problems() if number and problem.problem_id == number]
    if re.search(r"[A-Za-z]", name):
        by_name = {problem.name.lower(): problem.spec for problem in all_problems()}
        without_number = {re.sub(r"^\d+_", "", key): value for key, value in by_name.items()}
        for candidates in (by_name, without_number):
            for match in difflib.get_close_matches(name.lower(), candidates, n=3):
                close.append(candidates[match])
    elif suite in _shipped():
        ids = [problem.problem_id for problem in _shipped()[suite]]
        listed = f"{min(ids)} to {max(ids)}" if len(ids) > 3 else ", ".join(map(str, ids))
        return f"There is no problem {spec!r}: {suite} has the ids {listed}."
    what = f"problem file {spec!r}" if spec.endswith(".py") else f"problem {spec!r}"
    if close:
        return f"There is no {what}; did you mean {' or '.join(list(dict.fromkeys(close))[:3])}?"
    return (
        f"There is no {what}: give a .py file or one of {', '.join(_shipped())} with an id, "
        "as in level1/23."
    )
