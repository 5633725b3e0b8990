"""Find and kill what left a child's group but still holds its pipes: a daemon it started.

Linux only; elsewhere nothing is found. A daemon that also closed its streams cannot be told from a stranger
and lives on: it blocks nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal

_GONE = (0, -1, -1)


def kill_strays(pipes: frozenset[str], *, began_after: int) -> None:
    """Kill the holders of `pipes` (named as in /proc/PID/fd) that began after that many ticks since boot.

    Whoever began before the child was merely handed a pipe by somebody. Our own children are left alone:
    between fork and exec each holds copies of every pipe. So is our own session, which nobody below the child
    can be in, as it began one of its own: a /proc that lists threads too has our own in it.
    """
    with contextlib.suppress(OSError):
        for number in (int(name) for name in os.listdir("/proc") if name.isdecimal()):
            parent, session, ticks = _parent_session_and_start_ticks(number)
            ours = os.getpid() in (number, parent) or session == os.getsid(0)
            descends = 0 <= began_after <= ticks and not ours
            if descends and not pipes.isdisjoint(_open_pipes(number)):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)


def start_ticks(process_id: int) -> int:
    """Say when a process began, in ticks since boot; -1 when that cannot be known."""
    return _parent_session_and_start_ticks(process_id)[2]


def _parent_session_and_start_ticks(process_id: int) -> tuple[int, int, int]:
    try:
        with open(f"/proc/{process_id}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()  # its name, in brackets, may hold anything
        return int(fields[1]), int(fields[3]), int(fields[19])
    except (OSError, ValueError, IndexError):
        return _GONE


def _open_pipes(process_id: int) -> set[str]:
    found = set()
    folder = f"/proc/{process_id}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"{folder}/{name}"))
    return found
