"""Written, right and error maps of two calls with two sentinels."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from evaluator import slices
from evaluator.maps import compare_pair, shows_sentinels
from evaluator.slices import Bins, bin_sizes, bin_width, pieces


def filled(shape: tuple[int, ...], byte: int, dtype: torch.dtype) -> Tensor:
    """Memory as a call finds it: every byte the sentinel."""
    size = torch.empty(0, dtype=dtype).element_size()
    raw = torch.full((torch.Size(shape).numel() * size,), byte, dtype=torch.uint8)
    return raw.view(dtype).view(shape)


def partial_softmax(
    rows: int, columns: int, written: int, dtype: torch.dtype
) -> tuple[tuple[Tensor, Tensor], Tensor, Tensor]:
    """Two outputs whose first `written` columns are right, the oracle and the reference."""
    x = torch.rand(rows, columns, generator=torch.Generator().manual_seed(3)).to(dtype)
    oracle, reference = torch.softmax(x.double(), 1), torch.softmax(x, 1)
    outputs = []
    for byte in (0x3F, 0xBF):
        output = filled((rows, columns), byte, dtype)
        output[:, :written] = reference[:, :written]
        outputs.append(output)
    return (outputs[0], outputs[1]), oracle, reference


@pytest.mark.parametrize("limit", [2**25, 100_000])
def test_the_partial_softmax_is_measured_exactly(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """1,024 of 393,216 columns, in whole rows and in stretches of rows."""
    monkeypatch.setattr(slices, "SLICE_ELEMENTS", limit)
    outputs, oracle, reference = partial_softmax(3, 393216, 1024, torch.bfloat16)
    maps = compare_pair(outputs, oracle, precision="bf16", reference_output=reference)
    assert maps.written_fraction == 1024 / 393216 == maps.right_fraction
    assert not any(c.passed for c in maps.comparisons)
    width = bin_width(393216)
    assert width == 384 and len(maps.right_map_folded) == 1024
    expected = [1.0, 1.0, (1024 - 2 * width) / width] + [0.0] * 1021
    assert maps.right_map_folded == expected == maps.written_map_folded
    assert len(maps.written_map) == 1024
    assert max(maps.error_profile_folded[:2]) <= 16 < min(maps.error_profile_folded[3:])


def test_a_right_output_that_equals_a_sentinel_counts_as_written() -> None:
    value = float(filled((1,), 0x3F, torch.float32))
    oracle = torch.full((4, 8), value, dtype=torch.float64)
    output = oracle.float()
    maps = compare_pair((output, output.clone()), oracle, precision="fp32")
    assert maps.written_fraction == 1.0 == maps.right_fraction
    left_alone = (output, filled((4, 8), 0xBF, torch.float32))
    maps = compare_pair(left_alone, oracle, precision="fp32")
    assert maps.written_fraction == 0.0 == maps.right_fraction


def test_written_but_wrong_is_written() -> None:
    outputs, oracle, reference = partial_softmax(4, 100, 100, torch.float32)
    for output in outputs:
        output[:, 50:] = 0.0
    maps = compare_pair(outputs, oracle, precision="fp32", reference_output=reference)
    assert maps.written_fraction == 1.0 and maps.right_fraction == 0.5
    assert maps.written_map == [1.0] * 400
    assert maps.right_map_folded == [1.0] * 50 + [0.0] * 50


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.bool, torch.int16, torch.bfloat16, torch.int32, torch.float64]
)
def test_sentinels_are_bytes_of_every_dtype(dtype: torch.dtype) -> None:
    a, b = filled((5,), 0x3F, dtype), filled((5,), 0xBF, dtype)
    assert bool(shows_sentinels(a, b).all())
    a.view(torch.uint8)[-1] = 0
    assert shows_sentinels(a, b).tolist() == [True] * 4 + [False]
    assert not bool(shows_sentinels(b, a).any())


def test_integers_a_mask_and_one_oracle_for_each_call() -> None:
    oracles = (torch.arange(24).view(4, 6), torch.arange(24).view(4, 6) + 1)
    outputs = (oracles[0].clone(), oracles[1].clone())
    outputs[1][1, 2] = 0
    maps = compare_pair(outputs, oracles, precision="fp32")
    assert [c.passed for c in maps.comparisons] == [True, False]
    assert maps.right_fraction == 23 / 24 and maps.written_fraction == 1.0
    assert math.isinf(maps.error_profile[8]) and maps.error_profile[7] == 0.0
    mask = torch.ones(4, 6, dtype=torch.bool)
    maps = compare_pair(outputs, oracles, precision="fp32", never_written=mask)
    assert maps.written_fraction == 23 / 24
    maps = compare_pair(outputs, oracles, precision="fp32", never_written=lambda a, b: b == 0)
    assert maps.written_map.count(0.0) == 1


def test_what_cannot_be_mapped_is_refused() -> None:
    oracle = torch.zeros(4, 6, dtype=torch.float64)
    good = torch.zeros(4, 6)
    for bad in (good[:2], good.double()):
        with pytest.raises(ValueError):
            compare_pair((good, bad), oracle, precision="fp32")
    with pytest.raises(ValueError, match="no element"):
        compare_pair((good[:0], good[:0]), oracle[:0], precision="fp32")


@pytest.mark.parametrize("length", [1, 3, 1024, 1025, 3000, 393216, 1_000_003])
def test_bins_cover_every_position_once(length: int) -> None:
    sizes = bin_sizes(length)
    assert len(sizes) <= 1024 and sum(sizes) == length
    assert set(sizes[:-1]) <= {bin_width(length)} and 0 < sizes[-1] <= bin_width(length)


@pytest.mark.parametrize("how", ["sum", "max"])
def test_bins_do_not_depend_on_how_values_arrive(how) -> None:
    values = torch.rand(5000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    width = bin_width(5000)
    expected = [getattr(part, how)() for part in values.split(width)]
    for step in (1, 3, width, 777, 5000):
        bins = Bins(5000, how, torch.float64, torch.device("cpu"))
        for start in range(0, 5000, step):
            bins.add(values[start : start + step], start)
        assert torch.allclose(bins.values, torch.stack(expected), rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,), (4, 9), (2, 3, 5), (6, 1)])
@pytest.mark.parametrize("limit", [1, 4, 10, 1000])
def test_pieces_cover_a_tensor_once(shape: tuple[int, ...], limit: int) -> None:
    numel = torch.Size(shape).numel()
    flat = torch.arange(numel)
    seen = [piece.of(flat, flat.device) for piece in pieces(shape, limit)]
    assert torch.equal(torch.cat([part.reshape(-1) for part in seen] or [flat]), flat)
    assert all(part.numel() <= limit for part in seen)
