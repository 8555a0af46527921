"""A user id for one worker at a time: of no account, with no other process, locked while in use.

Whatever runs under it can then be killed by its user, in one step that no fork outruns.
"""

from __future__ import annotations

import os
import secrets
import socket

from evaluator.privileges import FIRST_UID, LAST_UID
from evaluator.process_tree import GONE


class KeeperError(RuntimeError):
    """The worker could not be started or ended, or its user id is taken."""


def free_uid() -> int | None:
    """A user id for one worker that no process has; None where this process is not root.

    Raises:
        KeeperError: all are in use.
    """
    if os.geteuid() != 0:
        return None
    start = secrets.randbelow(LAST_UID - FIRST_UID + 1)
    for offset in range(LAST_UID - FIRST_UID + 1):
        uid = FIRST_UID + (start + offset) % (LAST_UID - FIRST_UID + 1)
        if not has_processes(uid):
            try:
                lock_uid(uid).close()
            except KeeperError:
                continue
            return uid
    raise KeeperError("no user id is free for another worker")


def lock_uid(uid: int) -> socket.socket:
    """Takes a user id for one worker on this machine, until the last copy of this is closed.

    Raises:
        KeeperError: a worker has it.
    """
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        lock.bind(f"\0kernel-reach-worker-{uid}")
    except OSError as error:
        lock.close()
        raise KeeperError(f"user id {uid} has a worker already: take free_uid()") from error
    return lock


def has_processes(uid: int) -> bool:
    """Whether anything runs as this user."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.stat(f"/proc/{entry}").st_uid == uid:
                    return True
            except GONE:
                continue
    return False
