"""The two workers of a session and the memory between them: load, bind, draw, call.

Everything that crosses goes through here. The judge draws the seeds, owns every buffer and
copies inputs from the reference's side to the candidate's, so neither sees the other's memory.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import torch

from evaluator import gpu
from evaluator.buffers import Buffer, allocate, free_bytes
from evaluator.contract import Stage
from evaluator.observations import Observations
from evaluator.poison import SENTINELS
from evaluator.timing import Batch
from evaluator.values import Layout, TensorSpec
from evaluator.workers import WorkerFailed, WorkerProcess, take_worker

BUILD_TIMEOUT_S = 900.0
LOAD_TIMEOUT_S = 300.0
DRAW_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 30.0
SPIN_CLOCK_HZ = 2e9  # about what current cards boost to; a slower clock only spins longer
MAX_SLOTS = {"cuda": 256, "cpu": 16}
BATCH_MS = 2.0
SCRATCH_BYTES = 256 << 20  # several times any L2, so that copying into it costs what memory costs

StageCallback = Callable[[Stage, str], None]


class Sides:
    """Reference and candidate under one protocol. Raises `WorkerFailed` from every request."""

    def __init__(self, precision: str, device: str, seen: Observations) -> None:
        self.precision = precision
        self.device_name = device
        self.device = torch.device(device)
        self.seen = seen
        self.buffers: list[Buffer] = []
        self.reference_mutates = False
        self.seeds: list[int] = []
        self.surprises: list[str] = []  # structures for one slot of a timed batch
        self.odd_slot: int | None = None  # which one has it, in the last batch
        # Both start at once: importing torch takes longer than everything that follows.
        self.reference = take_worker(device)
        self.candidate = take_worker(device)

    # -- setting up -------------------------------------------------------------------------
    def load(self, problem_source: str, on_stage: StageCallback) -> None:
        """Runs the reference once, makes the buffers of its shapes and hands them to both."""
        on_stage(Stage.CHECKING, "starting two confined processes")
        self.reference.assign("reference")
        on_stage(Stage.CHECKING, "running the reference once")
        self.weight_seed = secrets.randbits(31)
        estimate = self.reference.request(
            "estimate", LOAD_TIMEOUT_S, source=problem_source, precision=self.precision
        )
        self._refuse_too_large(estimate["input_bytes"])
        self.loaded = self.reference.request(
            "load", LOAD_TIMEOUT_S, seed=self.weight_seed, input_seed=secrets.randbits(63)
        )
        on_stage(Stage.CHECKING, "sharing memory with both")
        self._make_buffers()
        names = {
            "input_tree": self.loaded["input_tree"],
            "state_names": self.loaded["state_names"],
        }
        self.reference.bind(
            {
                "inputs": (self.reference_inputs, self.inputs),
                "outputs": (self.reference_outputs, self.outputs),
                "state": (self.reference_state, self.state),
                "oracle": (self.oracle_buffer, self.oracles),
            },
            **names,
        )
        self._share_state()
        self.candidate.assign("candidate")
        self.candidate.bind(
            {
                "inputs": (self.candidate_inputs, self.inputs),
                "outputs": (self.candidate_outputs, self.outputs),
                "state": (self.candidate_state, self.state),
            },
            **names,
        )
        self.seen.isolation = self.candidate.isolation
        # A call may take long on its own account, but not for ever: a hang is told from a slow
        # kernel by a multiple of what the reference takes.
        self.call_timeout_s = CALL_TIMEOUT_S + 100 * self.loaded["forward_ms"] / 1e3

    def _make_buffers(self) -> None:
        inputs, outputs, state = (
            tuple(TensorSpec.from_json(spec) for spec in self.loaded[key])
            for key in ("inputs", "outputs", "state")
        )
        if not outputs or any(spec.numel == 0 for spec in outputs):
            reason = "the reference returns no tensor with elements"
            raise WorkerFailed("output", reason, "reference")
        self.seen.output_bytes = sum(spec.nbytes for spec in outputs)
        self.slots = self._slots(sum(spec.nbytes for spec in (*inputs, *outputs)))
        self.inputs = Layout(inputs, self.slots)
        self.outputs = Layout(outputs, self.slots)
        self.state = Layout(state)
        self.oracles = Layout(
            tuple(
                TensorSpec(spec.shape, _oracle_dtype(spec.dtype), spec.stride) for spec in outputs
            )
        )
        self.reference_inputs = self._allocate(self.inputs)
        self.candidate_inputs = self._allocate(self.inputs)
        self.reference_outputs = self._allocate(self.outputs)
        self.candidate_outputs = self._allocate(self.outputs)
        # The judge's own memory, out of the candidate's reach: its outputs from the moment at which
        # the clock stops, and where the same bytes go for the reference, which needs no copy.
        self.taken = self._private(self.candidate_outputs.tensor.numel())
        largest = max(self.reference_inputs.tensor.numel(), self.taken.numel())
        self.scratch = self._private(min(SCRATCH_BYTES, largest))
        self.reference_state = self._allocate(self.state)
        self.candidate_state = self._allocate(self.state)
        self.oracle_buffer = self._allocate(self.oracles)

    def _allocate(self, layout: Layout) -> Buffer:
        buffer = allocate(layout.nbytes, self.device)
        self.buffers.append(buffer)
        return buffer

    def _private(self, nbytes: int) -> torch.Tensor:
        return torch.empty(nbytes, dtype=torch.uint8, device=self.device)

    def _refuse_too_large(self, input_bytes: int | None) -> None:
        """Stops before anything is allocated where the tensors cannot fit on this device."""
        if input_bytes is None:
            return
        needed = 6 * input_bytes
        free = free_bytes(self.device)
        if needed > free:
            raise WorkerFailed(
                "out_of_memory",
                f"grading needs about {needed / 1e9:.0f} GB and {free / 1e9:.0f} GB are free on "
                f"{self.device_name}; nothing was run",
                "reference",
            )

    def _slots(self, moved_bytes: int) -> int:
        """Input sets in a batch: at least 2 ms of work, and several times the L2 in bytes."""
        enough = BATCH_MS / max(self.loaded["forward_ms"], 0.005)
        if self.device.type == "cuda":
            cold = 4 * gpu.measure_ceilings(self.device_name).l2_bytes / moved_bytes
            enough = max(enough, cold)
        affordable = free_bytes(self.device) / 8 / moved_bytes
        return max(1, min(MAX_SLOTS[self.device.type], int(affordable), round(enough + 0.5)))

    def build(self, candidate_source: str) -> None:
        """Imports the candidate and builds its module from the reference's seed and state."""
        started = time.monotonic()
        self.candidate.request(
            "build",
            BUILD_TIMEOUT_S,
            source=candidate_source,
            class_name="ModelNew",
            seed=self.weight_seed,
            init=self.loaded["init"],
            precision=self.precision,
        )
        self.seen.compile_s = time.monotonic() - started
        reply = self.candidate.request("load_state", DRAW_TIMEOUT_S)
        self.seen.missing_state = self.candidate.names(reply, "missing")

    def rebuild(self) -> None:
        """A second instance on both sides, from another seed, with the reference's state."""
        build = {
            "seed": secrets.randbits(31),
            "init": self.loaded["init"],
            "precision": self.precision,
        }
        self.reference.request("construct", LOAD_TIMEOUT_S, class_name="Model", **build)
        self._share_state()
        self.candidate.request("construct", BUILD_TIMEOUT_S, class_name="ModelNew", **build)
        self.reload_state()

    def _share_state(self) -> None:
        """The reference's weights, through the judge, to where the candidate reads them."""
        self.reference.request("export_state", DRAW_TIMEOUT_S)
        self.candidate_state.tensor.copy_(self.reference_state.tensor)
        self.synchronize()

    def reload_state(self) -> None:
        """Both sides as they were first: a reference in training mode changes its own buffers."""
        for side in (self.reference, self.candidate):
            side.request("load_state", DRAW_TIMEOUT_S)

    def changed_state(self) -> set[str]:
        """Names of state that the candidate has changed and the reference has not."""
        theirs, own = (
            set(side.names(side.request("changed_state", DRAW_TIMEOUT_S), "changed"))
            for side in (self.candidate, self.reference)
        )
        return theirs - own

    # -- one call ---------------------------------------------------------------------------
    def draw(
        self,
        structure: str = "as_given",
        slots: int = 1,
        scale: float = 1.0,
        share: bool = True,
        again: bool = False,
        at: int = 0,
    ) -> None:
        """Fresh inputs into the first `slots` slots, the same bytes for both sides.

        Slot `at` has the structure, the others are as given.
        `scale` multiplies the floating inputs, beyond what a structure may reach. With `share`
        False the candidate does not get them yet. `again` takes the last draw's seeds, so that
        only the structure makes a difference.
        """
        if not again:
            self.seeds = [secrets.randbits(63) for _ in range(slots)]
        self.reference.request(
            "draw",
            DRAW_TIMEOUT_S + slots,
            slots=list(range(slots)),
            seeds=self.seeds,
            structures=[structure if slot == at else "as_given" for slot in range(slots)],
        )
        if scale != 1.0:
            for tensor in self.inputs.views(self.reference_inputs.tensor):
                if tensor.is_floating_point():
                    tensor.mul_(scale)
        if share:
            self.candidate_inputs.tensor.copy_(self.reference_inputs.tensor)
        self.synchronize()

    def call(self, side: WorkerProcess, poison: str) -> None:
        """One call, into an output that holds the sentinel."""
        mine = side is self.candidate
        outputs = self.candidate_outputs if mine else self.reference_outputs
        outputs.tensor.fill_(SENTINELS.get(poison, SENTINELS["a"]))
        self.synchronize()
        if poison != "none":
            side.request("prepare", DRAW_TIMEOUT_S, poison=poison)
        reply = side.request("call", self.call_timeout_s, slots=[0], spin_cycles=0)
        if mine:
            self._take(side)
        if "aliased" in reply:
            if mine:
                self.seen.aliased = True
            else:
                self.seen.reference_aliases = True

    def call_both(self, poison: str) -> None:
        """Reference, then candidate on the same inputs; notes inputs that only it changed."""
        self.call(self.reference, "a")
        changed = not self._same_inputs()
        self.reference_mutates |= changed
        self.call(self.candidate, poison)
        if not changed and not self._same_inputs():
            self.seen.mutated_inputs = True

    def _same_inputs(self) -> bool:
        ours, theirs = (
            buffer.tensor.view(torch.int64)
            for buffer in (self.reference_inputs, self.candidate_inputs)
        )
        return torch.equal(ours, theirs)

    def _take(self, side: WorkerProcess) -> None:
        """Copies the candidate's outputs out of its reach: what it writes later does not count.

        The reference is trusted; its outputs are copied only for the time that it takes.
        """
        if side is self.candidate:
            self._copy(self.candidate_outputs.tensor, self.taken)
        else:
            self._copy(self.reference_outputs.tensor, None)
        self.synchronize()

    def _copy(self, source: torch.Tensor, target: torch.Tensor | None) -> None:
        """Copies bytes, to nowhere in particular without a target, at the same cost for both."""
        size = self.scratch.numel()
        for start in range(0, source.numel(), size):
            part = source[start : start + size]
            into = self.scratch if target is None else target[start:]
            into[: part.numel()].copy_(part)

    def output(self, side: WorkerProcess, slot: int = 0) -> list[torch.Tensor]:
        """A side's last outputs: the candidate's as they were when the clock stopped."""
        return self.outputs.views(self._outputs_of(side), slot)

    def _outputs_of(self, side: WorkerProcess) -> torch.Tensor:
        return self.taken if side is self.candidate else self.reference_outputs.tensor

    def stacked_outputs(self, side: WorkerProcess) -> list[torch.Tensor]:
        """Every output of all slots as one tensor: the calls of a batch are checked at once."""
        outputs = self._outputs_of(side)
        return [self.outputs.stacked(outputs, i) for i in range(len(self.outputs.specs))]

    def stacked_inputs(self) -> list[torch.Tensor]:
        """Every input of all slots as one tensor, as the reference got them."""
        buffer = self.reference_inputs.tensor
        return [self.inputs.stacked(buffer, i) for i in range(len(self.inputs.specs))]

    def oracle(self, slot: int = 0) -> list[torch.Tensor]:
        """The exact outputs for the inputs of a slot."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()  # float64 wants the memory that the judge only holds on to
        reply = self.reference.request("oracle", LOAD_TIMEOUT_S, slot=slot)
        self.seen.oracle = str(reply["where"])
        return self.oracles.views(self.oracle_buffer.tensor)

    def flops(self) -> int:
        """FLOPs of one call of the reference, as torch counts them."""
        return int(self.reference.request("flops", LOAD_TIMEOUT_S)["flops"])

    def set_tf32(self, allowed: bool) -> None:
        """Whether the reference's matrix products and convolutions may be computed in TF32."""
        self.reference.request("arithmetic", DRAW_TIMEOUT_S, tf32=allowed)

    # -- timed batches ----------------------------------------------------------------------
    def prepare_batch(self, number: int) -> None:
        """Fresh inputs for every slot, outputs and free memory poisoned, state as it was.

        The candidate gets its inputs when the judge's clock runs: what it does while it waits
        (threads, hooks, its own idea of preparing) is done without them. Only where the reference
        changes its own inputs must the candidate's be there before.
        """
        self.odd_slot, structure = self._surprise()
        self.draw(structure, slots=self.slots, share=self.reference_mutates, at=self.odd_slot or 0)
        self.reload_state()
        sentinel = "ab"[number % 2]
        for buffer in (self.reference_outputs, self.candidate_outputs):
            buffer.tensor.fill_(SENTINELS[sentinel])
        # malloc's sentinel costs a pass over the output, which would be timed as the call's own.
        poison = "none" if self.device.type == "cpu" else sentinel
        for side in (self.reference, self.candidate):
            side.request("prepare", DRAW_TIMEOUT_S, poison=poison)
        self.synchronize()

    def _surprise(self) -> tuple[int | None, str]:
        """A secret slot of the batch and the structure of its inputs.

        What knows that it is timed and then relies on the data as drawn, is wrong there. Where a
        batch has one slot, one batch in three has a structure.
        """
        if not self.surprises or (self.slots == 1 and secrets.randbelow(3)):
            return None, "as_given"
        return secrets.randbelow(self.slots), secrets.choice(self.surprises)

    def batch(self, side: WorkerProcess) -> Batch:
        """One call per slot: the judge's clock runs from before the candidate has its inputs
        until every output is out of its reach. Copies cost both sides the same."""
        timeout_s = self.call_timeout_s * (1 + self.slots / 10)
        slots = list(range(self.slots))
        cycles = self._spin_cycles()
        late = side is self.candidate and not self.reference_mutates
        started = time.perf_counter()
        self._copy(self.reference_inputs.tensor, self.candidate_inputs.tensor if late else None)
        self.synchronize()
        reply = side.request("call", timeout_s, slots=slots, spin_cycles=cycles)
        self._take(side)
        wall_ms = (time.perf_counter() - started) * 1e3
        return Batch(wall_ms, side.times(reply, self.slots))

    def _spin_cycles(self) -> int:
        """Long enough for the host to launch a batch ahead of it: 1 ms and 0.2 ms a call."""
        if self.device.type != "cuda":
            return 0
        return int(min(1e-3 + 0.2e-3 * self.slots, 60e-3) * SPIN_CLOCK_HZ)

    def benchmark_mean_ms(self, side: WorkerProcess, repeats: int) -> float:
        """Mean time of a call as KernelBench takes it."""
        timeout_s = 30.0 + repeats * self.call_timeout_s
        reply = side.request("benchmark_times", timeout_s, repeats=repeats)
        return sum(side.times(reply, repeats)) / repeats

    # -- the end ----------------------------------------------------------------------------
    def synchronize(self) -> None:
        """Waits for the judge's own work on the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def close(self) -> None:
        """Ends both workers and gives the memory back; keeps what the failed side printed."""
        printed = self.candidate.close()
        problem_printed = self.reference.close()
        failure = self.seen.failure
        of_problem = failure is not None and failure.side == "reference"
        self.seen.stdout = problem_printed if of_problem else printed
        self.taken = self.scratch = torch.empty(0, dtype=torch.uint8)
        for buffer in self.buffers:
            buffer.close()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def _oracle_dtype(dtype: str) -> str:
    return "float64" if dtype.startswith(("float", "bfloat")) else dtype
