"""What `host` does with the file system; errors are exceptions here."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from io import BufferedReader, FileIO
from itertools import islice

from gpudoctor.host.values import Access, Data, Entry, Kind, Missing, Names, Text

_CHUNK_BYTES = 64 * 1024
_MOST_LINKS = 40  # as many as Linux follows
_BINARY = getattr(os, "O_BINARY", 0)  # Windows
# Some files of /proc wait for news when read: O_NONBLOCK makes that, and a pipe put here meanwhile, an error.
_READING = os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_KINDS = {
    stat.S_IFREG: Kind.FILE,
    stat.S_IFDIR: Kind.FOLDER,
    stat.S_IFLNK: Kind.LINK,
    stat.S_IFCHR: Kind.CHARACTER_DEVICE,
    stat.S_IFBLK: Kind.BLOCK_DEVICE,
    stat.S_IFIFO: Kind.PIPE,
    stat.S_IFSOCK: Kind.SOCKET,
}


def followed(root: str, path: str, *, follow_last: bool) -> str:
    """Follow links the way the system would after chroot(root)."""
    resolved: list[str] = []
    pending = path.split("/")[::-1]
    links = 0
    while pending:
        part = pending.pop()
        here = "/".join([root, *resolved, part])
        if part == "..":
            resolved = resolved[:-1]
        elif part not in ("", ".") and (pending or follow_last) and os.path.islink(here):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(here)
            resolved = [] if target.startswith("/") else resolved
            pending.extend(target.split("/")[::-1])
        elif part not in ("", "."):
            resolved.append(part)
    return "/".join([root, *resolved])


def read(path: str, limit_bytes: int) -> Data:
    """Read at most that much of a regular file."""
    descriptor = _open(path)
    try:
        data = bytearray()
        while len(data) <= limit_bytes:
            chunk = os.read(descriptor, min(_CHUNK_BYTES, limit_bytes + 1 - len(data)))
            if not chunk:
                break
            data += chunk
    finally:
        os.close(descriptor)
    return Data(data=bytes(data[:limit_bytes]), truncated=len(data) > limit_bytes)


def opened(path: str) -> BufferedReader:
    """Open a regular file, to be read piece by piece."""
    return BufferedReader(FileIO(_open(path)), _CHUNK_BYTES)


def _open(path: str) -> int:
    _require_file(os.stat(path))
    descriptor = os.open(path, _READING)
    try:
        _require_file(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require_file(status: os.stat_result) -> None:
    kind = _kind_of(status.st_mode)
    if kind is not Kind.FILE:
        raise OSError(errno.EINVAL, f"is a {kind.value}, not a regular file")


def list_names(path: str, limit_names: int) -> Names:
    """List at most that many names."""
    with os.scandir(path) as entries:
        names = [entry.name for entry in islice(entries, limit_names + 1)]
    return Names(names=tuple(sorted(names[:limit_names])), truncated=len(names) > limit_names)


def _kind_of(mode: int) -> Kind:
    return _KINDS.get(stat.S_IFMT(mode), Kind.OTHER)


def entry(status: os.stat_result) -> Entry:
    """Turn what the system says of a path into an Entry."""
    kind = _kind_of(status.st_mode)
    is_device = kind in (Kind.CHARACTER_DEVICE, Kind.BLOCK_DEVICE)
    return Entry(
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        owner=status.st_uid,
        group=status.st_gid,
        size_bytes=status.st_size,
        device=(os.major(status.st_rdev), os.minor(status.st_rdev)) if is_device else None,
    )


def access(path: str) -> Access:
    """Say what the effective user may do."""
    os.stat(path)
    effective = os.access in os.supports_effective_ids
    may = [os.access(path, wish, effective_ids=effective) for wish in (os.R_OK, os.W_OK, os.X_OK)]
    return Access(readable=may[0], writable=may[1], executable=may[2])


def which(name: str, search_path: str) -> Text | Missing:
    """Return the first executable file of that name."""
    for folder in [""] if "/" in name else search_path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return Text(text=candidate)
    return Missing()


def write(path: str, data: bytes) -> None:
    """Write a temporary file beside it, then rename."""
    old = os.stat(path) if os.path.exists(path) else None
    if old is not None:
        _require_file(old)
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".gpudoctor-{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            if old is not None:
                _copy_rights(old, file.fileno())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too leaves nothing behind
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _copy_rights(old: os.stat_result, descriptor: int) -> None:
    if os.name == "posix":
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: str) -> None:
    """Make the new name last; some file systems refuse that, and the file is whole all the same."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
