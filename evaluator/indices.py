"""Integer outputs that point into an input: argmax, argmin, and their ties.

Under ties several answers are right, so the values that the indices point at are compared and
not the indices. Which input was searched, and along which dimension, is found by looking: there,
and only there, the right indices point at the largest (or smallest) values of every slice.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from evaluator.comparison import check_indices


def searched(
    indices: torch.Tensor, inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, int] | None:
    """The input and dimension that right `indices` (int64) were found in, or None.

    inputs: the tensors of the call. Matches where the output has an input's shape without one
    dimension, or with it of size 1.
    """
    if indices.dtype != torch.int64 or not indices.numel():
        return None
    for values in inputs:
        if not values.is_floating_point():
            continue
        for dim in range(values.dim()):
            shape = list(values.shape)
            kept = [*shape[:dim], 1, *shape[dim + 1 :]]
            if list(indices.shape) not in (kept, shape[:dim] + shape[dim + 1 :]):
                continue
            places = indices.view(kept)
            if int(places.min()) < 0 or int(places.max()) >= shape[dim]:
                continue
            found = values.gather(dim, places)
            ends = (values.amax(dim, keepdim=True), values.amin(dim, keepdim=True))
            if any(torch.equal(found, end) for end in ends):
                return values, dim
    return None


def point_at_the_same(
    ours: torch.Tensor, right: torch.Tensor, inputs: Sequence[torch.Tensor]
) -> bool:
    """Whether `ours` points at values equal to those that the `right` indices point at."""
    place = searched(right, inputs)
    if place is None or ours.shape != right.shape or ours.dtype != right.dtype:
        return False
    values, dim = place
    return check_indices(ours, right, values, dim).passed
