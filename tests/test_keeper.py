"""The keeper: nothing survives, nothing grows past its limit, and it says how a worker ended.

Everything destructive here is bounded: it ends by itself within seconds and stays below some
hundred processes or megabytes.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator import process_tree, reaper_limits
from evaluator.keeper import Keeper, KeeperError, Limits, free_uid

ROOT = Path(__file__).resolve().parent.parent
UID = 61998
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user")
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler here")

# Writes its pid where the test looks, then lives on.
SURVIVE = "open({path!r}, 'w').write(str(os.getpid())); time.sleep(60); os._exit(0)"
DETACHED = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {survive}
    os._exit(0)
os.wait()
{then}
"""
# Each generation forks the next and dies, in a session of its own: no list of processes is ever
# up to date. Ends after 20 s.
COMETS = """
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **values) {
    time_t end = time(0) + 20;
    int uid = atoi(values[1]);
    if (uid && (setgid(uid) || setuid(uid))) return 1;
    signal(SIGCHLD, SIG_IGN);
    for (int comet = 0; comet < 4; comet++)
        if (fork() == 0) {
            while (time(0) < end) {
                if (fork() > 0) _exit(0);
                setsid();
            }
            _exit(0);
        }
    write(1, "flying", 6);
    pause();
    return 0;
}
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def wait_for(condition: Callable[[], object], timeout_s: float = 20.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def pid_in(path: Path) -> int:
    assert wait_for(lambda: path.exists() and path.read_text()), f"{path} was never written"
    return int(path.read_text())


def alive(pid: int) -> bool:
    """Whether it runs; a process that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_of(uid: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == uid:
                found.append(int(entry))
        except FileNotFoundError:
            continue
    return found


def test_ends_by_itself(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ), os.getcwd(), flush=True); os.write(2, b'error')"
    with Keeper(python(code), env={"A": "b"}, work_dir=str(tmp_path)) as keeper:
        assert keeper.wait(30.0) == 0
    assert keeper.ended_by() is None and keeper.detail() == ""
    # LC_CTYPE: Python sets it itself in a C locale
    assert keeper.output().replace(", 'LC_CTYPE'", "") == f"['A'] {tmp_path}\nerror"


@pytest.mark.parametrize(
    ("code", "status", "ended"),
    [
        ("raise SystemExit(3)", 3, "exit 3"),
        ("import os; os.kill(os.getpid(), 11)", -11, "signal 11"),
        ("import os; os.abort()", -6, "signal 6"),
    ],
)
def test_says_how_it_ended(tmp_path: Path, code: str, status: int, ended: str) -> None:
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path))
    assert keeper.wait(30.0) == status
    assert keeper.ended_by() == ended
    keeper.kill()
    assert keeper.ended_by() == ended


def test_a_crash_before_the_kill_is_no_kill(tmp_path: Path) -> None:
    """The judge often learns of a crash by a closed channel and then kills."""
    here, there = socket.socketpair()
    code = f"import os, socket; socket.socket(fileno={there.fileno()}).close(); os._exit(9)"
    fds = (there.fileno(),)
    keeper = Keeper([sys.executable, "-c", code], env={}, work_dir=str(tmp_path), pass_fds=fds)
    there.close()
    assert here.recv(1) == b""  # nobody but the worker held the other end
    assert wait_for(lambda: keeper.poll() is not None)
    keeper.kill()
    assert keeper.ended_by() == "exit 9"
    here.close()


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    keeper = Keeper(["/no/such/program"], env={}, work_dir=str(tmp_path))
    assert keeper.wait(30.0) == 127
    assert "No such file" in keeper.output()
    with pytest.raises(KeeperError, match="no folder"):
        Keeper(["true"], env={}, work_dir=str(tmp_path / "missing"))


def test_a_detached_grandchild_does_not_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    code = DETACHED.format(survive=SURVIVE.format(path=str(path)), then="time.sleep(60)")
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path))
    survivor = pid_in(path)
    assert alive(survivor)
    keeper.kill()
    assert not alive(survivor) and not alive(keeper.pid)
    assert keeper.ended_by() == "killed"


def test_a_detached_grandchild_does_not_survive_the_workers_own_end(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    then = f"\nwhile not os.path.getsize({str(path)!r}): time.sleep(0.01)"
    code = DETACHED.format(
        survive=SURVIVE.format(path=str(path)),
        then=f"while not os.path.exists({str(path)!r}): time.sleep(0.01){then}",
    )
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path))
    assert keeper.wait(30.0) == 0
    assert not alive(pid_in(path))


def test_a_stopped_child_does_not_survive(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    stop = f"open({str(path)!r}, 'w').write(str(os.getpid())); os.kill(os.getpid(), 19)"
    code = f"import os, time\nif os.fork() == 0:\n    {stop}; time.sleep(60)\ntime.sleep(60)"
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path))
    stopped = pid_in(path)
    assert wait_for(lambda: ") T" in Path(f"/proc/{stopped}/stat").read_text())
    keeper.kill()
    assert not alive(stopped)


