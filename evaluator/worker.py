"""The process that runs one side's code: the problem's `Model` or the candidate's `ModelNew`.

It confines itself before torch is imported, then answers the judge one request at a time. All it
reports are claims: what counts is what lies in the judge's buffers when the judge's clock stops.
This module is the part that both sides share; `worker_reference` adds what only the reference
does (drawing inputs, the oracle).
"""

from __future__ import annotations

import gc
import importlib.util
import os
import socket
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from evaluator import confine
from evaluator.protocol import Channel, ChannelClosed
from evaluator.values import PRECISION_DTYPES, Layout, UnsupportedValue, pack, unpack

if TYPE_CHECKING:
    import torch

MAX_ERROR_CHARACTERS = 4000


class CandidateError(Exception):
    """Something that the code under test did: `kind` says at which step."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Worker:
    """State of one side between requests. Requests are the methods named `do_*`."""

    def __init__(self, device: torch.device, work_dir: Path) -> None:
        self.device = device
        self.work_dir = work_dir
        self.source: ModuleType | None = None
        self.module: torch.nn.Module | None = None
        self.state: dict[str, torch.Tensor] = {}
        self.arguments: list[Any] = []
        self.input_views: list[list[torch.Tensor]] = []
        self.output_views: list[list[torch.Tensor]] = []
        self.oracle_views: list[torch.Tensor] = []
        self.input_tree: Any = None
        self.fds: list[int] = []

    # -- building ---------------------------------------------------------------------------
    def import_source(self, text: str, name: str) -> ModuleType:
        """Imports `text` as a module of its own, from a file in the private folder.

        Triton and inspect need the file on disk. Raises `CandidateError` of kind "source" when it
        does not parse, "compile" when a build in it failed and "import" for any other exception.
        """
        path = self.work_dir / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        try:
            code = compile(text, str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise CandidateError("source", f"it does not parse: {error}") from error
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)
        except Exception as error:
            raise CandidateError(_kind_of(error, "import"), _describe(error)) from error
        return module

    def construct(self, class_name: str, seed: int, init: list[Any], dtype: str) -> None:
        """Builds the module on the CPU from `seed`, as KernelBench does, then moves it."""
        import torch

        factory = getattr(self.source, class_name, None)
        if factory is None:
            raise CandidateError("source", f"it defines no {class_name}")
        torch.manual_seed(seed)
        try:
            module = factory(*init)
        except Exception as error:
            raise CandidateError(_kind_of(error, "construct"), _describe(error)) from error
        if not isinstance(module, torch.nn.Module):
            raise CandidateError("construct", f"{class_name}(...) is no torch.nn.Module")
        try:
            self.module = module.to(device=self.device, dtype=getattr(torch, dtype))
        except Exception as error:
            raise CandidateError(_kind_of(error, "construct"), _describe(error)) from error

    def do_build(self, request: dict[str, Any]) -> dict[str, Any]:
        """Imports the candidate and builds its module."""
        started = time.perf_counter()
        self.source = self.import_source(request["source"], "candidate")
        self.do_construct(request)
        return {"seconds": time.perf_counter() - started}

    def do_construct(self, request: dict[str, Any]) -> dict[str, Any]:
        """A further instance of the same module from another seed."""
        self.module = None
        init = unpack(request["init"], [])
        dtype = PRECISION_DTYPES[request["precision"]]
        self.construct(request["class_name"], request["seed"], list(init), dtype)
        return {}

    # -- memory -----------------------------------------------------------------------------
    def do_bind(self, request: dict[str, Any]) -> dict[str, Any]:
        """Opens the judge's buffers; after this the worker gives up its user id for good."""
        from evaluator.buffers import open_shared

        opened: dict[str, torch.Tensor] = {}
        layouts: dict[str, Layout] = {}
        for name, group in request["groups"].items():
            fd = self.fds.pop(0) if group["handle"]["kind"] == "cpu" else None
            opened[name] = open_shared(group["handle"], fd, self.device)
            layouts[name] = Layout.from_json(group["layout"])
        slots = range(layouts["inputs"].slots)
        self.input_views = [layouts["inputs"].views(opened["inputs"], slot) for slot in slots]
        self.output_views = [layouts["outputs"].views(opened["outputs"], slot) for slot in slots]
        self.arguments = [unpack(request["input_tree"], views) for views in self.input_views]
        self.input_tree = request["input_tree"]
        state = layouts["state"].views(opened["state"])
        self.state = dict(zip(request["state_names"], state, strict=True))
        if "oracle" in opened:
            self.oracle_views = layouts["oracle"].views(opened["oracle"])
        return {"isolation": confine.drop_privileges(request["uid"])}

    def own_state(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers of the module by name."""
        assert self.module is not None
        return {
            **dict(self.module.named_parameters()),
            **dict(self.module.named_buffers()),
        }

    def do_load_state(self, request: dict[str, Any]) -> dict[str, Any]:
        """Copies the judge's state into the module where names and shapes agree."""
        import torch

        own = self.own_state()
        missing = []
        with torch.no_grad():
            for name, value in self.state.items():
                if name in own and own[name].shape == value.shape:
                    own[name].copy_(value)
                else:
                    missing.append(name)
        return {"missing": missing, "extra": sorted(set(own) - set(self.state))[:32]}

    def do_changed_state(self, request: dict[str, Any]) -> dict[str, Any]:
        """Names of state tensors that no longer hold what the judge loaded."""
        import torch

        own = self.own_state()
        changed = [
            name
            for name, value in self.state.items()
            if name in own
            and own[name].shape == value.shape
            and not torch.equal(own[name].to(value.dtype), value)
        ]
        return {"changed": changed}

    # -- running ----------------------------------------------------------------------------
    def do_prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """What must not happen under the judge's clock: collect garbage, poison free memory."""
        from evaluator.poison import poison_free_device_memory, poison_host_allocations

        gc.collect()
        if self.device.type != "cuda":
            poison_host_allocations(request["poison"])
        elif request["poison"] != "none":
            poison_free_device_memory(request["poison"])
        return {}

    def do_call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Calls the module once per slot and leaves the outputs in the judge's buffers.

        Nothing but the calls and the copies happens in here, because the judge's clock runs.
        `times_ms` are this process's own events (or host clock on the CPU) round each call; the
        judge takes them for claims and holds them against its own clock.
        """
        import torch

        assert self.module is not None
        cuda = self.device.type == "cuda"
        module = self.module
        slots: list[int] = request["slots"]
        if cuda and request["spin_cycles"]:
            # The device waits while the host runs ahead, so that the events measure the device
            # and not how fast Python launches. It is part of the protocol on both sides.
            torch.cuda._sleep(request["spin_cycles"])
        events = (
            [
                (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                for _ in slots
            ]
            if cuda
            else []
        )
        host_ms: list[float] = []
        notes: dict[str, Any] = {}
        gc.disable()
        try:
            with torch.no_grad():
                for number, slot in enumerate(slots):
                    arguments = self.arguments[slot]
                    if cuda:
                        events[number][0].record()
                        result = module(*arguments)
                        events[number][1].record()
                    else:
                        started = time.perf_counter()
                        result = module(*arguments)
                        host_ms.append((time.perf_counter() - started) * 1e3)
                    notes.update(self.deliver(result, slot))
                    del result
                if cuda:
                    torch.cuda.synchronize()
        except CandidateError:
            raise
        except torch.OutOfMemoryError as error:
            raise CandidateError("out_of_memory", _describe(error)) from error
        except Exception as error:
            raise CandidateError(_kind_of(error, "call"), _describe(error)) from error
        finally:
            gc.enable()
        times_ms = [a.elapsed_time(b) for a, b in events] if cuda else host_ms
        return {"times_ms": times_ms, **notes}

    def do_benchmark_times(self, request: dict[str, Any]) -> dict[str, Any]:
        """Times in ms as KernelBench takes them: one input set, L2 cleared, events per call.

        Only for `benchmark_speedup`, the score that its rule would give; never for ours.
        """
        import torch

        assert self.module is not None
        cuda = self.device.type == "cuda"
        scratch = torch.empty(256 << 20 if cuda else 0, dtype=torch.uint8, device=self.device)
        times_ms = []
        try:
            with torch.no_grad():
                for number in range(-3, request["repeats"]):
                    if cuda:
                        scratch.zero_()
                        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                        start.record()
                        self.module(*self.arguments[0])
                        end.record()
                        torch.cuda.synchronize()
                        elapsed = start.elapsed_time(end)
                    else:
                        started = time.perf_counter()
                        self.module(*self.arguments[0])
                        elapsed = (time.perf_counter() - started) * 1e3
                    if number >= 0:
                        times_ms.append(elapsed)
        except Exception as error:
            raise CandidateError(_kind_of(error, "call"), _describe(error)) from error
        return {"times_ms": times_ms}

    def deliver(self, result: Any, slot: int) -> dict[str, Any]:
        """Copies a call's result into the judge's buffers; says what is odd about it."""
        import torch

        tensors: list[torch.Tensor] = []
        try:
            pack(result, tensors)
        except UnsupportedValue as error:
            raise CandidateError("output", f"it returned something else: {error}") from error
        expected = self.output_views[slot]
        if len(tensors) != len(expected):
            raise CandidateError(
                "output", f"it returned {len(tensors)} tensors where {len(expected)} are due"
            )
        notes: dict[str, Any] = {}
        for number, (tensor, target) in enumerate(zip(tensors, expected, strict=True)):
            if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
                raise CandidateError(
                    "lazy", f"output {number} is a {type(tensor).__name__}, no plain tensor"
                )
            if tuple(tensor.shape) != tuple(target.shape):
                raise CandidateError(
                    "output",
                    f"output {number} has shape {tuple(tensor.shape)}, due is "
                    f"{tuple(target.shape)}",
                )
            if tensor.dtype != target.dtype:
                raise CandidateError(
                    "output", f"output {number} is {tensor.dtype}, due is {target.dtype}"
                )
            if tensor.device != target.device:
                raise CandidateError(
                    "output", f"output {number} lies on {tensor.device}, due is {target.device}"
                )
            if self.is_alias(tensor, slot):
                notes["aliased"] = number
            target.copy_(tensor)
        return notes

    def is_alias(self, tensor: torch.Tensor, slot: int) -> bool:
        """Whether an output shares memory with an input of this call."""
        if tensor.numel() == 0:
            return False
        start = tensor.untyped_storage().data_ptr()
        end = start + tensor.untyped_storage().nbytes()
        for value in self.input_views[slot]:
            address = value.data_ptr()
            if address < end and start < address + value.numel() * value.element_size():
                return True
        return False


def _kind_of(error: Exception, step: str) -> str:
    """At which step it broke; builds are told by the exception, since they run anywhere."""
    import torch

    name = type(error).__name__
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError) or "out of memory" in text.lower():
        return "out_of_memory"
    if name in ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"):
        return "compile"
    if "Error building extension" in text or "Ninja is required" in text or "nvcc" in text:
        return "compile"
    if name == "NVRTCError" or "CUDA_HOME environment variable is not set" in text:
        return "compile"
    return step


def _describe(error: BaseException) -> str:
    """Type, text and the last frame in the code under test, trimmed at both ends' middle."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "evaluator" not in f.filename]
    where = ""
    for frame in reversed(frames):
        if os.path.basename(frame.filename) in ("candidate.py", "problem.py"):
            where = f" (line {frame.lineno}: {(frame.line or '').strip()[:120]})"
            break
    try:
        text = str(error)
    except Exception as broken:
        text = f"<its text could not be read: {type(broken).__name__}>"
    if len(text) > MAX_ERROR_CHARACTERS:
        half = MAX_ERROR_CHARACTERS // 2
        text = f"{text[:half]}\n[...]\n{text[-half:]}"
    return f"{type(error).__name__}: {text}{where}"


def serve(worker: Worker, channel: Channel) -> None:
    """Answers requests until the judge hangs up."""
    while True:
        try:
            request, fds = channel.receive(None, max_fds=64)
        except ChannelClosed:
            return
        worker.fds += fds
        operation = getattr(worker, f"do_{request['op']}")
        try:
            reply = {"ok": True, **operation(request)}
        except CandidateError as error:
            reply = {"ok": False, "kind": error.kind, "message": str(error)}
        except Exception as error:
            reply = {"ok": False, "kind": "worker", "message": _describe(error)}
        channel.send({**reply, "id": request["id"]})


def _warm_up(device: torch.device) -> None:
    """What every process does once and a spare one can do while it waits.

    Loading the libraries' kernels, and the C stub that Triton builds before its first launch.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    a = torch.rand(64, 64, device=device)
    (torch.randn(64, 64, device=device).double() @ a.double()).sum().item()
    (a @ a + a.to(torch.bfloat16).float()).sum().item()
    with FlopCounterMode(display=False):
        (a @ a).sum()
    image = torch.rand(1, 4, 16, 16, device=device)
    torch.conv2d(image, torch.rand(4, 4, 3, 3, device=device)).sum().item()
    if importlib.util.find_spec("triton") is not None:
        from triton.runtime import driver

        driver.active.get_current_target()


def main(fd: int) -> None:
    """Entry of the process: confine, import torch, say what it is, then serve."""
    channel = Channel(socket.socket(fileno=fd))
    request, _ = channel.receive(None)
    work_dir = Path(request["work_dir"])
    policy = confine.default_policy(
        str(work_dir), tuple(request["readable"]), cuda=request["device"].startswith("cuda")
    )
    confine.enter(policy)

    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    device = torch.device(request["device"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.zeros(1, device=device)
    if request["spare"] and device.type == "cuda":
        _warm_up(device)
    channel.send({"ok": True})
    request, _ = channel.receive(None)  # which side it is comes last: spare workers wait here
    if request["role"] == "reference":
        from evaluator.worker_reference import ReferenceWorker

        worker: Worker = ReferenceWorker(device, work_dir)
    else:
        worker = Worker(device, work_dir)
    channel.send({"ok": True})
    gc.collect()
    gc.freeze()  # torch's half a million objects need not be looked at before every call
    serve(worker, channel)
