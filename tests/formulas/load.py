"""Loads a problem file, makes it small, and runs it beside its formula."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import numpy as np
import torch

from evaluator.catalogue import Problem
from tests.formulas import dlrm, products, rows, windows
from tests.formulas.case import SMALL, Array, Case

CASES: dict[str, Case] = {**products.CASES, **rows.CASES, **windows.CASES, **dlrm.CASES}


def load(problem: Problem) -> ModuleType:
    """The problem's file as a fresh module (constants can be changed without a trace)."""
    spec = importlib.util.spec_from_file_location("problem_under_test", problem.path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def case_of(problem: Problem) -> Case:
    suite = problem.spec.partition("/")[0]
    return CASES[f"{suite}/{problem.problem_id}"]


def small(problem: Problem, **constants: Any) -> ModuleType:
    """The problem with small shapes: those of SMALL, of its case and of `constants` that it has."""
    module = load(problem)
    for name, value in {**SMALL, **case_of(problem).small, **constants}.items():
        if hasattr(module, name):
            setattr(module, name, value)
    return module


def drawn(module: ModuleType, how: str, seed: int) -> list[Any]:
    """Inputs in float64; `normal` puts standard normal numbers in the place of floating ones."""
    torch.manual_seed(seed)
    inputs = []
    for value in module.get_inputs():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            value = value.double() if how == "own" else torch.randn(value.shape).double() * 1.5
        inputs.append(value)
    return inputs


def built(module: ModuleType) -> torch.nn.Module:
    """The model in float64 with every floating weight and buffer drawn anew: none stays 0 or 1."""
    model = module.Model(*module.get_init_inputs()).double()
    for name, value in model.state_dict().items():
        if value.is_floating_point():
            fresh = torch.randn(value.shape, dtype=value.dtype)
            value.copy_(fresh.abs() + 0.5 if name.endswith("var") else fresh)
    return model


def as_array(value: Any) -> Any:
    return value.numpy().copy() if isinstance(value, torch.Tensor) else value


def both(problem: Problem, seed: int) -> tuple[Array, Array]:
    """The file's output and its formula's, on the same inputs and weights."""
    module = small(problem)
    case = case_of(problem)
    inputs = drawn(module, case.draws, seed)
    model = built(module)
    state = {name: as_array(value) for name, value in model.state_dict().items()}
    expected = case.formula([as_array(value) for value in inputs], state)
    with torch.no_grad():
        output = model(*inputs)
    return output.numpy(), np.asarray(expected)
