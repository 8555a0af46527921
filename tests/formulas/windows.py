"""Pooling (41-46) and convolutions (50, 54-87): gathered tap by tap over explicit index lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.formulas.case import Array, Case, State


@dataclass(frozen=True)
class Window:
    """One sliding window, as the problem's definition states it; one entry for each axis.

    `groups` 0 means one group for each channel. `transposed` windows read x[(i + pad - dilation p)
    / stride] where that is a whole number, others x[stride i + dilation p - pad].
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    output_padding: tuple[int, ...] = ()
    groups: int = 1
    transposed: bool = False

    def axes(self) -> Iterator[tuple[int, int, int, int, int]]:
        """kernel, stride, padding, dilation, output padding of each axis."""
        rank = len(self.kernel)
        ones, zeros = (1,) * rank, (0,) * rank
        return zip(
            self.kernel,
            self.stride or ones,
            self.padding or zeros,
            self.dilation or ones,
            self.output_padding or zeros,
            strict=True,
        )

    def output_size(self, size: int, axis: tuple[int, int, int, int, int]) -> int:
        kernel, stride, padding, dilation, output_padding = axis
        reach = dilation * (kernel - 1)
        if self.transposed:
            return (size - 1) * stride - 2 * padding + reach + output_padding + 1
        return (size + 2 * padding - reach - 1) // stride + 1

    def taps(self, x: Array) -> Iterator[tuple[tuple[int, ...], list[list[int]], list[list[int]]]]:
        """For each tap its index, the outputs it reaches and the inputs it reads, axis by axis."""
        for tap in itertools.product(*(range(kernel) for kernel in self.kernel)):
            outputs, inputs = [], []
            for p, size, axis in zip(tap, x.shape[2:], self.axes(), strict=True):
                _, stride, padding, dilation, _ = axis
                pairs = []
                for i in range(self.output_size(size, axis)):
                    if self.transposed:
                        source, rest = divmod(i + padding - dilation * p, stride)
                    else:
                        source, rest = stride * i + dilation * p - padding, 0
                    if rest == 0 and 0 <= source < size:
                        pairs.append((i, source))
                outputs.append([i for i, _ in pairs])
                inputs.append([source for _, source in pairs])
            yield tap, outputs, inputs

    def output_shape(self, x: Array) -> list[int]:
        return [self.output_size(*pair) for pair in zip(x.shape[2:], self.axes(), strict=True)]


def gathered(x: Array, where: list[list[int]]) -> Any:
    return np.ix_(range(x.shape[0]), range(x.shape[1]), *where)


def max_pool(window: Window) -> Case:
    def formula(inputs: list[Any], _: State) -> Array:
        x = inputs[0]
        out = np.full((*x.shape[:2], *window.output_shape(x)), -np.inf)
        for _tap, outputs, sources in window.taps(x):
            spot = gathered(out, outputs)
            out[spot] = np.maximum(out[spot], x[gathered(x, sources)])
        return out

    return Case(formula, POOLED)


def average_pool(window: Window) -> Case:
    """Padding counts as zero and stays in the divisor."""

    def formula(inputs: list[Any], _: State) -> Array:
        x = inputs[0]
        out = np.zeros((*x.shape[:2], *window.output_shape(x)))
        for _tap, outputs, sources in window.taps(x):
            out[gathered(out, outputs)] += x[gathered(x, sources)]
        return out / np.prod(window.kernel)

    return Case(formula, POOLED)


def convolve(x: Array, weight: Array, window: Window) -> Array:
    """Cross-correlation or, transposed, its adjoint; weight [out, in / groups, ...] or transposed
    [in, out / groups, ...].
    """
    groups = window.groups or x.shape[1]
    # Both layouts as [group, out, in, ...], the channels of x as [group, in].
    if window.transposed:
        kernel = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
    else:
        kernel = weight.reshape(groups, -1, *weight.shape[1:])
    out = np.zeros((x.shape[0], groups * kernel.shape[1], *window.output_shape(x)))
    for tap, outputs, sources in window.taps(x):
        read = x[gathered(x, sources)]
        read = read.reshape(read.shape[0], groups, -1, *read.shape[2:])
        term = np.einsum("goi,bgi...->bgo...", kernel[(..., *tap)], read)
        out[gathered(out, outputs)] += term.reshape(term.shape[0], -1, *term.shape[3:])
    return out


