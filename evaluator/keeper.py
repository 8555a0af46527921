"""Starts a worker under a process that ends all of it, and says how it ended.

    with Keeper([sys.executable, "-c", "..."], env={}, pass_fds=(), work_dir=folder) as keeper:
        keeper.wait(10.0)
    keeper.ended_by(), keeper.output()

Between judge and worker stands `reaper.py`, a small process: it watches time, memory, processes
and disk, keeps the beginning of what the worker prints, and kills everything below it when the
judge asks, when the worker ends, or when the judge is gone, even by SIGKILL. Works as any user; as
root with a user id of the worker's own the kill cannot be outrun even by a fork bomb.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from evaluator.privileges import FIRST_UID, LAST_UID
from evaluator.process_tree import kill_user
from evaluator.worker_uid import KeeperError, free_uid, has_processes, lock_uid

__all__ = ["Keeper", "KeeperError", "Limits", "free_uid"]

# The package's own __init__ is passed by: it imports more than the reaper needs.
_REAPER = (
    "import sys; package = type(sys)('evaluator'); "
    f"package.__path__ = [{os.path.dirname(os.path.abspath(__file__))!r}]; "
    "sys.modules['evaluator'] = package; from evaluator.reaper import main; main()"
)
_REAPER_VARIABLES = ("LD_LIBRARY_PATH",)  # some builds of Python do not start without
KILL_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Limits:
    """When a worker with all below it is ended; looked at every 0.1 s, the disk every 0.5 s.

    Bytes and seconds. Memory is resident anonymous and shared memory, the buffers shared with the
    judge included, without the device's. The `min_free_*` bounds
    are the machine's: they catch what hides from the others (deleted files kept open, unmapped
    memory files). `max_output_bytes` bounds what is kept of the output; the rest is dropped.
    """

    seconds: float | None = None
    max_memory_bytes: int = 32 << 30
    max_processes: int = 256
    max_disk_bytes: int = 8 << 30
    max_output_bytes: int = 64 << 10
    min_free_memory_bytes: int = 256 << 20
    min_free_disk_bytes: int = 128 << 20


class Keeper:
    """A worker's life. Usable from several threads; also as a context manager that kills."""

    def __init__(
        self,
        argv: list[str],
        *,
        env: dict[str, str],
        work_dir: str,
        pass_fds: tuple[int, ...] = (),
        limits: Limits | None = None,
        uid: int | None = None,
    ) -> None:
        """Starts `argv`; returns at once.

        Args:
            argv: the command, looked up in `env`'s PATH where it is no path.
            env: its whole environment.
            work_dir: its folder, where it starts and whose size is watched; given to `uid`.
            pass_fds: descriptors that it inherits under the same numbers. Close your own copies.
            limits: see `Limits`.
            uid: the user that it will become by itself (`confine.drop_privileges`), from
                `free_uid()`: whatever runs under it is killed in the end. None: it stays.

        Raises:
            KeeperError: `uid` is not one of ours or has a worker already; no such `work_dir`.
        """
        if not os.path.isdir(work_dir):
            raise KeeperError(f"there is no folder {work_dir}")
        lock = None
        if uid is not None:
            if not FIRST_UID <= uid <= LAST_UID:
                raise KeeperError(f"user id {uid} is not between {FIRST_UID} and {LAST_UID}")
            lock = lock_uid(uid)
            if has_processes(uid):
                lock.close()
                raise KeeperError(f"user id {uid} has processes already: take free_uid()")
        self._uid = uid
        self._guard = threading.Lock()
        self._received = bytearray()
        self._output = bytearray()
        self._pid: int | None = None
        self._ended: dict[str, Any] | None = None
        self._control, theirs = socket.socketpair()
        task = {
            "argv": argv,
            "env": env,
            "work_dir": work_dir,
            "pass_fds": list(pass_fds),
            "limits": dataclasses.asdict(limits or Limits()),
            "uid": uid,
            "lock_fd": lock.fileno() if lock else None,
        }
        locks = (lock.fileno(),) if lock else ()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _REAPER, str(theirs.fileno())],
                env={key: os.environ[key] for key in _REAPER_VARIABLES if key in os.environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), *pass_fds, *locks),
                start_new_session=True,
            )
        if lock:
            lock.close()  # the reaper holds it until nothing of this user is left
        payload = json.dumps(task).encode()
        self._control.sendall(len(payload).to_bytes(4, "big") + payload)
        self._control.setblocking(False)

    @property
    def pid(self) -> int:
        """The worker's process id. Raises KeeperError where it never started."""
        self._wait_for(lambda: self._pid is not None or self._ended is not None, 60.0)
        if self._pid is None:
            raise KeeperError(f"the worker did not start: {self.detail() or 'no answer'}")
        return self._pid

    def poll(self) -> int | None:
        """The worker's exit code (-N for signal N) once nothing of its tree is left, else None."""
        self._take()
        if self._ended is None:
            return None
        status = self._ended["status"]
        return -signal.SIGKILL if status is None else int(status)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Like `poll`, but waits for the end, at most `timeout_s` seconds."""
        self._wait_for(lambda: self._ended is not None, timeout_s)
        return self.poll()

    def kill(self) -> None:
        """Ends the worker and all below it; returns when nothing is left. Can be repeated.

        Raises:
            KeeperError: something cannot be killed (a process stuck in the kernel).
        """
        with contextlib.suppress(OSError):  # it has ended, and its last word waits to be read
            self._control.send(b"k")
        if not self._wait_for(lambda: self._ended is not None, KILL_TIMEOUT_S):
            raise KeeperError(f"a process of worker {self._pid} cannot be killed")
        self._control.close()

    def output(self) -> str:
        """The beginning of what the tree printed, both streams in the order they came."""
        self._take()
        return self._output.decode(errors="replace")

    def ended_by(self) -> str | None:
        """What ended it: "memory", "processes", "disk", "time", "killed" (by the judge),
        "keeper" (the reaper was lost), "exit N" (N not 0), "signal N"; None while it runs and
        after a normal end."""
        self._take()
        if self._ended is None:
            return None
        status: int | None = self._ended["status"]
        reason: str | None = self._ended["reason"]
        if status is None or reason not in (None, "killed"):
            return reason
        if reason == "killed" and status == -signal.SIGKILL:
            return reason  # with another status it ended by itself before the kill reached it
        if status == 0:
            return None
        return f"exit {status}" if status > 0 else f"signal {-status}"

    def detail(self) -> str:
        """One sentence about the reason, "" where there is none."""
        self._take()
        return str(self._ended["detail"]) if self._ended else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def _wait_for(self, done: Callable[[], bool], timeout_s: float | None) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            self._take()
            if done():
                return True
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            # Another thread may take the last message, and close: look again now and then.
            with contextlib.suppress(ValueError):
                select.select([self._control], [], [], 1.0 if left is None else min(1.0, left))

    def _take(self) -> None:
        """Reads what the reaper sent so far."""
        with self._guard:
            while self._ended is None:
                try:
                    data = self._control.recv(1 << 16)
                except BlockingIOError:
                    return
                except ConnectionResetError:
                    data = b""
                if not data:
                    self._lost()
                    return
                self._received += data
                self._parse()

    def _parse(self) -> None:
        while len(self._received) >= 5:
            end = 5 + int.from_bytes(self._received[1:5], "big")
            if len(self._received) < end:
                return
            kind, payload = bytes(self._received[:1]), bytes(self._received[5:end])
            del self._received[:end]
            if kind == b"O":
                self._output += payload
            elif kind == b"P":
                self._pid = int(payload)
            else:
                self._process.wait()
                self._ended = json.loads(payload)

    def _lost(self) -> None:
        """The reaper died: the worker, told by the kernel, died with it; end what can be found."""
        code = self._process.wait()
        if self._uid is not None:
            kill_user(self._uid)
        elif self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGKILL)
        detail = f"the process that keeps the worker ended with code {code}"
        self._ended = {"status": None, "reason": "keeper", "detail": detail}
