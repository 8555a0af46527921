"""Times every Triton candidate of ours beside its reference on a GPU, at the shipped shapes.

    python3 benchmarks/kernel_times.py --out FILE [--only TEXT ...] [--precision fp32 bf16]

A quick look while a kernel is written, not a verdict: no confinement, no hostile candidates, CUDA
events of the same process (`triton.testing.do_bench`). What counts is `python -m evaluator grade`.

One child process measures; where it dies (a kernel that reads out of bounds takes the CUDA context
with it) the candidate it was at is reported and another child goes on with the next. Needs torch
and triton alone. FILE is JSON: the device, and a list of rows with times in ms, errors as
max |difference| / (|expected| + RMS), `floor_bytes` (bytes that any kernel must move) and the GB/s
that the candidate's time makes of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.kernel_bytes import floor_bytes  # noqa: E402
from kernels.catalogue import Candidate, honest, load  # noqa: E402

CHUNK = 1 << 26  # elements compared at a time, so that float64 copies stay small


def cast(inputs: list[Any], dtype: Any) -> list[Any]:
    """Floating-point tensors at `dtype`; indices, targets and scalars as they are."""
    return [x.to(dtype) if hasattr(x, "dtype") and x.is_floating_point() else x for x in inputs]


def errors(actual: Any, expected: Any) -> tuple[float, float]:
    """(max |difference| / (|expected| + RMS), relative L2), computed in float64.

    Raises ValueError for another shape and for an output that is not finite.
    """
    if actual.shape != expected.shape:
        raise ValueError(f"shape {list(actual.shape)}, expected {list(expected.shape)}")
    got, want = actual.reshape(-1), expected.reshape(-1)
    pieces = [slice(start, start + CHUNK) for start in range(0, want.numel(), CHUNK)]
    norm2 = sum(float(want[piece].double().square().sum()) for piece in pieces)
    rms = (norm2 / want.numel()) ** 0.5
    largest, difference2 = 0.0, 0.0
    for piece in pieces:
        exact = want[piece].double()
        difference = (got[piece].double() - exact).abs_()
        if not bool(difference.isfinite().all()):
            raise ValueError("the output holds NaN or infinities: not written, or wrong")
        difference2 += float(difference.square().sum())
        largest = max(largest, float((difference / (exact.abs() + rms)).max()))
    return largest, (difference2 / norm2) ** 0.5


def median_ms(call: Callable[[], Any], device: str) -> float:
    """Median time of a call: CUDA events with a cold L2, or the wall clock on a CPU."""
    if device.startswith("cuda"):
        from triton.testing import do_bench

        median: Any = do_bench(call, warmup=10, rep=60, return_mode="median")
        return float(median)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def measure(label: str, problem: Any, ours: Any, precision: str, device: str) -> dict[str, Any]:
    """One row: errors of candidate and reference against the reference in float64, both times.

    Raises whatever the candidate or the reference raises.
    """
    import torch

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    torch.manual_seed(0)
    with torch.device(device):  # inputs and weights are drawn where they are needed
        inputs = cast(problem.get_inputs(), dtype)
        reference, exact = (problem.Model(*problem.get_init_inputs()).to(dtype) for _ in range(2))
        candidate = ours.ModelNew(*problem.get_init_inputs()).to(dtype)
    exact.load_state_dict(reference.state_dict())
    candidate.load_state_dict(reference.state_dict())
    with torch.no_grad():
        expected = exact.double()(*cast(inputs, torch.float64))
        del exact
        # The candidate's output is likely to get this memory: what it leaves unwritten is NaN.
        poison = torch.full_like(expected, torch.nan, dtype=dtype)
        del poison
        output = candidate(*inputs)
        error, relative_l2 = errors(output, expected)
        reference_error, _ = errors(reference(*inputs), expected)
        floor = floor_bytes(label, reference, inputs, output)
        del output, expected
        candidate_ms = median_ms(lambda: candidate(*inputs), device)
        reference_ms = median_ms(lambda: reference(*inputs), device)
    return {
        "error": error,
        "relative_l2": relative_l2,
        "reference_error": reference_error,
        "right": error <= max(16 * reference_error, 4 * torch.finfo(dtype).eps),
        "candidate_ms": candidate_ms,
        "reference_ms": reference_ms,
        "speedup": reference_ms / candidate_ms,
        "floor_bytes": floor,
        "floor_gb_per_s": floor / candidate_ms / 1e6,
    }


def work(tasks: list[str], device: str) -> None:
    """The child process: one JSON line when a task is begun, one with its row."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    by_label = {candidate.label: candidate for candidate in honest()}
    for task in tasks:
        label, precision = task.split(":")
        candidate: Candidate = by_label[label]
        print(json.dumps({"begun": task}), flush=True)
        start = time.perf_counter()
        try:
            problem, ours = load(candidate.problem_path), load(candidate.path)
            row = measure(label, problem, ours, precision, device)
        except Exception as error:  # the row says so, the next candidate is still measured
            row = {"failure": f"{type(error).__name__}: {error}"[:2000]}
        seconds = round(time.perf_counter() - start, 2)
        print(json.dumps({"task": task, "seconds": seconds} | row), flush=True)
        gc.collect()
        if device.startswith("cuda"):
            torch.cuda.empty_cache()
            torch.cuda.synchronize()  # raises where the context is lost: the parent starts anew


