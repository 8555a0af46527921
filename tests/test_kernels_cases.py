"""Small cases for every candidate of ours, and what can be checked without running a kernel.

Shapes are odd on purpose: no power of two, rows longer than one block where the kernel loops,
several blocks where it splits. Values are drawn here (synthetic, seeded), not by the problems,
because the problems' own shapes need gigabytes.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kernels.catalogue import Candidate, adversarial, honest, load

Inputs = list[Any]
Case = tuple[list[Any], Callable[[], Inputs]]


def spread(*shape: int) -> torch.Tensor:
    """Normal values around 0.3 with a row-to-row scale: negative ones, no two rows alike."""
    scale = torch.linspace(0.5, 2.0, shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return torch.randn(*shape) * scale + 0.3


def case(init: list[Any], *shapes: tuple[int, ...]) -> Case:
    return init, lambda: [spread(*shape) for shape in shapes]


def with_specials(*shape: int) -> torch.Tensor:
    """`spread` with a NaN in row 1, an infinity in row 2, -inf here in row 3 and all over row 4."""
    x = spread(*shape)
    x[1, 7], x[2, 3], x[3, ::2], x[4] = torch.nan, torch.inf, -torch.inf, -torch.inf
    return x


# Rows that start at every distance from an aligned address, some shorter than that distance.
ROWS_NOT_ALIGNED = [(17, 101), (40, 3), (5, 32), (20, 16), (3, 40001)]

# Per problem: constructor arguments and inputs.
CASES: dict[str, list[Case]] = {
    "1_Square_matrix_multiplication_": [case([], (67, 35), (35, 49)), case([], (130, 70), (70, 3))],
    "5_Matrix_scalar_multiplication": [([], lambda: [spread(53, 101), 3.14])],
    "12_Matmul_with_diagonal_matrices_": [case([], (37,), (37, 91)), case([], (3,), (3, 5000))],
    "19_ReLU": [case([], (7, 1009))],
    "23_Softmax": [case([], (3, 101)), case([], (3, 20011))],
    "24_LogSoftmax": [case([], (3, 101)), case([], (3, 20011))],
    "25_Swish": [case([], (7, 1009))],
    "26_GELU_": [case([], (7, 1009))],
    "36_RMSNorm_": [case([5], (2, 5, 7, 9)), case([64], (2, 64, 3, 50))],
    "37_FrobeniusNorm_": [case([], (2, 3, 5, 7)), case([], (3, 5, 71, 73))],
    "38_L1Norm_": [case([], shape) for shape in ROWS_NOT_ALIGNED],
    "39_L2Norm_": [case([], shape) for shape in ROWS_NOT_ALIGNED],
    "40_LayerNorm": [case([(3, 5, 7)], (4, 3, 5, 7)), case([(5, 41, 101)], (2, 5, 41, 101))],
    "82_conv_depthwise_2D_square_input_square_kernel": [
        case([5, 3], (1, 5, 19, 23)),
        case([3, 5, 2, 1, True], (2, 3, 33, 140)),
    ],
    "87_conv_pointwise_2D": [
        case([20, 33], (2, 20, 7, 11)),
        case([70, 130, True], (1, 70, 13, 11)),
    ],
    "88_MinGPTNewGelu": [case([], (7, 1009))],
    "89_cumsum": [case([1], (3, 101)), case([1], (2, 9001)), case([0], (13, 5))],
    "94_MSELoss": [case([], (31, 33), (31, 33)), case([], (7, 10007), (7, 10007))],
    "95_CrossEntropyLoss": [
        ([], lambda: [spread(13, 29), torch.randint(29, (13,))]),
        ([], lambda: [spread(3, 5003), torch.tensor([5002, -100, 0])]),
    ],
    "100_HingeLoss": [
        ([], lambda: [spread(31, 31), torch.randint(2, (31,)) * 2.0 - 1.0]),
        ([], lambda: [spread(70, 5003), torch.randint(2, (5003,)) * 2.0 - 1.0]),
    ],
    "01_EmbeddingBag_sum": [([50, 24], lambda: [torch.randint(50, (5, 70))])],
    "02_EmbeddingBag_mean_variable_bags": [
        ([50, 24], lambda: [torch.randint(50, (83,)), torch.tensor([0, 0, 3, 70, 82, 83])])
    ],
    "03_EmbeddingBag_per_sample_weights": [
        ([50, 150], lambda: [torch.randint(50, (5, 70)), spread(5, 70)])
    ],
    "04_EmbeddingBag_26_tables": [
        ([[7, 3, 11], 24], lambda: [torch.randint(3, (3, 5, 9))]),
        ([[70, 30, 90], 64], lambda: [torch.randint(30, (3, 2, 40))]),
    ],
    "05_Quotient_remainder_embedding": [([1000, 30, 24], lambda: [torch.randint(1000, (5, 70))])],
    "06_Dot_interaction": [case([], (5, 24), (5, 6, 24)), case([], (3, 150), (3, 26, 150))],
    "07_DCNv2_cross_layer": [
        case([49, 21], (35, 49), (35, 49)),
        case([140, 70], (3, 140), (3, 140)),
    ],
    "08_FM_second_order": [case([], (5, 7, 9), (5, 7)), case([], (3, 70, 40), (3, 70))],
    "09_DIN_target_attention": [
        (
            [24, (19, 10)],
            lambda: [spread(5, 24), spread(5, 41, 24), torch.tensor([41, 0, 1, 33, 20])],
        ),
    ],
    "10_Jagged_segment_pooling": [
        ([], lambda: [spread(83, 24), torch.tensor([0, 0, 3, 70, 82, 83])])
    ],
    "11_In_batch_softmax_loss": [
        case([0.3], (70, 24), (70, 24), (70,)),
        case([0.1], (150, 140), (150, 140), (150,)),
    ],
    "12_Rowwise_Adagrad_update": [
        (
            [0.1, 1e-8],
            lambda: [
                spread(30, 24),
                torch.rand(30),
                torch.tensor([2, 3, 17, 29]),
                spread(40, 24),
                torch.tensor([0, 1, 3, 30, 40]),
            ],
        )
    ],
}
for _reduction in (
    "47_Sum_reduction_over_a_dimension",
    "48_Mean_reduction_over_a_dimension",
    "49_Max_reduction_over_a_dimension",
    "53_Min_reduction_over_a_dimension",
):
    CASES[_reduction] = [
        case([1], (2, 37, 35)),
        case([1], (1, 70, 300)),
        case([-1], (1, 2, 4099)),
        case([0], (11, 3, 5)),
    ]

# Rows with more than numbers: a NaN must reach the output as in torch, -inf must not make one.
for _name, _init in (
    ("19_ReLU", []),
    ("23_Softmax", []),
    ("24_LogSoftmax", []),
    ("49_Max_reduction_over_a_dimension", [1]),
    ("53_Min_reduction_over_a_dimension", [1]),
):
    CASES[_name].append((_init, lambda: [with_specials(5, 37)]))

CANDIDATES = honest()


def inputs_of(candidate: Candidate, index: int, seed: int = 0) -> Inputs:
    """The inputs of one case at fp32, the same for the same seed."""
    torch.manual_seed(seed)
    return CASES[candidate.path.stem][index][1]()


def cast(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    """Floating-point tensors at `dtype`; indices, targets and scalars as they are."""
    return [
        x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs
    ]


def worst(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Largest error over |expected| + RMS(expected), in eps of the dtype of `actual`.

    NaN and infinities must agree in place and sign; where they do not, the result is infinite.
    """
    if actual.shape != expected.shape:
        return float("inf")
    eps = torch.finfo(actual.dtype).eps
    got, want = actual.double().cpu(), expected.double().cpu()
    finite = want.isfinite()
    if not torch.equal(got.isnan(), want.isnan()) or not torch.equal(
        got[want.isinf()], want[want.isinf()]
    ):
        return float("inf")
    size = want[finite].abs() + want[finite].square().mean().sqrt()
    error = (got[finite] - want[finite]).abs() / size.clamp_min(torch.finfo(torch.float64).tiny)
    return float(error.max()) / eps if error.numel() else 0.0


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda c: c.label)
def test_candidate_has_its_problem_and_small_cases(candidate: Candidate) -> None:
    assert candidate.problem_path.is_file()
    assert CASES[candidate.path.stem]


