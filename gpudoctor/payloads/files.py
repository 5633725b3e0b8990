"""Read files, folders, links and nodes into plain JSON answers; no call here raises or blocks.

Every answer is a dict with exactly one of: the thing asked for ("text", "names", "target", "node"),
`"missing": True`, or `"error": "PermissionError: ..."`.
"""

import errno
import os
import stat

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Optional

LIMIT_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16


def _failure(error):
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return {"missing": True}
    return {"error": "%s: %s" % (type(error).__name__, error.strerror)}


def read_bytes(path, limit_bytes=LIMIT_BYTES):
    """Return (bytes, None) or (None, answer). FIFOs and devices are refused, never opened to block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return None, _failure(error)
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            return None, {"error": "not a regular file"}
        at_once = max(seen.st_size + 1, _PIECE_BYTES)  # those of /proc say that they are empty
        pieces = []
        left = limit_bytes
        while left > 0:
            piece = os.read(descriptor, min(left, at_once))
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces), None
    except OSError as error:
        return None, _failure(error)
    finally:
        os.close(descriptor)


def read_text(path, limit_bytes=LIMIT_BYTES):
    """Return {"text": ...} of at most `limit_bytes`, decoded as UTF-8 with replacement."""
    data, failure = read_bytes(path, limit_bytes)
    return failure if data is None else {"text": data.decode("utf-8", "replace")}


def list_folder(path, limit=20000, wanted=None):
    """Return {"names": [...]} sorted, at most `limit` of those for which `wanted` is true."""
    try:
        return {"names": sorted(filter(wanted, os.listdir(path)))[:limit]}
    except OSError as error:
        return _failure(error)


def read_link(path):
    """Return {"target": ...} of a symbolic link."""
    try:
        return {"target": os.readlink(path)}
    except OSError as error:
        return {"missing": True} if error.errno == errno.EINVAL else _failure(error)


def describe_node(path):
    """Return {"node": {...}} of what lies there: kind, mode, owner, device numbers, what we may do."""
    try:
        status = os.stat(path)
    except OSError as error:
        return _failure(error)
    folder = stat.S_ISDIR(status.st_mode)
    return {"node": {
        "kind": "character" if stat.S_ISCHR(status.st_mode) else "folder" if folder else "other",
        "mode": "%04o" % stat.S_IMODE(status.st_mode),
        "user": status.st_uid,
        "group": status.st_gid,
        "major": os.major(status.st_rdev),
        "minor": os.minor(status.st_rdev),
        "readable": os.access(path, os.R_OK),
        "writable": os.access(path, os.W_OK),
    }}


def which(name: str, folders: "Optional[str]" = None) -> "Optional[str]":
    """Find a program on PATH or in `folders`, as a shell does; of each one a single question is asked."""
    path = os.environ.get("PATH", os.defpath) if folders is None else folders
    for folder in dict.fromkeys(path.split(os.pathsep)):
        found = folder + "/" + name if folder else name
        if os.access(found, os.X_OK) and not os.path.isdir(found):
            return found
    return None
