"""Grades the candidates that a manifest names, one row a line, resumable after a kill.

A manifest is JSONL; each line names `configuration`, `suite`, `problem_id`, `problem_version`,
`precision`, `sample`, `file` (under the root) and `sha256`; provenance and what the publisher
reported (`repo`, `commit`, `path`, `licence`, `published_*`) are passed through to the row.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.catalogue import Problem, all_problems
from evaluator.contract import Verdict
from evaluator.grade import Identity, grade, new_row
from evaluator.workers import spares

Report = Callable[[str], None]


class ManifestError(ValueError):
    """The manifest cannot be used; the text says which line and why."""


@dataclass(frozen=True)
class Entry:
    """One line of the manifest, resolved to a problem and a file."""

    fields: dict[str, Any]
    problem: Problem
    path: Path

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """The row key: configuration, problem, version, sample, precision."""
        return (
            self.fields["configuration"],
            self.problem.name,
            self.problem.version,
            int(self.fields.get("sample", 0)),
            self.fields["precision"],
        )


def read_manifest(manifest: Path, root: Path) -> list[Entry]:
    """All entries, sorted by problem so that what a problem needs stays warm.

    Raises `ManifestError` for a line that is not JSON, lacks a field, names an unknown problem or
    a file that is missing or has another SHA-256.
    """
    problems = {(p.suite, p.problem_id, p.version): p for p in all_problems()}
    entries = []
    for number, line in enumerate(manifest.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
            suite, version = fields["suite"], fields.get("problem_version", "main-2026")
            problem = problems.get((suite, int(fields["problem_id"]), version))
            # The older version is a file of its own only for the problems that changed since.
            problem = problem or problems[(suite, int(fields["problem_id"]), "main-2026")]
            problem = dataclasses.replace(problem, version=version)
            path = root / fields["file"]
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except (ValueError, KeyError, TypeError, OSError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ManifestError(f"{manifest}, line {number}: {reason}") from error
        if digest != fields["sha256"]:
            raise ManifestError(f"{manifest}, line {number}: {path} has another SHA-256")
        entries.append(Entry(fields, problem, path))
    return sorted(entries, key=lambda entry: (entry.problem.path, entry.fields["precision"]))


def finished_keys(out: Path) -> set[tuple[str, str, str, int, str]]:
    """Row keys that `out` holds already; a last line cut short by a kill is taken off."""
    if not out.exists():
        return set()
    keys = set()
    whole = 0
    with open(out, "rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            row = json.loads(line)
            keys.add(
                (
                    row["configuration"],
                    row["problem"],
                    row["problem_version"],
                    row["sample"],
                    row["precision"],
                )
            )
            whole += len(line)
    os.truncate(out, whole)
    return keys


def run_campaign(
    *,
    manifest: Path,
    root: Path,
    out: Path,
    device: str,
    seconds: float | None,
    verify: bool,
    report: Report,
) -> int:
    """Grades every entry that `out` does not hold yet; returns how many are still to do.

    `seconds` bounds the time after which no further grading is started; without `verify` no
    second runs are made. Raises `ManifestError`.
    """
    done = finished_keys(out)
    entries = [entry for entry in read_manifest(manifest, root) if entry.key not in done]
    report(f"{len(entries)} to grade, {len(done)} done already, on {device}")
    started = time.monotonic()
    with open(out, "a", encoding="utf-8") as rows, spares(device):
        for number, entry in enumerate(entries):
            elapsed = time.monotonic() - started
            if seconds is not None and elapsed > seconds:
                report(f"time is up: {len(entries) - number} left for the next run")
                return len(entries) - number
            row = _row(entry, device, verify)
            rows.write(json.dumps(row) + "\n")
            rows.flush()
            os.fsync(rows.fileno())
            elapsed = time.monotonic() - started
            eta = elapsed / (number + 1) * (len(entries) - number - 1)
            report(
                f"[{number + 1}/{len(entries)}, {eta:.0f} s left] {row['configuration']} "
                f"{row['problem']} {row['precision']}: {row['sentence']} ({row['grade_s']:.1f} s)"
            )
    return 0


def _row(entry: Entry, device: str, verify: bool) -> dict[str, Any]:
    """A finished row; where the judge itself breaks, a row that says so, and the next one."""
    fields, candidate = entry.fields, entry.path.read_bytes()
    identity = _identity(fields)
    try:
        row = grade(
            problem=entry.problem,
            candidate=candidate,
            precision=fields["precision"],
            device=device,
            verify=verify,
            identity=identity,
        )
    except Exception as error:
        traceback.print_exc()
        row = new_row(entry.problem, candidate, fields["precision"], device, identity)
        row.verdict = Verdict.INCONCLUSIVE
        row.message = f"{type(error).__name__}: {error}"
        row.sentence = f"The grading itself failed, which says nothing of the kernel: {row.message}"
        row.assign_id()
    row.published_correct = fields.get("published_correct")
    row.published_speedup = fields.get("published_speedup")
    row.published_hardware = fields.get("published_hardware")
    row.published_failure_cause = fields.get("published_failure_cause")
    return row.to_json()


def _identity(fields: dict[str, Any]) -> Identity:
    url = None
    if fields.get("repo"):
        url = f"https://github.com/{fields['repo']}/blob/{fields['commit']}/{fields['path']}"
        if fields.get("line"):
            url += f"#L{fields['line']}"
    return Identity(
        campaign=fields.get("campaign", "public-kernels"),
        configuration=fields["configuration"],
        configuration_kind=fields.get("configuration_kind", "unknown"),
        sample=int(fields.get("sample", 0)),
        source_url=url or fields.get("source_url"),
        licence=fields.get("licence"),
        # Other people's code never enters the project: only ours is kept in the row.
        keep_source=bool(fields.get("keep_source", False)),
    )
