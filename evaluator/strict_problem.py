"""One shipped problem run in this process: drawn inputs, strict reference, float64 oracle.

For the audit, which trusts the files it runs because they are the project's own. Candidates and
users' problems are never loaded this way; they run in confined workers.
"""

from __future__ import annotations

import copy
import gc
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from evaluator import structured_inputs
from evaluator.buffers import free_bytes
from evaluator.scaled_error import precision_dtype

WEIGHT_SEED = 42


@contextmanager
def strict_arithmetic() -> Iterator[None]:
    """TF32 off for matrix products and convolutions (cuDNN has it on by default)."""
    kept = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = kept


class StrictProblem:
    """`Model` of a KernelBench-format file at a precision, on a device, weights from one seed.

    Raises whatever the file raises, and MemoryError when its tensors cannot fit the device.
    """

    def __init__(self, path: Path, precision: str, device: torch.device) -> None:
        self.device = device
        self.dtype = precision_dtype(precision)
        self.module = _load(path)
        self._refuse_if_too_large()
        torch.manual_seed(WEIGHT_SEED)
        with device:
            model = self.module.Model(*self.module.get_init_inputs())
        self.model: torch.nn.Module = model.to(device=device, dtype=self.dtype)

    def draw(self, seed: int, structure: str | None = None) -> list[Any]:
        """Inputs on the device: drawn there, floating ones cast to the precision, then changed."""
        torch.manual_seed(seed)
        with self.device:
            values = self.module.get_inputs()
        values = [self._lift(value, self.device, self.dtype) for value in values]
        if structure is not None:
            structured_inputs.apply(structure, values)
        return values

    def run(self, values: Sequence[Any]) -> list[Tensor]:
        """The reference's outputs. Inputs and the model's buffers are left as they were."""
        kept = {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        copies = [value.clone() if isinstance(value, Tensor) else value for value in values]
        with torch.no_grad():
            outputs = _tensors(self.model(*copies))
            for name, buffer in self.model.named_buffers():
                buffer.copy_(kept[name])
        return outputs

    def oracle(self, values: Sequence[Any], outputs: Sequence[Tensor]) -> tuple[list[Tensor], str]:
        """The same in float64 on the device, or in float32 where three times its tensors do not
        fit, and which of the two it was. `outputs` only tell how large the result is.
        """
        tensors = [value for value in values if isinstance(value, Tensor)]
        tensors += [*self.model.parameters(), *outputs]
        release(self.device)
        fits = 3 * 8 * sum(tensor.numel() for tensor in tensors) <= free_bytes(self.device)
        dtype = torch.float64 if fits else torch.float32
        model = copy.deepcopy(self.model).to(dtype)
        with torch.no_grad():
            lifted = [self._lift(value, self.device, dtype, copy=True) for value in values]
            result = _tensors(model(*lifted))
        return result, "float64 on device" if fits else "strict fp32"

    @staticmethod
    def _lift(value: Any, device: torch.device, dtype: torch.dtype, copy: bool = False) -> Any:
        if not isinstance(value, Tensor):
            return value
        kind = dtype if value.is_floating_point() else value.dtype
        return value.to(device=device, dtype=kind, copy=copy)

    def _refuse_if_too_large(self) -> None:
        """Before anything is drawn: a process that takes the host's last byte is killed."""
        try:
            with torch.device("meta"), torch.no_grad():
                values = self.module.get_inputs()
                model = self.module.Model(*self.module.get_init_inputs())
                outputs = _tensors(model(*values))
        except Exception:
            # Data-dependent steps have no meta form: the size is then unknown, not refused.
            return
        tensors = [value for value in values if isinstance(value, Tensor)]
        numel = sum(tensor.numel() for tensor in (*tensors, *outputs, *model.parameters()))
        needed = numel * (2 * self.dtype.itemsize + torch.float64.itemsize)
        free = free_bytes(self.device)
        if needed > free:
            raise MemoryError(
                f"needs about {needed / 2**30:.1f} GiB on {self.device}, which has "
                f"{free / 2**30:.1f} GiB free"
            )


def release(device: torch.device) -> None:
    """Gives cached device memory back, so that what is free can be seen."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"problem_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tensors(result: Any) -> list[Tensor]:
    """The output as a list of tensors. Raises TypeError for anything else."""
    items = list(result) if isinstance(result, (tuple, list)) else [result]
    if not items or not all(isinstance(item, Tensor) for item in items):
        raise TypeError("the output is not a tensor or a sequence of tensors")
    return [item.detach() for item in items]
