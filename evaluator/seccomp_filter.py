"""The system calls that a confined worker does without, as a BPF program of our own.

Written for x86-64 and aarch64 without libseccomp. The program is a list of refusals: everything
that compilers, Python, torch, Triton and the CUDA driver need stays allowed (threads, fork, exec,
files, unix socket pairs), everything that reaches another process, the network, the kernel's
configuration or another namespace is refused. Calls newer than `NEWEST_REVIEWED` do not exist for
the worker, so that a kernel update opens nothing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_* of linux/audit.h
NEWEST_REVIEWED = 462  # mseal, Linux 6.10
_X32_BIT = 0x40000000
_PRCTL_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_FLAG_TSYNC = 1
# Without it kernels before 5.16 switch speculative store bypass off for the process, and the
# candidate would be timed on a slower CPU than the one it is compared on.
_FLAG_SPEC_ALLOW = 4

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000

# name: (number on x86-64, number on aarch64); None where the architecture lacks the call
_Numbers = dict[str, tuple[int | None, int | None]]

ALWAYS_REFUSED: _Numbers = {
    # other processes' memory and descriptors
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    # large kernel surfaces that no kernel under test needs
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # files by handle pass by every path rule
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    # memory and queues that outlive every process, count for no limit and that a later one can open
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    # the machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "lookup_dcookie": (212, 18),
    "uselib": (134, None),
}

# Landlock does not cover a file's mode, owner and attributes: as long as the worker is the user
# who owns other files (always, where the judge is not root), these calls would reach all of them.
ATTRIBUTES: _Numbers = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}

# Calls on a process named by number (the third item: by which argument). A candidate that may slow
# the judge or the reference down has won the race.
SCHEDULING: dict[str, tuple[int | None, int | None, int]] = {
    "prlimit64": (302, 261, 0),
    "sched_setaffinity": (203, 122, 0),
    "sched_setscheduler": (144, 119, 0),
    "sched_setparam": (142, 118, 0),
    "sched_setattr": (314, 274, 0),
    "setpriority": (141, 140, 1),
    "ioprio_set": (251, 30, 1),
    "migrate_pages": (256, 238, 0),
    "move_pages": (279, 239, 0),
}
SIGNALS: dict[str, tuple[int | None, int | None, int]] = {
    "kill": (62, 129, 0),
    "tkill": (200, 130, 0),
    "tgkill": (234, 131, 0),
    "rt_sigqueueinfo": (129, 138, 0),
    "rt_tgsigqueueinfo": (297, 240, 0),
}
_PIDFD_SEND_SIGNAL = (424, 424)
_FCNTL = (72, 25)
_IOCTL = (16, 29)
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_SOCKET = (41, 198)
_SOCKETPAIR = (53, 199)
_CONNECT = (42, 203)
_SECCOMP = (317, 277)

_AF_UNIX = 1
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NAMESPACE_FLAGS = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x70000000
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_OWNER_COMMANDS = (8, 15)  # F_SETOWN, F_SETOWN_EX: who gets SIGIO
_OWNER_IOCTLS = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP

_LOAD, _EQUAL, _GREATER_OR_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENTS = 0, 4, 16
_Instruction = tuple[int, int, int, int]


def program(machine: str, *, signals: bool, pid: int) -> list[_Instruction]:
    """The filter as BPF instructions (code, jump if true, jump if false, constant).

    Args:
        machine: "x86_64" or "aarch64".
        signals: refuse signals to any process but `pid` and its process group (needed where
            Landlock does not: children of the process are out of its reach, too, then).
        pid: the process that installs the filter, leader of its process group.

    Raises:
        KeyError: another machine.
    """
    column = list(ARCHITECTURES).index(machine)
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, KILL_PROCESS),  # a 32-bit call would be read with the wrong numbers
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        code += [(_GREATER_OR_EQUAL, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    code += [
        (_GREATER_OR_EQUAL, 0, 1, NEWEST_REVIEWED + 1),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]

    def refuse(numbers: tuple[int | None, int | None], error: int = errno.EPERM) -> None:
        number = numbers[column]
        if number is not None:
            code.extend([(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)])

    def refuse_if(
        numbers: tuple[int | None, int | None], argument: int, test: int, *values: int
    ) -> None:
        _branch(code, numbers[column], argument, test, values, _ERRNO | errno.EPERM, ALLOW)

    def allow_only(numbers: tuple[int | None, int | None], argument: int, *values: int) -> None:
        _branch(code, numbers[column], argument, _EQUAL, values, ALLOW, _ERRNO | errno.EPERM)

    # glibc falls back to clone, whose flags can be read (clone3's are behind a pointer).
    refuse(_CLONE3, errno.ENOSYS)
    refuse_if(_CLONE, 0, _ANY_BIT, _NAMESPACE_FLAGS)
    allow_only(_SOCKET, 0, _AF_UNIX)
    allow_only(_SOCKETPAIR, 0, _AF_UNIX)
    # A path socket (a container engine's, an agent's) is no file to Landlock. The answer is that
    # of a service which is not running: libraries that look for one carry on without.
    refuse(_CONNECT, errno.ECONNREFUSED)
    for numbers in (*ALWAYS_REFUSED.values(), *ATTRIBUTES.values()):
        refuse(numbers)
    for x86_64, aarch64, argument in SCHEDULING.values():
        allow_only((x86_64, aarch64), argument, 0, pid)
    if signals:
        for x86_64, aarch64, argument in SIGNALS.values():
            allow_only((x86_64, aarch64), argument, 0, pid, -pid & 0xFFFFFFFF)
        refuse(_PIDFD_SEND_SIGNAL)
        refuse_if(_FCNTL, 1, _EQUAL, *_OWNER_COMMANDS)
        refuse_if(_IOCTL, 1, _EQUAL, *_TERMINAL_INJECTION, *_OWNER_IOCTLS)
    else:
        refuse_if(_IOCTL, 1, _EQUAL, *_TERMINAL_INJECTION)
    code.append((_RETURN, 0, 0, ALLOW))
    return code


def _branch(
    code: list[_Instruction],
    number: int | None,
    argument: int,
    test: int,
    values: tuple[int, ...],
    if_any: int,
    otherwise: int,
) -> None:
    """Appends: for call `number`, return `if_any` where the argument's low word meets `test` with
    one of `values`, else `otherwise`. The arguments compared are ints: the kernel, too, reads the
    low word alone."""
    if number is None:
        return
    count = len(values)
    code.append((_EQUAL, 0, count + 3, number))
    code.append((_LOAD, 0, 0, _OFFSET_ARGUMENTS + 8 * argument))
    code.extend((test, count - index, 0, value) for index, value in enumerate(values))
    code.append((_RETURN, 0, 0, otherwise))
    code.append((_RETURN, 0, 0, if_any))


def install(instructions: list[_Instruction]) -> None:
    """Installs the filter in every thread of this process (TSYNC), for good.

    Needs no_new_privs (or CAP_SYS_ADMIN).

    Raises:
        OSError: the kernel refused, or a thread could not be brought along.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    # struct sock_fprog: a 16-bit length, padding, a pointer
    descriptor = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    number = _SECCOMP[list(ARCHITECTURES).index(platform.machine())]
    result = -1
    for flags in (_FLAG_TSYNC | _FLAG_SPEC_ALLOW, _FLAG_TSYNC):
        result = libc.syscall(number, _SECCOMP_SET_MODE_FILTER, flags, descriptor)
        if result >= 0 or ctypes.get_errno() != errno.EINVAL:
            break  # EINVAL: a kernel, or one that stands in for it, without the second flag
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp: {os.strerror(code)}")
    if result > 0:
        raise OSError(errno.EBUSY, f"seccomp: thread {result} cannot take the filter")