def supervise(tasks: list[str], command: list[str], deadline: float) -> Iterator[dict[str, Any]]:
    """Rows of all tasks; `command` plus the tasks left is run again where it dies.

    A task that took its process along gets a row with the exit status, the ones not measured at
    `deadline` (time.monotonic) one that says so. Raises RuntimeError where the process ends before
    its first task.
    """
    left = list(tasks)
    while left and time.monotonic() < deadline:
        begun: str | None = None
        before = len(left)
        with subprocess.Popen([*command, *left], stdout=subprocess.PIPE, text=True) as child:
            watchdog = threading.Timer(max(0.0, deadline - time.monotonic()), child.kill)
            watchdog.start()
            for text in child.stdout or ():
                message = json.loads(text)
                begun = message.get("begun")
                if begun is None:
                    left.remove(message["task"])
                    yield message
            child.wait()
            watchdog.cancel()
        if begun is not None and time.monotonic() < deadline:
            left.remove(begun)
            yield {"task": begun, "failure": f"its process ended with {child.returncode}"}
        elif len(left) == before and time.monotonic() < deadline:
            raise RuntimeError(f"the measuring process ended with {child.returncode} at its start")
    for task in left:
        yield {"task": task, "failure": "not measured: the time was used up"}


def line(row: dict[str, Any]) -> str:
    if "failure" in row:
        return f"{row['task']:<58} {row['failure'].splitlines()[0][:90]}"
    return (
        f"{row['task']:<58} {'right' if row['right'] else 'WRONG':<5} {row['error']:9.2e} "
        f"{row['reference_error']:9.2e} {row['candidate_ms']:9.3f} {row['reference_ms']:9.3f} "
        f"{row['speedup']:7.2f} {row['floor_gb_per_s']:8.0f}"
    )


def device_facts(device: str) -> dict[str, Any]:
    import torch
    import triton

    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    return {"device": name, "torch": torch.__version__, "triton": triton.__version__}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file for the rows")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of labels to keep")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=170, help="stop after this time")
    parser.add_argument("--tasks", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tasks:
        work(options.tasks, options.device)
        return 0
    labels = [c.label for c in honest() if any(part in c.label for part in options.only)]
    tasks = [f"{label}:{precision}" for label in labels for precision in options.precision]
    if not tasks or options.out is None:
        parser.error("--out FILE is needed, and --only must leave a candidate")
    try:
        facts = device_facts(options.device)
    except (AssertionError, RuntimeError) as error:
        parser.error(f"{options.device} cannot be used: {error}")
    print(
        f"{facts}\n{'candidate':<58} {'':5} {'error':>9} {'ref. err.':>9} {'ms':>9} {'ref. ms':>9}"
        f" {'speedup':>7} {'GB/s':>8}"
    )
    command = [sys.executable, __file__, "--device", options.device, "--tasks"]
    rows = []
    for row in supervise(tasks, command, time.monotonic() + options.seconds):
        rows.append(row)
        print(line(row), flush=True)
        options.out.write_text(json.dumps(facts | {"rows": rows}, indent=1))
    failed = sum("failure" in row or not row["right"] for row in rows)
    print(f"{len(rows)} rows, {failed} failed or wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
