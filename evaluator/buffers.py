"""Memory that the judge owns and a worker can write to: CUDA IPC on a GPU, memfd on the CPU.

A CUDA IPC handle exposes the whole allocation it comes from, so every shared buffer is an
allocation of its own, in multiples of 2 MiB, made with the driver and not by torch's allocator.
A memfd is sealed against resizing: a worker that truncated it would otherwise kill the judge
with SIGBUS.
"""

from __future__ import annotations

import base64
import ctypes
import fcntl
import mmap
import os
from dataclasses import dataclass, field
from typing import Any

import torch

_GRANULE = 2 << 20
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class BufferError(RuntimeError):
    """A shared buffer could not be made or opened; the driver's error number is in the text."""


class _IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * 64)]


class _DevicePointer:
    """What torch needs to see raw device memory as a tensor."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _driver() -> ctypes.CDLL:
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuIpcOpenMemHandle_v2.argtypes = [
        ctypes.POINTER(ctypes.c_uint64),
        _IpcHandle,
        ctypes.c_uint,
    ]
    driver.cuMemFree_v2.argtypes = [ctypes.c_uint64]
    driver.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
    driver.cuIpcGetMemHandle.argtypes = [ctypes.POINTER(_IpcHandle), ctypes.c_uint64]
    driver.cuMemsetD8_v2.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t]
    return driver


def fill_device_memory(address: int, byte: int, nbytes: int) -> None:
    """Sets raw device memory; raises `BufferError` with the driver's number."""
    _expect(_driver().cuMemsetD8_v2(address, byte, nbytes), "cuMemsetD8")


def _expect(code: int, what: str) -> None:
    if code != 0:
        raise BufferError(f"{what} failed with CUDA error {code}")


@dataclass
class Buffer:
    """A byte buffer (uint8, one dimension) with what a worker needs to open the same bytes."""

    tensor: torch.Tensor
    handle: dict[str, Any]
    fd: int | None = None
    _address: int | None = field(default=None, repr=False)

    def close(self) -> None:
        """Gives the memory back; the tensor must not be used afterwards."""
        self.tensor = torch.empty(0, dtype=torch.uint8)
        if self._address is not None:
            _expect(_driver().cuMemFree_v2(self._address), "cuMemFree")
            self._address = None
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def allocate(nbytes: int, device: torch.device) -> Buffer:
    """A new buffer of at least `nbytes` on `device`.

    Raises `torch.OutOfMemoryError` where the device is full and `BufferError` otherwise.
    """
    size = max(1, -(-nbytes // _GRANULE)) * _GRANULE
    if device.type != "cuda":
        fd = os.memfd_create("buffer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
        return Buffer(_map(fd, size), {"kind": "cpu", "nbytes": size}, fd)
    torch.cuda.init()
    with torch.cuda.device(device):
        torch.cuda.current_stream().synchronize()  # makes the primary context current
        address = ctypes.c_uint64()
        code = _driver().cuMemAlloc_v2(ctypes.byref(address), size)
        if code == 2:  # CUDA_ERROR_OUT_OF_MEMORY: torch may sit on cached blocks
            torch.cuda.empty_cache()
            code = _driver().cuMemAlloc_v2(ctypes.byref(address), size)
        if code == 2:
            raise torch.OutOfMemoryError(f"no {size / 1e9:.1f} GB left on {device}")
        _expect(code, "cuMemAlloc")
        ipc = _IpcHandle()
        _expect(_driver().cuIpcGetMemHandle(ctypes.byref(ipc), address), "cuIpcGetMemHandle")
        tensor = torch.as_tensor(_DevicePointer(address.value, size), device=device)
    handle = {"kind": "cuda", "nbytes": size, "ipc": base64.b64encode(bytes(ipc)).decode()}
    return Buffer(tensor, handle, None, address.value)


def open_shared(handle: dict[str, Any], fd: int | None, device: torch.device) -> torch.Tensor:
    """A worker's view of a judge's buffer; it stays open until the process ends."""
    if handle["kind"] == "cpu":
        assert fd is not None
        return _map(fd, handle["nbytes"])
    with torch.cuda.device(device):
        torch.cuda.current_stream().synchronize()
        ipc = _IpcHandle.from_buffer_copy(base64.b64decode(handle["ipc"]))
        address = ctypes.c_uint64()
        code = _driver().cuIpcOpenMemHandle_v2(ctypes.byref(address), ipc, 1)
        _expect(code, "cuIpcOpenMemHandle")
        return torch.as_tensor(_DevicePointer(address.value, handle["nbytes"]), device=device)


def _map(fd: int, size: int) -> torch.Tensor:
    return torch.frombuffer(mmap.mmap(fd, size), dtype=torch.uint8)


def free_bytes(device: torch.device) -> int:
    """Memory that can still be taken on `device`, in bytes."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    with open("/proc/meminfo", encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024
