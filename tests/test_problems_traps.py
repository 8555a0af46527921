"""What names and habits get wrong about the level-1 problems, beyond their formulas."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from evaluator.catalogue import Problem, all_problems, find
from tests.formulas.load import load, small


def scaled_draw(spec: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The first input of a small draw, and the generator's first scalar under the same seed."""
    module = small(find(spec))
    torch.manual_seed(11)
    first = module.get_inputs()[0]
    torch.manual_seed(11)
    return first, torch.rand(())


@pytest.mark.parametrize("spec", ["level1/94", "level1/96", "level1/99"])
def test_the_scale_is_drawn_before_the_tensors(spec: str) -> None:
    first, scale = scaled_draw(spec)
    assert torch.equal(first, torch.rand(first.shape) * scale)


def test_98_scales_before_its_softmax_and_draws_probabilities() -> None:
    first, scale = scaled_draw("level1/98")
    assert torch.equal(first, (torch.rand(first.shape) * scale).softmax(dim=-1))
    torch.testing.assert_close(first.sum(dim=-1), torch.ones(len(first)))


def test_13_to_15_draw_the_structure_that_their_names_promise() -> None:
    for a in small(find("level1/13")).get_inputs():
        assert torch.equal(a, a.T)
    for spec, zeroed in (("level1/14", torch.tril), ("level1/15", torch.triu)):
        for a in small(find(spec)).get_inputs():
            off_diagonal = a - torch.diag(torch.diag(a))
            assert torch.equal(zeroed(off_diagonal), torch.zeros_like(a))
            assert off_diagonal.abs().sum() > 0


def test_100_draws_minus_one_and_one() -> None:
    targets = small(find("level1/100"), BATCH_SIZE=64, DIM=64).get_inputs()[1]
    assert set(targets.tolist()) == {-1.0, 1.0}
    assert targets.dtype == torch.float32


def test_33_uses_the_batch_and_updates_its_statistics() -> None:
    module = small(find("level1/33"))
    model = module.Model(*module.get_init_inputs())
    x = torch.randn(3, 6, 8, 11) * 2 + 5
    output = model(x)
    assert model.training
    torch.testing.assert_close(output.mean(dim=(0, 2, 3)), torch.zeros(6), atol=1e-5, rtol=0)
    flat = x.transpose(0, 1).reshape(6, -1)
    torch.testing.assert_close(model.bn.running_mean, 0.1 * flat.mean(dim=1))
    torch.testing.assert_close(model.bn.running_var, 0.9 + 0.1 * flat.var(dim=1))
    assert int(model.bn.num_batches_tracked) == 1
    assert not torch.allclose(output, model.eval()(x))


def test_12_keeps_an_infinity_in_place_and_its_older_form_spreads_it() -> None:
    a, b = torch.ones(4), torch.ones(4, 4)
    b[1, 2] = torch.inf
    assert int(torch.isfinite(load(find("level1/12")).Model()(a, b)).sum()) == 15
    older = load(find("level1@jul-2025/12")).Model()(a, b)
    assert torch.isnan(older[[0, 2, 3], 2]).all()


def test_92_changed_its_shape_since_july_2025() -> None:
    x = torch.rand(3, 5)
    now, then = load(find("level1/92")).Model(1)(x), load(find("level1@jul-2025/92")).Model(1)(x)
    assert (now.shape, then.shape) == ((3, 5), (2, 6))
    assert torch.equal(now[:2], then[:, :5])


@pytest.mark.parametrize("spec", ["level1/51", "level1/52"])
def test_ties_go_to_the_first_index(spec: str) -> None:
    x = torch.tensor([[0.0, 2.0, -3.0, 2.0, -3.0]]).unsqueeze(-1)
    index = load(find(spec)).Model(1)(x)
    assert index.item() == (1 if spec == "level1/51" else 2)
    assert index.dtype == torch.int64


def test_nan_wins_an_extreme_and_passes_a_mask() -> None:
    x = torch.tensor([[0.0, torch.nan, 3.0]]).unsqueeze(-1)
    assert load(find("level1/49")).Model(1)(x).isnan().all()
    assert load(find("level1/53")).Model(1)(x).isnan().all()
    mask = torch.tensor([[True, False, True]])
    assert load(find("level1/93")).Model(1)(x.squeeze(-1), mask)[0, 1].isnan()


def test_a_row_of_zeros_has_no_norm() -> None:
    for spec in ("level1/37", "level1/38", "level1/39"):
        assert load(find(spec)).Model()(torch.zeros(2, 3)).isnan().all()


def test_29_changes_branch_above_20() -> None:
    x = torch.tensor([20.0, 20.5, 40.0], dtype=torch.float64)
    output = load(find("level1/29")).Model()(x)
    assert output[0] > x[0]
    assert torch.equal(output[1:], x[1:])


