"""Command line: `python -m reach compact FILES... --rows OUT --evidence OUT | measurements`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reach.measured_table import measured_tables
from reach.store import shipped_dir
from reach.store.compact import CompactionError, compact


def build_parser() -> argparse.ArgumentParser:
    """The argument parser with one subcommand a task."""
    parser = argparse.ArgumentParser(prog="python -m reach", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("compact", help="merge finished evaluations into parquet files")
    one.add_argument("files", nargs="+", type=Path, help=".json or .jsonl, one row or many each")
    one.add_argument("--rows", required=True, type=Path, help="parquet file of the rows")
    one.add_argument("--evidence", required=True, type=Path, help="parquet file of the evidence")
    commands.add_parser("measurements", help="print the shipped measurements as Markdown")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0 done, 2 nothing written (reason on stderr)."""
    arguments = build_parser().parse_args(argv)
    if arguments.command == "measurements":
        print(measured_tables(shipped_dir()))
        return 0
    try:
        done = compact(arguments.files, arguments.rows, arguments.evidence)
    except CompactionError as error:
        print(f"Nothing written: {error}", file=sys.stderr)
        return 2
    print(
        f"{done.total} rows in {arguments.rows}: {done.read} read, {done.added} new, "
        f"{done.replaced} replaced. Evidence in {arguments.evidence}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
