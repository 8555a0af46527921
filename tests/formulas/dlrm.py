"""DLRM-Bench: each operator in loops over samples, indices and pairs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tests.formulas.case import Array, Case, State

TABLE = {"ROWS": 50, "DIM": 5, "BATCH_SIZE": 6, "BAG_SIZE": 4}


def bag_sum(inputs: list[Any], state: State) -> Array:
    table = state["table.weight"]
    return np.array([sum(table[row] for row in bag) for bag in inputs[0]])


def bag_mean(inputs: list[Any], state: State) -> Array:
    indices, offsets = inputs
    table = state["table.weight"]
    out = np.zeros((len(offsets) - 1, table.shape[1]))
    for bag, (start, end) in enumerate(itertools.pairwise(offsets)):
        for row in indices[start:end]:
            out[bag] += table[row] / (end - start)
    return out


def bag_weighted(inputs: list[Any], state: State) -> Array:
    table = state["table.weight"]
    out = np.zeros((len(inputs[0]), table.shape[1]))
    for (sample, spot), row in np.ndenumerate(inputs[0]):
        out[sample] += inputs[1][sample, spot] * table[row]
    return out


def many_tables(inputs: list[Any], state: State) -> Array:
    starts = np.concatenate([[0], np.cumsum(SMALL_TABLES)])
    tables, batch, _ = inputs[0].shape
    out = np.zeros((batch, tables, state["weight"].shape[1]))
    for (table, sample, _spot), row in np.ndenumerate(inputs[0]):
        out[sample, table] += state["weight"][starts[table] + row]
    return out


def quotient_remainder(inputs: list[Any], state: State) -> Array:
    quotients, remainders = state["quotient.weight"], state["remainder.weight"]
    out = np.zeros((len(inputs[0]), quotients.shape[1]))
    for (sample, _spot), number in np.ndenumerate(inputs[0]):
        quotient, remainder = divmod(number, len(remainders))
        out[sample] += quotients[quotient] * remainders[remainder]
    return out


def dot_interaction(inputs: list[Any], _: State) -> Array:
    out = []
    for dense, sparse in zip(*inputs, strict=True):
        features = [dense, *sparse]
        pairs = [sum(features[i] * features[j]) for i in range(len(features)) for j in range(i)]
        out.append([*dense, *pairs])
    return np.array(out)


def cross_layer(inputs: list[Any], state: State) -> Array:
    x0, x = inputs
    out = np.zeros_like(x)
    for b, row in enumerate(x):
        narrow = [sum(weights * row) for weights in state["down.weight"]]
        for i, weights in enumerate(state["up.weight"]):
            out[b, i] = x0[b, i] * (sum(weights * narrow) + state["up.bias"][i]) + row[i]
    return out


def second_order(inputs: list[Any], _: State) -> Array:
    factors, values = inputs
    out = np.zeros(len(values))
    for b, (v, x) in enumerate(zip(factors, values, strict=True)):
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                out[b] += sum(v[i] * v[j]) * x[i] * x[j]
    return out


def target_attention(inputs: list[Any], state: State) -> Array:
    candidates, histories, lengths = inputs

    def prelu(x: Array, slope: Array) -> Array:
        return np.where(x > 0, x, slope * x)

    out = np.zeros_like(candidates)
    for b, (query, history, length) in enumerate(zip(candidates, histories, lengths, strict=True)):
        for item in history[:length]:
            x = np.concatenate([item, query, item - query, item * query])
            for layer in (0, 2):
                x = (state[f"unit.{layer}.weight"] * x).sum(1) + state[f"unit.{layer}.bias"]
                x = prelu(x, state[f"unit.{layer + 1}.weight"])
            weight = sum(state["unit.4.weight"][0] * x) + state["unit.4.bias"][0]
            out[b] += weight * item
    return out


def segments(inputs: list[Any], _: State) -> Array:
    rows, offsets = inputs
    dim = rows.shape[1]
    out = np.zeros((len(offsets) - 1, 2 * dim))
    for s, (start, end) in enumerate(itertools.pairwise(offsets)):
        for d in range(dim):
            column = [rows[i, d] for i in range(start, end)]
            if column:
                out[s, d], out[s, dim + d] = math.fsum(column) / len(column), max(column)
    return out


def in_batch_loss(inputs: list[Any], _: State) -> Array:
    users, items, log_popularity = inputs
    out = np.zeros(len(users))
    for i, user in enumerate(users):
        pairs = zip(items, log_popularity, strict=True)
        scores = [sum(user * item) / 0.3 - log_q for item, log_q in pairs]
        out[i] = math.log(sum(math.exp(score) for score in scores)) - scores[i]
    return out


def adagrad(inputs: list[Any], _: State) -> Array:
    table, accumulators, rows, gradients, offsets = inputs
    out = []
    for i, row in enumerate(rows):
        total = np.zeros(table.shape[1])
        for gradient in gradients[offsets[i] : offsets[i + 1]]:
            total += gradient
        accumulator = accumulators[row] + sum(g * g for g in total) / len(total)
        updated = table[row] - 0.1 * total / (math.sqrt(accumulator) + 1e-8)
        out.append([*updated, accumulator])
    return np.array(out)


SMALL_TABLES = [5, 3, 40, 11]
CASES = {
    "dlrm/1": Case(bag_sum, TABLE),
    # Many bags for few indices: some are empty, which the test of empty bags asserts as well.
    "dlrm/2": Case(bag_mean, {**TABLE, "BAGS": 40, "TOTAL": 60}),
    "dlrm/3": Case(bag_weighted, TABLE),
    "dlrm/4": Case(many_tables, {**TABLE, "TABLE_ROWS": SMALL_TABLES}),
    "dlrm/5": Case(quotient_remainder, {**TABLE, "IDS": 1000, "REMAINDERS": 30}),
    "dlrm/6": Case(dot_interaction, {"SPARSE_FEATURES": 4, "DIM": 6}),
    "dlrm/7": Case(cross_layer, {"FEATURES": 7, "RANK": 3}),
    "dlrm/8": Case(second_order, {"FIELDS": 5, "FACTORS": 3}),
    "dlrm/9": Case(target_attention, {"BATCH_SIZE": 12, "HISTORY": 4, "DIM": 3, "HIDDEN": (5, 4)}),
    "dlrm/10": Case(segments, {"SEGMENTS": 40, "TOTAL": 60, "DIM": 3}),
    "dlrm/11": Case(in_batch_loss, {"BATCH_SIZE": 9, "DIM": 4}),
    "dlrm/12": Case(adagrad, {"ROWS": 60, "DIM": 4, "TOUCHED": 12, "GRADIENTS": 40}, draws="own"),
}
