"""What only the reference side does: draw inputs, say what the problem looks like, the oracle."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

import torch

from evaluator import structured_inputs
from evaluator.buffers import free_bytes
from evaluator.values import (
    DTYPES,
    PRECISION_DTYPES,
    TensorSpec,
    UnsupportedValue,
    pack,
    unpack,
)
from evaluator.worker import CandidateError, Worker


class ReferenceWorker(Worker):
    """Runs the problem file. It never sees a candidate, and no candidate ever sees it."""

    def do_estimate(self, request: dict[str, Any]) -> dict[str, Any]:
        """Bytes of the inputs at the precision, without making them (meta tensors).

        `input_bytes` is None where the problem cannot be drawn without data.
        """
        self.source = self.import_source(request["source"], "problem")
        self.precision = request["precision"]
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not hasattr(self.source, name):
                raise CandidateError("source", f"it defines no {name}")
        try:
            values = self._drawn("meta")
        except Exception:
            # Drawing with data-dependent steps has no meta form; that is no fault of the problem.
            return {"input_bytes": None}
        tensors: list[torch.Tensor] = []
        pack(values, tensors)
        return {"input_bytes": sum(TensorSpec.of(tensor).nbytes for tensor in tensors)}

    def do_load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Builds the reference and runs it once: trees, specs, a first time in ms."""
        assert self.source is not None
        self.init_values = list(self.source.get_init_inputs())
        init_tree = pack(self.init_values, [])
        dtype = PRECISION_DTYPES[self.precision]
        self.construct("Model", request["seed"], self.init_values, dtype)
        torch.manual_seed(request["input_seed"])
        values = self._drawn(self.device)
        inputs: list[torch.Tensor] = []
        input_tree = pack(values, inputs)
        assert self.module is not None
        with torch.no_grad():
            result = self.module(*values)
            del result
            self._synchronize()
            started = time.perf_counter()
            result = self.module(*values)
            self._synchronize()
            forward_ms = (time.perf_counter() - started) * 1e3
        outputs: list[torch.Tensor] = []
        pack(result, outputs)
        state = self.own_state()
        self.input_specs = [TensorSpec.of(tensor) for tensor in inputs]
        reply = {
            "init": init_tree,
            "input_tree": input_tree,
            "inputs": [spec.to_json() for spec in self.input_specs],
            "outputs": [TensorSpec.of(tensor).contiguous().to_json() for tensor in outputs],
            "state_names": list(state),
            "state": [TensorSpec.of(tensor).contiguous().to_json() for tensor in state.values()],
            "transforms": structured_inputs.transforms_for(_leaves(values)),
            "forward_ms": forward_ms,
        }
        del values, inputs, result, outputs
        self._release()
        return reply

    def do_flops(self, request: dict[str, Any]) -> dict[str, Any]:
        """FLOPs of one call as torch counts them: matrix products, convolutions, attention.

        Asked for only where it is needed, because the counter's first use imports for 2 s.
        """
        from torch.utils.flop_counter import FlopCounterMode

        assert self.module is not None
        counter = FlopCounterMode(display=False)
        with torch.no_grad(), counter:
            self.module(*self.arguments[0])
        return {"flops": counter.get_total_flops()}

    def do_export_state(self, request: dict[str, Any]) -> dict[str, Any]:
        """Writes the module's parameters and buffers into the judge's state buffers."""
        with torch.no_grad():
            for name, value in self.own_state().items():
                self.state[name].copy_(value)
        self._synchronize()
        return {}

    def do_draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """Draws the inputs of each slot from its seed, transformed as its structure says.

        Raises `CandidateError` of kind "shapes" where a draw has other shapes than the first.
        """
        plan = zip(request["slots"], request["seeds"], request["structures"], strict=True)
        for slot, seed, structure in plan:
            torch.manual_seed(seed)
            values = self._drawn(self.device)
            if structure != "as_given":
                structured_inputs.apply(structure, _leaves(values))
            tensors: list[torch.Tensor] = []
            pack(values, tensors)
            specs = [TensorSpec.of(tensor) for tensor in tensors]
            if [s.shape for s in specs] != [s.shape for s in self.input_specs]:
                raise CandidateError("shapes", "the problem draws other shapes every time")
            for tensor, target in zip(tensors, self.input_views[slot], strict=True):
                target.copy_(tensor)
        self._synchronize()
        return {}

    def do_arithmetic(self, request: dict[str, Any]) -> dict[str, Any]:
        """Switches TF32 for matrix products and convolutions on or off (off is the default)."""
        torch.backends.cuda.matmul.allow_tf32 = request["tf32"]
        torch.backends.cudnn.allow_tf32 = request["tf32"]
        return {}

    def do_oracle(self, request: dict[str, Any]) -> dict[str, Any]:
        """The same module in float64 on the same inputs and weights, into the oracle buffers.

        On the device if its tensors fit, else on the host, else the strict reference at float32;
        `where` says which.
        """
        device, host = self.device, torch.device("cpu")
        choices = [
            ("float64 on device", device, torch.float64),
            ("float64 on host", host, torch.float64),
            ("strict fp32", device, torch.float32),
        ]
        inputs = self.input_views[request["slot"]]
        tensors = [*inputs, *self.state.values(), *self.oracle_views]
        needed = 2 * 8 * sum(tensor.numel() for tensor in tensors)
        for name, place, dtype in choices:
            self._release()
            last = dtype is torch.float32
            if not last and needed > free_bytes(place):
                continue
            try:
                self._run_oracle(place, dtype, inputs)
            except torch.OutOfMemoryError:
                if last:
                    raise
                continue
            return {"where": name}
        raise AssertionError("the last choice returns or raises")

    def _run_oracle(
        self, device: torch.device, dtype: torch.dtype, inputs: list[torch.Tensor]
    ) -> None:
        assert self.source is not None

        def lifted(value: torch.Tensor) -> torch.Tensor:
            kind = dtype if value.is_floating_point() else value.dtype
            return value.to(device, kind, copy=True)

        with torch.device(device):  # its first weights are replaced: no need to draw them slowly
            module = self.source.Model(*self.init_values)
        module = module.to(device=device, dtype=dtype)
        own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        with torch.no_grad():
            for name, value in self.state.items():
                own[name].copy_(value)
            result = module(*unpack(self.input_tree, [lifted(v) for v in inputs]))
            outputs: list[torch.Tensor] = []
            pack(result, outputs)
            for value, target in zip(outputs, self.oracle_views, strict=True):
                target.copy_(value)
        self._synchronize()
        del result, outputs
        self._release()

    def _drawn(self, device: torch.device | str) -> Any:
        """The problem's inputs on `device`, floating ones at the precision asked for."""
        assert self.source is not None
        dtype = getattr(torch, PRECISION_DTYPES[self.precision])
        context: AbstractContextManager[Any] = torch.device(device)
        with context:
            values = self.source.get_inputs()
        tensors: list[torch.Tensor] = []
        tree = pack(values, tensors)
        cast = [
            tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else None)
            for tensor in tensors
        ]
        for tensor in cast:
            name = str(tensor.dtype).removeprefix("torch.")
            if name not in DTYPES:
                raise UnsupportedValue(f"inputs of dtype {name} are not supported")
        return unpack(tree, cast)

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _release(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def _leaves(values: Any) -> list[Any]:
    """Top-level arguments as a list (what the structured transforms work on)."""
    return list(values)
