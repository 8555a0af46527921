"""The judge's side of a worker: start it confined under a keeper, ask it, end it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.buffers import Buffer
from evaluator.confine import scrubbed_environment
from evaluator.keeper import Keeper, Limits, free_uid
from evaluator.protocol import Channel, ChannelClosed, ChannelError, ChannelTimeout
from evaluator.values import Layout

ROOT = Path(__file__).resolve().parent.parent
MAX_WORKER_BYTES = 64 << 30
MAX_TIME_MS = 1e9
MAX_NAMES = 4096
# What a worker may say went wrong; everything else is judged by what the judge itself sees.
SAID_KINDS = {
    *("source", "import", "construct", "compile", "call", "output", "lazy", "shapes"),
    *("out_of_memory", "worker"),
}
START_TIMEOUT_S = 120.0
# What all answers of a candidate may take together: none holds up a campaign for hours by staying
# just inside every single limit. A reference may take its time: its oracle may run on the host.
ALL_ANSWERS_S = 1800.0


@dataclass
class WorkerFailed(Exception):
    """A request that did not succeed.

    `kind`: source, import, construct, compile, call, output, lazy, shapes, out_of_memory (said by
    the worker); timeout, died, memory, processes, disk, protocol (seen by the judge). `side`:
    whose process it was, reference or candidate.
    """

    kind: str
    message: str
    side: str = "candidate"

    def __str__(self) -> str:
        return self.message


class WorkerProcess:
    """One confined process, reference or candidate, with its private folder."""

    def __init__(self, device: str, *, spare: bool = False) -> None:
        self.work_dir = Path(tempfile.mkdtemp(prefix="grading-"))
        self.isolation = ""
        self.seconds_left = ALL_ANSWERS_S
        self.uid = free_uid()
        self._ready = False
        self.role = "candidate"
        channel, theirs = Channel.pair()
        self.channel = channel
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); from evaluator.worker import main; "
            f"sys.path.pop(0); main({theirs.fileno()})"
        )
        for folder in ("triton", "extensions", "inductor"):
            # Made here, because a spare worker warms up as root what it uses as another user.
            (self.work_dir / folder).mkdir()
            if self.uid is not None:
                os.chown(self.work_dir / folder, self.uid, self.uid)
        self.keeper = Keeper(
            [sys.executable, "-c", code],
            env={**scrubbed_environment(str(self.work_dir)), "PYTHONUNBUFFERED": "1"},
            pass_fds=(theirs.fileno(),),
            work_dir=str(self.work_dir),
            limits=Limits(max_memory_bytes=min(MAX_WORKER_BYTES, _host_bytes() * 4 // 5)),
            uid=self.uid,
        )
        theirs.close()
        # Answered when torch is imported: a spare worker does that while another is graded.
        self.channel.send(
            {
                "work_dir": str(self.work_dir),
                "device": device,
                "spare": spare,
                "readable": [str(ROOT / "evaluator")],
            }
        )

    def wait_ready(self) -> None:
        """Waits until torch is imported and, in a spare one, everything is warm."""
        if not self._ready:
            self._receive(START_TIMEOUT_S)
            self._ready = True

    def assign(self, role: str) -> None:
        """Waits until the process is ready and tells it which side it is."""
        self.wait_ready()
        self.role = role
        self.channel.send({"role": role})
        self._receive(START_TIMEOUT_S)

    def bind(self, groups: dict[str, tuple[Buffer, Layout]], **layout: Any) -> None:
        """Hands over the buffers; the worker gives up its user id after opening them."""
        fds = tuple(buffer.fd for buffer, _ in groups.values() if buffer.fd is not None)
        described = {
            name: {"handle": buffer.handle, "layout": layout_.to_json()}
            for name, (buffer, layout_) in groups.items()
        }
        reply = self.request("bind", 60.0, fds=fds, groups=described, uid=self.uid, **layout)
        self.isolation = str(reply["isolation"])

    def request(
        self, op: str, timeout_s: float, fds: tuple[int, ...] = (), **fields: Any
    ) -> dict[str, Any]:
        """One request and its reply; raises `WorkerFailed` for everything but success."""
        # A number that nobody can know before it is asked: no answer can be sent ahead of time.
        number = secrets.token_hex(8)
        try:
            self.channel.send({"op": op, "id": number, **fields}, fds)
        except ChannelError as error:
            raise self._failure(error) from error
        if self.role == "candidate":
            timeout_s = min(timeout_s, max(self.seconds_left, 0.0))
        started = time.monotonic()
        try:
            return self._receive(timeout_s, number)
        finally:
            self.seconds_left -= time.monotonic() - started

    def _receive(self, timeout_s: float, number: str | None = None) -> dict[str, Any]:
        try:
            reply, _ = self.channel.receive(timeout_s)
        except ChannelTimeout as error:
            reason = f"no answer within {timeout_s:.0f} s"
            raise WorkerFailed("timeout", reason, self.role) from error
        except ChannelError as error:
            raise self._failure(error) from error
        if reply.get("id") != number:
            raise self.forged("the answer is to something that was not asked")
        if reply.get("ok") is True:
            return reply
        kind, message = reply.get("kind"), reply.get("message")
        if not isinstance(kind, str) or not isinstance(message, str) or kind not in SAID_KINDS:
            raise self.forged("the answer is no message of ours")
        raise WorkerFailed(kind, _printable(message), self.role)

    def forged(self, reason: str) -> WorkerFailed:
        """An answer that this worker's code cannot have given."""
        return WorkerFailed("protocol", reason, self.role)

    def times(self, reply: dict[str, Any], count: int) -> list[float]:
        """The `count` times in ms of a reply; raises `WorkerFailed` for anything else."""
        times = reply.get("times_ms")
        if not isinstance(times, list) or len(times) != count:
            raise self.forged(f"{count} times are due, the answer has others")
        if not all(type(t) in (int, float) and 0 <= t < MAX_TIME_MS for t in times):
            raise self.forged("a time in the answer is no time")
        return [float(t) for t in times]

    def names(self, reply: dict[str, Any], key: str) -> list[str]:
        """A list of names in a reply; raises `WorkerFailed` for anything else."""
        names = reply.get(key)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.forged(f"{key} in the answer is no list of names")
        return [_printable(name) for name in names[:MAX_NAMES]]

    def _failure(self, error: ChannelError) -> WorkerFailed:
        if not isinstance(error, ChannelClosed):
            return self.forged(str(error))
        self.keeper.kill()
        ended = self.keeper.ended_by()
        if ended in ("memory", "processes", "disk"):
            return WorkerFailed(ended, self.keeper.detail() or ended, self.role)
        reason = f"its process ended: {ended or 'without a word'}"
        return WorkerFailed("died", reason, self.role)

    def close(self) -> str:
        """Ends the process and all it started, removes its folder; returns what it printed."""
        self.keeper.kill()
        self.channel.close()
        output = self.keeper.output()
        _remove(self.work_dir)
        return output


