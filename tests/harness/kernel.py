"""The system calls that Python does not offer before 3.12: namespaces and mounts of Linux, through ctypes."""

from __future__ import annotations

import ctypes
import os

MS_RDONLY = 0x1
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    """Call a function of libc that answers 0; raise OSError with what was asked for otherwise."""
    if getattr(_libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}{arguments}: {os.strerror(code)}")


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def mount(
    source: str | None, target: str, kind: str | None = None, flags: int = 0, options: str | None = None
) -> None:
    """Mount a file system, or change a mount, as mount(2) does."""
    number = ctypes.c_ulong(flags)
    _call("mount", _text(source), _text(target), _text(kind), number, _text(options))


def unmount(target: str) -> None:
    """Detach a mount at once; it goes away when nobody uses it any more."""
    _call("umount2", _text(target), MNT_DETACH)


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _call("unshare", flags)


def pivot_root(new_root: str, put_old: str) -> None:
    """Make a mount the root of this mount namespace."""
    _call("pivot_root", _text(new_root), _text(put_old))


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the parent process ends."""
    _call("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number), 0, 0, 0)


def set_host_name(name: str) -> None:
    """Name this machine within its namespace."""
    data = name.encode()
    _call("sethostname", data, ctypes.c_size_t(len(data)))
