"""Synthetic evaluations for tests. No number here was measured; none may reach data/ or docs/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evaluator.contract import Evaluation, Evidence, Flag, FlagCode, Trial, TrivialAnswer, Verdict


def evaluation(**changes: Any) -> Evaluation:
    """One correct, timed, synthetic row with evidence; keyword arguments replace its fields."""
    base: dict[str, Any] = {
        "campaign": "synthetic",
        "configuration": "config-a",
        "configuration_kind": "frontier",
        "suite": "level1",
        "problem_id": 23,
        "problem": "23_Softmax",
        "operator_class": "softmax",
        "precision": "bf16",
        "backend": "triton",
        "source_sha256": "0" * 64,
        "verdict": Verdict.CORRECT,
        "sentence": "Every element is within the bound.",
        "correct_as_given": True,
        "benchmark_check": True,
        "benchmark_check_2025": True,
        "benchmark_speedup": 1.5,
        "written_fraction": 1.0,
        "right_fraction": 1.0,
        "error_ratio": 1.1,
        "trials": 5,
        "candidate_ms": 2.0,
        "reference_ms": 3.0,
        "compiled_ms": 2.5,
        "time_kind": "device",
        "speedup": 1.5,
        "speedup_low": 1.45,
        "speedup_high": 1.55,
        "speedup_vs_compiled": 1.25,
        "verified": True,
        "device": "synthetic device",
        "started_at": "2000-01-01T00:00:00Z",
        "evidence": Evidence(
            output_shape=[2, 8],
            output_dtype="bfloat16",
            written_map=[1.0, 1.0],
            written_map_folded=[1.0, 1.0],
            bound_factor=16.0,
            trials=[Trial("as_given", "a", True, error_ratio=1.1)],
            trivial_answers=[TrivialAnswer("zeros", True, False, False)],
            candidate_samples_ms=[2.0, 2.1],
            gpu_before={"sm_clock_mhz": 1},
            stage_seconds={"timing": 0.5},
        ),
    }
    row = Evaluation(**(base | changes))
    row.assign_id()
    return row


def partial_write(**changes: Any) -> Evaluation:
    """A synthetic rejected row that the benchmark's check calls correct."""
    sentence = "Only 0.3 % of the elements were written."
    return evaluation(
        **(
            {
                "configuration": "config-partial",
                "configuration_kind": "adversarial",
                "verdict": Verdict.REJECTED,
                "sentence": sentence,
                "flags": [Flag(FlagCode.PARTIAL_WRITE, sentence)],
                "correct_as_given": False,
                "benchmark_speedup": 200.0,
                "written_fraction": 0.003,
                "right_fraction": 0.003,
                "error_ratio": 5000.0,
                "speedup": 200.0,
                "verified": False,
            }
            | changes
        )
    )


def failed(**changes: Any) -> Evaluation:
    """A synthetic row whose candidate does not compile."""
    return evaluation(
        **(
            {
                "configuration": "config-b",
                "configuration_kind": "open_weights",
                "verdict": Verdict.COMPILE_ERROR,
                "sentence": "The candidate does not compile.",
                "message": "error: expected ';'",
                "correct_as_given": None,
                "benchmark_check": None,
                "benchmark_check_2025": None,
                "benchmark_speedup": None,
                "written_fraction": None,
                "right_fraction": None,
                "candidate_ms": None,
                "speedup": None,
                "speedup_low": None,
                "speedup_high": None,
                "speedup_vs_compiled": None,
                "verified": False,
                "evidence": Evidence(),
            }
            | changes
        )
    )


def mixed() -> list[Evaluation]:
    """A small synthetic table: every outcome, two configurations and precisions, three problems."""
    return [
        evaluation(),
        evaluation(precision="fp32", speedup=0.8, verified=False),
        evaluation(problem_id=26, problem="26_GELU_", operator_class="elementwise", speedup=2.5),
        partial_write(),
        failed(),
        failed(problem_id=26, problem="26_GELU_", verdict=Verdict.TIMEOUT, message="60 s passed"),
        evaluation(
            configuration="config-b",
            configuration_kind="open_weights",
            problem_id=40,
            problem="40_LayerNorm",
            operator_class="normalization",
            verdict=Verdict.INCORRECT,
            flags=[
                Flag(FlagCode.TOLERANCE_ONLY, "It passes only because the tolerance is wide."),
                Flag(FlagCode.LIBRARY_FALLBACK, "It calls the vendor library."),
            ],
            speedup=None,
            verified=False,
        ),
        evaluation(
            configuration="config-b",
            problem_id=1,
            problem="1_Square_matrix_multiplication_",
            operator_class="gemm",
            verdict=Verdict.INCONCLUSIVE,
            benchmark_check=False,
            speedup=None,
            verified=False,
        ),
    ]


def write_user(rows: list[Evaluation], data: Path) -> list[Path]:
    """Rows as the evaluator leaves them in a data directory: one JSON file each."""
    folder = data / "evaluations"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for row in rows:
        path = folder / f"{row.evaluation_id}.json"
        path.write_text(json.dumps(row.to_json()), encoding="utf-8")
        paths.append(path)
    return paths
