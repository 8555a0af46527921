"""Every problem file loads, has the stated shapes, and computes its formula."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.catalogue import Problem, all_problems, find
from tests.formulas.load import CASES, both, built, drawn, load, small

# The definitions' shapes, constructor arguments and state: written from them once, and held
# against them again where the maintainers' folder is present (the last tests).
LEVEL1: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "formulas" / "level1.json").read_text()
)
PROBLEMS = all_problems()
by_spec = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.spec)


def described(value: Any) -> Any:
    """A tensor as [shape, dtype], anything else as JSON reads it."""
    if isinstance(value, torch.Tensor):
        return [list(value.shape), str(value.dtype).removeprefix("torch.")]
    return json.loads(json.dumps(value))


def constructor(module: ModuleType) -> dict[str, inspect.Parameter]:
    """The constructor's parameters; none for a Model that leaves it to nn.Module."""
    if "__init__" not in vars(module.Model):
        return {}
    return dict(inspect.signature(module.Model).parameters)


@by_spec
def test_loads_with_its_shapes(problem: Problem) -> None:
    """At full size on the meta device, where nothing is allocated."""
    module = load(problem)
    with torch.device("meta"):
        inputs, init = module.get_inputs(), module.get_init_inputs()
        model = module.Model(*init)
        output = model(*inputs)
    assert module.__doc__ and module.__doc__.strip().count("\n") <= 14
    parameters = constructor(module)
    required = [p for p in parameters.values() if p.default is inspect.Parameter.empty]
    assert len(required) <= len(init) <= len(parameters)
    assert len(inspect.signature(model.forward).parameters) == len(inputs)
    assert all(isinstance(value, (torch.Tensor, int, float)) for value in inputs)
    assert isinstance(output, torch.Tensor)
    if problem.suite == "level1":
        expected = LEVEL1[problem.spec]
        assert described(init) == expected["init"]
        assert [described(value) for value in inputs] == expected["inputs"]
        assert described(output) == expected["output"]
        state = {name: list(value.shape) for name, value in model.state_dict().items()}
        assert state == expected["state"]


@by_spec
@pytest.mark.parametrize("seed", [1, 2])
def test_computes_its_formula(problem: Problem, seed: int) -> None:
    output, expected = both(problem, seed)
    assert output.shape == expected.shape
    assert np.isfinite(expected).all()
    assert np.ptp(expected) > 0 or expected.ndim == 0
    np.testing.assert_allclose(output, expected, rtol=1e-10, atol=1e-12)


@by_spec
def test_draws_are_fresh_and_of_fixed_shape(problem: Problem) -> None:
    module = small(problem)
    torch.manual_seed(3)
    first, second = module.get_inputs(), module.get_inputs()
    assert [described(value) for value in first] == [described(value) for value in second]
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if isinstance(a, torch.Tensor)]
    assert any(not torch.equal(a, b) for a, b in pairs)


@by_spec
def test_leaves_its_inputs_alone(problem: Problem) -> None:
    """The evaluator counts a changed input against a candidate: no reference may change one."""
    module = small(problem)
    inputs = drawn(module, "own", seed=4)
    before = [value.clone() for value in inputs if isinstance(value, torch.Tensor)]
    with torch.no_grad():
        output = built(module)(*inputs)
    after = [value for value in inputs if isinstance(value, torch.Tensor)]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert all(output.data_ptr() != value.data_ptr() for value in after)


def test_every_formula_belongs_to_a_problem() -> None:
    assert sorted(CASES) == sorted(
        f"{problem.spec.partition('/')[0]}/{problem.problem_id}" for problem in PROBLEMS
    )


def shared_facts(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "facts" / "level1_problems.json").read_text())


def spec_of(fact: dict[str, Any]) -> str:
    suite = "level1" if fact["problem_version"] == "main-2026" else "level1@jul-2025"
    return f"{suite}/{fact['name']}"


def test_the_fixture_says_what_the_definitions_say(shared_folder: Path) -> None:
    facts = shared_facts(shared_folder)
    assert sorted(LEVEL1) == sorted(map(spec_of, facts))
    for fact in facts:
        expected = LEVEL1[spec_of(fact)]
        tensors = [*fact["inputs"], fact["output"]]
        stated = [t["scalar"] if "scalar" in t else [t["shape"], t["dtype"]] for t in tensors]
        assert [*expected["inputs"], expected["output"]] == stated
        assert (expected["init"], expected["state"]) == (fact["init"], fact["state"])


def test_constructors_take_the_defined_arguments(shared_folder: Path) -> None:
    """Names in order, then the optional ones with their defaults."""
    for fact in shared_facts(shared_folder):
        names = [text.partition(":")[0] for text in fact["init_names"]]
        optional = fact.get("init_defaults", {})
        found = constructor(load(find(spec_of(fact))))
        assert list(found) == [*names, *(name for name in optional if name not in names)]
        for name, value in optional.items():
            assert described(found[name].default) == value, (fact["name"], name)


def test_layers_are_the_defined_ones_and_draw_the_same_weights(shared_folder: Path) -> None:
    """A candidate may rebuild the layer from the same seed: class, arguments and draws agree."""
    for fact in shared_facts(shared_folder):
        module = load(find(spec_of(fact)))
        torch.manual_seed(5)
        model = module.Model(*module.get_init_inputs())
        torch.manual_seed(5)
        for layer in fact["module"]:
            kind = getattr(torch.nn, layer["layer"].rpartition(".")[2])
            arguments = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in layer["kwargs"].items()
            }
            rebuilt, found = kind(**arguments), getattr(model, layer["attr"])
            assert type(found) is kind
            assert repr(found) == repr(rebuilt)
            for (name, a), (_, b) in zip(
                found.state_dict().items(), rebuilt.state_dict().items(), strict=True
            ):
                assert torch.equal(a, b), (fact["name"], name)
