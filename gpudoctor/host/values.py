"""The answers of a host: values only."""

from __future__ import annotations

from enum import Enum

from gpudoctor.frozen import frozen


@frozen
class Text:
    """What a text file or a link says."""

    text: str
    truncated: bool = False


@frozen
class Data:
    """What a file holds."""

    data: bytes
    truncated: bool = False


@frozen
class Names:
    """The names in a folder, sorted. They lead to the files again; `readable` makes them fit to print."""

    names: tuple[str, ...]
    truncated: bool = False


class Kind(str, Enum):
    """What a path leads to."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    CHARACTER_DEVICE = "character device"
    BLOCK_DEVICE = "block device"
    PIPE = "pipe"
    SOCKET = "socket"
    OTHER = "unknown kind of file"


@frozen
class Entry:
    """What the file system says of a path. `mode` are the permission bits; `device` is (major, minor)."""

    kind: Kind
    mode: int
    owner: int
    group: int
    size_bytes: int
    device: tuple[int, int] | None


@frozen
class Access:
    """What this process may do with a path."""

    readable: bool
    writable: bool
    executable: bool


@frozen
class Missing:
    """We looked; it is not there."""


@frozen
class Refused:
    """We could not look, or not write; one line says why."""

    reason: str
