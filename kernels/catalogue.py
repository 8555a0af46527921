"""Finds the candidates in this folder and tells which problem each one claims to solve.

`kernels/<configuration>/<suite>/<name>.py` is a candidate for `problems/<suite>/<name>.py`: the
path says it, no table has to be kept. Files in `kernels/adversarial/` claim level-1 problems and
are named `<problem number>_<what they do>.py`. Nothing here runs a candidate, `load` apart.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

KERNELS = Path(__file__).resolve().parent
PROBLEMS = KERNELS.parent / "problems"


@dataclass(frozen=True)
class Candidate:
    """A candidate file: its configuration (`triton`, `adversarial`), suite and problem."""

    configuration: str
    suite: str
    path: Path
    problem_path: Path

    @property
    def label(self) -> str:
        """`level1/23_Softmax`, or `adversarial/23_softmax_zeros`: unique, readable."""
        folder = "adversarial" if self.configuration == "adversarial" else self.suite
        return f"{folder}/{self.path.stem}"


def honest(configuration: str = "triton") -> list[Candidate]:
    """All candidates of a configuration, in the order of suite and problem number."""
    found = [
        Candidate(configuration, path.parent.name, path, PROBLEMS / path.parent.name / path.name)
        for path in (KERNELS / configuration).glob("*/*.py")
    ]
    return sorted(found, key=lambda c: (c.suite != "level1", c.suite, _number(c.path)))


def adversarial() -> list[Candidate]:
    """The files that fake a result, with the level-1 problem each one claims.

    Raises FileNotFoundError where the number in a name belongs to no problem.
    """
    return [
        Candidate("adversarial", "level1", path, _level1_problem(_number(path)))
        for path in sorted(KERNELS.glob("adversarial/*.py"))
    ]


def load(path: Path) -> ModuleType:
    """Executes a problem or candidate file of this repository and returns its module.

    Only for files that are trusted: uploads are graded by the evaluator, confined.
    """
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _number(path: Path) -> int:
    return int(path.stem.split("_", 1)[0])


def _level1_problem(number: int) -> Path:
    for path in PROBLEMS.glob("level1/*.py"):
        if path.stem.startswith(f"{number}_"):
            return path
    raise FileNotFoundError(f"no level-1 problem {number} in {PROBLEMS}")
