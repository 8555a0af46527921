"""The process between judge and worker that leaves nothing behind. Started by `keeper.Keeper`.

It imports next to nothing, so that it is up in a few hundredths of a second. It is a child
subreaper, so every orphan below it becomes its child: when it has no child left, nothing of the
tree is left, however often that forked, changed its session or stopped itself. The end of its
socket to the judge (also by the judge's death), a limit, or the end of the worker ends the whole
tree.

To the judge, each with a length in front: "P" + the worker's pid, "O" + output as it comes, "E" +
a JSON object as the last. From the judge: the task as JSON, then at most a "k" for kill.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from evaluator.process_tree import descendants, kill_user
from evaluator.reaper_limits import disk_excess, tree_excess

TICK_S = 0.1
DISK_TICK_S = 0.5
_READ_BYTES = 1 << 16
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36


class Reaper:
    """One worker and all below it. `run` returns when none of that is left."""

    def __init__(self, control: int, task: dict[str, Any]) -> None:
        self.control = control
        self.task = task
        self.limits: dict[str, Any] = task["limits"]
        self.output, self.output_end = os.pipe()
        self.wakeup, wakeup_end = os.pipe()
        for descriptor in (self.output, self.wakeup, wakeup_end, control):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wakeup_end, warn_on_full_buffer=False)
        self.outgoing = bytearray()
        self.kept = 0
        self.worker = 0
        self.status: int | None = None
        self.reason: str | None = None
        self.detail = ""
        self.judge_pid = os.getppid()

    def run(self) -> None:
        """Starts the worker, watches it, ends the tree, tells the judge."""
        try:
            self.start()
            self.watch()
        except Exception as error:
            self.end("keeper", f"{type(error).__name__}: {error}")
        finally:
            self.end_tree()
        self.read_output()
        ended = {"status": self.status, "reason": self.reason, "detail": self.detail}
        self.send(b"E", json.dumps(ended).encode())
        os.set_blocking(self.control, True)
        while self.outgoing and self.flush():
            pass

    def start(self) -> None:
        """Gives the folder away and forks the worker."""
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.on_signal)
        if self.task["uid"] is not None:
            give_away(self.task["work_dir"], self.task["uid"])
        self.worker = os.fork()
        if self.worker == 0:
            self.become_worker()
        os.close(self.output_end)
        for descriptor in self.task["pass_fds"]:
            os.close(descriptor)  # the judge must see the end of them when the worker ends
        self.send(b"P", str(self.worker).encode())

    def become_worker(self) -> NoReturn:
        """In the forked child: a session of its own, no way back, then the worker's program."""
        try:
            os.setsid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            null = os.open("/dev/null", os.O_RDONLY)
            for source, target in ((null, 0), (self.output_end, 1), (self.output_end, 2)):
                os.dup2(source, target)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; exec keeps that
                signal.signal(number, signal.SIG_DFL)
            # Where memory runs out the kernel shall take the worker first. Some containers do not
            # have this file; the limits hold without it.
            with (
                contextlib.suppress(OSError),
                open("/proc/self/oom_score_adj", "w", encoding="ascii") as score,
            ):
                score.write("1000")
            os.chdir(self.task["work_dir"])
            os.execvpe(self.task["argv"][0], self.task["argv"], self.task["env"])
        except OSError as error:
            os.write(2, f"the worker could not be started: {error}\n".encode())
        finally:
            os._exit(127)

    def on_signal(self, number: int, _frame: object) -> None:
        """SIGCHLD only wakes the loop; anything else asks for the end."""
        if number != signal.SIGCHLD:
            self.end("killed", f"the keeper got signal {number}")

    def end(self, reason: str, detail: str) -> None:
        """Notes why the tree is to end; the first reason stays."""
        if self.reason is None:
            self.reason, self.detail = reason, detail

    def end_if(self, excess: tuple[str, str] | None) -> None:
        """Notes a limit that was passed."""
        if excess is not None:
            self.end(*excess)

    def watch(self) -> None:
        """Until the worker ended or there is a reason to end it."""
        started = next_tick = next_disk = time.monotonic()
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self.output, select.POLLIN)
        poller.register(self.wakeup, select.POLLIN)
        while self.reason is None and self.status is None:
            events = select.POLLIN | (select.POLLOUT if self.outgoing else 0)
            poller.modify(self.control, events)
            ready = dict(poller.poll(max(0.0, next_tick - time.monotonic()) * 1000))
            if self.control in ready:
                self.listen()
                self.flush()
            if self.output in ready and not self.read_output():
                poller.unregister(self.output)
            if self.wakeup in ready:
                os.read(self.wakeup, 512)
            self.reap()
            now = time.monotonic()
            if now < next_tick or self.status is not None:
                continue
            next_tick = now + TICK_S
            if os.getppid() != self.judge_pid:
                self.end("killed", "the judge is gone")
            self.end_if(tree_excess(self.limits, now - started))
            if now >= next_disk:
                self.end_if(disk_excess(self.limits, self.task["work_dir"]))
                # a slow walk may take a twentieth of the time, no more
                next_disk = now + max(DISK_TICK_S, 20 * (time.monotonic() - now))

    def listen(self) -> None:
        """What the judge says; its silence for good is a word, too."""
        try:
            word = os.read(self.control, 1)
        except BlockingIOError:
            return
        except ConnectionResetError:
            word = b""
        if word == b"" or word == b"k":
            self.reap()
            if self.status is None:
                self.end("killed", "the judge ended it" if word else "the judge is gone")

    def reap(self) -> bool:
        """Collects every child that ended; False once there is no child at all."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.worker:
                self.status = os.waitstatus_to_exitcode(status)

    def end_tree(self) -> None:
        """Kills until nothing is left.

        What is seen is stopped first, until a look finds nothing new, so that it cannot fork
        any more when it is killed. Something that lives on by forking and dying faster than that
        is a child of ours in every generation, and each round is another chance to hit it.
        """
        pause = 0.0
        while self.reap():
            if self.task["uid"] is not None:
                kill_user(self.task["uid"])
            stopped: set[int] = set()
            for _ in range(20):
                fresh = [pid for pid in descendants() if pid not in stopped]
                for pid in fresh:
                    _signal(pid, signal.SIGSTOP)
                stopped.update(fresh)
                if not fresh:
                    break
            for pid in descendants():
                _signal(pid, signal.SIGKILL)
            time.sleep(pause)
            pause = min(pause + 0.0005, 0.02)

    def read_output(self) -> bool:
        """Takes what the tree printed and keeps the beginning; False at its end."""
        for _ in range(16):
            try:
                data = os.read(self.output, _READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            data = data[: self.limits["max_output_bytes"] - self.kept]
            self.kept += len(data)
            if data:
                self.send(b"O", data)
        return True

    def send(self, kind: bytes, payload: bytes) -> None:
        """Queues a message and sends what the socket takes."""
        self.outgoing += kind + len(payload).to_bytes(4, "big") + payload
        self.flush()

    def flush(self) -> bool:
        """False once nobody listens any more."""
        try:
            del self.outgoing[: os.write(self.control, self.outgoing)]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self.outgoing.clear()
            self.end("killed", "the judge is gone")
            return False
        return True


def give_away(folder: str, uid: int) -> None:
    """Makes `uid` the owner of a folder and what is in it, links themselves included."""
    os.chown(folder, uid, uid)
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(os.path.join(path, name), uid, uid, follow_symlinks=False)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # gone by itself
        os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def read_exactly(descriptor: int, size: int) -> bytes:
    """`size` bytes from a blocking descriptor; raises EOFError where they do not come."""
    data = b""
    while len(data) < size:
        more = os.read(descriptor, size - len(data))
        if not more:
            raise EOFError("the judge is gone")
        data += more
    return data


def main() -> None:
    """Entry of the process: argument 1 is the socket to the judge."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    size = int.from_bytes(read_exactly(control, 4), "big")
    task = json.loads(read_exactly(control, size))
    if task["lock_fd"] is not None:
        os.set_inheritable(task["lock_fd"], False)
    Reaper(control, task).run()
