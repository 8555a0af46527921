"""A campaign on the CPU: every line becomes a row, a kill costs nothing, a bad manifest is told."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from evaluator import campaign
from evaluator.catalogue import Problem, find
from evaluator.contract import Verdict

PROBLEM = Path(__file__).parent / "problems" / "small_softmax.py"
SOURCES = {
    "zeros.py": "import torch\nclass ModelNew(torch.nn.Module):\n"
    "    def forward(self, x):\n        return torch.zeros_like(x)\n",
    "broken.py": "class ModelNew(:\n",
}


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> Problem:
    small = find(str(PROBLEM))
    monkeypatch.setattr(campaign, "all_problems", lambda: [small])
    return small


def manifest(folder: Path, problem: Problem, **changes: Any) -> Path:
    lines = []
    for number, (name, text) in enumerate(SOURCES.items()):
        (folder / name).write_text(text)
        entry = {
            "configuration": "some-model",
            "suite": problem.suite,
            "problem_id": problem.problem_id,
            "problem_version": problem.version,
            "precision": "fp32",
            "sample": number,
            "file": name,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "repo": "someone/kernels",
            "commit": "0" * 40,
            "path": f"runs/{name}",
            "published_correct": True,
            **changes,
        }
        lines.append(json.dumps(entry))
    path = folder / "manifest.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(path: Path, out: Path, seconds: float | None = None) -> tuple[int, list[str]]:
    said: list[str] = []
    left = campaign.run_campaign(
        manifest=path,
        root=path.parent,
        out=out,
        device="cpu",
        seconds=seconds,
        verify=False,
        report=said.append,
    )
    return left, said


def test_rows_carry_their_provenance_and_no_source_of_others(
    tmp_path: Path, problem: Problem
) -> None:
    out = tmp_path / "rows.jsonl"
    left, said = run(manifest(tmp_path, problem), out)
    assert left == 0 and "2 to grade, 0 done" in said[0]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["verdict"] for row in rows] == [Verdict.REJECTED, Verdict.MALFORMED]
    for row in rows:
        assert row["source"] is None
        assert row["source_url"].startswith("https://github.com/someone/kernels/blob/000")
        assert row["published_correct"] is True
        assert row["configuration"] == "some-model"
        assert row["evaluator_version"].count("+") == 1


def test_a_killed_campaign_goes_on_where_it_stopped(tmp_path: Path, problem: Problem) -> None:
    path, out = manifest(tmp_path, problem), tmp_path / "rows.jsonl"
    assert run(path, out)[0] == 0
    lines = out.read_text().splitlines(keepends=True)
    out.write_text(lines[0] + lines[1][: len(lines[1]) // 2])  # cut by a kill
    _, said = run(path, out)
    assert "1 to grade, 1 done" in said[0]
    again = out.read_text().splitlines(keepends=True)
    assert again[0] == lines[0] and len(again) == 2
    assert json.loads(again[1])["sample"] == json.loads(lines[1])["sample"]


def test_the_time_limit_leaves_the_rest_for_the_next_run(tmp_path: Path, problem: Problem) -> None:
    left, said = run(manifest(tmp_path, problem), tmp_path / "rows.jsonl", seconds=-1.0)
    assert left == 2 and "2 left" in said[-1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sha256": "0" * 64}, "another SHA-256"),
        ({"problem_id": 999}, "line 1"),
        ({"file": "absent.py"}, "absent.py"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_named(
    tmp_path: Path, problem: Problem, changes: dict[str, Any], said: str
) -> None:
    path = manifest(tmp_path, problem, **changes)
    with pytest.raises(campaign.ManifestError, match=said):
        run(path, tmp_path / "rows.jsonl")
    assert not (tmp_path / "rows.jsonl").exists()
