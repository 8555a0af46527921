"""`docs/measurements.md` holds the shipped rows as they are, and nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evaluator.contract import Verdict
from reach.measured_table import measured_tables


def test_the_document_holds_the_tables_of_the_shipped_rows(root: Path) -> None:
    document = (root / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert measured_tables(root / "data") in document


def test_the_partial_write_is_told_as_it_was_measured(root: Path) -> None:
    rows = pl.read_parquet(root / "data" / "kernels.parquet").filter(
        problem="23_Softmax", verdict=Verdict.REJECTED, written_fraction=1024 / 393216
    )
    row = rows.row(0, named=True)
    assert rows.height == 1
    assert row["benchmark_check"] is True and row["benchmark_speedup"] > 100
    assert [flag["code"] for flag in row["flags"]] == ["partial_write"]
    document = (root / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert f"~~{row['benchmark_speedup']:.3g}x~~" in document


def test_shipped_rows_are_traceable(root: Path) -> None:
    for name, source_is_ours in (("kernels", True), ("evaluations", False)):
        rows = pl.read_parquet(root / "data" / f"{name}.parquet")
        for column in ("evaluation_id", "source_sha256", "source_url", "device", "driver", "torch"):
            assert rows[column].null_count() == 0
            assert (rows[column] != "").all()
        assert (rows["evaluator_version"].str.contains("+", literal=True)).all()
        assert rows["evaluation_id"].n_unique() == rows.height
        # Other people's code never enters the project.
        assert rows["source"].is_not_null().all() is source_is_ours
        assert rows["source"].is_null().all() is not source_is_ours
