"""DLRM-Bench: how inputs are drawn, the cases that a definition must settle, and the budget."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from evaluator.catalogue import Problem, all_problems, find
from tests.formulas.load import built, drawn, load, small

PROBLEMS = all_problems("dlrm")
CARD_BYTES = 24 * 2**30
by_spec = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.spec)


def bytes_of(values: list[Any]) -> int:
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    return sum(value.numel() * value.element_size() for value in tensors)


@by_spec
def test_fits_a_24_gb_card_with_a_float64_copy(problem: Problem) -> None:
    """Inputs, state and output in float32 and once more in float64, on the meta device."""
    module = load(problem)
    with torch.device("meta"):
        inputs, model = module.get_inputs(), module.Model(*module.get_init_inputs())
        output = model(*inputs)
    total = bytes_of(inputs) + bytes_of(list(model.state_dict().values())) + bytes_of([output])
    assert 3 * total < CARD_BYTES / 2


@by_spec
def test_names_its_source_its_draw_and_its_bound(problem: Problem) -> None:
    text = " ".join((load(problem).__doc__ or "").split())
    assert "Stands for" in text
    assert "doi:" in text or "arXiv:" in text
    assert "drawn" in text or "Zipf" in text
    assert "Bound " in text
    assert "eager mode" in text or "atomics" in text


@by_spec
def test_repeats_itself_and_keeps_its_precision(problem: Problem) -> None:
    """Same inputs, same bits; bfloat16 in, bfloat16 out and close to float32."""
    module = small(problem)
    inputs = drawn(module, "own", seed=1)
    model = built(module)
    with torch.no_grad():
        wide = model(*inputs)
        assert torch.equal(wide, model(*inputs))
        narrow_inputs = [x.bfloat16() if x.is_floating_point() else x for x in inputs]
        narrow = model.bfloat16()(*narrow_inputs)
    assert narrow.dtype == torch.bfloat16
    error = (narrow.double() - wide).norm() / wide.norm()
    assert float(error) < 0.05


@by_spec
def test_zeros_are_no_answer(problem: Problem) -> None:
    """Most of a freshly drawn output is far outside a tolerance of 1e-2."""
    module = small(problem)
    model = module.Model(*module.get_init_inputs())
    with torch.no_grad():
        output = model(*module.get_inputs())
    assert float((output.abs() > 1e-2).float().mean()) > 0.5


@pytest.mark.parametrize("spec", ["dlrm/2", "dlrm/3", "dlrm/4"])
def test_zipf_indices_are_in_range_skewed_and_scattered(spec: str) -> None:
    module = load(find(spec))
    torch.manual_seed(6)
    indices = module.get_inputs()[0]
    sizes = getattr(module, "TABLE_ROWS", [getattr(module, "ROWS", 0)])
    tables = indices if spec == "dlrm/4" else [indices]
    for table, size in zip(tables, sizes, strict=True):
        assert table.dtype == torch.int64
        assert int(table.min()) >= 0
        assert int(table.max()) < size
        if size < 100_000:
            continue
        counts = torch.bincount(table.flatten(), minlength=size)
        popular = counts.argsort(descending=True)[:100]
        share = float(counts[popular[0]] / table.numel())
        # Exponent 1.05: P(rank 1) = (1 - 2^-0.05) / (1 - (size + 1)^-0.05)
        expected = (1 - 2**-0.05) / (1 - (size + 1) ** -0.05)
        assert share == pytest.approx(expected, rel=0.1)
        assert float(popular.double().mean() / size) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("spec", ["dlrm/2", "dlrm/10"])
def test_empty_bags_and_segments_are_zero(spec: str) -> None:
    module = small(find(spec))
    inputs = drawn(module, "own", seed=1)
    with torch.no_grad():
        output = built(module)(*inputs)
    empty = inputs[1].diff() == 0
    assert empty.any() and not empty.all()
    assert torch.equal(output[empty], torch.zeros_like(output[empty]))
    assert (output[~empty] != 0).all()


@pytest.mark.parametrize(("spec", "least"), [("dlrm/2", 0), ("dlrm/10", 0), ("dlrm/12", 1)])
def test_offsets_cover_all_indices_in_order(spec: str, least: int) -> None:
    module = small(find(spec))
    torch.manual_seed(7)
    offsets = module.get_inputs()[-1]
    total = module.GRADIENTS if spec == "dlrm/12" else module.TOTAL
    assert (int(offsets[0]), int(offsets[-1])) == (0, total)
    assert int(offsets.diff().min()) == least


def test_04_draws_within_each_table_and_reads_that_table_only() -> None:
    module = small(find("dlrm/4"))
    model = built(module)
    indices = module.get_inputs()[0]
    with torch.no_grad():
        before = model(indices)
        start = sum(module.TABLE_ROWS[:2])
        model.state_dict()["weight"][start : start + module.TABLE_ROWS[2]] += 1
        changed = (model(indices) != before).any(dim=-1).any(dim=0)
    assert changed.tolist() == [False, False, True, False]


def test_05_tells_all_ids_apart_that_share_rows() -> None:
    module = small(find("dlrm/5"))
    model = built(module)
    ids = torch.arange(module.IDS).unsqueeze(1)
    with torch.no_grad():
        rows = model(ids)
    assert len(torch.unique(rows, dim=0)) == module.IDS


def test_09_an_empty_history_is_zero_and_items_beyond_the_length_do_not_count() -> None:
    module = small(find("dlrm/9"))
    candidate, history, _ = drawn(module, "normal", seed=1)
    lengths = torch.arange(len(candidate)) % (module.HISTORY + 1)
    model = built(module)
    with torch.no_grad():
        output = model(candidate, history, lengths)
        beyond = torch.arange(module.HISTORY) >= lengths.unsqueeze(1)
        altered = model(candidate, history.masked_fill(beyond.unsqueeze(-1), 7.0), lengths)
    assert torch.equal(output[lengths == 0], torch.zeros_like(output[lengths == 0]))
    torch.testing.assert_close(output, altered)


def test_12_adds_duplicates_up_before_one_update() -> None:
    """Two gradients of a row act as their sum: not as two steps, nor as the last one."""
    model = load(find("dlrm/12")).Model(0.1, 1e-8)
    table, accumulators = torch.zeros(3, 2).double(), torch.ones(3).double()
    rows, offsets = torch.tensor([1]), torch.tensor([0, 2])
    gradients = torch.tensor([[1.0, 0.0], [2.0, 4.0]]).double()
    output = model(table, accumulators, rows, gradients, offsets)
    # Sum (3, 4): a' = 1 + 25 / 2 = 13.5
    step = 0.1 / 13.5**0.5
    expected = torch.tensor([[-3 * step, -4 * step, 13.5]]).double()
    torch.testing.assert_close(output, expected, rtol=1e-7, atol=0)


def test_12_rows_are_distinct_and_ascending() -> None:
    rows = small(find("dlrm/12")).get_inputs()[2]
    assert int(rows.diff().min()) >= 1
