"""Ties: an index is right where it points at a value as large as the oracle's."""

from __future__ import annotations

import torch

from evaluator.indices import point_at_the_same, searched

VALUES = torch.tensor([[[1.0, 5.0, 5.0], [2.0, 2.0, 0.0]], [[7.0, 7.0, 7.0], [0.0, 1.0, 3.0]]])


def test_the_searched_input_is_found_by_its_largest_or_smallest_values() -> None:
    other = torch.zeros(4)
    for dim in range(3):
        for keep in (False, True):
            for search in (torch.argmax, torch.argmin):
                place = searched(search(VALUES, dim, keepdim=keep), [other, VALUES])
                assert place is not None
                assert place[0] is VALUES
    assert searched(torch.zeros(2, 2, dtype=torch.int64), [VALUES]) is None
    assert searched(torch.full((2, 2), 9), [VALUES]) is None
    assert searched(torch.zeros(5, dtype=torch.int64), [VALUES]) is None


def test_tied_indices_are_right_and_others_are_not() -> None:
    right = VALUES.argmax(2)
    tied = torch.tensor([[2, 1], [2, 2]])
    assert not torch.equal(right, tied)
    assert point_at_the_same(tied, right, [VALUES])
    assert not point_at_the_same(torch.tensor([[0, 1], [2, 2]]), right, [VALUES])
    assert not point_at_the_same(torch.tensor([[3, 1], [2, 2]]), right, [VALUES])
    assert not point_at_the_same(tied.int(), right, [VALUES])


def test_counts_are_no_indices() -> None:
    counts = torch.tensor([[0, 0], [1, 0]])
    assert not point_at_the_same(torch.tensor([[0, 1], [1, 0]]), counts, [VALUES])
