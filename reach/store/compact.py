"""Compaction: finished evaluations (JSON, JSONL) into the two parquet files that are shipped."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reach.store.convert import (
    NotAnEvaluation,
    ParsedRow,
    evidence_frame,
    read_evaluations,
    row_frame,
)
from reach.store.schema import EVIDENCE_SCHEMA, ROW_KEY, ROW_SCHEMA

EVIDENCE_ROW_GROUP = 32  # one evaluation is read at a time, by id: small groups, sorted


class CompactionError(ValueError):
    """Nothing was written; the message names the file and says why."""


@dataclass(frozen=True)
class Compacted:
    """What a compaction did: rows in the result, of them new and replaced, and rows read."""

    total: int
    added: int
    replaced: int
    read: int


def conform(frame: pl.DataFrame, schema: pl.Schema, name: str) -> pl.DataFrame:
    """`frame` with exactly the columns and types of `schema` (missing columns become null).

    Raises CompactionError where a column's type cannot be cast without loss.
    """
    try:
        return frame.select(
            (pl.col(column).cast(dtype) if column in frame.columns else pl.lit(None, dtype)).alias(
                column
            )
            for column, dtype in schema.items()
        )
    except pl.exceptions.PolarsError as error:
        raise CompactionError(f"{name} does not fit the schema: {error}") from error


def _existing(path: Path, schema: pl.Schema) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame(schema=schema)
    try:
        return conform(pl.read_parquet(path), schema, path.name)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CompactionError(f"{path.name} cannot be read as parquet: {error}") from error


def _write(frame: pl.DataFrame, path: Path, row_group_size: int | None = None) -> None:
    """Whole or not at all: written under a temporary name, then renamed into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        frame.write_parquet(
            temporary, compression="zstd", compression_level=19, row_group_size=row_group_size
        )
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def compact(files: Iterable[Path], rows_out: Path, evidence_out: Path) -> Compacted:
    """Merges evaluations from `files` into the rows file and the evidence file.

    Rows merge by `ROW_KEY`: the evaluation that started last wins, wherever it came from, so
    running the same command twice changes nothing. Evidence of a row that lost is dropped; that
    of rows in other rows files (one evidence file serves several) is kept. Raises CompactionError
    before anything is written.
    """
    parsed: list[ParsedRow] = []
    for path in files:
        try:
            parsed.extend(read_evaluations(path))
        except (NotAnEvaluation, OSError) as error:
            raise CompactionError(f"{path}: {error}") from error
    before = _existing(rows_out, ROW_SCHEMA)
    fresh = row_frame([item.row for item in parsed])
    merged = (
        pl.concat([before, fresh])
        .sort("started_at", maintain_order=True)
        .unique(subset=list(ROW_KEY), keep="last", maintain_order=True)
        .sort("suite", "problem_id", "configuration", "precision", "sample", "problem_version")
    )
    kept = set(merged["evaluation_id"])
    lost = (set(before["evaluation_id"]) | set(fresh["evaluation_id"])) - kept
    evidence = (
        pl.concat(
            [
                _existing(evidence_out, EVIDENCE_SCHEMA),
                evidence_frame([p.evidence for p in parsed if p.row["evaluation_id"] in kept]),
            ]
        )
        .unique(subset="evaluation_id", keep="last", maintain_order=True)
        .filter(~pl.col("evaluation_id").is_in(list(lost)))
        .sort("evaluation_id")
    )
    _write(evidence, evidence_out, row_group_size=EVIDENCE_ROW_GROUP)
    _write(merged, rows_out)
    added = merged.height - before.height
    gone = set(before["evaluation_id"]) - kept
    return Compacted(total=merged.height, added=added, replaced=len(gone), read=len(parsed))
