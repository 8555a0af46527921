"""The stored types of an evaluation and its evidence, derived once from the row contract.

`evaluator.contract` says which columns exist and what they hold; here each annotation becomes a
polars type. Two parquet tables follow: rows (everything but the evidence) and evidence (keyed by
`evaluation_id`). Maps and samples of the evidence are 32-bit: seven digits are far below noise.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

import polars as pl

from evaluator.contract import Evaluation, Evidence, Flag, Trial, TrivialAnswer, Verdict

FLAGS_TYPE = pl.List(pl.Struct({"code": pl.String, "severity": pl.String, "sentence": pl.String}))
ROW_KEY = ("configuration", "problem", "problem_version", "sample", "precision")
OUTCOMES = ("correct", "incorrect", "rejected", "failed", "inconclusive")
FAILED_VERDICTS = (
    Verdict.MALFORMED,
    Verdict.COMPILE_ERROR,
    Verdict.RUNTIME_ERROR,
    Verdict.TIMEOUT,
    Verdict.OUT_OF_MEMORY,
)

_SCALARS: dict[Any, pl.DataType] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    Verdict: pl.String(),
}


def _struct(kind: type) -> pl.Struct:
    """A nested dataclass as a struct with the same fields."""
    hints = typing.get_type_hints(kind)
    return pl.Struct({f.name: _stored(hints[f.name])[0] for f in dataclasses.fields(kind)})


def _stored(annotation: Any) -> tuple[pl.DataType, bool]:
    """The polars type of one annotation and whether it may be null.

    Raises TypeError for an annotation that the store has no type for, so that a new column of the
    contract cannot slip in untyped.
    """
    if isinstance(annotation, types.UnionType):
        inner = [part for part in typing.get_args(annotation) if part is not type(None)]
        if len(inner) == 1:
            return _stored(inner[0])[0], True
    if annotation in _SCALARS:
        return _SCALARS[annotation], False
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        return pl.String(), False  # free-form facts, kept as JSON text
    if origin is list:
        element = arguments[0]
        if element is Flag:
            return FLAGS_TYPE, False
        if element in (Trial, TrivialAnswer):
            return pl.List(_struct(element)), False
        if element is float:
            return pl.List(pl.Float32()), False
        if element in _SCALARS:
            return pl.List(_SCALARS[element]), False
    raise TypeError(f"the store has no type for {annotation!r}")


def _columns(kind: type, leave_out: tuple[str, ...] = ()) -> dict[str, tuple[pl.DataType, bool]]:
    hints = typing.get_type_hints(kind)
    names = [f.name for f in dataclasses.fields(kind) if f.name not in leave_out]
    return {name: _stored(hints[name]) for name in names}


_ROW = _columns(Evaluation, leave_out=("evidence",))
_EVIDENCE = _columns(Evidence)

ROW_SCHEMA = pl.Schema({name: dtype for name, (dtype, _) in _ROW.items()})
EVIDENCE_SCHEMA = pl.Schema(
    {"evaluation_id": pl.String()} | {name: dtype for name, (dtype, _) in _EVIDENCE.items()}
)
ROW_NULLABLE = frozenset(name for name, (_, nullable) in _ROW.items() if nullable)
EVIDENCE_NULLABLE = frozenset(name for name, (_, nullable) in _EVIDENCE.items() if nullable)
# Free-form dictionaries of the contract, stored as JSON text and given back as dictionaries.
EVIDENCE_JSON = frozenset(
    name
    for name, hint in typing.get_type_hints(Evidence).items()
    if typing.get_origin(hint) is dict
)
