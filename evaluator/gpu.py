"""Facts about the GPU: NVML readings round a grading, and the ceilings measured on the card."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import pynvml
import torch

_THROTTLE_REASONS = {
    pynvml.nvmlClocksThrottleReasonSwPowerCap: "power cap",
    pynvml.nvmlClocksThrottleReasonHwSlowdown: "hardware slowdown",
    pynvml.nvmlClocksThrottleReasonSwThermalSlowdown: "thermal (software)",
    pynvml.nvmlClocksThrottleReasonHwThermalSlowdown: "thermal (hardware)",
    pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown: "power brake",
}


@dataclass(frozen=True)
class Ceilings:
    """What this card was measured to do: bytes/s of a copy (read plus written), of a fill, and
    FLOP/s of a large matrix product by precision. Taken once per process, on the device."""

    copy_bytes_per_s: float
    write_bytes_per_s: float
    flops_per_s: dict[str, float]
    l2_bytes: int


def read_facts(device: str) -> dict[str, Any]:
    """Name, memory, clocks, temperature, power, throttle reasons, other processes.

    Empty on the CPU. A reading that the driver refuses is left out and named in `unavailable`.
    """
    if not device.startswith("cuda"):
        return {}
    pynvml.nvmlInit()
    try:
        uuid = str(torch.cuda.get_device_properties(device).uuid)
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode())
        readers = {
            "name": lambda: pynvml.nvmlDeviceGetName(handle),
            "driver": pynvml.nvmlSystemGetDriverVersion,
            "memory_used_bytes": lambda: int(pynvml.nvmlDeviceGetMemoryInfo(handle).used),
            "memory_total_bytes": lambda: int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
            "sm_clock_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
            "memory_clock_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(
                handle, pynvml.NVML_CLOCK_MEM
            ),
            "temperature_c": lambda: pynvml.nvmlDeviceGetTemperature(
                handle, pynvml.NVML_TEMPERATURE_GPU
            ),
            "power_w": lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "throttle_reasons": lambda: [
                name
                for bit, name in _THROTTLE_REASONS.items()
                if pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle) & bit
            ],
            "compute_processes": lambda: len(pynvml.nvmlDeviceGetComputeRunningProcesses(handle)),
        }
        facts: dict[str, Any] = {}
        unavailable = []
        for name, read in readers.items():
            try:
                facts[name] = read()
            except pynvml.NVMLError as error:
                unavailable.append(f"{name}: {error}")
        if unavailable:
            facts["unavailable"] = unavailable
        return facts
    finally:
        pynvml.nvmlShutdown()


@functools.cache
def measure_ceilings(device: str) -> Ceilings:
    """Measures the card's ceilings: large copies and fills, 8192-wide matrix products."""
    nbytes = min(4 << 30, torch.cuda.mem_get_info(device)[0] // 4)
    source = torch.empty(nbytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy_s = _best_seconds(functools.partial(target.copy_, source), device)
    fill_s = _best_seconds(functools.partial(target.fill_, 1), device)
    rates = {}
    size = 8192
    for precision, dtype in (
        ("fp32", torch.float32),
        ("bf16", torch.bfloat16),
        ("fp16", torch.float16),
    ):
        a = torch.randn(size, size, device=device, dtype=dtype)
        b = torch.randn(size, size, device=device, dtype=dtype)
        rates[precision] = 2 * size**3 / _best_seconds(functools.partial(torch.mm, a, b), device, 5)
        del a, b
    torch.cuda.empty_cache()
    return Ceilings(
        copy_bytes_per_s=2 * nbytes / copy_s,
        write_bytes_per_s=nbytes / fill_s,
        flops_per_s=rates,
        l2_bytes=torch.cuda.get_device_properties(device).L2_cache_size,
    )


def _best_seconds(work: Any, device: str, repeats: int = 10) -> float:
    work()
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize(device)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize(device)
        best = min(best, start.elapsed_time(end) / 1e3)
    return best


def environment(device: str) -> dict[str, str | None]:
    """Names and versions that go into every row: device, driver, CUDA, torch, Triton, Python."""
    import importlib.metadata
    import platform

    facts = read_facts(device)
    try:
        triton = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        triton = None
    return {
        "device": facts.get("name") or _processor_name(),
        "driver": facts.get("driver"),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "triton": triton,
        "python": platform.python_version(),
    }


def _processor_name() -> str:
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return "CPU: " + line.split(":", 1)[1].strip()
    return "CPU"