def test_enough_problems_are_covered() -> None:
    suites = [candidate.suite for candidate in CANDIDATES]
    assert suites.count("level1") >= 16
    assert set(CASES) == {candidate.path.stem for candidate in CANDIDATES}


@pytest.mark.parametrize("candidate", CANDIDATES + adversarial(), ids=lambda c: c.label)
def test_candidate_stands_alone(candidate: Candidate) -> None:
    """One text is all the confined worker gets: nothing beyond torch, triton and math."""
    tree = ast.parse(candidate.path.read_text())
    modules = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert modules <= {"torch", "triton", "math"}
    assert ast.get_docstring(tree)


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda c: c.label)
def test_candidate_is_built_like_its_problem(candidate: Candidate) -> None:
    """Same constructor arguments and state, and the same values from the same seed."""
    pytest.importorskip("triton", reason="a candidate cannot be imported without triton")
    reference, ours = load(candidate.problem_path).Model, load(candidate.path).ModelNew
    if "__init__" in vars(reference):
        arguments = inspect.signature(reference).parameters.values()
        assert [(p.name, p.default) for p in arguments] == [
            (p.name, p.default) for p in inspect.signature(ours).parameters.values()
        ]
    for init, _ in CASES[candidate.path.stem]:
        torch.manual_seed(3)
        expected = reference(*init).state_dict()
        torch.manual_seed(3)
        state = ours(*init).state_dict()
        assert state.keys() == expected.keys()
        assert all(torch.equal(state[name], expected[name]) for name in expected)


def test_worst_sees_a_wrong_nan_and_a_wrong_value() -> None:
    right = torch.tensor([1.0, float("nan"), float("inf")])
    assert worst(right, right.double()) == 0
    assert worst(torch.tensor([1.0, 0.0, float("inf")]), right.double()) == float("inf")
    assert worst(torch.tensor([float("nan")] * 3), right.double()) == float("inf")
    assert worst(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1])) > 1e5
