"""The audit on small problems written here, on the CPU. Synthetic problems, real runs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from evaluator.audit import KINDS, RULES, AuditRow, run_audit, to_json
from evaluator.catalogue import find
from evaluator.no_work import answers_from
from evaluator.strict_problem import StrictProblem, strict_arithmetic

TEMPLATE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, {arguments}):
        {body}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


def audited(
    folder: Path,
    body: str,
    inputs: str = "torch.rand(64, 512)",
    precision: str = "bf16",
    arguments: str = "x",
    init: str = "pass",
) -> AuditRow:
    """The row of a problem with this forward."""
    path = folder / "1_Small.py"
    path.write_text(
        TEMPLATE.format(body=body, inputs=inputs, arguments=arguments, init=init), encoding="utf-8"
    )
    seen: list[AuditRow] = []
    rows = run_audit([find(str(path))], precision, "cpu", seen.append)
    assert rows == seen and len(rows) == 1
    return rows[0]


def test_zeros_pass_a_long_softmax_under_the_benchmark_and_not_under_ours(tmp_path: Path) -> None:
    row = audited(tmp_path, "return torch.softmax(x, dim=1)")
    assert row.error is None and row.output_shapes == [[64, 512]]
    assert "zeros" in row.passing("benchmark_check") and row.margin is not None and row.margin > 1
    assert row.passing("check") == [] and not row.degenerate
    assert row.max_abs_output is not None
    assert row.margin == pytest.approx(0.01 / row.max_abs_output)
    row = audited(tmp_path, "return torch.softmax(x, dim=1)", precision="fp32")
    assert row.passing("benchmark_check") == []
    assert "zeros" in row.passing("benchmark_check_2025")
    assert row.passing("check_as_given") == []


def test_a_relu_of_positive_numbers_is_its_input(tmp_path: Path) -> None:
    row = audited(tmp_path, "return torch.relu(x)")
    assert {"input", "affine"} <= set(row.passing("benchmark_check"))
    assert {"input", "affine"} <= set(row.passing("check_as_given"))
    assert row.passing("check") == []
    assert {a.failed_on for a in row.answers if a.kind == "input"} == {"negate"}


def test_log_softmax_is_the_input_less_a_constant(tmp_path: Path) -> None:
    row = audited(tmp_path, "return torch.log_softmax(x, dim=1)", "torch.rand(8, 32768)")
    assert "affine" in row.passing("benchmark_check_2025")
    line = next(a for a in row.answers if a.kind == "affine")
    slope, offset = float(line.detail.split()[0]), float(line.detail.split()[-1])
    assert slope == pytest.approx(1.0, abs=0.02)
    assert offset == pytest.approx(-math.log(32768 * (math.e - 1)), abs=0.1)
    assert row.passing("check") == []


def test_a_maximum_over_many_is_a_constant(tmp_path: Path) -> None:
    row = audited(tmp_path, "return torch.max(x, dim=1)[0]", "torch.rand(64, 4096)")
    assert {"constant", "previous"} <= set(row.passing("benchmark_check"))
    assert sum(a.kind == "constant" for a in row.answers) == 1
    assert row.passing("check") == [] and row.structures[0] == "negate"
    assert {a.failed_on for a in row.answers if a.kind == "constant"} == {"negate"}


def test_a_loss_of_alike_draws_is_a_constant_too(tmp_path: Path) -> None:
    row = audited(
        tmp_path,
        "return torch.mean(torch.clamp(1 - x * t, min=0))",
        "torch.rand(512, 512), torch.randint(0, 2, (512,)).float() * 2 - 1",
        arguments="x, t",
    )
    assert row.output_shapes == [[]]
    assert {"constant", "previous"} <= set(row.passing("benchmark_check_2025"))
    assert row.passing("check") == [] and not row.degenerate


def test_a_product_has_no_cheap_answer(tmp_path: Path) -> None:
    row = audited(
        tmp_path, "return a @ b", "torch.randn(32, 64), torch.randn(64, 48)", arguments="a, b"
    )
    assert all(row.passing(rule) == [] for rule in RULES)


def test_the_sum_of_a_softmax_is_degenerate(tmp_path: Path) -> None:
    row = audited(tmp_path, "return torch.softmax(x, dim=1).sum(dim=1)", precision="fp32")
    assert row.degenerate and "constant" in row.passing("check")
    assert len(row.structures) >= 6 and "zeros" not in row.passing("check")


def test_a_batch_norm_in_training_mode_is_run_from_the_same_state(tmp_path: Path) -> None:
    row = audited(
        tmp_path,
        "return self.norm(x)",
        "torch.rand(64, 4, 16, 16)",
        init="self.norm = nn.BatchNorm2d(4)",
        precision="fp32",
    )
    assert "affine" in [a.kind for a in row.answers] and row.passing("check") == []
    problem = StrictProblem(tmp_path / "1_Small.py", "fp32", torch.device("cpu"))
    values = problem.draw(1)
    before = {name: value.clone() for name, value in problem.model.state_dict().items()}
    first, second = problem.run(values), problem.run(values)
    assert torch.equal(first[0], second[0])
    for name, value in problem.model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_inputs_that_the_model_changes_stay_as_drawn(tmp_path: Path) -> None:
    audited(tmp_path, "return x.mul_(2)")
    problem = StrictProblem(tmp_path / "1_Small.py", "fp32", torch.device("cpu"))
    values = problem.draw(1)
    before = values[0].clone()
    output = problem.run(values)[0]
    exact, kind = problem.oracle(values, [output])
    assert torch.equal(values[0], before) and kind == "float64 on device"
    assert exact[0].dtype == torch.float64 and torch.equal(exact[0], before.double() * 2)


def test_integer_and_tuple_outputs(tmp_path: Path) -> None:
    row = audited(tmp_path, "return torch.argmax(x, dim=1)")
    assert row.error is None and row.passing("check") == []
    row = audited(tmp_path, "return torch.softmax(x, 1), torch.argmax(x, 1)")
    assert row.error is None and row.passing("benchmark_check") == []
    row = audited(tmp_path, "return x.bool()", "torch.arange(6).view(2, 3)")
    assert row.structures == ["another_draw"] and row.passing("check") == ["previous"]


def test_a_problem_that_fails_is_a_row_and_the_audit_goes_on(tmp_path: Path) -> None:
    good, bad = tmp_path / "1_Good.py", tmp_path / "2_Bad.py"
    text = TEMPLATE.format(
        init="pass", arguments="x", body="return x.sin()", inputs="torch.randn(4, 4)"
    )
    good.write_text(text, encoding="utf-8")
    bad.write_text(text.replace("x.sin()", "x.sine()"), encoding="utf-8")
    huge = tmp_path / "3_Huge.py"
    huge.write_text(text.replace("torch.randn(4, 4)", "torch.rand(2**23, 2**20)"), encoding="utf-8")
    rows = run_audit([find(str(path)) for path in (bad, huge, good)], "fp32", "cpu")
    assert rows[0].error is not None and "sine" in rows[0].error
    assert rows[1].error is not None and "GiB" in rows[1].error
    assert rows[2].error is None and "not audited" in str(rows[0])
    payload = to_json(rows)
    json.dumps(payload, allow_nan=False)
    assert payload["failed"] == [rows[0].problem, rows[1].problem]
    assert set(payload["summary"]) == set(KINDS)
    assert payload["rows"][2]["answers"][0]["kind"] == "zeros"


def test_the_midrange_is_the_best_constant() -> None:
    """No constant on a fine grid passes allclose where the midrange does not."""
    generator = torch.Generator().manual_seed(4)
    for spread in (0.018, 0.022, 0.03, 0.039, 0.0412):
        output = 1.0 + spread * torch.rand(2000, generator=generator)
        answers = [a for a in answers_from([], [output]) if a.kind == "constant"]
        midrange = next(a for a in answers if a.detail.startswith("midrange"))

        def close(value: float, output: torch.Tensor = output) -> bool:
            return torch.allclose(output, torch.full_like(output, value), atol=1e-2, rtol=1e-2)

        best = float(midrange.make([], [output])[0][0])
        if not close(best):
            assert not any(close(0.9 + 0.2 * step / 2000) for step in range(2001))


def test_strict_arithmetic_is_put_back() -> None:
    before = torch.backends.cudnn.allow_tf32
    with pytest.raises(RuntimeError), strict_arithmetic():
        assert not torch.backends.cudnn.allow_tf32
        assert not torch.backends.cuda.matmul.allow_tf32
        raise RuntimeError
    assert torch.backends.cudnn.allow_tf32 == before