def convolution(window: Window, small: dict[str, Any] | None = None) -> Case:
    def formula(inputs: list[Any], state: State) -> Array:
        (weight,) = (value for name, value in state.items() if name.endswith(".weight"))
        out = convolve(inputs[0], weight, window)
        for bias in (value for name, value in state.items() if name.endswith(".bias")):
            out += bias.reshape(-1, *(1 for _ in window.kernel))
        return out

    return Case(formula, small or {})


def separable(inputs: list[Any], state: State) -> Array:
    depthwise = Window((3, 3), padding=(1, 1), groups=0)
    middle = convolve(inputs[0], state["depthwise.weight"], depthwise)
    return convolve(middle, state["pointwise.weight"], Window((1, 1)))


def up(*kernel: int, **settings: Any) -> Window:
    return Window(kernel, transposed=True, **settings)


POOLED = {"LENGTH": 40, "DEPTH": 9, "HEIGHT": 25, "WIDTH": 36, "FEATURES": 2, "CHANNELS": 2}
GROUPED = {"IN_CHANNELS": 8, "OUT_CHANNELS": 16, "DEPTH": 3, "HEIGHT": 4, "WIDTH": 5}
CASES = {
    "level1/41": max_pool(Window((8,), (1,), (4,), (3,))),
    "level1/42": max_pool(Window((4, 4), (1, 1), (1, 1))),
    "level1/43": max_pool(Window((3, 3, 3), (2, 2, 2), (1, 1, 1), (3, 3, 3))),
    "level1/44": average_pool(Window((8,), (1,), (4,))),
    "level1/45": average_pool(Window((11, 11), (11, 11))),
    "level1/46": average_pool(Window((3, 3, 3), (2, 2, 2), (1, 1, 1))),
    "level1/50": convolution(
        Window((11, 11), (4, 4), (2, 2)), {"BATCH_SIZE": 1, "HEIGHT": 19, "WIDTH": 27}
    ),
    "level1/54": convolution(Window((3, 3, 3))),
    "level1/55": convolution(Window((3, 3))),
    "level1/56": convolution(Window((5, 7))),
    "level1/57": convolution(up(3, 3)),
    "level1/58": convolution(up(3, 5, 7), {"DEPTH": 3, "HEIGHT": 4, "WIDTH": 5}),
    "level1/59": convolution(Window((3, 3, 1))),
    "level1/60": convolution(Window((3, 5, 7))),
    "level1/61": convolution(up(3, 3, 3)),
    "level1/62": convolution(Window((5, 9))),
    "level1/63": convolution(Window((3, 3))),
    "level1/64": convolution(up(3)),
    "level1/65": convolution(up(3, 7)),
    "level1/66": convolution(Window((3, 5, 7))),
    "level1/67": convolution(Window((3,))),
    "level1/68": convolution(up(3, 5, 5), {"DEPTH": 3, "HEIGHT": 4, "WIDTH": 5}),
    "level1/69": convolution(up(3, 5)),
    "level1/70": convolution(up(3, 3, 3)),
    "level1/71": convolution(up(3, 3)),
    "level1/72": convolution(
        up(3, 5, 7, stride=(2, 2, 2), padding=(1, 2, 3), output_padding=(1, 1, 1), groups=4),
        GROUPED,
    ),
    "level1/73": convolution(up(3, 3, 3, stride=(2, 2, 2), padding=(1, 1, 1))),
    "level1/74": convolution(up(5, dilation=(3,))),
    "level1/75": convolution(
        up(3, 5, stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=4), GROUPED
    ),
    "level1/76": convolution(Window((3,), (3,), (), (4,))),
    "level1/77": convolution(up(3, 3, 3, stride=(2, 2, 2), padding=(1, 1, 1), dilation=(2, 2, 2))),
    "level1/78": convolution(up(3, 7, padding=(1, 3))),
    "level1/79": convolution(up(3, stride=(2,), padding=(1,), dilation=(2,))),
    "level1/80": convolution(Window((5, 9), (), (2, 4), (2, 3)), {"HEIGHT": 12, "WIDTH": 24}),
    "level1/81": convolution(up(3, 3, stride=(5, 5), padding=(1, 1), dilation=(2, 2))),
    "level1/82": convolution(Window((3, 3), groups=0)),
    "level1/83": convolution(Window((3, 1), groups=0)),
    # Two filters for each channel: that out_channels counts here shows only where it differs.
    "level1/84": convolution(Window((3, 3), groups=0), {"OUT_CHANNELS": 8}),
    "level1/85": convolution(Window((3, 7), groups=0)),
    "level1/86": Case(separable),
    "level1/87": convolution(Window((1, 1))),
}
