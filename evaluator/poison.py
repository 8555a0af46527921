"""Fills the memory that a call may be handed with a known byte, so that holes show.

Two sentinels over two calls on the same inputs: an element whose bytes are the first sentinel in
one call and the second in the other was never written. Bytes, not numbers, because one pattern
then serves every dtype. Runs in the worker, in front of the candidate: a candidate that defeats
it only hides how it is wrong, since the comparison against the oracle is the judge's.
"""

from __future__ import annotations

import ctypes

import torch

from evaluator.buffers import fill_device_memory

SENTINELS = {"a": 0x3F, "b": 0xBF}
_M_PERTURB = -6  # glibc: freshly allocated bytes are set to the complement of the value


def poison_host_allocations(name: str) -> None:
    """From now on malloc hands out memory filled with the sentinel; "none" switches it off.

    Where the C library has no mallopt (musl), allocations stay as they are and only the judge's
    own output buffer is poisoned.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_PERTURB, SENTINELS[name] ^ 0xFF if name in SENTINELS else 0)


def poison_free_device_memory(name: str) -> None:
    """Fills every free block of torch's caching allocator with the sentinel."""
    torch.cuda.synchronize()
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "inactive":
                fill_device_memory(address, SENTINELS[name], block["size"])
            address += block["size"]
    torch.cuda.synchronize()