def test_26_and_88_are_two_different_forms() -> None:
    x = torch.linspace(-3, 3, 101, dtype=torch.float64)
    exact, tanh = load(find("level1/26")).Model()(x), load(find("level1/88")).Model()(x)
    assert 1e-4 < float((exact - tanh).abs().max()) < 4.8e-4


def test_95_leaves_ignored_targets_out_of_the_mean() -> None:
    logits, targets = torch.randn(4, 5), torch.tensor([1, -100, 3, 2])
    loss = load(find("level1/95")).Model()
    torch.testing.assert_close(loss(logits, targets), loss(logits[[0, 2, 3]], targets[[0, 2, 3]]))


@pytest.mark.parametrize(
    ("spec", "zero_share"),
    [("level1/75", 0.502), ("level1/77", 0.882), ("level1/79", 0.5), ("level1/81", 0.642)],
)
def test_strides_leave_exact_zeros(spec: str, zero_share: float) -> None:
    """At full spatial size, with few channels: the shares that the definitions state."""
    module = load(find(spec))
    for name, value in (("BATCH_SIZE", 1), ("IN_CHANNELS", 4), ("OUT_CHANNELS", 4)):
        setattr(module, name, value)
    model = module.Model(*module.get_init_inputs())
    with torch.no_grad():
        output = model(*module.get_inputs())
    assert float((output == 0).float().mean()) == pytest.approx(zero_share, abs=0.001)


def test_ignored_arguments_change_nothing() -> None:
    assert load(find("level1/50")).Model(7).conv1.out_channels == 96
    depthwise = load(find("level1/85")).Model(4, 9, 3, 7, 1, 1, 0, 0, 1, 1, 2).conv2d
    assert (depthwise.out_channels, depthwise.groups) == (4, 4)
    transposed = load(find("level1/73")).Model(8, 8, 3, 2, 1, 4).conv_transpose3d
    assert (transposed.groups, transposed.output_padding) == (1, (0, 0, 0))


def test_97_of_july_2025_draws_float16() -> None:
    inputs = small(find("level1@jul-2025/97")).get_inputs()
    assert {value.dtype for value in inputs} == {torch.float16}


# Arguments that a constructor takes and does not use, as the definitions say.
IGNORED = {
    ("level1/50", "num_classes"),
    ("level1/73", "output_padding"),
    ("level1/85", "out_channels"),
    ("level1/85", "groups"),
}


def another(name: str, value: Any) -> Any:
    """A different valid value for a layer's argument."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, tuple):
        return tuple(entry + 1 for entry in value)
    if name in ("in_channels", "out_channels", "groups"):
        return 2 * value
    return 2 if value is None else value + 1


def settings(model: torch.nn.Module) -> list[Any]:
    """What the layers of a model were told: their public attributes and the shapes of weights."""
    told = [
        (name, value)
        for layer in model.children()
        for name, value in sorted(vars(layer).items())
        if not name.startswith("_")
    ]
    return [*told, {name: value.shape for name, value in model.state_dict().items()}]


def layered() -> list[Problem]:
    """The convolutions and poolings: their layers keep every argument."""
    classes = ("convolution", "reduction")
    chosen = [p for p in all_problems("level1") if p.operator_class in classes]
    return [p for p in chosen if 41 <= p.problem_id <= 46 or p.operator_class == "convolution"]


@pytest.mark.parametrize("problem", layered(), ids=lambda problem: problem.spec)
def test_every_argument_reaches_the_layer_or_is_known_not_to(problem: Problem) -> None:
    module = small(problem)
    spec = f"level1/{problem.problem_id}"
    parameters = inspect.signature(module.Model).parameters
    values = {name: parameter.default for name, parameter in parameters.items()}
    values.update(zip(values, module.get_init_inputs(), strict=False))
    with torch.device("meta"):
        plain = settings(module.Model(**values))
        for name, value in values.items():
            changed = settings(module.Model(**{**values, name: another(name, value)}))
            assert (changed == plain) == ((spec, name) in IGNORED), name


def test_optional_arguments_of_plain_functions_count() -> None:
    x = torch.tensor([[-1.0, 2.0], [3.0, -4.0]])
    leaky = load(find("level1/20")).Model(0.5)(x)
    assert torch.equal(leaky, torch.tensor([[-0.5, 2.0], [3.0, -2.0]]))
    by_column = load(find("level1/24")).Model(0)(x)
    torch.testing.assert_close(by_column.exp().sum(dim=0), torch.ones(2))
    elu = load(find("level1/31")).Model(2.0)(x)
    torch.testing.assert_close(elu[0, 0], 2 * (torch.tensor(-1.0).exp() - 1))
    assert load(find("level1/36")).Model(2, 1e6)(x).abs().max() < 0.01


def test_99_hands_its_margin_on() -> None:
    assert load(find("level1/99")).Model(2.5).loss_fn.margin == 2.5
    assert load(find("level1/99")).Model().loss_fn.margin == 1.0
