"""Messages between the judge and a worker: length-prefixed JSON over a Unix socket.

Never pickles: what a hostile worker sends is parsed as data, capped in size and in time. File
descriptors travel beside a message (shared memory on the CPU), from the judge to a worker only.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

MAX_MESSAGE_BYTES = 4 << 20
_LENGTH = struct.Struct("!I")


class ChannelError(Exception):
    """Base of everything that can go wrong between judge and worker."""


class ChannelClosed(ChannelError):
    """The other side is gone: it died, or it closed its end."""


class ChannelTimeout(ChannelError):
    """No whole message arrived within the time allowed."""


class MalformedMessage(ChannelError):
    """What arrived is not a message of this protocol (too long, not JSON, not an object)."""


class Channel:
    """One end of the conversation. Not thread-safe; one request is answered by one reply."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """A channel for this process and the raw socket to hand to a child."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(here), there

    def send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        """Sends one message; raises `ChannelClosed` when nobody listens any more."""
        payload = json.dumps(message).encode()
        if len(payload) > MAX_MESSAGE_BYTES:
            raise MalformedMessage(f"a message of {len(payload)} bytes is over the limit")
        try:
            self._socket.settimeout(60.0)
            # The descriptors ride on the length prefix, so the reader knows where they belong.
            prefix = _LENGTH.pack(len(payload))
            if fds:
                socket.send_fds(self._socket, [prefix], list(fds))
            else:
                self._socket.sendall(prefix)
            self._socket.sendall(payload)
        except TimeoutError as error:
            raise ChannelTimeout("the worker does not read its messages") from error
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(
        self, timeout_s: float | None, max_fds: int = 0
    ) -> tuple[dict[str, Any], list[int]]:
        """The next message and its descriptors.

        Raises `ChannelTimeout`, `ChannelClosed` or `MalformedMessage`. With `timeout_s` None it
        waits for ever (the worker's side: the keeper ends it).
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        prefix, fds = self._read(_LENGTH.size, deadline, max_fds)
        (length,) = _LENGTH.unpack(prefix)
        if length > MAX_MESSAGE_BYTES:
            raise MalformedMessage(f"a message of {length} bytes was announced")
        payload, _ = self._read(length, deadline, 0)
        try:
            message = json.loads(payload)
        except (ValueError, RecursionError) as error:
            raise MalformedMessage("a message is not JSON") from error
        if not isinstance(message, dict):
            raise MalformedMessage("a message is not an object")
        return message, fds

    def _read(self, size: int, deadline: float | None, max_fds: int) -> tuple[bytes, list[int]]:
        data = bytearray()
        fds: list[int] = []
        while len(data) < size:
            remaining = None if deadline is None else deadline - time.monotonic()
            if remaining is not None and remaining <= 0:
                raise ChannelTimeout("no answer in time")
            self._socket.settimeout(remaining)
            try:
                if max_fds:
                    part, received, _, _ = socket.recv_fds(self._socket, size - len(data), max_fds)
                    fds += received
                else:
                    part = self._socket.recv(min(size - len(data), 1 << 20))
            except TimeoutError as error:
                raise ChannelTimeout("no answer in time") from error
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not part:
                raise ChannelClosed("the other side is gone")
            data += part
        return bytes(data), fds

    def close(self) -> None:
        self._socket.close()
