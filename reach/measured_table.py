"""The shipped measurements as Markdown tables: `python -m reach measurements`.

`docs/measurements.md` holds what this prints; a test keeps the two the same.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

_COLUMNS = (
    "Problem",
    "Precision",
    "Our verdict",
    "Flags",
    "Candidate, ms",
    "PyTorch eager, ms",
    "Floor, ms",
    "Speedup (95 % CI)",
    "Verified",
    "Benchmark's check",
)


def measured_tables(data: Path) -> str:
    """One table a configuration, from `kernels.parquet` and `evaluations.parquet` in `data`.

    Times are medians in milliseconds. A score of the benchmark's is struck through where our
    verdict is not correct; "-" is what was not measured.
    """
    files = [data / name for name in ("kernels.parquet", "evaluations.parquet")]
    rows = pl.concat([pl.read_parquet(path) for path in files if path.exists()])
    parts = []
    for (configuration,), group in rows.sort(
        "configuration", "suite", "problem_id", "precision", "sample"
    ).group_by("configuration", maintain_order=True):
        parts.append(_table(str(configuration), group))
    return "\n\n".join(parts)


def _table(configuration: str, rows: pl.DataFrame) -> str:
    first = rows.row(0, named=True)
    versions = ", ".join(sorted(rows["evaluator_version"].unique()))
    lines = [
        f"### {configuration}",
        "",
        f"{rows.height} rows, {first['device']}, driver {first['driver']}, torch {first['torch']}, "
        f"Triton {first['triton']}, {first['started_at'][:10]}, evaluator {versions}.",
        "",
        "| " + " | ".join(_COLUMNS) + " |",
        "|" + "---|" * len(_COLUMNS),
    ]
    for row in rows.iter_rows(named=True):
        lines.append("| " + " | ".join(_cells(row)) + " |")
    return "\n".join(lines)


def _cells(row: dict[str, object]) -> list[str]:
    flags = row["flags"]
    assert isinstance(flags, list)
    return [
        str(row["problem"]).replace("_", r"\_"),
        str(row["precision"]),
        str(row["verdict"]).replace("_", " "),
        ", ".join(flag["code"] for flag in flags) or "-",
        _number(row["candidate_ms"]),
        _number(row["reference_ms"]),
        _number(row["floor_ms"]),
        _interval(row),
        "yes" if row["verified"] else "no",
        _benchmark(row),
    ]


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "-"


def _interval(row: dict[str, object]) -> str:
    if not isinstance(row["speedup"], float):
        return "-"
    return f"{row['speedup']:.3f}x ({row['speedup_low']:.3f} to {row['speedup_high']:.3f})"


def _benchmark(row: dict[str, object]) -> str:
    if row["benchmark_check"] is None:
        return "-"
    if not row["benchmark_check"]:
        return "incorrect"
    score = _number(row["benchmark_speedup"])
    return f"correct, {score}x" if row["verdict"] == "correct" else f"correct, ~~{score}x~~"
