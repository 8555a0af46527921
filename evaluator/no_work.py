"""Answers that do no work: what an output can be without computing the operator.

A benchmark's check that accepts one of these says nothing about a kernel on that problem. All
numbers in them are fixed beforehand, from another draw of the inputs, as a candidate would have
to fix them.

The best constant under `allclose(reference, c, atol, rtol)` needs max |r - c| <= atol + rtol |c|.
With m the midrange of r and h half its range, max |r - c| = h + |c - m|: moving c away from m
costs 1 for each unit and gains rtol < 1, so m is the best constant, for any tolerance. The mean
is tried as well, because ours measures the errors, not their maximum alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from evaluator.scaled_error import flat
from evaluator.slices import pieces

Make = Callable[[Sequence[Any], Sequence[Tensor]], list[Tensor]]


@dataclass(frozen=True)
class Answer:
    """One way to answer without work.

    kind: zeros, constant, input, affine or previous. detail: the numbers in it. make: the
    outputs for the inputs of a call; of the second argument, outputs of that call, only shapes,
    dtypes and device are used.
    """

    kind: str
    detail: str
    make: Make


def answers_from(values: Sequence[Any], outputs: Sequence[Tensor]) -> list[Answer]:
    """The answers that fit a problem, with their numbers fixed on this draw of it."""
    found = [Answer("zeros", "", lambda _, like: [torch.zeros_like(one) for one in like])]
    for name, numbers in _constants(outputs).items():
        detail = f"{name} {', '.join(f'{number:.6g}' for number in numbers)}"
        found.append(Answer("constant", detail, _fill(numbers)))
    if len(outputs) == 1:
        only = outputs[0]
        for place, value in enumerate(values):
            if not isinstance(value, Tensor) or value.shape != only.shape:
                continue
            if value.dtype == only.dtype:
                found.append(Answer("input", f"input {place}", _pass_on(place)))
            line = _fit(value, only)
            if line is not None:
                detail = f"{line[0]:.6g} * input {place} {line[1]:+.6g}"
                found.append(Answer("affine", detail, _line(place, *line)))
    kept = list(outputs)
    found.append(Answer("previous", "", lambda _, like: kept))
    return found


def _constants(outputs: Sequence[Tensor]) -> dict[str, list[float]]:
    """Midrange and mean of each output; nothing where one is bool, empty or not finite."""
    midranges, means = [], []
    for output in outputs:
        if output.dtype == torch.bool or not output.numel():
            return {}
        low, high = (float(bound) for bound in torch.aminmax(output))
        if not (math.isfinite(low) and math.isfinite(high)):
            return {}
        parts = [piece.of(flat(output), output.device) for piece in pieces(output.shape)]
        total = sum(float(part.sum(dtype=torch.float64)) for part in parts)
        midranges.append((low + high) / 2.0)
        means.append(total / output.numel())
    return {"midrange": midranges, "mean": means}


def _fit(value: Tensor, output: Tensor) -> tuple[float, float] | None:
    """Least squares of output = a * value + b over all elements, in float64 and in slices.

    None where there is no line: not floating, not finite, or a value that never changes.
    """
    if not (value.is_floating_point() and output.is_floating_point()) or not value.numel():
        return None
    xs, ys = flat(value), flat(output)
    sums = torch.zeros(2, dtype=torch.float64, device=output.device)
    for piece in pieces(output.shape):
        x, y = (piece.of(part, output.device).double() for part in (xs, ys))
        sums += torch.stack([x.sum(), y.sum()])
    mean_x, mean_y = (float(total) / value.numel() for total in sums)
    moments = torch.zeros(2, dtype=torch.float64, device=output.device)
    for piece in pieces(output.shape):
        x = piece.of(xs, output.device).double() - mean_x
        y = piece.of(ys, output.device).double() - mean_y
        moments += torch.stack([(x * x).sum(), y.mul_(x).sum()])
    square, product = (float(moment) for moment in moments)
    if not (square > 0.0 and math.isfinite(square) and math.isfinite(product)):
        return None
    slope = product / square
    return slope, mean_y - slope * mean_x


def _fill(numbers: Sequence[float]) -> Make:
    def make(_: Sequence[Any], like: Sequence[Tensor]) -> list[Tensor]:
        return [
            torch.full_like(one, number if one.is_floating_point() else round(number))
            for one, number in zip(like, numbers, strict=True)
        ]

    return make


def _pass_on(place: int) -> Make:
    return lambda values, _: [values[place]]


def _line(place: int, slope: float, offset: float) -> Make:
    def make(values: Sequence[Any], like: Sequence[Tensor]) -> list[Tensor]:
        result = torch.empty_like(like[0], memory_format=torch.contiguous_format)
        source, target = flat(values[place]), result.view(-1)
        for piece in pieces(result.shape):
            part = piece.of(source, result.device)
            piece.of(target, result.device).copy_(part.float().mul_(slope).add_(offset))
        return [result]

    return make
