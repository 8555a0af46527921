"""The processes below this one, seen through /proc, and how to kill all of a user's.

For `reaper` and `keeper`: the standard library's lightest modules only, nothing of the package.
"""

from __future__ import annotations

import os
import signal

GONE = (FileNotFoundError, ProcessLookupError)  # a process or file that ended while we looked


def children(pid: int) -> list[int]:
    """The direct children of a process, of all its threads; [] once it is gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as listing:
                found += [int(child) for child in listing.read().split()]
    except GONE:
        pass  # what it left is ours now and shows in our own list
    return found


def descendants() -> list[int]:
    """Every process below this one, parents first."""
    if os.path.exists("/proc/thread-self/children"):
        found = children(os.getpid())
        for pid in found:  # grows while it is walked
            found += children(pid)
        return found
    below: dict[int, list[int]] = {}  # a kernel without lists of children: look at everyone
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stat:
                    parent = int(stat.read().rpartition(b")")[2].split()[1])
            except GONE:
                continue
            below.setdefault(parent, []).append(int(entry))
    found = list(below.get(os.getpid(), []))
    for pid in found:
        found += below.get(pid, [])
    return found


def kill_user(uid: int) -> None:
    """Kills every process of a user whom no one but the worker is, in one step of the kernel.

    No fork can slip between, as it can between listing and killing. A child of ours becomes that
    user, so that the kernel lets it reach nobody else, and checks it before it shoots.
    """
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            with open("/proc/self/status", encoding="ascii") as status:
                powers = next(line.split()[1] for line in status if line.startswith("CapEff:"))
            if uid != 0 and os.getresuid() == (uid, uid, uid) and int(powers, 16) == 0:
                os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
