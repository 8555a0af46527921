"""docs/data.md names every column once, and its examples run on files of the documented shape."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reach.store.compact import compact
from reach.store.schema import EVIDENCE_SCHEMA, ROW_SCHEMA
from reach.store.sql import DERIVED_COLUMNS
from tests.synthetic import mixed

PAGE = Path(__file__).resolve().parent.parent / "docs" / "data.md"
TEXT = PAGE.read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.+?)```", TEXT, re.DOTALL)


def documented(heading: str) -> list[tuple[str, str]]:
    """(column, type) of each row of the tables below a heading, up to the next one."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE)


def test_every_column_of_a_row_is_documented_once_in_order() -> None:
    names = [name for name, _ in documented("Columns of a row")]
    assert names == [*ROW_SCHEMA.names(), *DERIVED_COLUMNS]


def test_every_column_of_the_evidence_is_documented_once_in_order() -> None:
    assert [name for name, _ in documented("Columns of the evidence")] == EVIDENCE_SCHEMA.names()


@pytest.mark.parametrize(
    ("heading", "schema"),
    [("Columns of a row", ROW_SCHEMA), ("Columns of the evidence", EVIDENCE_SCHEMA)],
)
def test_documented_types_are_the_stored_ones(heading: str, schema) -> None:
    words = {"String": "text", "Int64": "integer", "Boolean": "yes/no", "List": "list"}
    for name, kind in documented(heading):
        if name in schema:
            said = (
                kind.removesuffix(", null").replace("JSON text", "text").replace("share", "number")
            )
            assert said == words.get(str(schema[name].base_type()), "number"), name


@pytest.mark.parametrize("example", EXAMPLES, ids=["duckdb", "polars", "map"])
def test_the_examples_run(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    source = tmp_path / "synthetic.json"
    source.write_text(json.dumps([row.to_json() for row in mixed()]))
    data = tmp_path / "data"
    compact([source], data / "kernels.parquet", data / "evidence.parquet")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "data.md", "exec"), {})
    assert re.search(r"config-a|config-partial|written_map_folded", capsys.readouterr().out)


def test_the_command_is_the_real_one(tmp_path: Path) -> None:
    from reach.__main__ import build_parser

    (command,) = re.findall(r"^python -m reach (.+)$", TEXT, re.MULTILINE)
    parsed = build_parser().parse_args(command.split())
    assert parsed.command == "compact" and parsed.rows == Path("data/kernels.parquet")
