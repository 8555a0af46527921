"""Attacks from inside a confined process, and the honest work that must go on beside them.

Every attack runs in a child of its own, first from a thread that was there before the attacking
code, then from the main thread. Victims are processes and folders that the test made.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator import confine, landlock, privileges
from evaluator.confine import Capabilities

ROOT = Path(__file__).resolve().parent.parent
UID = 61999
needs_landlock = pytest.mark.skipif(landlock.abi() == 0, reason="this kernel has no Landlock")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")

# Runs in the child: confines it, then lets `attacks` (name -> function) run from both threads.
CHILD = """
import json, os, sys, threading
sys.path.insert(0, {root!r})
work, arguments = sys.argv[1], json.loads(sys.argv[2])
from evaluator import confine
offered = arguments["offered"]
level = [confine.enter(
    confine.default_policy(work, tuple(arguments["readable"]), cuda=arguments["cuda"]),
    confine.Capabilities(**offered) if offered else None,
)]
facts, go, results = {{}}, threading.Event(), {{}}
def attempt(name, attack):
    try:
        value = attack()
        return "done" if value is None else f"done: {{value}}"
    except BaseException as error:
        return type(error).__name__
def older():
    go.wait()
    results["older"] = {{name: attempt(name, attack) for name, attack in attacks.items()}}
thread = threading.Thread(target=older)
thread.start()
{imports}
level.append(confine.drop_privileges(arguments["uid"]))
{attacks}
go.set(); thread.join()
results["main"] = {{name: attempt(name, attack) for name, attack in attacks.items()}}
print("RESULT" + json.dumps({{"level": level, "uid": os.getresuid(), **results}}))
"""

# victim: a process of ours; elsewhere: a folder of ours that was not granted.
ATTACKS = """
import ctypes, socket, resource, subprocess
libc = ctypes.CDLL(None, use_errno=True)
victim, elsewhere, machine = arguments["victim"], arguments["elsewhere"], os.uname().machine
def call(numbers, *values):
    number = numbers[0 if machine == "x86_64" else 1]
    result = libc.syscall(number, *[ctypes.c_long(v) for v in values])
    if result < 0:
        raise OSError(ctypes.get_errno(), str(numbers))
queue = ctypes.create_string_buffer(b"queue")
def read(path):
    with open(path, "rb") as file:
        file.read(1)
def write(path):
    with open(path, "ab") as file:
        file.write(b"x")
def through_a_link():
    link = os.path.join(work, f"link{threading.get_native_id()}")
    os.symlink(elsewhere + "/secret", link)
    read(link)
def connect():
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(elsewhere + "/listening")
attacks = {
    "read a password file": lambda: read("/etc/shadow"),
    "read a folder that was not granted": lambda: read(elsewhere + "/secret"),
    "list the problems": lambda: os.listdir(arguments["problems"]),
    "read through a link": through_a_link,
    "write elsewhere": lambda: write(elsewhere + "/written"),
    "make a folder elsewhere": lambda: os.mkdir(elsewhere + "/made"),
    "move in from elsewhere": lambda: os.rename(elsewhere + "/secret", work + "/secret"),
    "delete elsewhere": lambda: os.unlink(elsewhere + "/secret"),
    "run a program from elsewhere": lambda: subprocess.run([elsewhere + "/program"], check=True),
    "make a device": lambda: os.mknod(work + "/device", 0o20600, os.makedev(1, 1)),
    "change a mode elsewhere": lambda: os.chmod(elsewhere + "/secret", 0o777),
    "change an owner elsewhere": lambda: os.chown(elsewhere + "/secret", 61999, 61999),
    "write a kernel setting": lambda: write("/proc/sys/kernel/core_pattern"),
    "internet socket": lambda: socket.socket(socket.AF_INET).close(),
    "internet socket, version 6": lambda: socket.socket(socket.AF_INET6).close(),
    "netlink socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "connect to a service's socket": connect,
    "ptrace": lambda: call((101, 117), 16, victim, 0, 0),
    "read memory by call": lambda: call((310, 270), victim, 0, 0, 0, 0, 0),
    "open memory": lambda: read(f"/proc/{victim}/mem"),
    "read the environment": lambda: read(f"/proc/{victim}/environ"),
    "follow a descriptor": lambda: os.readlink(f"/proc/{victim}/fd/0"),
    "signal": lambda: os.kill(victim, 15),
    "signal a thread": lambda: call((234, 131), victim, victim, 15),
    "signal through a descriptor": lambda: call((424, 424), os.pidfd_open(victim), 15, 0, 0),
    "slow another process": lambda: os.sched_setaffinity(victim, {0}),
    "make another process nicer": lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
    "limit another process": lambda: resource.prlimit(victim, resource.RLIMIT_CPU, (9, 9)),
    "new user namespace": lambda: call((272, 97), 0x10000000),
    "new mount namespace": lambda: call((272, 97), 0x00020000),
    "clone into a namespace": lambda: call((56, 220), 0x10000000 | 17, 0, 0, 0, 0),
    "enter a namespace": lambda: call((308, 268), 0, 0),
    "mount": lambda: call((165, 40), 0, 0, 0, 0, 0),
    "chroot": lambda: os.chroot(work),
    "keys": lambda: call((250, 219), 0, -3, 0, 0, 0),
    "BPF": lambda: call((321, 280), 0, 0, 0),
    "io_uring": lambda: call((425, 425), 1, 0),
    "memory that outlives all": lambda: call((29, 194), 0, 4096, 0o600),
    "semaphores that outlive all": lambda: call((64, 190), 0, 1, 0o600),
    "a queue that outlives all": lambda: call((68, 186), 0, 0o600),
    "a POSIX queue": lambda: call((240, 180), ctypes.addressof(queue), 0o102, 0o600, 0),
    "a call of the future": lambda: call((470, 470), 0),
    "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 19, 1 << 19)),
}
"""
FILES = (
    "read a password file",
    "read a folder that was not granted",
    "list the problems",
    "read through a link",
    "write elsewhere",
    "make a folder elsewhere",
    "move in from elsewhere",
    "delete elsewhere",
    "run a program from elsewhere",
    "make a device",
    "write a kernel setting",
    "open memory",
    "read the environment",
    "follow a descriptor",
)
HONEST = """
import subprocess, tempfile, ctypes, socket, multiprocessing
def build():
    source = os.path.join(work, f"{threading.get_native_id()}.c")
    with open(source, "w") as file:
        file.write("int seven(void) { return 7; }")
    library = source[:-1] + "so"
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert ctypes.CDLL(library).seven() == 7
def temporary():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * 1000)
    assert os.path.realpath(tempfile.gettempdir()) == os.path.realpath(work)
