"""Bytes that any kernel for a problem must move: inputs, parameters and output, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tensor_bytes(*tensors: Any) -> int:
    return sum(t.numel() * t.element_size() for t in tensors if hasattr(t, "element_size"))


def distinct_rows(indices: Any, table: Any) -> int:
    """Bytes of the rows of `table` that `indices` name, each once."""
    return indices.unique().numel() * tensor_bytes(table[0])


# Problems that read a few rows of their tables: (model, inputs) -> bytes besides those of the
# inputs and the output. 12 has its table among the inputs, of which it reads the touched rows.
GATHERED: dict[str, Callable[[Any, list[Any]], int]] = {
    **dict.fromkeys(
        ("dlrm/01", "dlrm/02", "dlrm/03"), lambda m, x: distinct_rows(x[0], m.table.weight)
    ),
    "dlrm/04": lambda m, x: sum(distinct_rows(table, m.weight) for table in x[0]),
    "dlrm/05": lambda m, x: (
        distinct_rows(x[0] % m.remainders, m.remainder.weight)
        + distinct_rows(x[0] // m.remainders, m.quotient.weight)
    ),
    "dlrm/12": lambda m, x: x[2].numel() * tensor_bytes(x[0][0], x[1][0]) - tensor_bytes(*x[:2]),
}


def floor_bytes(label: str, model: Any, inputs: list[Any], output: Any) -> int:
    """Bytes of inputs, parameters and output, each once; of a gathered table its distinct rows."""
    gathered = GATHERED.get(label.split("_", 1)[0])
    parameters = gathered(model, inputs) if gathered else tensor_bytes(*model.parameters())
    return tensor_bytes(*inputs, output) + parameters
