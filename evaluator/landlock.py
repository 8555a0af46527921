"""Landlock: a process gives up, for itself and all it starts, every file it did not name.

Standard library only (the kernel calls through ctypes). The numbers and structures are those of
linux/landlock.h; each version ("ABI") of the kernel's interface knows a few more rights, and the
ones that this kernel does not know are left out.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on x86-64 and aarch64
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
_MAKE_CHAR = 1 << 6
_MAKE_BLOCK = 1 << 11
_REFER = 1 << 13  # ABI 2: rename and link between folders
_TRUNCATE = 1 << 14  # ABI 3
_IOCTL_DEV = 1 << 15  # ABI 5
_FIRST_ABI_RIGHTS = (1 << 13) - 1

_NET_BIND_AND_CONNECT_TCP = 0b11  # ABI 4
_SCOPE_ABSTRACT_UNIX_AND_SIGNAL = 0b11  # ABI 6
SIGNAL_SCOPE_ABI = 6

READ_ONLY = EXECUTE | READ_FILE | READ_DIR
READ_WRITE = (_FIRST_ABI_RIGHTS & ~(_MAKE_CHAR | _MAKE_BLOCK)) | _REFER | _TRUNCATE | _IOCTL_DEV
DEVICE = READ_FILE | WRITE_FILE | READ_DIR | _TRUNCATE | _IOCTL_DEV
WRITABLE_FILES = WRITE_FILE | _TRUNCATE
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version that this kernel offers, 0 where Landlock is absent or switched off."""
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    return max(int(version), 0)


def restrict(version: int, rules: Iterable[tuple[str, int]]) -> None:
    """Restricts the calling thread, and what it starts from now on, to `rules`.

    Args:
        version: the ABI to use, from `abi()`, at least 1.
        rules: pairs of an existing path and the rights granted there and beneath (`READ_ONLY`,
            `READ_WRITE`, `DEVICE`, `WRITABLE_FILES`, or a sum); rights that only folders have
            are dropped for files.

    From ABI 4 on TCP is refused as well, from ABI 6 on signals and abstract unix sockets do not
    reach processes outside. Needs no_new_privs (or CAP_SYS_ADMIN). It cannot be undone.

    Raises:
        OSError: a path does not exist, or the kernel refused.
    """
    handled = _FIRST_ABI_RIGHTS
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    handled |= _IOCTL_DEV if version >= 5 else 0
    attributes = struct.pack("=Q", handled)
    if version >= 4:
        attributes += struct.pack("=Q", _NET_BIND_AND_CONNECT_TCP)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPE_ABSTRACT_UNIX_AND_SIGNAL)
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path, rights in rules:
            _add_rule(ruleset, path, rights & handled)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock call {number}: {os.strerror(code)}")
    return result
