"""What the structured inputs change and, above all, what they leave alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from evaluator import slices
from evaluator.structured_inputs import TRANSFORMS, apply, transforms_for


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_each_changes_a_plain_draw_and_stays_in_range(name: str, dtype: torch.dtype) -> None:
    tensors = [drawn(6, 5, 40).to(dtype), drawn(40, 7, seed=1).to(dtype)]
    before = [tensor.clone() for tensor in tensors]
    assert name in transforms_for(tensors)
    result = apply(name, tensors, torch.Generator().manual_seed(2))
    assert result is tensors
    assert any(not torch.equal(a, b) for a, b in zip(tensors, before, strict=True))
    for tensor in tensors:
        assert bool(tensor.isfinite().all()) and float(tensor.abs().max()) <= 1024.0


def test_a_product_does_not_come_out_the_same() -> None:
    a, b = drawn(8, 16), drawn(16, 4, seed=1)
    expected = a @ b
    for name in transforms_for([a, b]):
        pair = [a.clone(), b.clone()]
        apply(name, pair)
        assert not torch.allclose(pair[0] @ pair[1], expected, rtol=0.05), name


def test_a_distance_does_not_come_out_the_same() -> None:
    a, b = drawn(64, 64), drawn(64, 64, seed=1)
    expected = float((a - b).square().mean())
    for name in ("negate", "shift", "scale_large", "ramp_last", "alternate_rows", "spikes"):
        pair = [a.clone(), b.clone()]
        apply(name, pair)
        assert float((pair[0] - pair[1]).square().mean()) != pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(12).view(3, 4),
        drawn(3, 4) > 0.5,
        (drawn(3, 400) > 0.5).float() * 2 - 1,
        (drawn(3, 400) > 0.5).bfloat16(),
        torch.full((3, 3), float("nan")),
        3.14,
        None,
        7,
    ],
)
def test_indices_masks_and_targets_stay(value: object) -> None:
    assert transforms_for([value]) == []
    kept = value.clone() if isinstance(value, Tensor) else value
    other = drawn(3, 4)
    for name in TRANSFORMS:
        apply(name, [value, other])
    if isinstance(value, Tensor) and isinstance(kept, Tensor):
        assert torch.equal(value.nan_to_num(9.0), kept.nan_to_num(9.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_symmetric_matrices_stay_symmetric(name: str, dtype: torch.dtype) -> None:
    plain = drawn(24, 24)
    tensor = ((plain + plain.T) / 2).to(dtype)
    apply(name, [tensor])
    assert torch.equal(tensor, tensor.T)


@pytest.mark.parametrize("name", list(TRANSFORMS))
@pytest.mark.parametrize("cut", [torch.triu, torch.tril])
def test_triangles_and_masks_keep_their_zeros(name: str, cut: Callable[[Tensor], Tensor]) -> None:
    tensor = cut(drawn(24, 24))
    zeros = tensor == 0
    apply(name, [tensor])
    assert bool((tensor[zeros] == 0).all())
    assert name == "reverse_rows" or bool((tensor[~zeros] != 0).any())


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_probabilities_stay_probabilities(name: str) -> None:
    tensor = drawn(6, 64).softmax(-1)
    before = tensor.clone()
    names = transforms_for([tensor, drawn(3)])
    apply(name, [tensor])
    assert bool((tensor >= 0).all())
    assert torch.allclose(tensor.sum(-1), torch.ones(6), atol=1e-5)
    assert {"ramp_last", "spikes", "shift"} <= set(names)
    if name in ("negate", "scale_large", "alternate_rows"):
        assert torch.equal(tensor, before)


def test_data_that_are_not_negative_get_positive_spikes_only() -> None:
    tensor, signed = drawn(64, 64), drawn(64, 64) - 0.5
    apply("spikes", [tensor, signed], torch.Generator().manual_seed(0))
    assert bool((tensor >= 0).all()) and float(tensor.max()) > 10
    assert float(signed.min()) < -5 and float(signed.max()) > 5


def test_one_tensor_passed_twice_changes_once() -> None:
    tensor = drawn(4, 4)
    before = tensor.clone()
    apply("scale_small", [tensor, tensor])
    assert torch.equal(tensor, before / 64)


def test_reversed_rows_are_the_same_whatever_the_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    for rows in (2, 5, 8):
        tensor = drawn(rows, 3)
        expected = tensor.flip(0)
        monkeypatch.setattr(slices, "SLICE_ELEMENTS", 6)
        apply("reverse_rows", [tensor])
        assert torch.equal(tensor, expected)


def test_names_fit_the_shapes() -> None:
    assert transforms_for([]) == []
    assert "ramp_second" not in transforms_for([drawn(4, 4)])
    assert "ramp_first" not in transforms_for([drawn(16)])
    assert "reverse_rows" not in transforms_for([drawn(4, 4)])
    assert "reverse_rows" in transforms_for([drawn(4, 4), torch.arange(4)])
    assert "scale_large" not in transforms_for([drawn(4, 4) * 1000])
    scalar = torch.tensor(0.25)
    for name in transforms_for([scalar]):
        apply(name, [scalar])
    with pytest.raises(KeyError):
        apply("twist", [scalar])
