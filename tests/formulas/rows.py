"""Activations, softmaxes, normalisations, reductions, scans and losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.formulas.case import Array, Case, State, along, mean_over, standardised


def each(function: Callable[[float], float]) -> Case:
    """A case whose formula is one scalar function of each element."""
    return Case(lambda inputs, _: np.vectorize(function, otypes=[float])(inputs[0]))


def selu(x: float) -> float:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return scale * x if x > 0 else scale * alpha * (math.exp(x) - 1)


def tanh_gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


ACTIVATIONS = {
    19: lambda x: max(x, 0.0),
    20: lambda x: x if x >= 0 else 0.01 * x,
    21: lambda x: 1 / (1 + math.exp(-x)),
    22: lambda x: (math.exp(2 * x) - 1) / (math.exp(2 * x) + 1),
    25: lambda x: x / (1 + math.exp(-x)),
    26: lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
    27: selu,
    28: lambda x: min(max(x + 3, 0), 6) / 6,
    29: lambda x: math.log(1 + math.exp(x)) if x <= 20 else x,
    30: lambda x: x / (1 + abs(x)),
    31: lambda x: x if x > 0 else math.exp(x) - 1,
    32: lambda x: min(max(x, -1.0), 1.0),
    88: tanh_gelu,
}


def softmax(inputs: list[Any], _: State) -> Array:
    return np.stack([np.exp(row) / sum(np.exp(row)) for row in inputs[0]])


def log_softmax(inputs: list[Any], _: State) -> Array:
    return np.stack([row - math.log(sum(np.exp(row))) for row in inputs[0]])


def batch_norm(inputs: list[Any], state: State) -> Array:
    weight, bias = (state[f"bn.{name}"][:, None, None] for name in ("weight", "bias"))
    return weight * standardised(inputs[0], (0, 2, 3)) + bias


def group_norm(inputs: list[Any], state: State) -> Array:
    x = inputs[0]
    size = x.shape[1] // 8
    groups = [standardised(x[:, c : c + size], (1, 2, 3)) for c in range(0, x.shape[1], size)]
    weight, bias = (state[f"gn.{name}"][:, None, None] for name in ("weight", "bias"))
    return weight * np.concatenate(groups, axis=1) + bias


def layer_norm(inputs: list[Any], state: State) -> Array:
    return state["ln.weight"] * standardised(inputs[0], (1, 2, 3)) + state["ln.bias"]


def by_column(pick: Callable[[list[float]], float]) -> Case:
    """A case that reduces axis 1 of [batch, i, j] with `pick`, one list of numbers at a time."""

    def formula(inputs: list[Any], _: State) -> Array:
        x = inputs[0]
        return np.array([[pick(list(batch[:, j])) for j in range(x.shape[2])] for batch in x])

    return Case(formula)


def kept_sum(inputs: list[Any], _: State) -> Array:
    return along(inputs[0], (1,), lambda flat: flat.sum(-1))


def scan(inputs: list[Any], combine: Callable[[float, float], float], start: float) -> Array:
    """Inclusive scan of each row, left to right."""
    out = np.empty_like(inputs[0])
    for b, row in enumerate(inputs[0]):
        value = start
        for j, x in enumerate(row):
            value = combine(value, x)
            out[b, j] = value
    return out


def add(x: Array) -> Array:
    return scan([x], lambda a, b: a + b, 0.0)


def exclusive_2025(inputs: list[Any], _: State) -> Array:
    rows = inputs[0][:-1]
    return np.concatenate([np.zeros((len(rows), 1)), add(rows)], axis=1)


def mean_of(values: Array) -> Array:
    return np.asarray(math.fsum(values.ravel()) / values.size)


def huber(inputs: list[Any], _: State) -> Array:
    size = np.abs(inputs[0] - inputs[1])
    return mean_of(np.where(size < 1, size * size / 2, size - 0.5))


def cross_entropy(inputs: list[Any], _: State) -> Array:
    logits, targets = inputs
    return mean_of(
        np.array([math.log(sum(np.exp(z))) - z[t] for z, t in zip(logits, targets, strict=True)])
    )


def kl_divergence(inputs: list[Any], _: State) -> Array:
    p, t = inputs
    return np.asarray(sum(t.ravel() * (np.log(t.ravel()) - np.log(p.ravel()))) / len(t))


def triplet(inputs: list[Any], _: State) -> Array:
    def distance(u: Array, v: Array) -> float:
        return math.sqrt(sum((a - b + 1e-6) ** 2 for a, b in zip(u, v, strict=True)))

    losses = [
        max(0.0, distance(a, p) - distance(a, n) + 1) for a, p, n in zip(*inputs, strict=True)
    ]
    return mean_of(np.array(losses))


def hinge(inputs: list[Any], _: State) -> Array:
    p, t = inputs
    return mean_of(np.array([[max(0.0, 1 - x * t[j]) for j, x in enumerate(row)] for row in p]))


CASES = {
    **{f"level1/{number}": each(function) for number, function in ACTIVATIONS.items()},
    "level1/23": Case(softmax),
    "level1/24": Case(log_softmax),
    "level1/33": Case(batch_norm),
    "level1/34": Case(lambda inputs, _: standardised(inputs[0], (2, 3))),
    "level1/35": Case(group_norm, {"FEATURES": 16}),
    "level1/36": Case(
        lambda inputs, _: inputs[0] / np.sqrt(mean_over(inputs[0] * inputs[0], (1,)) + 1e-5)
    ),
    "level1/37": Case(
        lambda inputs, _: inputs[0] / math.sqrt(math.fsum(x * x for x in inputs[0].ravel()))
    ),
    "level1/38": Case(
        lambda inputs, _: np.stack([row / (math.fsum(abs(row)) / len(row)) for row in inputs[0]])
    ),
    "level1/39": Case(
        lambda inputs, _: np.stack([row / math.sqrt(math.fsum(row * row)) for row in inputs[0]])
    ),
    "level1/40": Case(layer_norm),
    "level1/47": Case(kept_sum),
    "level1/48": by_column(lambda column: math.fsum(column) / len(column)),
    "level1/49": by_column(max),
    "level1/51": by_column(lambda column: column.index(max(column))),
    "level1/52": by_column(lambda column: column.index(min(column))),
    "level1/53": by_column(min),
    "level1/89": Case(lambda inputs, _: add(inputs[0])),
    "level1/90": Case(lambda inputs, _: scan(inputs, lambda a, b: a * b, 1.0)),
    "level1/91": Case(lambda inputs, _: add(inputs[0][:, ::-1])[:, ::-1]),
    "level1/92": Case(lambda inputs, _: add(inputs[0]) - inputs[0]),
    "level1@jul-2025/92": Case(exclusive_2025),
    "level1/93": Case(lambda inputs, _: add(np.where(inputs[1], inputs[0], 0.0))),
    "level1/94": Case(lambda inputs, _: mean_of((inputs[0] - inputs[1]) ** 2)),
    "level1/95": Case(cross_entropy),
    "level1/96": Case(huber),
    "level1/98": Case(kl_divergence, draws="own"),
    "level1/99": Case(triplet),
    "level1/100": Case(hinge, {"BATCH_SIZE": 6, "DIM": 6}),
}
