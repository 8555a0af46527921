"""A selection as a file: Parquet exactly as stored, CSV flat and safe to open in a spreadsheet."""

from __future__ import annotations

import io

import polars as pl

# A cell that starts like this is run as a formula by spreadsheets, and names and messages come
# from candidates.
_FORMULA = r"^([=+\-@\t\r])"


def to_parquet(rows: pl.DataFrame) -> bytes:
    """`rows` with all types, lists and flags as they are stored."""
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def to_csv(rows: pl.DataFrame) -> str:
    """`rows` as CSV: flags as codes joined by spaces, no lists, text that starts like a formula
    with an apostrophe in front."""
    flat = rows.drop("flags", strict=False)
    if "flag_codes" in flat.columns:
        flat = flat.rename({"flag_codes": "flags"}).with_columns(pl.col("flags").list.join(" "))
    flat = flat.select(pl.all().exclude(pl.List))
    return flat.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'$1")).write_csv()