def threads():
    thread = threading.Thread(target=lambda: None)
    thread.start(); thread.join()
def child():
    process = subprocess.Popen(["sleep", "60"])
    process.kill()
    assert process.wait() == -9
def fork():
    process = os.fork()
    if process == 0:
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 3
def null():
    with open("/dev/null", "r+b", buffering=0) as file:
        file.write(b"x")
def pair():
    one, other = socket.socketpair()
    one.send(b"x")
    assert other.recv(1) == b"x"
attacks = {"build": build, "temporary": temporary, "threads": threads, "child": child,
           "fork": fork, "null": null, "pair": pair,
           "own affinity": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))}
if not arguments["compiler"]:
    del attacks["build"]
"""


class Arena:
    """A folder to work in, one out of bounds, and a process to attack."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.elsewhere = folder / "elsewhere"
        for made in (self.work, self.elsewhere):
            made.mkdir()
            made.chmod(0o777)  # only the confinement stands between the attacker and these
        folder.chmod(0o755)
        (self.elsewhere / "secret").write_text("secret")
        (self.elsewhere / "secret").chmod(0o666)
        shutil.copy("/bin/true", self.elsewhere / "program")
        self.listening = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(self.elsewhere)  # a socket's path may have 107 characters
        self.listening.bind("listening")
        os.chdir(here)
        (self.elsewhere / "listening").chmod(0o777)
        self.listening.listen()
        self.start_victim(None)

    def start_victim(self, user: int | None) -> None:
        """A process of `user` (None: ours), and what it takes to find that nothing befell it."""
        self.victim = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL, user=user)
        self.before = self._state()

    def end_victim(self) -> None:
        self.victim.kill()
        self.victim.wait()

    def _state(self) -> tuple[Any, ...]:
        pid = self.victim.pid
        limits = Path(f"/proc/{pid}/limits").read_text()
        return os.sched_getaffinity(pid), os.getpriority(os.PRIO_PROCESS, pid), limits

    def untouched(self) -> bool:
        """Whether the victim and the folder are as they were."""
        files = sorted(path.name for path in self.elsewhere.iterdir())
        mode = (self.elsewhere / "secret").stat().st_mode & 0o777
        same = files == ["listening", "program", "secret"] and mode == 0o666
        return same and self.victim.poll() is None and self._state() == self.before

    def run(
        self,
        attacks: str,
        *,
        imports: str = "",
        offered: Capabilities | None = None,
        uid: int | None = UID if os.geteuid() == 0 else None,
        cuda: bool = False,
        python: str = sys.executable,
        user: int | None = None,
        timeout_s: float = 120.0,
    ) -> dict[str, Any]:
        """Runs the child; returns level, user ids and what each attack came to, by thread."""
        arguments = {
            "offered": offered.__dict__ if offered else None,
            "readable": [str(ROOT / "evaluator")],
            "uid": uid,
            "cuda": cuda,
            "victim": self.victim.pid,
            "elsewhere": str(self.elsewhere),
            "problems": str(ROOT / "problems"),
            "compiler": shutil.which("gcc") is not None,
        }
        code = CHILD.format(root=str(ROOT), imports=imports, attacks=attacks)
        done = subprocess.run(
            [python, "-c", code, str(self.work), json.dumps(arguments)],
            env={**confine.scrubbed_environment(str(self.work)), "OMP_NUM_THREADS": "2"},
            cwd="/",
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
        assert lines, f"the child died ({done.returncode}): {done.stdout}{done.stderr}"
        return json.loads(lines[0].removeprefix("RESULT"))


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    tmp_path.parent.chmod(0o755)
    tmp_path.parent.parent.chmod(0o755)
    made = Arena(tmp_path)
    yield made
    made.listening.close()
    made.end_victim()


def succeeded(outcome: dict[str, str]) -> set[str]:
    return {name for name, result in outcome.items() if result.startswith("done")}


@needs_landlock
def test_no_attack_succeeds_from_either_thread(arena: Arena) -> None:
    result = arena.run(ATTACKS)
    assert len(result["older"]) == 43
    assert succeeded(result["older"]) == set()
    assert succeeded(result["main"]) == set()
    assert arena.untouched()


@needs_landlock
def test_the_same_attacks_succeed_without_confinement(arena: Arena) -> None:
    """The attacks are real: the harmless ones do what they say where nothing holds them back."""
    reading = {"read a folder that was not granted", "list the problems"}
    calling = {"internet socket", "connect to a service's socket"}
    none = Capabilities(landlock=0, seccomp=False, uid=False)
    only = "attacks = {name: attacks[name] for name in " + repr(sorted(reading | calling)) + "}"
    result = arena.run(ATTACKS + only, offered=none, uid=None)
    assert result["level"] == ["rlimits only", "rlimits only"]
    assert succeeded(result["older"]) == reading | calling


@needs_landlock
def test_landlock_alone_holds_the_files(arena: Arena) -> None:
    offered = Capabilities(landlock=landlock.abi(), seccomp=False, uid=False)
    only = "attacks = {name: attacks[name] for name in " + repr(FILES) + "}"
    result = arena.run(ATTACKS + only, offered=offered)
    assert result["level"][1] == f"landlock{landlock.abi()}"
    assert succeeded(result["older"]) == succeeded(result["main"]) == set()
    assert arena.untouched()


def test_seccomp_alone_holds_the_calls(arena: Arena) -> None:
    if not confine.probe().seccomp:
        pytest.skip("this kernel takes no seccomp filter")
    offered = Capabilities(landlock=0, seccomp=True, uid=False)
    names = "attacks = {n: a for n, a in attacks.items() if n not in " + repr(FILES) + "}"
    only = f"{names}\ndel attacks['raise a limit']"
    result = arena.run(ATTACKS + only, offered=offered)
    assert result["level"][1] == "seccomp"
    assert succeeded(result["older"]) == succeeded(result["main"]) == set()
    assert arena.untouched()


@needs_landlock
def test_honest_work_goes_on(arena: Arena) -> None:
    result = arena.run(HONEST)
    assert set(result["main"].values()) == {"done"}
    if result["level"][1].endswith("uid"):  # with "uid(read)" only the main thread may read on
        assert set(result["older"].values()) == {"done"}


def test_honest_work_goes_on_where_the_host_offers_nothing(arena: Arena) -> None:
    none = Capabilities(landlock=0, seccomp=False, uid=False)
    result = arena.run(HONEST, offered=none)
    assert result["level"] == ["rlimits only", "rlimits only"]
    assert set(result["main"].values()) == set(result["older"].values()) == {"done"}


@needs_landlock
def test_torch_and_triton_work_in_confinement(arena: Arena) -> None:
    pytest.importorskip("torch")
    attacks = """
import importlib.util
def matmul():
    a = torch.ones(64, 64)
    assert float((a @ a).sum()) == 64**3
def lazy():  # a module that nothing has imported so far
    assert "colorsys" not in sys.modules
    import colorsys
attacks = {"matmul": matmul, "lazy import": lazy}
if importlib.util.find_spec("triton"):
    attacks["triton"] = lambda: importlib.import_module("triton").cdiv(5, 2)
go.set(); thread.join()
"""
    result = arena.run(attacks, imports="import importlib, torch")
    expected = {"matmul": "done", "lazy import": "done"}
    if "triton" in result["main"]:
        expected["triton"] = "done: 3"
    assert result["main"]["matmul"] == "done"
    assert result["main"] | {"lazy import": "done"} == expected
    assert result["older"]["matmul"] == "done"


@needs_landlock
@needs_root
def test_the_user_is_changed_in_every_thread(arena: Arena) -> None:
    attacks = """
def ids():
    with open(f"/proc/self/task/{threading.get_native_id()}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return [lines[name].split() for name in ("Uid", "Gid", "Groups")]
attacks = {"ids": ids, "back to root": lambda: os.setresuid(0, 0, 0)}
"""
    result = arena.run(attacks)
    wanted = "done: " + str([[str(UID)] * 4, [str(UID)] * 4, []])
    assert result["level"][1].startswith(f"landlock{landlock.abi()}+seccomp+uid")
    for thread in ("older", "main"):
        assert result[thread] == {"ids": wanted, "back to root": "PermissionError"}


@needs_root
def test_works_for_a_judge_that_is_not_root(arena: Arena) -> None:
    python = readable_python()
    arena.end_victim()
    arena.start_victim(UID)  # the same user as the attacker: no permission stands between them
    result = arena.run(ATTACKS, python=python, user=UID, uid=None)
    assert "uid" not in result["level"][1]
    if landlock.abi():
        assert succeeded(result["older"]) == succeeded(result["main"]) == set()
    assert arena.untouched()


def readable_python() -> str:
    """An interpreter of 3.11 or later, and a clone, that any user can read; skips without."""
    probe = f"import sys; open({__file__!r}); sys.exit(sys.version_info < (3, 11))"
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-c", probe], user=UID, group=UID, extra_groups=[], cwd="/", check=False
            )
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("no Python 3.11 or no clone here that another user can read")


