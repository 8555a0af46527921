"""Arguments and results as plain data: a tree of containers with tensors as numbered leaves.

What crosses between judge and workers has a fixed layout: JSON for the tree, a `TensorSpec` for
each tensor, and the bytes of the tensors in shared buffers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SLOT_ALIGNMENT = 256
MAX_LEAVES = 4096
DTYPES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
PRECISION_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class UnsupportedValue(TypeError):
    """A value that cannot be passed on: its sentence names the type."""


@dataclass(frozen=True)
class TensorSpec:
    """Shape, dtype and strides (elements) of one tensor as it lies in a buffer."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...]

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.numel * DTYPES[self.dtype]

    @property
    def slot_bytes(self) -> int:
        """Bytes that one copy of the tensor takes in a buffer of many."""
        return max(SLOT_ALIGNMENT, -(-self.nbytes // SLOT_ALIGNMENT) * SLOT_ALIGNMENT)

    def to_json(self) -> dict[str, Any]:
        return {"shape": list(self.shape), "dtype": self.dtype, "stride": list(self.stride)}

    @classmethod
    def from_json(cls, data: Any) -> TensorSpec:
        """Reads what a worker sent; raises `UnsupportedValue` unless it is a sane spec."""
        try:
            shape = tuple(int(size) for size in data["shape"])
            stride = tuple(int(step) for step in data["stride"])
            dtype = str(data["dtype"])
        except (KeyError, TypeError, ValueError) as error:
            raise UnsupportedValue("not a tensor spec") from error
        if dtype not in DTYPES:
            raise UnsupportedValue(f"tensors of dtype {dtype} are not supported")
        if len(shape) != len(stride) or any(size < 0 for size in shape):
            raise UnsupportedValue("a tensor spec with an impossible shape")
        return cls(shape, dtype, stride)

    @classmethod
    def of(cls, tensor: torch.Tensor, dtype: str | None = None) -> TensorSpec:
        """The spec of `tensor`; a layout that is not dense (expanded) becomes contiguous."""
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in DTYPES:
            raise UnsupportedValue(f"tensors of dtype {name} are not supported")
        shape = tuple(tensor.shape)
        dense = _is_dense(shape, tensor.stride())
        stride = tuple(tensor.stride()) if dense else contiguous_stride(shape)
        return cls(shape, dtype or name, stride)

    def contiguous(self) -> TensorSpec:
        return TensorSpec(self.shape, self.dtype, contiguous_stride(self.shape))


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def _is_dense(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    expected = 1
    for step, size in sorted(
        (step, size) for step, size in zip(stride, shape, strict=True) if size > 1
    ):
        if step != expected:
            return False
        expected *= size
    return True


@dataclass(frozen=True)
class Layout:
    """Where a group of tensors lies in one byte buffer, each of them `slots` times."""

    specs: tuple[TensorSpec, ...]
    slots: int = 1

    @property
    def nbytes(self) -> int:
        return sum(spec.slot_bytes for spec in self.specs) * self.slots

    def view(self, buffer: torch.Tensor, index: int, slot: int = 0) -> torch.Tensor:
        """Tensor `index` of slot `slot` as it lies in `buffer` (uint8, one dimension)."""
        import torch

        spec = self.specs[index]
        before = sum(other.slot_bytes for other in self.specs[:index]) * self.slots
        start = before + slot * spec.slot_bytes
        flat = buffer[start : start + spec.nbytes].view(getattr(torch, spec.dtype))
        return flat.as_strided(spec.shape, spec.stride)

    def views(self, buffer: torch.Tensor, slot: int = 0) -> list[torch.Tensor]:
        """All tensors of one slot."""
        return [self.view(buffer, index, slot) for index in range(len(self.specs))]

    def stacked(self, buffer: torch.Tensor, index: int) -> torch.Tensor:
        """Tensor `index` of all slots as one tensor of shape (slots, *shape), for dense specs."""
        import torch

        spec = self.specs[index]
        before = sum(other.slot_bytes for other in self.specs[:index]) * self.slots
        flat = buffer[before : before + self.slots * spec.slot_bytes]
        step = spec.slot_bytes // DTYPES[spec.dtype]
        typed = flat.view(getattr(torch, spec.dtype))
        return typed.as_strided((self.slots, *spec.shape), (step, *spec.stride))

    def to_json(self) -> dict[str, Any]:
        return {"specs": [spec.to_json() for spec in self.specs], "slots": self.slots}

    @classmethod
    def from_json(cls, data: Any) -> Layout:
        return cls(tuple(TensorSpec.from_json(spec) for spec in data["specs"]), data["slots"])


def pack(value: Any, tensors: list[torch.Tensor]) -> Any:
    """`value` as a JSON tree; its tensors are appended to `tensors` and named by number.

    Lists, tuples (named ones become plain) and dicts with string keys are kept, numbers,
    strings, booleans and None stand as they are. Raises `UnsupportedValue` for anything else.
    """
    import torch

    if isinstance(value, torch.Tensor):
        if len(tensors) >= MAX_LEAVES:
            raise UnsupportedValue(f"more than {MAX_LEAVES} tensors")
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if value is None or isinstance(value, (bool, int, str)):
        return {"value": value}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, list):
        return {"list": [pack(item, tensors) for item in value]}
    if isinstance(value, tuple):
        return {"tuple": [pack(item, tensors) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: pack(item, tensors) for key, item in value.items()}}
    raise UnsupportedValue(f"values of type {type(value).__name__} are not supported")


def unpack(tree: Any, tensors: list[Any]) -> Any:
    """The value that `pack` made a tree of, with `tensors` as its leaves."""
    (kind, content), *rest = tree.items()
    if rest:
        raise UnsupportedValue("not a value tree")
    if kind == "tensor":
        return tensors[content]
    if kind == "value":
        return content
    if kind == "float":
        return float.fromhex(content)
    if kind == "list":
        return [unpack(item, tensors) for item in content]
    if kind == "tuple":
        return tuple(unpack(item, tensors) for item in content)
    if kind == "dict":
        return {key: unpack(item, tensors) for key, item in content.items()}
    raise UnsupportedValue("not a value tree")
