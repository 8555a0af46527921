"""Giving up root: first most of its powers, then the user itself, in every thread, for good.

A root that may do anything looks past other layers (the kernel lets it read any process's
environment, Landlock or not), so `shed_powers` comes early and `become` when it can. What is kept
in between is what changing the user takes, and reaching the work folder, which is the later user's.

Python often lives where only its owner can walk (a version manager below a home folder). Such a
worker would lose its own libraries with its user id; it may then keep one capability, to read
past folder permissions (CAP_DAC_READ_SEARCH), but only where Landlock limits what it can open.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

# systemd's range for users that exist only while a service runs: no account or file has them.
FIRST_UID, LAST_UID = 61184, 65519

_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 4, 8
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _CAP_SETGID, _CAP_SETUID = 1, 2, 6, 7
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, *arguments: int) -> None:
    """prctl(2) with up to four arguments; raises OSError."""
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")


def set_dumpable(dumpable: bool) -> None:
    """Whether processes of the same user may read this one's memory through /proc."""
    prctl(_PR_SET_DUMPABLE, int(dumpable))


def try_other_user(paths: Iterable[str], uid: int = FIRST_UID) -> tuple[bool, bool]:
    """Tries, in a forked child, to become `uid`.

    Returns whether that works, and whether every one of `paths` can still be read then.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b"."  # nothing more comes where the change is refused
        try:
            _change(uid, uid)
            answer = b"ur" if all(os.access(path, os.R_OK) for path in paths) else b"u"
        except OSError:
            pass  # that is the answer
        finally:
            os.write(writer, answer)
            os._exit(0)
    os.close(writer)
    answer = os.read(reader, 2)
    os.close(reader)
    os.waitpid(child, 0)
    return b"u" in answer, b"r" in answer


def shed_powers() -> None:
    """Gives up every capability but those for changing the user and for reading its files.

    Of the calling thread and what it starts; with no_new_privs exec does not bring them back.
    Without effect for a process that has none.
    """
    with open("/proc/thread-self/status", encoding="ascii") as status:
        permitted = next(line.split()[1] for line in status if line.startswith("CapPrm:"))
    kept = (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _CAP_SETGID, _CAP_SETUID)
    _keep_only(int(permitted, 16) & sum(1 << capability for capability in kept))


def become(uid: int, gid: int, *, keep_reading: bool) -> None:
    """Changes user and group in all threads; with `keep_reading` the calling thread, and what it
    starts, keeps CAP_DAC_READ_SEARCH.

    Raises:
        OSError: the change was refused, or a thread was left behind.
    """
    if keep_reading:
        prctl(_PR_SET_KEEPCAPS, 1)
    _change(uid, gid)
    if keep_reading:
        _keep_only(1 << _CAP_DAC_READ_SEARCH, inheritable=True)
        prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_READ_SEARCH)
        prctl(_PR_SET_KEEPCAPS, 0)
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("Uid:"))
        if line.split()[1:] != [str(uid)] * 4:
            raise OSError(f"thread {thread} still has the old user: {line.strip()}")


def _change(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _keep_only(mask: int, *, inheritable: bool = False) -> None:
    """Reduces this thread's capabilities to `mask`; inheritable ones can survive exec."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    data = struct.pack("=6I", mask, mask, mask if inheritable else 0, 0, 0, 0)
    if _libc.capset(header, data) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"capset: {os.strerror(code)}")
