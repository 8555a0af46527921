"""Matrix products (1-18) and attention (97)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.formulas.case import Array, Case, State, matmul


def plain(inputs: list[Any], _: State) -> Array:
    return matmul(*inputs)


def batched(inputs: list[Any], _: State) -> Array:
    return np.stack([matmul(a, b) for a, b in zip(*inputs, strict=True)])


def triangle(inputs: list[Any], upper: bool) -> Array:
    out = matmul(*inputs)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            if (i > j) if upper else (i < j):
                out[i, j] = 0
    return out


def diagonal_product(inputs: list[Any], _: State) -> Array:
    a, b = inputs
    dense = np.zeros((len(a), len(a)))
    for i, value in enumerate(a):
        dense[i, i] = value
    return matmul(dense, b)


def attention(inputs: list[Any], _: State) -> Array:
    out = np.zeros_like(inputs[0])
    for index in np.ndindex(out.shape[:3]):
        q, k, v = inputs[0][index], inputs[1][index[:2]], inputs[2][index[:2]]
        weights = np.array([np.exp(sum(q * row) / len(q) ** 0.5) for row in k])
        out[index] = sum(w * row for w, row in zip(weights, v, strict=True)) / sum(weights)
    return out


PLAIN = Case(plain)
CASES = {
    **{f"level1/{number}": PLAIN for number in (1, 2, 4, 6, 7, 8, 9, 10, 11, 13)},
    "level1/3": Case(batched),
    "level1/5": Case(lambda inputs, _: 3.14 * inputs[0]),
    "level1/12": Case(diagonal_product),
    "level1@jul-2025/12": Case(diagonal_product),
    "level1/14": Case(lambda inputs, _: triangle(inputs, upper=True)),
    "level1/15": Case(lambda inputs, _: triangle(inputs, upper=False)),
    "level1/16": Case(lambda inputs, _: matmul(inputs[0].T, inputs[1])),
    "level1/17": Case(lambda inputs, _: matmul(inputs[0], inputs[1].T)),
    "level1/18": Case(lambda inputs, _: matmul(inputs[1], inputs[0]).T),
    "level1/97": Case(attention),
    "level1@jul-2025/97": Case(attention),
}
