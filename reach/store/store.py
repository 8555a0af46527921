"""The store: shipped rows and the user's own behind one DuckDB view, in memory, read-only.

One connection, one cursor a query: cursors of one connection may run in many threads, the
connection itself may not. Rows are reloaded when a file changed; a file that cannot be read is
named in `damaged()` and leaves everything else usable.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from reach.store import sql
from reach.store.convert import evidence_dict, read_evaluation
from reach.store.filters import Filter, Sort
from reach.store.loading import DamagedFile, Loader
from reach.store.paths import EVIDENCE_FILE, data_dir, shipped_dir, user_evaluations_dir

EVERYTHING = Filter()
LATEST = Sort()


@dataclass(frozen=True)
class FacetValue:
    """One value of a facet and how many evaluations it would show."""

    value: str
    count: int


@dataclass(frozen=True)
class Neighbours:
    """The place of an evaluation in a filtered, sorted list; position counts from 1."""

    previous: str | None
    next: str | None
    position: int
    total: int


@dataclass(frozen=True)
class Provenance:
    """Where and when some evaluations were measured; times as ISO 8601, None without rows."""

    devices: tuple[str, ...]
    first: str | None
    last: str | None


class Store:
    """Read access to all evaluations. Safe to share between threads."""

    def __init__(self, shipped: Path, user: Path) -> None:
        """`shipped`: directory with the parquet files; `user`: a data directory (may not exist)."""
        self._shipped_dir = shipped
        self._user_dir = user_evaluations_dir(user)
        self._lock = threading.Lock()
        self._loader = Loader(shipped, self._user_dir)
        self._snapshot = self._loader.load()

    def refresh(self) -> bool:
        """Loads the rows again if a file was added, removed or changed; says whether it did."""
        if self._loader.unchanged(self._snapshot):
            return False
        with self._lock:
            if self._loader.unchanged(self._snapshot):
                return False
            self._snapshot = self._loader.load()
        return True

    def _query(self, text: str, parameters: list[Any] | None = None) -> pl.DataFrame:
        with self._snapshot.connection.cursor() as cursor:
            return cursor.sql(text, params=parameters or []).pl()

    def _filtered(self, text: str, filter: Filter) -> pl.DataFrame:
        condition, parameters = sql.where(filter)
        return self._query(text.format(where=condition), parameters)

    def count(self, filter: Filter = EVERYTHING) -> int:
        """How many evaluations match."""
        return int(self._filtered(sql.COUNT, filter).item())

    def rows(
        self,
        filter: Filter = EVERYTHING,
        sort: Sort = LATEST,
        page: int = 1,
        page_size: int | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> pl.DataFrame:
        """One page (from 1) of the matching rows; all of them without a `page_size`.

        Raises ValueError for a column that does not exist or cannot be sorted by.
        """
        condition, parameters = sql.where(filter)
        text = sql.ROWS.format(columns=sql.select(columns), where=condition, order=sql.order(sort))
        if page_size is not None:
            text += sql.PAGE
            parameters += [page_size, (max(page, 1) - 1) * page_size]
        return self._query(text, parameters)

    def facets(self, filter: Filter = EVERYTHING) -> dict[str, list[FacetValue]]:
        """For each facet its values, most frequent first, counted under all *other* facets: the
        count says what choosing the value would show. Chosen values stay, even with 0."""
        found: dict[str, list[FacetValue]] = {}
        for facet, column in sql.FACET_COLUMNS.items():
            condition, parameters = sql.where(filter, leave_out=facet)
            value = sql.facet_value(column)
            counted = self._query(sql.FACET.format(value=value, where=condition), parameters)
            values = [FacetValue(value, int(n)) for value, n in counted.iter_rows()]
            seen = {item.value for item in values}
            values += [FacetValue(v, 0) for v in getattr(filter, facet) if v not in seen]
            found[facet] = values
        return found

    def by_configuration(self, filter: Filter = EVERYTHING) -> pl.DataFrame:
        """One row a configuration: counts of outcomes, of both judges' *correct*, of verified."""
        return self._filtered(sql.BY_CONFIGURATION, filter)

    def flag_counts(self, filter: Filter = EVERYTHING) -> pl.DataFrame:
        """One row a flag: code, severity, evaluations, of them correct for the benchmark."""
        return self._filtered(sql.FLAG_COUNTS, filter)

    def verdict_flow(self, filter: Filter = EVERYTHING) -> pl.DataFrame:
        """Counts of evaluations by (benchmark_outcome, outcome)."""
        return self._filtered(sql.VERDICT_FLOW, filter)

    def best_by_problem(self, filter: Filter = EVERYTHING) -> pl.DataFrame:
        """The best correct, timed candidate of each problem and precision, fastest first;
        `compiled_speedup` is torch.compile's speedup over eager in the same run."""
        return self._filtered(sql.BEST_BY_PROBLEM, filter)

    def provenance(self, filter: Filter = EVERYTHING) -> Provenance:
        """The devices and the span of time that the matching rows come from."""
        devices, first, last = self._filtered(sql.PROVENANCE, filter).row(0)
        return Provenance(tuple(devices), first, last)

    def flagged(self) -> pl.DataFrame:
        """What the benchmark's check called correct and we did not, highest score first."""
        return self._query(sql.FLAGGED.format(columns=sql.select(None)))

    def partial_write_case(self) -> dict[str, Any] | None:
        """The clearest partial write that the benchmark's check accepts, or None if none is
        stored: shipped before the user's own, 23_Softmax before others, least written first."""
        return _one(self._query(sql.PARTIAL_WRITE_CASE.format(columns=sql.select(None))))

    def evaluation(self, evaluation_id: str) -> dict[str, Any] | None:
        """One row with all columns of the view, or None."""
        text = sql.ONE.format(columns=sql.select(None))
        return _one(self._query(text, [evaluation_id]))

    def siblings(self, evaluation_id: str) -> pl.DataFrame:
        """Other candidates for the same problem, version and precision; correct ones first."""
        return self._query(sql.SIBLINGS.format(columns=sql.select(None)), [evaluation_id])

    def neighbours(
        self, evaluation_id: str, filter: Filter = EVERYTHING, sort: Sort = LATEST
    ) -> Neighbours | None:
        """The evaluation's place under a filter and order; None if the filter leaves it out."""
        condition, parameters = sql.where(filter)
        text = sql.NEIGHBOURS.format(where=condition, order=sql.order(sort))
        found = _one(self._query(text, [*parameters, evaluation_id]))
        return Neighbours(**found) if found else None

    def evidence(self, evaluation_id: str) -> dict[str, Any] | None:
        """The evidence of one evaluation, as in `Evidence`, or None if none is stored.

        Raises OSError or polars' error where the evidence file cannot be read.
        """
        name = self._snapshot.user_files.get(evaluation_id)
        if name is not None:
            return evidence_dict(read_evaluation(self._user_dir / name).evidence)
        path = self._shipped_dir / EVIDENCE_FILE
        if not path.exists():
            return None
        found = (
            pl.scan_parquet(path, glob=False)
            .filter(pl.col("evaluation_id") == evaluation_id)
            .collect()
        )
        row = _one(found)
        return evidence_dict(row) if row else None

    def damaged(self) -> list[DamagedFile]:
        """Files that were left out, with the reason."""
        return list(self._snapshot.damaged)

    def data_version(self) -> str:
        """Seven hex digits over the shipped files: equal if and only if they are."""
        return self._snapshot.version


def open_store(shipped: Path | None = None, user: Path | None = None) -> Store:
    """A store over the shipped files and the user's data directory. Keep one a process."""
    return Store(shipped or shipped_dir(), user or data_dir())


def _one(frame: pl.DataFrame) -> dict[str, Any] | None:
    return frame.row(0, named=True) if frame.height else None
