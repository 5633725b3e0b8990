"""The files of a container that need not run, as a host's: the few that are asked for, each bounded.

The engine hands a path out as an archive, and says of it first what it is and where a link leads.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpudoctor.host import Access, Data, Entry, Host, Kind, Missing, Refused, Text
from gpudoctor.transports.engine import EngineTrouble, asked

_MOST_LINKS = 40  # as many as Linux follows
_TAR_BYTES = 1 << 13  # the heads of an archive of one file
_CHUNK_BYTES = 1 << 16
# Go's bits of a file's kind, which Docker's API speaks in; without any it is a regular file
_KINDS = ((1 << 31, Kind.FOLDER), (1 << 27, Kind.LINK), (1 << 21, Kind.CHARACTER_DEVICE),
          (1 << 26, Kind.BLOCK_DEVICE), (1 << 25, Kind.PIPE), (1 << 24, Kind.SOCKET))


@dataclass(frozen=True, slots=True)
class ContainerFiles(Host):
    """The file system of a container, running or not; what it does not offer is refused."""

    api: Any = None
    container: str = ""
    timeout_seconds: float = 20.0

    def entry(self, path: str, *, follow: bool = True) -> Entry | Missing | Refused:
        """Describe a path; links are followed as the container would."""
        found = self._stat(path, follow=follow)
        if not isinstance(found, dict):
            return found
        return Entry(kind=_kind(found), mode=int(found.get("mode", 0)) & 0o777, owner=0, group=0,
                     size_bytes=int(found.get("size", 0)), device=None)

    def access(self, path: str) -> Access | Missing | Refused:
        """Say what the mode of a path allows anybody."""
        found = self.entry(path)
        if isinstance(found, Missing | Refused):
            return found
        return Access(readable=True, writable=False, executable=bool(found.mode & 0o111))

    def read_bytes(self, path: str, *, limit_bytes: int = 1 << 20) -> Data | Missing | Refused:
        """Read the beginning of a regular file."""
        real = self.real_path(path)
        if not isinstance(real, Text):
            return real
        found = self._stat(real.text, follow=False)
        if not isinstance(found, dict):
            return found
        if _kind(found) is not Kind.FILE:
            return Refused(reason=f"is a {_kind(found).value}, not a regular file")
        try:
            pieces, _ = asked(lambda: self.api.get_archive(self.container, real.text, _CHUNK_BYTES),
                              self.timeout_seconds)
            data = asked(lambda: _beginning(pieces, limit_bytes + _TAR_BYTES), self.timeout_seconds)
            return _first_file(data, limit_bytes, int(found.get("size", 0)))
        except EngineTrouble as error:
            return _failed(error)

    def real_path(self, path: str) -> Text | Missing | Refused:
        """Say where a path leads when its last part's links are followed; the engine follows the others."""
        for _ in range(_MOST_LINKS):
            found = self._stat(path, follow=False)
            if not isinstance(found, dict):
                return found
            if _kind(found) is not Kind.LINK:
                return Text(text=path)
            path = str(found.get("linkTarget", ""))
        return Refused(reason="too many links")

    def _stat(self, path: str, *, follow: bool) -> dict[str, Any] | Missing | Refused:
        if follow:
            real = self.real_path(path)
            if not isinstance(real, Text):
                return real
            path = real.text
        if not path.startswith("/") or "\0" in path:
            return Refused(reason="unusable path")
        try:
            pieces, found = asked(lambda: self.api.get_archive(self.container, path, _CHUNK_BYTES),
                                  self.timeout_seconds)
        except EngineTrouble as error:
            return _failed(error)
        pieces.close()
        return found if isinstance(found, dict) else Refused(reason="the engine does not describe it")


def _failed(error: EngineTrouble) -> Missing | Refused:
    return Missing() if error.trouble.kind == "not-found" else Refused(reason=error.trouble.said)


def _kind(found: dict[str, Any]) -> Kind:
    mode = int(found.get("mode", 0))
    return next((kind for bit, kind in _KINDS if mode & bit), Kind.FILE)


def _beginning(pieces: Iterator[bytes], limit_bytes: int) -> bytes:
    """Return so much of an archive, and let the rest be."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > limit_bytes:
            break
    return bytes(data[:limit_bytes])


def _first_file(archive: bytes, limit_bytes: int, size: int) -> Data | Refused:
    try:
        with tarfile.TarFile(fileobj=io.BytesIO(archive)) as opened:
            member = opened.next()
    except (tarfile.TarError, EOFError, OSError) as error:
        return Refused(reason=f"the engine's archive cannot be read: {error}")
    if member is None or not member.isfile():
        return Refused(reason="the engine's archive holds no file")
    data = archive[member.offset_data:member.offset_data + min(limit_bytes, size)]
    return Data(data=data, truncated=size > limit_bytes)
