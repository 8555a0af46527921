"""Every candidate compiled for an H200 (sm_90) at its shipped shapes, without a GPU.

The interpreter does not find what only the compiler refuses (a block that is no power of two, a
dot of unfit shape, too much shared memory), nor spilled registers. A child process gives triton a
driver that names the target and launches nothing, and calls `forward` with the problem's own inputs
on torch's meta device, so that argument types and alignments are those of a real call.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from test_kernels_cases import CANDIDATES, cast

from kernels.catalogue import Candidate, adversarial, load

ROOT = Path(__file__).resolve().parent.parent
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SHARED_MEMORY = 232448  # bytes that one block may use on sm_90
TRITON_FILES = [
    candidate
    for candidate in CANDIDATES + adversarial()
    if "import triton" in candidate.path.read_text()
]
RUNS = [(candidate, precision) for candidate in TRITON_FILES for precision in DTYPES]


def key(candidate: Candidate, precision: str) -> str:
    return f"{candidate.label}-{precision}"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the child process compiled, by case: kernels with registers, spills, shared memory."""
    pytest.importorskip("triton", reason="triton is not installed")
    cache = tmp_path_factory.mktemp("triton-cache")
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {row["key"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: key(*run))
def test_candidate_compiles_for_the_gpu(
    run: tuple[Candidate, str], compiled: dict[str, dict[str, Any]]
) -> None:
    row = compiled[key(*run)]
    assert "failure" not in row, row["failure"]
    assert row["output_as_reference"]
    assert row["kernels"]
    for kernel in row["kernels"]:
        assert kernel["spilled_bytes"] == 0, kernel
        assert kernel["shared_bytes"] <= SHARED_MEMORY, kernel


@pytest.mark.parametrize(
    "candidate", [c for c in TRITON_FILES if "tl.dot(" in c.path.read_text()], ids=lambda c: c.label
)
def test_fp32_products_are_not_downgraded(
    candidate: Candidate, compiled: dict[str, dict[str, Any]]
) -> None:
    """No tensor-core instruction at fp32: there it would multiply TF32. At bf16 there is one."""
    fp32 = compiled[key(candidate, "fp32")]["kernels"]
    bf16 = compiled[key(candidate, "bf16")]["kernels"]
    assert not any(kernel["tensor_cores"] for kernel in fp32)
    assert any(kernel["tensor_cores"] for kernel in bf16)


def compile_candidate(candidate: Candidate, precision: str, seen: list[Any]) -> dict[str, Any]:
    """Calls `forward` on meta tensors; `seen` collects what triton compiled on the way."""
    problem, dtype = load(candidate.problem_path), DTYPES[precision]
    with torch.device("meta"), torch.no_grad():
        inputs = cast(problem.get_inputs(), dtype)
        expected = problem.Model(*problem.get_init_inputs()).to(dtype)(*inputs)
        model = load(candidate.path).ModelNew(*problem.get_init_inputs()).to(dtype)
        seen.clear()
        actual = model(*inputs)
    return {
        "output_as_reference": (actual.shape, actual.dtype) == (expected.shape, expected.dtype),
        "kernels": [describe(kernel) for kernel in seen],
    }


def describe(kernel: Any) -> dict[str, Any]:
    """Registers and spills as ptxas reports them for the kernel's PTX, and its shared memory."""
    from triton import knobs

    ptx = kernel.asm["ptx"]
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        command = [knobs.nvidia.ptxas.path, "-v", "--gpu-name=sm_90a", file.name, "-o", "/dev/null"]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spills = [int(n) for n in re.findall(r"(\d+) bytes spill", report)]
    return {
        "name": kernel.metadata.name,
        "registers": int(re.findall(r"Used (\d+) registers", report)[0]),
        "spilled_bytes": sum(spills),
        "shared_bytes": kernel.metadata.shared,
        "tensor_cores": bool(re.search(r"\b(wgmma\.mma|mma\.sync)", ptx)),
    }


def main() -> None:
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    class Target:
        """As much of a driver as compiling asks for."""

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 90, 32)

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, device: int) -> int:
            return 0

    driver.set_active(Target())  # type: ignore[arg-type]
    seen: list[Any] = []
    launch = JITFunction.run

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        kernel = launch(self, *args, grid=grid, warmup=True, **options)
        seen.append(kernel)
        return kernel

    JITFunction.run = compile_only  # type: ignore[method-assign]
    for run in RUNS:
        try:
            row = compile_candidate(*run, seen)
        except Exception as error:  # reported as the failure of this case
            row = {"failure": f"{type(error).__name__}: {error}"}
        print(json.dumps({"key": key(*run)} | row), flush=True)


if __name__ == "__main__":
    main()
