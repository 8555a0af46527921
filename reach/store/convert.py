"""JSON rows, as the evaluator writes them, to typed frames and back. Nothing is guessed: a file
that is not an evaluation is refused with the reason."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evaluator.contract import Evaluation, Evidence, FlagCode, Verdict, finite
from reach.store.schema import (
    EVIDENCE_JSON,
    EVIDENCE_NULLABLE,
    EVIDENCE_SCHEMA,
    ROW_NULLABLE,
    ROW_SCHEMA,
)

MAX_ROW_BYTES = 16 * 2**20  # a row with full maps is about 200 kB; beyond this it is not one
_VERDICTS = frozenset(v.value for v in Verdict)
_FLAGS = frozenset(f.value for f in FlagCode)
_IDENTITY = ("evaluation_id", "configuration", "problem", "verdict")
# Lists without a place for null: a share or a size is always a number. An error may be infinite,
# which JSON can only write as null.
_WHOLE_LISTS = frozenset(
    f"evidence.{name}"
    for name in (
        "output_shape",
        "written_map",
        "written_map_folded",
        "right_map",
        "right_map_folded",
    )
)


class NotAnEvaluation(ValueError):
    """The text is not an evaluation; the message is one plain sentence that says why."""


@dataclass(frozen=True)
class ParsedRow:
    """One evaluation as two flat rows that fit ROW_SCHEMA and EVIDENCE_SCHEMA."""

    row: dict[str, Any]
    evidence: dict[str, Any]


def _defaults(kind: type) -> dict[str, Any]:
    instance = kind()
    return {f.name: getattr(instance, f.name) for f in dataclasses.fields(kind)}


_ROW_DEFAULTS = {k: v for k, v in _defaults(Evaluation).items() if k in ROW_SCHEMA}
_EVIDENCE_DEFAULTS = _defaults(Evidence)


def _fit(name: str, value: Any, dtype: pl.DataType, nullable: bool) -> Any:
    """`value` if it fits `dtype` (whole numbers become floats where floats are stored)."""
    if value is None:
        if nullable:
            return None
        raise NotAnEvaluation(f"column {name} is empty and must not be.")
    if isinstance(dtype, pl.List):
        if not isinstance(value, list):
            raise NotAnEvaluation(f"column {name} should be a list.")
        return [_fit(name, item, _inner(dtype), name not in _WHOLE_LISTS) for item in value]
    if isinstance(dtype, pl.Struct):
        if not isinstance(value, Mapping):
            raise NotAnEvaluation(f"column {name} should hold objects.")
        fields = {field.name: field.dtype for field in dtype.fields}
        return {
            field: _fit(f"{name}.{field}", value.get(field), _instance(inner), True)
            for field, inner in fields.items()
        }
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if dtype.is_float() and number and abs(value) < 1e308:
        return float(value)
    if dtype == pl.Int64 and number and int(value) == value and abs(value) < 2**63:
        return int(value)
    if dtype == pl.Boolean and isinstance(value, bool):
        return value
    if dtype == pl.String and isinstance(value, str):
        return value
    raise NotAnEvaluation(f"column {name} holds {type(value).__name__}, {dtype} was expected.")


def _instance(dtype: Any) -> pl.DataType:
    return dtype() if isinstance(dtype, type) else dtype


def _inner(dtype: pl.List) -> pl.DataType:
    return _instance(dtype.inner)


def parse_evaluation(data: Any) -> ParsedRow:
    """The two flat rows of one `Evaluation.to_json()` object.

    A column that the object lacks gets the contract's default (older evaluators wrote fewer),
    columns unknown to the contract are left out (newer ones write more). Raises NotAnEvaluation.
    """
    if not isinstance(data, Mapping):
        raise NotAnEvaluation("the file holds no JSON object.")
    try:
        data = finite(dict(data))
    except RecursionError as error:
        raise NotAnEvaluation("it is nested too deeply.") from error
    for name in _IDENTITY:
        if not isinstance(data.get(name), str) or not data[name]:
            raise NotAnEvaluation(f"it has no {name}, so it is not an evaluation.")
    if data["verdict"] not in _VERDICTS:
        raise NotAnEvaluation(f"{data['verdict']!r} is not a verdict.")
    evidence = data.get("evidence") or {}
    if not isinstance(evidence, Mapping):
        raise NotAnEvaluation("column evidence should be an object.")
    row = {
        name: _fit(name, data.get(name, _ROW_DEFAULTS[name]), dtype, name in ROW_NULLABLE)
        for name, dtype in ROW_SCHEMA.items()
    }
    for flag in row["flags"]:
        if flag is None or flag["code"] not in _FLAGS:
            raise NotAnEvaluation(f"{flag and flag['code']!r} is not a flag.")
    kept: dict[str, Any] = {"evaluation_id": row["evaluation_id"]}
    for name, dtype in EVIDENCE_SCHEMA.items():
        if name == "evaluation_id":
            continue
        value = evidence.get(name, _EVIDENCE_DEFAULTS[name])
        if name in EVIDENCE_JSON:
            value = json.dumps(value, sort_keys=True)
        kept[name] = _fit(f"evidence.{name}", value, dtype, name in EVIDENCE_NULLABLE)
    return ParsedRow(row, kept)


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of 4,301 digits
        raise NotAnEvaluation(f"it is not JSON: {error}.") from error


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotAnEvaluation("it is not UTF-8 text.") from error


def read_evaluation(path: Path) -> ParsedRow:
    """One JSON file, one evaluation. Raises NotAnEvaluation, or OSError if it cannot be read."""
    if path.stat().st_size > MAX_ROW_BYTES:
        raise NotAnEvaluation(f"it is larger than {MAX_ROW_BYTES // 2**20} MiB.")
    return parse_evaluation(_load(_read(path)))


def read_evaluations(path: Path) -> Iterator[ParsedRow]:
    """Every evaluation of a `.json` (one object, or a list of them) or `.jsonl` file.

    Raises NotAnEvaluation with the line or the place in the list of the first bad row.
    """
    text = _read(path)
    if path.suffix == ".jsonl":
        # not splitlines(): JSON strings may hold U+2028 and other "line" ends of Unicode
        entries = [
            (f"line {n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip()
        ]
        for place, line in entries:
            try:
                yield parse_evaluation(_load(line))
            except NotAnEvaluation as error:
                raise NotAnEvaluation(f"{place}: {error}") from error
        return
    data = _load(text)
    for number, entry in enumerate(data if isinstance(data, list) else [data], 1):
        try:
            yield parse_evaluation(entry)
        except NotAnEvaluation as error:
            raise NotAnEvaluation(f"row {number}: {error}") from error


def row_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a frame with exactly ROW_SCHEMA, also when there are none."""
    return pl.DataFrame(rows, schema=ROW_SCHEMA, orient="row")


def evidence_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Evidence rows as a frame with exactly EVIDENCE_SCHEMA, also when there are none."""
    return pl.DataFrame(rows, schema=EVIDENCE_SCHEMA, orient="row")


def evidence_dict(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored evidence row with its JSON columns as dictionaries again."""
    return {
        name: json.loads(value) if name in EVIDENCE_JSON else value
        for name, value in stored.items()
        if name != "evaluation_id"
    }
