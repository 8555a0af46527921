"""The repository's own rules: linters clean, imports one way, dependencies declared and needed."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from reach.store.paths import DATA_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
# Needed without an import of ours: by plotly's exports, by duckdb where it hands a table to polars,
# and by torch's cpp_extension where it builds a candidate.
USED_BY_OTHERS = {"kaleido", "pyarrow", "ninja", "setuptools"}
NOT_IN_EVALUATOR = {
    *("streamlit", "duckdb", "polars", "plotly", "pyarrow", "platformdirs", "pandas", "altair"),
    *("reach", "ui", "pages", "app"),
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def tracked(*patterns: str) -> list[Path]:
    """The files that git knows; all files below the root where this is no clone."""
    listed = run("git", "ls-files", "--", *patterns)
    assert listed.returncode == 0, listed.stderr
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports anywhere in it, by its full dotted name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_ours(module: str, importer: Path) -> bool:
    """Whether a top-level module is a file or folder of the repository, as the importer sees it."""
    places = (ROOT, importer.parent)
    return any((p / module).is_dir() or (p / f"{module}.py").is_file() for p in places)


def requirement_names(*files: str) -> set[str]:
    """Distribution names in requirement files, lower case; `-r` lines are not followed."""
    names: set[str] = set()
    for name in files:
        for line in (ROOT / name).read_text().splitlines():
            if line and not line.startswith(("#", "-")):
                names.add(re.split(r"[\[=<>;\s]", line)[0].lower())
    return names


def test_ruff_is_clean() -> None:
    result = run(sys.executable, "-m", "ruff", "check", "--no-fix")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.timeout(600)
def test_pyright_is_clean() -> None:
    result = run(sys.executable, "-m", "pyright")
    assert result.returncode == 0, result.stdout + result.stderr


def test_hadolint_is_clean() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("hadolint has no wheel for this system (see requirements-dev.txt)")
    result = run(hadolint, "Dockerfile")
    assert result.returncode == 0, result.stdout + result.stderr


def test_evaluator_imports_nothing_of_the_app() -> None:
    files = tracked("evaluator/*.py", "problems/*.py", "kernels/*.py")
    assert files
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in files
        for module in imports(path)
        if module.split(".")[0] in NOT_IN_EVALUATOR
    ]
    assert not wrong


def test_reach_knows_of_the_evaluator_only_its_contract_and_catalogue() -> None:
    files = tracked("reach/*.py")
    assert files
    allowed = ("evaluator.contract", "evaluator.catalogue")
    wrong = []
    for path in files:
        for module in imports(path):
            first = module.split(".")[0]
            inside = first == "evaluator" and module != "evaluator"
            if first in {"streamlit", "torch", "pages", "app"} or (
                inside and not module.startswith(allowed)
            ):
                wrong.append(f"{path.relative_to(ROOT)}: {module}")
    assert not wrong


def test_app_and_pages_never_import_torch() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in tracked("app.py", "pages/*.py", "ui/*.py")
        for module in imports(path)
        if module.split(".")[0] in {"torch", "triton"}
    ]
    assert not wrong


def test_every_page_runs_without_torch_installed(tmp_path: Path) -> None:
    """The viewing image has no torch, and a GPU machine's app process must not load it either."""
    program = (
        "import sys\n"
        "for name in ('torch', 'triton'):\n"
        "    sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from streamlit.testing.v1 import AppTest\n"
        "pages = sorted(Path('pages').glob('*.py'))\n"
        "assert pages\n"
        "for page in pages:\n"
        "    app = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "    assert not app.exception, app.exception\n"
        "    app.switch_page(str(page)).run()\n"
        "    assert not app.exception, (page, app.exception)\n"
    )
    variables = {**os.environ, DATA_VARIABLE: str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_import_is_a_direct_requirement() -> None:
    """What we import is in our own requirement files, not there by a dependency's grace."""
    declared = requirement_names(
        "requirements-view.txt", "requirements.txt", "requirements-cpu.txt", "requirements-dev.txt"
    )
    owners = packages_distributions()
    missing = set()
    for path in tracked("*.py"):
        for module in imports(path):
            first = module.split(".")[0]
            if first in sys.stdlib_module_names or is_ours(first, path):
                continue
            if not {owner.lower() for owner in owners.get(first, [first])} & declared:
                missing.add(f"{path.relative_to(ROOT)}: {first}")
    assert not missing, sorted(missing)


def test_every_requirement_is_used() -> None:
    """Nothing is installed for users that no line of ours needs."""
    owners = packages_distributions()
    used = set(USED_BY_OTHERS)
    for path in tracked("*.py"):
        for module in imports(path):
            first = module.split(".")[0]
            used |= {owner.lower() for owner in owners.get(first, [first])}
    unused = requirement_names("requirements-view.txt", "requirements.txt") - used
    assert not unused, sorted(unused)


def test_pins_are_what_is_installed() -> None:
    """The tests speak about the versions that a user gets."""
    pins = []
    for name in ("requirements-view.txt", "requirements.txt"):
        pins += re.findall(r"^([\w-]+)==(\S+)$", (ROOT / name).read_text(), re.MULTILINE)
    assert len(pins) >= 8
    assert {name: version(name) for name, _ in pins} == dict(pins)


def test_fonts_carry_their_licence() -> None:
    fonts = tracked("*.woff2", "*.ttf")
    if not fonts:
        pytest.skip("no font is shipped")
    for font in fonts:
        folders = [folder for folder in font.parents if folder.is_relative_to(ROOT)]
        licences = [path for folder in folders for path in folder.glob("*OFL*")]
        texts = [path.read_text(encoding="utf-8") for path in licences]
        assert any("SIL OPEN FONT LICENSE" in text for text in texts), font
