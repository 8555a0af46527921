"""Our own candidates as a campaign manifest: `python -m kernels.manifest > manifest.jsonl`.

python -m evaluator campaign --manifest manifest.jsonl --root . --out rows.jsonl
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluator.catalogue import find
from evaluator.contract import PRECISIONS
from kernels.catalogue import KERNELS, Candidate, adversarial, honest

ROOT = KERNELS.parent
KINDS = {"triton": "in_house", "adversarial": "adversarial"}


def entries(precisions: list[str], commit: str) -> Iterator[dict[str, Any]]:
    """One manifest line for each candidate and precision.

    `sample` counts the candidates of a configuration for one problem, since the adversarial
    files have several. `commit` goes into the source's address.
    """
    samples: collections.Counter[tuple[str, Path]] = collections.Counter()
    for candidate in [*honest("triton"), *adversarial()]:
        sample = samples[candidate.configuration, candidate.problem_path]
        samples[candidate.configuration, candidate.problem_path] += 1
        for precision in precisions:
            yield _entry(candidate, precision, sample, commit)


def _entry(candidate: Candidate, precision: str, sample: int, commit: str) -> dict[str, Any]:
    problem = find(str(candidate.problem_path))
    path = candidate.path.relative_to(ROOT).as_posix()
    return {
        "campaign": "own-kernels",
        "configuration": f"kernel-reach-{candidate.configuration}",
        "configuration_kind": KINDS[candidate.configuration],
        "suite": problem.suite,
        "problem_id": problem.problem_id,
        "problem_version": problem.version,
        "precision": precision,
        "sample": sample,
        "file": path,
        "sha256": hashlib.sha256(candidate.path.read_bytes()).hexdigest(),
        "source_url": f"{path}@{commit}",
        "licence": "MIT",
        "keep_source": True,
    }


def main() -> None:
    """Prints the manifest."""
    parser = argparse.ArgumentParser(prog="python -m kernels.manifest", description=__doc__)
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=["bf16", "fp32"])
    parser.add_argument("--commit", help="default: the checkout's HEAD")
    options = parser.parse_args()
    commit = (
        options.commit
        or subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    for entry in entries(options.precision, commit):
        sys.stdout.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main()
