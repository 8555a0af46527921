"""From files to an in-memory table: what is shipped, what is the user's, what is damaged.

User files are parsed once as long as they do not change; the table is replaced as a whole.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from reach.store import sql
from reach.store.compact import CompactionError, conform
from reach.store.convert import NotAnEvaluation, ParsedRow, read_evaluation, row_frame
from reach.store.paths import EVALUATIONS_FILE, EVIDENCE_FILE, KERNELS_FILE
from reach.store.schema import ROW_SCHEMA

MEMORY_LIMIT = "1GB"
SHIPPED_ORIGINS = {EVALUATIONS_FILE: "shipped_public", KERNELS_FILE: "shipped_ours"}
USER_ORIGIN = "user"

Signature = dict[str, tuple[int, int]]  # file name -> (mtime in ns, bytes)


@dataclass(frozen=True)
class DamagedFile:
    """A file that was left out, and why, in one sentence."""

    name: str
    reason: str


@dataclass(frozen=True)
class Snapshot:
    """What was loaded at one moment. Replaced as a whole, never changed."""

    connection: duckdb.DuckDBPyConnection
    shipped: Signature
    user: Signature
    damaged: tuple[DamagedFile, ...]
    version: str
    user_files: dict[str, str]  # evaluation_id -> file name


class Loader:
    """Reads the two places that rows come from."""

    def __init__(self, shipped: Path, user: Path) -> None:
        """`shipped`: folder of the parquet files, `user`: folder of JSON results; may not exist."""
        self._shipped_dir = shipped
        self._user_dir = user
        self._parsed: dict[str, tuple[tuple[int, int], ParsedRow | DamagedFile]] = {}

    def unchanged(self, snapshot: Snapshot) -> bool:
        """Whether the files are still those that `snapshot` was loaded from."""
        return (
            self._shipped_signature() == snapshot.shipped
            and _signature(self._user_dir, ".json") == snapshot.user
        )

    def _shipped_signature(self) -> Signature:
        present = _signature(self._shipped_dir, ".parquet")
        wanted = {*SHIPPED_ORIGINS, EVIDENCE_FILE}
        return {name: facts for name, facts in present.items() if name in wanted}

    def load(self) -> Snapshot:
        """Everything as it is on disk now. Not for two threads at once."""
        shipped, user = self._shipped_signature(), _signature(self._user_dir, ".json")
        damaged: list[DamagedFile] = []
        frames: list[pl.DataFrame] = []
        unreadable = _unreadable(self._user_dir)
        if unreadable:
            damaged.append(DamagedFile(str(self._user_dir), unreadable))
        for name, origin in SHIPPED_ORIGINS.items():
            if name in shipped:
                try:
                    frame = conform(pl.read_parquet(self._shipped_dir / name), ROW_SCHEMA, name)
                except (pl.exceptions.PolarsError, OSError, CompactionError) as error:
                    damaged.append(DamagedFile(name, f"it cannot be read: {error}"))
                else:
                    frames.append(frame.with_columns(origin=pl.lit(origin)))
        taken = {i for frame in frames for i in frame["evaluation_id"]}
        rows, user_files = self._load_user(user, taken, damaged)
        frames.append(row_frame(rows).with_columns(origin=pl.lit(USER_ORIGIN)))
        return Snapshot(
            connection=_connect(pl.concat(frames)),
            shipped=shipped,
            user=user,
            damaged=tuple(damaged),
            version=_version(self._shipped_dir, sorted(shipped)),
            user_files=user_files,
        )

    def _load_user(
        self, files: Signature, taken: set[str], damaged: list[DamagedFile]
    ) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """The user's rows, each file parsed once as long as it does not change."""
        rows: list[dict[str, Any]] = []
        names: dict[str, str] = {}
        self._parsed = {n: v for n, v in self._parsed.items() if files.get(n) == v[0]}
        for name in sorted(files):
            if name not in self._parsed:
                self._parsed[name] = (files[name], self._parse(name))
            result = self._parsed[name][1]
            if isinstance(result, DamagedFile):
                damaged.append(result)
                continue
            identity = result.row["evaluation_id"]
            if identity in names:
                reason = f"it has the same evaluation_id as {names[identity]}."
                damaged.append(DamagedFile(name, reason))
            elif identity not in taken:  # the same row, shipped since: shown once
                names[identity] = name
                rows.append(result.row)
        return rows, names

    def _parse(self, name: str) -> ParsedRow | DamagedFile:
        try:
            parsed = read_evaluation(self._user_dir / name)
        except NotAnEvaluation as error:
            return DamagedFile(name, str(error))
        except OSError as error:
            return DamagedFile(name, f"it cannot be read: {error.strerror}.")
        return ParsedRow(parsed.row, {})  # evidence is read from the file when asked for


def _connect(rows: pl.DataFrame) -> duckdb.DuckDBPyConnection:
    """An in-memory database with the view, closed to files, network and configuration."""
    connection = duckdb.connect(
        ":memory:", config={"memory_limit": MEMORY_LIMIT, "threads": 2, "temp_directory": ""}
    )
    connection.register("incoming", rows)
    connection.execute(sql.VIEW)
    connection.unregister("incoming")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _signature(folder: Path, suffix: str) -> Signature:
    """Name, time and size of each file of a folder; empty where there is no such folder."""
    found: Signature = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(suffix) and not entry.name.startswith("."):
                    facts = entry.stat()
                    found[entry.name] = (facts.st_mtime_ns, facts.st_size)
    except OSError:
        # no folder yet, or a file removed while looking: the next call sees what is left; a folder
        # that cannot be listed is named by `load`
        pass
    return found


def _unreadable(folder: Path) -> str | None:
    """Why the folder cannot be listed; None where it can, or does not exist yet."""
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"the folder cannot be read: {error.strerror}."
    return None


def _version(folder: Path, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode())
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:7]