JUDGE = """
import sys, time
sys.path.insert(0, {root!r})
from evaluator.keeper import Keeper
keeper = Keeper({argv!r}, env={{}}, work_dir={folder!r})
print(keeper.pid, flush=True)
time.sleep(60)
"""


def test_nothing_survives_a_killed_judge(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    code = DETACHED.format(survive=SURVIVE.format(path=str(path)), then="time.sleep(60)")
    judge_code = JUDGE.format(root=str(ROOT), argv=python(code), folder=str(tmp_path))
    judge = subprocess.Popen([sys.executable, "-c", judge_code], stdout=subprocess.PIPE)
    assert judge.stdout is not None
    worker = int(judge.stdout.readline())
    survivor = pid_in(path)
    judge.send_signal(signal.SIGKILL)
    judge.wait()
    judge.stdout.close()
    assert wait_for(lambda: not alive(worker) and not alive(survivor))


def test_a_fork_swarm_is_capped(tmp_path: Path) -> None:
    code = """
import os, time
for _ in range(60):
    if os.fork() == 0:
        os.setsid(); time.sleep(20); os._exit(0)
time.sleep(20)
"""
    limits = Limits(max_processes=20)
    before = set(os.listdir("/proc"))
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path), limits=limits)
    assert keeper.wait(30.0) == -9
    assert keeper.ended_by() == "processes" and "20 are allowed" in keeper.detail()
    marked = [entry for entry in set(os.listdir("/proc")) - before if entry.isdigit()]
    assert not any(b"os.setsid(); time.sleep(20)" in command_of(pid) for pid in marked)


def command_of(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
        return b""


def comets(folder: Path) -> str:
    """The compiled swarm, under a name that nothing else on the machine has."""
    source, program = folder / "comets.c", folder / f"comets{os.getpid()}"
    source.write_text(COMETS)
    subprocess.run(["gcc", "-O1", "-w", str(source), "-o", str(program)], check=True)
    folder.chmod(0o755)
    return str(program)


@needs_compiler
def test_what_forks_faster_than_it_is_listed_is_killed(tmp_path: Path) -> None:
    program = comets(tmp_path)
    keeper = Keeper([program, "0"], env={}, work_dir=str(tmp_path))
    assert wait_for(lambda: keeper.output() == "flying")
    started = time.monotonic()
    keeper.kill()
    assert time.monotonic() - started < 15  # before it ends by itself
    assert not any(command_of(pid).startswith(program.encode()) for pid in os.listdir("/proc"))


@needs_root
@needs_compiler
def test_a_user_of_its_own_is_emptied(tmp_path: Path) -> None:
    program = comets(tmp_path)
    uid = free_uid()
    assert uid is not None
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "given").write_text("x")
    keeper = Keeper([program, str(uid)], env={}, work_dir=str(folder), uid=uid)
    assert wait_for(lambda: keeper.output() == "flying")
    assert processes_of(uid)
    assert folder.stat().st_uid == (folder / "given").stat().st_uid == uid
    with pytest.raises(KeeperError, match="already"):
        Keeper(["true"], env={}, work_dir=str(folder), uid=uid)
    keeper.kill()
    assert processes_of(uid) == []
    again = Keeper(["true"], env={}, work_dir=str(folder), uid=uid)
    assert again.wait(30.0) == 0


@pytest.mark.parametrize("uid", [0, 1000, 65534])
def test_a_user_id_that_others_may_have_is_refused(tmp_path: Path, uid: int) -> None:
    with pytest.raises(KeeperError, match="between"):
        Keeper(["true"], env={}, work_dir=str(tmp_path), uid=uid)


def test_endless_output_neither_blocks_nor_piles_up(tmp_path: Path) -> None:
    megabytes = 64
    code = f"import os\nfor _ in range({megabytes * 16}): os.write(1, b'x' * 65536)"
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path))
    # Nothing is read from the keeper meanwhile: the worker must come to its end all the same.
    assert wait_for(lambda: not alive(keeper.pid), 60.0)
    assert keeper.wait(30.0) == 0
    assert keeper.output() == "x" * (64 << 10)


def test_output_that_is_no_text(tmp_path: Path) -> None:
    keeper = Keeper(
        python("import os; os.write(1, bytes(range(256)))"), env={}, work_dir=str(tmp_path)
    )
    assert keeper.wait(30.0) == 0
    assert keeper.output().startswith("\0\1\2") and "\ufffd" in keeper.output()


def test_a_memory_hog_is_ended(tmp_path: Path) -> None:
    code = """
import resource, time
resource.setrlimit(resource.RLIMIT_AS, (700 << 20,) * 2)
held = []
for _ in range(60):
    held.append(b"x" * (10 << 20)); time.sleep(0.02)
time.sleep(20)
"""
    limits = Limits(max_memory_bytes=100 << 20)
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path), limits=limits)
    assert keeper.wait(30.0) == -9
    assert keeper.ended_by() == "memory"


def test_memory_of_the_whole_tree_counts(tmp_path: Path) -> None:
    code = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        held = b"x" * (30 << 20); time.sleep(20); os._exit(0)
