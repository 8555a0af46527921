"""A worker locks itself in, layer by layer, as far as the host allows, and says how far it got.

Order, and why: `enter` (limits, no_new_privs, capabilities, Landlock, seccomp) while the process
has one thread and before torch is imported, because most of it holds only for the calling thread
and what it starts; then torch, CUDA and the judge's buffers; `drop_privileges` last, because CUDA
handles cannot be opened under another user, and that call reaches every thread. Code that is not
ours must run only after it.

A level is a string of words, stored with each row: "landlock7+seccomp+uid" is everything (7 is the
kernel's Landlock version), "rlimits only" is nothing but limits. "uid(read)" stands where the
worker kept the right to read past folder permissions, within what Landlock leaves it.
"""

from __future__ import annotations

import os
import platform
import resource
from dataclasses import dataclass
from functools import cache

from evaluator import landlock, privileges, seccomp_filter
from evaluator.confine_policy import Policy, default_policy, python_roots, scrubbed_environment

__all__ = [
    "Capabilities",
    "ConfinementError",
    "Policy",
    "default_policy",
    "drop_privileges",
    "enter",
    "hide_memory",
    "meets",
    "probe",
    "python_roots",
    "scrubbed_environment",
]

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SIGKILL = 9


class ConfinementError(RuntimeError):
    """A layer that the host offers could not be put on: the worker must not go on."""


@dataclass(frozen=True)
class Capabilities:
    """What a host offers to this process.

    `landlock` is the kernel's Landlock version (0: none), `seccomp` whether a filter of ours is
    accepted, `uid` whether the process may become another user.
    """

    landlock: int
    seccomp: bool
    uid: bool

    @property
    def level(self) -> str:
        """The best level that can be reached here."""
        return _level(self.landlock, self.seccomp, "uid" if self.uid else None)


@dataclass
class _State:
    """What `enter` reached; `drop_privileges` builds on it."""

    landlock: int
    seccomp: bool
    uid: bool
    readable: bool
    pinned: int | None


_state: _State | None = None


@cache
def probe() -> Capabilities:
    """What this host offers, measured by trying it in forked children. Cached per process."""
    uid, _ = privileges.try_other_user(())
    return Capabilities(landlock=landlock.abi(), seccomp=_try_seccomp(), uid=uid)


def enter(policy: Policy, capabilities: Capabilities | None = None) -> str:
    """Puts on every layer but the last: call it once, single-threaded, before torch is imported.

    Args:
        policy: what stays within reach; every path must exist.
        capabilities: what to use, from `probe()` if None. Layers that it denies are left out.

    Returns:
        The level reached so far; `drop_privileges` returns the final one.

    Raises:
        ConfinementError: more than one thread, a second call, or a layer that failed.
    """
    global _state
    if _state is not None:
        raise ConfinementError("this process is confined already")
    if len(os.listdir("/proc/self/task")) > 1:
        raise ConfinementError("a thread was started before the confinement: it would stay outside")
    offered = capabilities or probe()
    try:
        uid, readable = offered.uid, True
        if uid:
            folders = (os.path.dirname(path) for path in policy.read_write)
            uid, readable = privileges.try_other_user((*policy.read_only, *folders))
        _limit(policy)
        privileges.prctl(_PR_SET_NO_NEW_PRIVS, 1)
        privileges.shed_powers()
        pinned = _apply_landlock(policy, offered.landlock) if offered.landlock else None
        if offered.seccomp:
            seccomp_filter.install(_filter(offered.landlock))
    except OSError as error:
        raise ConfinementError(f"a layer of the confinement failed: {error}") from error
    _state = _State(offered.landlock, offered.seccomp, uid, readable, pinned)
    return _level(offered.landlock, offered.seccomp, None)


