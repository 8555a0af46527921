"""Command line: `python -m evaluator grade | problems | audit | campaign`.

Exit status 0 whenever a verdict was reached, 2 for wrong usage with a one-line reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from evaluator.catalogue import UnknownProblem, all_problems, find
from evaluator.contract import PRECISIONS, Evaluation, Stage


class UsageError(Exception):
    """Wrong usage; the text is the one line that the user sees."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
        return options.run(options)
    except (UsageError, UnknownProblem) as error:
        print(f"evaluator: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m evaluator", description="Grades GPU kernels.")
    commands = parser.add_subparsers(required=True, parser_class=_Parser, metavar="COMMAND")

    grading = commands.add_parser("grade", help="grade one candidate on one problem")
    grading.add_argument("--problem", required=True, help="level1/23, dlrm/03 or a file")
    grading.add_argument("--candidate", required=True, type=Path, help="a file with ModelNew")
    grading.add_argument("--precision", choices=PRECISIONS, help="default: the problem's own")
    grading.add_argument("--device", help="cuda:0 or cpu; default: the first GPU, else cpu")
    grading.add_argument("--json", type=Path, metavar="OUT", help="where the row goes")
    grading.add_argument(
        "--progress",
        choices=("text", "jsonl"),
        default="text",
        help="how the stages are printed (jsonl: one object a line, for programs)",
    )
    grading.set_defaults(run=_grade)

    problems = commands.add_parser("problems", help="list the problems")
    problems.add_argument("--suite", help="level1 or dlrm")
    problems.set_defaults(run=_problems)

    audit = commands.add_parser("audit", help="hold answers that do no work against the checks")
    audit.add_argument("--suite", default="level1", help="level1 or dlrm")
    audit.add_argument("--precision", choices=PRECISIONS, default="bf16")
    audit.add_argument("--device", help="default: the first GPU, else cpu")
    audit.add_argument("--json", type=Path, metavar="OUT", help="where the table goes")
    audit.set_defaults(run=_audit)

    campaign = commands.add_parser("campaign", help="grade the candidates that a manifest names")
    campaign.add_argument("--manifest", required=True, type=Path, help="one JSON object a line")
    campaign.add_argument("--root", required=True, type=Path, help="folder of the files")
    campaign.add_argument("--out", required=True, type=Path, help="JSONL; finished rows stay")
    campaign.add_argument("--device", help="default: the first GPU, else cpu")
    campaign.add_argument("--seconds", type=float, help="start no grading after this time")
    campaign.add_argument(
        "--no-verify", dest="verify", action="store_false", help="leave the second runs out"
    )
    campaign.set_defaults(run=_campaign)
    return parser


def _device(asked: str | None) -> str:
    import torch

    if asked is None:
        return "cuda:0" if torch.cuda.is_available() else "cpu"
    if asked != "cpu" and not asked.startswith("cuda"):
        raise UsageError(f"--device is cpu or cuda:N, not {asked}")
    if asked.startswith("cuda"):
        number = asked.partition(":")[2] or "0"
        if not number.isdigit() or int(number) >= torch.cuda.device_count():
            raise UsageError(
                f"--device {asked}: this machine shows {torch.cuda.device_count()} CUDA devices; "
                "use --device cpu or leave the option out"
            )
        return f"cuda:{number}"
    return asked


def _grade(options: argparse.Namespace) -> int:
    problem = find(options.problem)
    try:
        candidate = options.candidate.read_bytes()
    except OSError as error:
        raise UsageError(f"--candidate {options.candidate}: {error.strerror}") from error
    if options.json is not None and not options.json.absolute().parent.is_dir():
        raise UsageError(f"--json {options.json}: its folder does not exist")
    device = _device(options.device)
    report = _jsonl_stage if options.progress == "jsonl" else _TextStages().report

    from evaluator.grade import grade

    row = grade(
        problem=problem,
        candidate=candidate,
        precision=options.precision,
        device=device,
        on_stage=report,
    )
    if options.json is not None:
        write_row(row, options.json)
    if options.progress == "text":
        print(_summary(row))
    return 0


class _TextStages:
    """Stages for a person: one line each, with the seconds since the start."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    def report(self, stage: Stage, detail: str) -> None:
        if stage is not Stage.DONE:
            elapsed = time.monotonic() - self.started
            print(f"[{elapsed:6.1f} s] {stage.value}: {detail}", flush=True)


def _jsonl_stage(stage: Stage, detail: str) -> None:
    print(json.dumps({"stage": stage.value, "detail": detail, "at": time.time()}), flush=True)


def write_row(row: Evaluation, path: Path) -> None:
    """Writes the row as JSON under a temporary name and renames it: never half a file."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(row.to_json(), indent=1), encoding="utf-8")
    partial.replace(path)


def _summary(row: Evaluation) -> str:
    lines = [f"{row.verdict.value}: {row.sentence}"]
    lines += [f"  {flag.code.value}: {flag.sentence}" for flag in row.flags]
    if row.written_fraction is not None and row.right_fraction is not None:
        lines.append(
            f"  written {100 * row.written_fraction:.4g} %, right {100 * row.right_fraction:.4g} %"
        )
    if row.benchmark_check is not None:
        said = "correct" if row.benchmark_check else "incorrect"
        score = f", {row.benchmark_speedup:.4g}x" if row.benchmark_speedup is not None else ""
        lines.append(f"  the benchmark's check says {said}{score}")
    if row.candidate_ms is not None and row.reference_ms is not None:
        lines.append(
            f"  {row.candidate_ms:.4g} ms against {row.reference_ms:.4g} ms ({row.time_kind}); "
            f"verified: {'yes' if row.verified else 'no'}"
        )
    lines.append(f"  {row.device}, {row.precision}, isolation {row.isolation or 'none'}")
    return "\n".join(lines)


def _problems(options: argparse.Namespace) -> int:
    for problem in all_problems(options.suite):
        print(
            f"{problem.suite:8} {problem.problem_id:>4} {problem.version:10} "
            f"{problem.operator_class:14} {problem.native_precision:5} {problem.name}"
        )
    return 0


def _audit(options: argparse.Namespace) -> int:
    from evaluator import audit

    all_problems(options.suite)  # an unknown suite is told before torch is imported
    device = _device(options.device)
    rows = audit.run_audit(options.suite, options.precision, device, on_row=_print_audit_row)
    if options.json is not None:
        payload: Any = audit.to_json(rows)
        options.json.write_text(json.dumps(payload, indent=1), encoding="utf-8")
    return 0


def _print_audit_row(row: Any) -> None:
    print(row, flush=True)


def _campaign(options: argparse.Namespace) -> int:
    from evaluator.campaign import ManifestError, run_campaign

    try:
        run_campaign(
            manifest=options.manifest,
            root=options.root,
            out=options.out,
            device=_device(options.device),
            seconds=options.seconds,
            verify=options.verify,
            report=lambda line: print(line, flush=True),
        )
    except (ManifestError, OSError) as error:
        raise UsageError(str(error)) from error
    return 0


if __name__ == "__main__":
    sys.exit(main())