time.sleep(20)
"""
    limits = Limits(max_memory_bytes=100 << 20)
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path), limits=limits)
    keeper.wait(30.0)
    assert keeper.ended_by() == "memory"


def test_memory_that_forked_children_share_counts_once(tmp_path: Path) -> None:
    code = """
import os, time
held = b"x" * (40 << 20)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(1.0); os._exit(0)
for _ in range(5):
    os.wait()
"""
    limits = Limits(max_memory_bytes=150 << 20)
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path), limits=limits)
    assert keeper.wait(30.0) == 0, keeper.detail()


def test_a_disk_hog_is_ended(tmp_path: Path) -> None:
    code = """
import os, time
for number in range(64):
    os.makedirs(f"deep/{number}")
    with open(f"deep/{number}/file", "wb") as file:
        file.write(b"x" * (1 << 20))
time.sleep(20)
"""
    limits = Limits(max_disk_bytes=8 << 20)
    keeper = Keeper(python(code), env={}, work_dir=str(tmp_path), limits=limits)
    assert keeper.wait(30.0) == -9
    assert keeper.ended_by() == "disk"


def test_the_machines_last_memory_and_disk_are_kept(tmp_path: Path) -> None:
    """Bounds that no machine meets stand for a machine that is nearly full."""
    for limits, ended in (
        (Limits(min_free_memory_bytes=1 << 60), "memory"),
        (Limits(min_free_disk_bytes=1 << 60), "disk"),
    ):
        keeper = Keeper(["sleep", "20"], env={}, work_dir=str(tmp_path), limits=limits)
        keeper.wait(30.0)
        assert keeper.ended_by() == ended and "left" in keeper.detail()


def test_time_is_limited(tmp_path: Path) -> None:
    limits = Limits(seconds=0.3)
    keeper = Keeper(["sleep", "20"], env={}, work_dir=str(tmp_path), limits=limits)
    started = time.monotonic()
    assert keeper.wait(30.0) == -9
    assert keeper.ended_by() == "time" and time.monotonic() - started < 15


def test_the_worker_does_not_outlive_its_keeper(tmp_path: Path) -> None:
    keeper = Keeper(["sleep", "60"], env={}, work_dir=str(tmp_path))
    worker = keeper.pid
    reaper = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(reaper, signal.SIGKILL)
    keeper.wait(30.0)
    assert keeper.ended_by() == "keeper"
    assert wait_for(lambda: not alive(worker))


@needs_root
def test_works_for_a_judge_that_is_not_root(tmp_path: Path) -> None:
    python3 = Path("/usr/bin/python3")
    if not python3.exists() or not os.stat(ROOT).st_mode & 0o5:
        pytest.skip("no Python or no clone here that another user can read")
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o777)
    path = tmp_path / "pid"
    code = DETACHED.format(survive=SURVIVE.format(path=str(path)), then="time.sleep(60)")
    judge = f"""
import sys, time, os
if sys.version_info < (3, 11): sys.exit(77)
sys.path.insert(0, {str(ROOT)!r})
from evaluator.keeper import Keeper, free_uid
assert free_uid() is None
keeper = Keeper([sys.executable, "-c", {code!r}], env={{}}, work_dir={str(tmp_path)!r})
while not os.path.exists({str(path)!r}): time.sleep(0.01)
keeper.kill()
print(keeper.ended_by())
"""
    done = subprocess.run(
        [str(python3), "-c", judge],
        user=UID,
        group=UID,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 77:
        pytest.skip(f"{python3} is too old")
    assert done.stdout.strip() == "killed", done.stderr
    assert not alive(pid_in(path))
    assert processes_of(UID) == []


def test_starts_quickly(tmp_path: Path) -> None:
    """Processor time of start, watch and end: the machine may be busy, this is ours alone."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    keeper = Keeper(["true"], env={}, work_dir=str(tmp_path))
    assert keeper.wait(30.0) == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 0.2


def test_counting_the_disk_stops_early(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/")
    used = reaper_limits.disk_bytes(str(tmp_path), 1 << 30)
    assert 100_000 <= used < 200_000
    assert reaper_limits.disk_bytes(str(tmp_path), 1000) == 1001
    assert reaper_limits.disk_bytes(str(tmp_path / "missing"), 1000) == 0


def test_a_path_longer_than_calls_take_counts_as_full(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_PATH)
    for _ in range(20):
        os.mkdir("a" * 250, dir_fd=folder)
        inner = os.open("a" * 250, os.O_PATH, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert reaper_limits.disk_bytes(str(tmp_path), 1 << 30) == (1 << 30) + 1


@pytest.mark.parametrize("listed", [True, False])
def test_descendants_are_found_with_and_without_the_kernels_lists(
    monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    if listed and not os.path.exists("/proc/thread-self/children"):
        pytest.skip("this kernel keeps no lists of children")
    parent = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    monkeypatch.setattr(process_tree.os.path, "exists", lambda path: listed)
    found = process_tree.descendants()
    monkeypatch.undo()
    os.kill(child, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert found.index(parent.pid) < found.index(child)
    assert os.getpid() not in found and os.getppid() not in found