def _printable(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON lets through and no file takes."""
    return text.encode("utf-8", "replace").decode()


def _remove(folder: Path) -> None:
    """Removes a worker's folder, however deeply it has nested folders in it.

    `shutil.rmtree` recurses: a thousand nested folders would end the judge. What cannot be
    removed stays for the operator, as it must not cost the verdict.
    """
    subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, check=False)


def _host_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


_spare: list[WorkerProcess] | None = None  # None: nobody asked for spares
_SPARES = 6


@contextmanager
def spares(device: str) -> Iterator[None]:
    """Within this block workers are started ahead, so that importing torch costs no one time."""
    global _spare
    _spare = []
    try:
        _refill(device)
        yield
    finally:
        for worker in _spare:
            worker.close()
        _spare = None


def take_worker(device: str) -> WorkerProcess:
    """A fresh worker that has run nobody's code: a spare one where there are any."""
    if not _spare:
        return WorkerProcess(device)
    worker = _spare.pop(0)
    _refill(device)
    return worker


def settle_spares() -> None:
    """Waits until no spare one is starting any more: starting disturbs what is being timed."""
    for worker in list(_spare or []):
        try:
            worker.wait_ready()
        except WorkerFailed:
            # Nobody's grading fails for a process that nobody uses yet: another takes its place.
            _drop(worker)


def _drop(worker: WorkerProcess) -> None:
    assert _spare is not None
    _spare.remove(worker)
    worker.close()


def _refill(device: str) -> None:
    assert _spare is not None
    while len(_spare) < _SPARES:
        _spare.append(WorkerProcess(device, spare=True))
