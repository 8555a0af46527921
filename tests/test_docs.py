"""The documentation stays true: what it names exists, what it lists is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.contract import FlagCode, Verdict

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
GRADING = ROOT / "docs" / "grading.md"
COMMAND = re.compile(r"-m evaluator (\w+)([^`\n]*)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def table(page: Path, first_heading: str) -> dict[str, list[str]]:
    """The rows of the table whose first column has that heading: code name -> other cells."""
    rows: dict[str, list[str]] = {}
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == first_heading:
            inside = True
        elif inside and cells[0].startswith("`"):
            assert cells[0].strip("`") not in rows, f"{cells[0]} is listed twice"
            rows[cells[0].strip("`")] = cells[1:]
    return rows


def evaluator_help(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_in_the_text_exist(page: Path) -> None:
    """Every `code span` that reads as a path of the repository (it has a slash) is one."""
    spans = re.findall(r"`([\w.]+/[\w./]*)`", page.read_text(encoding="utf-8"))
    # level1/23 and the like name a problem, not a file
    paths = [span for span in spans if not re.fullmatch(r"(level1|dlrm)/\d+", span)]
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_folders_in_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = text.split("```")[1]
    named = re.findall(r"^([\w.]+/?)\s", block, re.MULTILINE)
    assert len(named) > 5
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_in_the_text_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"^(?:\w+=\S+ )*make ([a-z-]+)", page.read_text(), re.MULTILINE)
    commands += re.findall(r"`(?:\w+=\S+ )*make ([a-z-]+)`", page.read_text())
    if page.name == "README.md" and page.parent == ROOT:
        assert {"app", "test"} <= set(commands)
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


def test_every_verdict_is_documented() -> None:
    assert set(table(GRADING, "verdict")) == {verdict.value for verdict in Verdict}


def test_every_flag_is_documented_with_its_severity() -> None:
    documented = {code: cells[0] for code, cells in table(GRADING, "flag").items()}
    assert documented == {code.value: code.severity.value for code in FlagCode}


def test_flags_that_nothing_raises_yet_are_marked_so() -> None:
    """A flag in the table is one that a grading can get, or the table says that it is not."""
    files = [path for path in (ROOT / "evaluator").glob("*.py") if path.name != "contract.py"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    silent = {flag.value for flag in FlagCode if f"FlagCode.{flag.name}" not in code}
    marked = {
        flag for flag, cells in table(GRADING, "flag").items() if "not raised yet" in cells[-1]
    }
    assert marked == silent


def test_options_in_the_table_are_those_of_the_command_line() -> None:
    offered = set(re.findall(r"(?<![\w-])--[a-z-]+", evaluator_help("grade"))) - {"--help"}
    assert set(table(GRADING, "option")) == offered


def test_commands_in_the_text_are_understood() -> None:
    """Every evaluator command in the documentation names a command and options that exist."""
    seen = set()
    for page in PAGES:
        for command, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
            seen.add(command)
            offered = evaluator_help(command)
            for option in re.findall(r"--[a-z-]+", rest):
                assert option in offered, (page.name, command, option)
    assert {"grade", "problems", "audit"} <= seen


def test_docker_targets_in_the_readme_are_in_the_dockerfile() -> None:
    targets = re.findall(r"--target (\w+)", (ROOT / "README.md").read_text())
    assert targets
    stages = re.findall(r"^FROM \S+ AS (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert set(targets) <= set(stages)


def test_environment_variables_are_documented() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / line for line in listed.stdout.splitlines() if not line.startswith("tests/")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files if path.exists())
    variables = set(re.findall(r"KERNEL_REACH_[A-Z_]+", code))
    assert variables
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert not [variable for variable in variables if variable not in text]
