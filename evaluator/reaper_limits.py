"""What a tree of processes and its folder take, held against the limits (`keeper.Limits`).

For `reaper`: the standard library's lightest modules only.
"""

from __future__ import annotations

import os
from typing import Any

from evaluator.process_tree import GONE, descendants

MAX_DISK_ENTRIES = 50_000


def tree_excess(limits: dict[str, Any], seconds: float) -> tuple[str, str] | None:
    """The first limit that the processes below this one pass after `seconds`, as its word and a
    sentence with the numbers; None where they keep to all."""
    if limits["seconds"] is not None and seconds > limits["seconds"]:
        return "time", f"it ran longer than {limits['seconds']:g} s"
    tree = descendants()
    if len(tree) > limits["max_processes"]:
        return "processes", f"{len(tree)} processes, {limits['max_processes']} are allowed"
    used = sum(memory_bytes(pid) for pid in tree)
    if used > limits["max_memory_bytes"]:  # what forked children share was counted in each
        used = sum(proportional_bytes(pid) for pid in tree)
    if used > limits["max_memory_bytes"]:
        return "memory", f"{used} bytes, {limits['max_memory_bytes']} are allowed"
    left = available_memory()
    if left is not None and left < limits["min_free_memory_bytes"]:
        return "memory", f"the machine has only {left} bytes left; it holds {used}"
    return None


def disk_excess(limits: dict[str, Any], folder: str) -> tuple[str, str] | None:
    """Like `tree_excess`, for the folder and for what is left beside it (deleted files that are
    kept open)."""
    used = disk_bytes(folder, limits["max_disk_bytes"])
    if used > limits["max_disk_bytes"]:
        allowed = limits["max_disk_bytes"]
        return "disk", f"its folder holds more than {allowed} bytes, or too many files"
    file_system = os.statvfs(folder)
    left = file_system.f_bavail * file_system.f_frsize
    if left < limits["min_free_disk_bytes"]:
        return "disk", f"the disk has only {left} bytes left; its folder holds {used}"
    return None


def memory_bytes(pid: int) -> int:
    """Resident anonymous and shared memory of a process; 0 once it is gone.

    Files mapped from disk are left out: they can be dropped at any time.
    """
    fields: dict[bytes, int] = {}
    try:
        with open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line.startswith((b"RssAnon:", b"RssShmem:", b"VmRSS:")):
                    name, _, value = line.partition(b":")
                    fields[name] = int(value.split()[0]) * 1024
    except GONE:
        return 0
    if b"RssAnon" in fields:
        return fields[b"RssAnon"] + fields.get(b"RssShmem", 0)
    return fields.get(b"VmRSS", 0)


def proportional_bytes(pid: int) -> int:
    """Like `memory_bytes`, but pages shared by n processes count as 1/n in each.

    It costs the kernel a walk over the whole address space. Where it may not be read (a process
    of our user that made itself undumpable), the resident size stands in.
    """
    total = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as rollup:
            for line in rollup:
                if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")):
                    total += int(line.split()[1]) * 1024
    except (PermissionError, *GONE):
        return memory_bytes(pid)
    return total or memory_bytes(pid)


def available_memory() -> int | None:
    """Memory in bytes that the machine can still give out; None where /proc does not say."""
    with open("/proc/meminfo", "rb") as meminfo:
        for line in meminfo:
            if line.startswith(b"MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def disk_bytes(folder: str, enough: int) -> int:
    """Bytes on disk beneath `folder`; counting stops above `enough`.

    A folder that cannot be read, or more than `MAX_DISK_ENTRIES` files, counts as above.
    """
    total = entries = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    try:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                    except FileNotFoundError:
                        continue
                    entries += 1
                    if total > enough or entries > MAX_DISK_ENTRIES:
                        return enough + 1
        except FileNotFoundError:
            continue
        except OSError:  # not ours to read, or a path longer than any call takes
            return enough + 1
    return total