def drop_privileges(uid: int | None, gid: int | None = None) -> str:
    """The last layer, in all threads: call it when CUDA and every handle are open.

    Args:
        uid: the user to become, None where the judge is not root. Where the host does not allow
            the change, or this Python could not be read any more, the user stays and the level
            says so.
        gid: the group, `uid` if None.

    Returns:
        The level reached.

    Raises:
        ConfinementError: `enter` was not called, `uid` is 0, or the change failed half-way.
    """
    state = _state
    if state is None:
        raise ConfinementError("enter() comes first")
    word = None
    try:
        if uid is not None and state.uid and (state.readable or state.landlock):
            if uid == 0 or gid == 0:
                raise ConfinementError("root is no user to drop to")
            privileges.become(uid, uid if gid is None else gid, keep_reading=not state.readable)
            privileges.prctl(_PR_SET_PDEATHSIG, _SIGKILL)  # the change of user has cleared it
            word = "uid" if state.readable else "uid(read)"
        # Landlock keeps other workers out of this one's memory. Without it the process must be
        # undumpable; with it, that would only take away its own /proc entries, which the CUDA
        # driver writes to when it names a thread.
        privileges.set_dumpable(state.landlock > 0)
    except OSError as error:
        raise ConfinementError(f"could not drop the privileges: {error}") from error
    return _level(state.landlock, state.seccomp, word)


def hide_memory() -> None:
    """For the judge: no process of the same user can read its memory or environment any more."""
    privileges.set_dumpable(False)


def meets(level: str, minimum: str) -> bool:
    """Whether `level` has every word of `minimum` ("landlock6+seccomp"; "" asks for nothing).

    A Landlock version asks for that version or a later one, "landlock" for any; "uid" is also met
    by "uid(read)".
    """
    reached = dict(_split(word) for word in level.split("+"))
    asked = dict(_split(word) for word in minimum.split("+") if word)
    return all(reached.get(word, -1) >= version for word, version in asked.items())


def _split(word: str) -> tuple[str, int]:
    name = word.strip().split("(")[0]
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)


def _level(landlock_version: int, seccomp: bool, uid: str | None) -> str:
    words = [f"landlock{landlock_version}"] if landlock_version else []
    words += ["seccomp"] if seccomp else []
    words += [uid] if uid else []
    return "+".join(words) or "rlimits only"


def _limit(policy: Policy) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: policy.max_file_bytes,
        resource.RLIMIT_NOFILE: policy.max_open_files,
        # Counted per user over the whole machine; root is not bound until it changes its user.
        resource.RLIMIT_NPROC: policy.max_tasks + (_own_tasks() if os.getuid() else 0),
    }
    if policy.max_data_bytes is not None:
        limits[resource.RLIMIT_DATA] = policy.max_data_bytes
    for which, value in limits.items():
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))


def _own_tasks() -> int:
    """Processes and threads that this user has now."""
    count = 0
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.stat(f"/proc/{entry}").st_uid == os.getuid():
                    count += len(os.listdir(f"/proc/{entry}/task"))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we were looking
    return count


def _apply_landlock(policy: Policy, version: int) -> int | None:
    rules = [(path, landlock.READ_ONLY) for path in policy.read_only]
    rules += [(path, landlock.READ_WRITE) for path in policy.read_write]
    rules += [(path, landlock.DEVICE) for path in policy.devices]
    pinned = None
    if policy.name_threads:
        # cuInit fails with error 304 where it cannot name its threads. A rule holds for an inode,
        # and /proc makes new ones when memory is short, unless somebody has the folder open.
        pinned = os.open("/proc/self/task", os.O_PATH | os.O_CLOEXEC)
        rules.append(("/proc/self/task", landlock.WRITABLE_FILES))
    landlock.restrict(version, rules)
    return pinned


def _filter(landlock_version: int) -> list[tuple[int, int, int, int]]:
    """The system call filter; where Landlock does not hold back signals, the filter must."""
    return seccomp_filter.program(
        platform.machine(),
        signals=landlock_version < landlock.SIGNAL_SCOPE_ABI,
        pid=os.getpid(),
    )


def _try_seccomp() -> bool:
    if platform.machine() not in seccomp_filter.ARCHITECTURES:
        return False
    child = os.fork()
    if child == 0:
        refused = 1
        try:
            privileges.prctl(_PR_SET_NO_NEW_PRIVS, 1)
            seccomp_filter.install(_filter(0))
            refused = 0
        finally:
            os._exit(refused)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0