def test_entering_with_two_threads_is_refused(tmp_path: Path) -> None:
    code = f"""
import sys, threading
sys.path.insert(0, {str(ROOT)!r})
from evaluator import confine
stop = threading.Event()
threading.Thread(target=stop.wait).start()
try:
    confine.enter(confine.default_policy({str(tmp_path)!r}, cuda=False))
except confine.ConfinementError as error:
    print("refused:", error)
stop.set()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "refused: a thread" in done.stdout, done.stderr


def test_dropping_before_entering_is_refused() -> None:
    with pytest.raises(confine.ConfinementError, match="enter"):
        confine.drop_privileges(None)


def test_default_policy_grants_nothing_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    policy = confine.default_policy(str(tmp_path), (str(ROOT / "evaluator"),), cuda=True)
    granted = [Path(path) for path in (*policy.read_only, *policy.read_write, *policy.devices)]
    secret = [
        Path.home() / ".ssh",
        ROOT / "data",
        ROOT / "problems",
        Path("/etc/shadow"),
        Path("/tmp/x"),
    ]
    for path in secret:
        assert not any(path.is_relative_to(folder) for folder in granted), path
    assert str(tmp_path) in policy.read_write and policy.name_threads
    assert not confine.default_policy(str(tmp_path), cuda=False).name_threads


def test_probe_agrees_with_the_kernel() -> None:
    offered = confine.probe()
    assert offered.landlock == landlock.abi()
    if os.geteuid() != 0:
        assert not offered.uid
    reached, readable = privileges.try_other_user(("/etc/shadow",))
    assert reached == offered.uid and not readable


@pytest.mark.parametrize(
    ("level", "minimum", "met"),
    [
        ("landlock7+seccomp+uid", "landlock+seccomp+uid", True),
        ("landlock7+seccomp+uid(read)", "landlock6+uid", True),
        ("landlock4+seccomp", "landlock6", False),
        ("seccomp+uid", "landlock", False),
        ("rlimits only", "", True),
        ("rlimits only", "seccomp", False),
    ],
)
def test_minimum_levels(level: str, minimum: str, met: bool) -> None:
    assert confine.meets(level, minimum) is met


@pytest.mark.gpu
def test_cuda_and_triton_work_in_confinement(arena: Arena) -> None:
    imports = """
import torch
torch.ones(1, device="cuda")
"""
    attacks = """
import importlib.util
source = '''
import torch, triton, triton.language as tl
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
def run():
    x = torch.arange(1000.0, device="cuda"); y = torch.empty_like(x)
    double[(4,)](x, y, 1000, BLOCK=256)
    return bool((y == 2 * x).all())
'''
def triton_kernel():
    path = os.path.join(work, "kernel.py")
    with open(path, "w") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run()
def matmul():
    a = torch.ones(256, 256, device="cuda")
    return float((a @ a).sum())
attacks = {"matmul": matmul}
go.set(); thread.join()
attacks["triton"] = triton_kernel
"""
    result = arena.run(attacks, imports=imports, cuda=True, timeout_s=280.0)
    assert result["older"] == {"matmul": "done: 16777216.0"}
    assert result["main"] == {"matmul": "done: 16777216.0", "triton": "done: True"}
