"""Inputs that are not the shipped draw, made from it: signs, scales, ramps, rows, spikes.

Shortcuts that hold only for uniform numbers in [0, 1) (a ReLU that copies, a norm that is a
constant, half of a reduction) break on one of these. A right kernel does not.

What a kernel may honestly rely on is kept, and it is found by looking at the data as drawn,
never by a problem's name:

- only floating tensors change: integers, bools and plain numbers are indices, masks, sizes;
- values that are all in {-1, 1} or all in {0, 1} (targets, masks as numbers) stay;
- rows that are probabilities (not negative, each sums to one along the last dimension) stay so:
  they are normalised again, and left out where that would undo the change;
- symmetric matrices (last two dimensions) stay symmetric;
- exact zeros stay where they are if they make up at least a twentieth of the tensor: a triangle,
  a mask, a sparse pattern;
- data that are not negative get positive spikes only. Being not negative is otherwise no
  structure: every uniform draw is.

Other structure (sorted or orthogonal data, a definite matrix, a variance that must be positive)
is not recognised: a trial whose reference or oracle is not finite says nothing and is skipped.

Magnitudes stay at or below the larger of 1,024 and twice what was drawn, far inside fp16. Where
several tensors take part they change differently, or a product would come out the same:
negation, alternating rows and reversed rows touch every other tensor, ramps and shifts change
direction from one to the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from evaluator import slices
from evaluator.input_structure import Structure, changing, restore

LARGE = 256.0  # exp overflows fp32 above 88: a softmax without its maximum shows
SPIKE_LIMIT = 1024.0
SMALL = 2.0**-6


def transforms_for(inputs: Sequence[object]) -> list[str]:
    """The names that change something in these inputs, in a fixed order; [] where nothing can."""
    seen = list(changing(inputs))
    tensors = sum(isinstance(value, Tensor) for value in inputs)
    names = []
    for name, (applies, _) in TRANSFORMS.items():
        if name == "reverse_rows" and tensors < 2:
            continue  # one tensor alone only comes out in another order
        if any(applies(tensor, look) for tensor, look in seen):
            names.append(name)
    return names


def apply(
    name: str, inputs: Sequence[object], generator: torch.Generator | None = None
) -> Sequence[object]:
    """Changes the inputs in place, as drawn, and returns them.

    `inputs`: tensors and plain values in any order. `generator`: draws the places of spikes (the
    default generator of the tensors' device if None). Raises KeyError for an unknown name.
    """
    applies, change = TRANSFORMS[name]
    with torch.no_grad():
        for tensor, look in list(changing(inputs)):
            if applies(tensor, look):
                change(tensor, look, generator)
                restore(tensor, look)
    return inputs


def _negate(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    tensor.neg_()


def _shift(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    """Uniform numbers in [0, 1) come to lie on both sides of zero."""
    tensor.add_(look.rms if look.probabilities or not look.first_of_pair else -look.rms)


def _large_factor(look: Structure) -> float:
    return 2.0 ** math.floor(math.log2(LARGE / look.largest)) if look.largest else 1.0


def _scale_large(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    tensor.mul_(_large_factor(look))


def _scale_small(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    tensor.mul_(SMALL)


def _ramp(tensor: Tensor, look: Structure, dim: int) -> None:
    """Multiplies by 1/8 to 2 along a dimension: parts of a reduction differ."""
    ends = (0.125, 2.0) if look.first_of_pair else (2.0, 0.125)
    size = tensor.shape[dim]
    ramp = torch.linspace(*ends, size, device=tensor.device).to(tensor.dtype)
    shape = [1] * tensor.dim()
    shape[dim] = size
    tensor.mul_(ramp.view(shape))


def _alternate_rows(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    tensor[1::2].mul_(-0.5)


def _reverse_rows(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    """Turns the first dimension around, block by block: pairs of inputs meet differently."""
    rows = tensor.shape[0]
    step = max(slices.SLICE_ELEMENTS // max(tensor.numel() // rows, 1), 1)
    for start in range(0, rows // 2, step):
        stop = min(start + step, rows // 2)
        top, bottom = tensor[start:stop], tensor[rows - stop : rows - start]
        kept = top.clone()
        top.copy_(bottom.flip(0))
        bottom.copy_(kept.flip(0))


def _spikes(tensor: Tensor, look: Structure, generator: torch.Generator | None) -> None:
    """One element in about 1,024, drawn anew, is 16 times the largest; signs alternate."""
    count = max(tensor.numel() // 1024, 1)
    places = tuple(
        torch.randint(size, (count,), device=tensor.device, generator=generator)
        for size in tensor.shape
    )
    height = min(16.0 * look.largest, max(SPIKE_LIMIT, look.largest))
    values = torch.full((count,), height, dtype=tensor.dtype, device=tensor.device)
    if look.lowest < 0.0:
        values[1::2] *= -1.0
    tensor.index_put_(places, values)


Applies = Callable[[Tensor, Structure], bool]
Change = Callable[[Tensor, Structure, torch.Generator | None], None]


def _has_rows(tensor: Tensor, look: Structure) -> bool:
    return look.first_of_pair and tensor.dim() > 0 and tensor.shape[0] > 1


def _signed(tensor: Tensor, look: Structure) -> bool:
    return look.first_of_pair and not look.probabilities


TRANSFORMS: dict[str, tuple[Applies, Change]] = {
    "negate": (_signed, _negate),
    "shift": (lambda t, s: s.rms > 0.0, _shift),
    "scale_large": (lambda t, s: not s.probabilities and _large_factor(s) > 1.0, _scale_large),
    "scale_small": (lambda t, s: not s.probabilities, _scale_small),
    "ramp_last": (
        lambda t, s: t.dim() > 0 and t.shape[-1] > 1,
        lambda t, s, g: _ramp(t, s, -1),
    ),
    "ramp_first": (
        lambda t, s: t.dim() > 1 and t.shape[0] > 1 and not s.probabilities,
        lambda t, s, g: _ramp(t, s, 0),
    ),
    "ramp_second": (
        lambda t, s: t.dim() > 2 and t.shape[1] > 1 and not s.probabilities,
        lambda t, s, g: _ramp(t, s, 1),
    ),
    "alternate_rows": (
        lambda t, s: _has_rows(t, s) and not s.probabilities,
        _alternate_rows,
    ),
    "spikes": (lambda t, s: t.dim() > 0, _spikes),
    "reverse_rows": (_has_rows, _reverse_rows),
}
