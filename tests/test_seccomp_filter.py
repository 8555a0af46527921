"""The filter's numbers against the kernel's headers, its program against a BPF interpreter."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from evaluator import seccomp_filter
from evaluator.seccomp_filter import ALLOW, ARCHITECTURES, KILL_PROCESS

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),  # aarch64 uses the generic table
}
PID = 4321
MACHINES = list(ARCHITECTURES)
REFUSED = 0x00050000
EPERM = REFUSED | errno.EPERM
ENOSYS = REFUSED | errno.ENOSYS
# What honest work needs, with its number on both machines.
NEEDED = {
    "read": (0, 63),
    "openat": (257, 56),
    "mmap": (9, 222),
    "execve": (59, 221),
    "memfd_create": (319, 279),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "setresuid": (117, 147),
    "landlock_restrict_self": (446, 446),
}


def answer(
    machine: str,
    number: int,
    *arguments: int,
    signals: bool = True,
    architecture: int | None = None,
) -> int:
    """Runs the program as the kernel would, on struct seccomp_data."""
    words = {0: number, 4: ARCHITECTURES[machine] if architecture is None else architecture}
    for index in range(6):
        value = arguments[index] & (2**64 - 1) if index < len(arguments) else 0
        words[16 + 8 * index] = value & 0xFFFFFFFF
        words[20 + 8 * index] = value >> 32
    accumulator = position = 0
    program = seccomp_filter.program(machine, signals=signals, pid=PID)
    while True:
        code, if_true, if_false, constant = program[position]
        position += 1
        if code == 0x20:
            accumulator = words[constant]
        elif code == 0x06:
            return constant
        else:
            met = {
                0x15: accumulator == constant,
                0x35: accumulator >= constant,
                0x45: bool(accumulator & constant),
            }[code]
            position += if_true if met else if_false


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} is not installed")
    text = HEADERS[machine].read_text()
    numbers = {
        match[1]: int(match[2])
        for match in re.finditer(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)
    }
    column = MACHINES.index(machine)
    tables = (
        seccomp_filter.ALWAYS_REFUSED,
        seccomp_filter.ATTRIBUTES,
        seccomp_filter.SCHEDULING,
        seccomp_filter.SIGNALS,
    )
    compared = 0
    for table in tables:
        for name, row in table.items():
            if name in numbers:  # the headers may be older than the newest calls
                assert row[column] == numbers[name], name
                compared += 1
    assert compared > 60


@pytest.mark.parametrize("machine", MACHINES)
def test_tables_are_refused_and_needed_calls_allowed(machine: str) -> None:
    column = MACHINES.index(machine)
    for table in (seccomp_filter.ALWAYS_REFUSED, seccomp_filter.ATTRIBUTES):
        for name, row in table.items():
            number = row[column]
            if number is not None:
                assert answer(machine, number) == EPERM, name
    for name, row in NEEDED.items():
        assert answer(machine, row[column]) == ALLOW, name


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide(machine: str) -> None:
    column = MACHINES.index(machine)
    clone, socket, ioctl, fcntl = ((56, 220), (41, 198), (16, 29), (72, 25))
    assert answer(machine, clone[column], 0x3D0F00) == ALLOW  # what pthread_create asks for
    assert answer(machine, clone[column], 17) == ALLOW  # fork
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, clone[column], flag | 17) == EPERM
    assert answer(machine, 435) == ENOSYS  # clone3
    assert answer(machine, socket[column], 1) == ALLOW
    # the kernel reads an int: a family hidden behind high bits is the family
    for family in (2, 10, 16, 17, 40, 1 << 32 | 2):
        assert answer(machine, socket[column], family) == EPERM
    assert answer(machine, ioctl[column], 0, 0x5412) == EPERM
    assert answer(machine, ioctl[column], 0, 0xC020462A) == ALLOW  # an NVIDIA one
    assert answer(machine, fcntl[column], 0, 8) == EPERM
    assert answer(machine, fcntl[column], 0, 8, signals=False) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_other_processes_are_out_of_reach(machine: str) -> None:
    column = MACHINES.index(machine)
    kill, tgkill = seccomp_filter.SIGNALS["kill"], seccomp_filter.SIGNALS["tgkill"]
    for target in (PID, 0, -PID):
        assert answer(machine, kill[column] or 0, target, 9) == ALLOW
    for target in (PID + 1, 1, -1, -PID - 1):
        assert answer(machine, kill[column] or 0, target, 9) == EPERM
        assert answer(machine, kill[column] or 0, target, 9, signals=False) == ALLOW
    assert answer(machine, tgkill[column] or 0, PID, 17, 6) == ALLOW
    assert answer(machine, tgkill[column] or 0, 17, 17, 6) == EPERM
    assert answer(machine, 424) == EPERM  # pidfd_send_signal
    for name, row in seccomp_filter.SCHEDULING.items():
        where = [7, 7]
        for target, expected in ((0, ALLOW), (PID, ALLOW), (PID + 1, EPERM)):
            where[row[2]] = target
            for signals in (True, False):
                assert answer(machine, row[column] or 0, *where, signals=signals) == expected, name


def test_foreign_and_future_calls() -> None:
    assert answer("x86_64", 0, architecture=0x40000003) == KILL_PROCESS  # 32-bit
    assert answer("aarch64", 0, architecture=ARCHITECTURES["x86_64"]) == KILL_PROCESS
    assert answer("x86_64", 0x40000000 | 101) == ENOSYS  # x32's ptrace
    for machine in MACHINES:
        assert answer(machine, seccomp_filter.NEWEST_REVIEWED) == ALLOW
        assert answer(machine, seccomp_filter.NEWEST_REVIEWED + 1) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_jumps_stay_inside(machine: str) -> None:
    program = seccomp_filter.program(machine, signals=True, pid=PID)
    assert len(program) < 4096  # BPF_MAXINSNS
    for position, (code, if_true, if_false, _) in enumerate(program):
        if code not in (0x20, 0x06):
            assert position + 1 + max(if_true, if_false) < len(program)
            assert max(if_true, if_false) < 256
