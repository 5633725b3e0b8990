"""The one door to files and to the environment: every answer is a value, and no question blocks.

A host is read below its root: `/` is this machine; a folder is a recording or an unpacked image, whose links
are followed as if that folder were the whole file system. Only regular files (those of /proc and /sys among
them) are ever opened: opening a device or a pipe can block, or do something.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from typing import TypeVar

from gpudoctor.host import files
from gpudoctor.host.values import Access, Data, Entry, Kind, Missing, Names, Refused, Text

__all__ = [
    "Access",
    "Data",
    "Entry",
    "Host",
    "Kind",
    "Missing",
    "Names",
    "Refused",
    "Text",
    "environment",
    "open_file",
    "readable",
    "which",
    "write_atomically",
]

READ_LIMIT_BYTES = 1024 * 1024
FOLDER_LIMIT_NAMES = 100_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Host:
    """A machine's file system. Its functions never raise; `path` is absolute on that machine."""

    root: str = "/"

    def read_bytes(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> Data | Missing | Refused:
        """Read the beginning of a regular file."""
        return _answered(lambda: files.read(self._at(path), limit_bytes))

    def read_text(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> Text | Missing | Refused:
        """Read the beginning of a UTF-8 file; what is no UTF-8 becomes U+FFFD."""
        answer = self.read_bytes(path, limit_bytes=limit_bytes)
        if isinstance(answer, Data):
            return Text(text=answer.data.decode("utf-8", "replace"), truncated=answer.truncated)
        return answer

    def list_folder(self, path: str, *, limit_names: int = FOLDER_LIMIT_NAMES) -> Names | Missing | Refused:
        """List the names in a folder."""
        return _answered(lambda: files.list_names(self._at(path), limit_names))

    def link_target(self, path: str) -> Text | Missing | Refused:
        """Say what a symbolic link points to, as it is written there; refused when it is no link."""
        return _answered(lambda: Text(text=os.readlink(self._at(path, follow_last=False))))

    def real_path(self, path: str) -> Text | Missing | Refused:
        """Say where on that machine a path leads when every link is followed."""
        return _answered(lambda: self._real_path(path))

    def entry(self, path: str, *, follow: bool = True) -> Entry | Missing | Refused:
        """Describe a path, or the link itself with `follow=False`; nothing is opened."""
        return _answered(
            lambda: files.entry(os.stat(self._at(path, follow_last=follow), follow_symlinks=follow))
        )

    def access(self, path: str) -> Access | Missing | Refused:
        """Say what this process, by its effective user, may do with a path; nothing is opened."""
        return _answered(lambda: files.access(self._at(path)))

    def _at(self, path: str, *, follow_last: bool = True) -> str:
        """Return where the path is on this machine."""
        return (
            path if self.root == "/" else files.followed(self.root.rstrip("/"), path, follow_last=follow_last)
        )

    def _real_path(self, path: str) -> Text:
        if self.root == "/":
            return Text(text=os.path.realpath(path, strict=True))
        located = self._at(path)  # every link is followed there, but for the root's own: /proc/7/root is one
        os.stat(located)
        return Text(text=located[len(self.root.rstrip("/")) :] or "/")


def environment() -> dict[str, str]:
    """Return a copy of this process's environment, fit to be given to a child unchanged.

    Bytes that are no text are kept as lone surrogates; `readable` makes a value fit to print.
    """
    return dict(os.environ)


def readable(text: str) -> str:
    """Replace what cannot be encoded (bytes of a name or a variable that are no text) by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def which(name: str, search_path: str | None = None) -> Text | Missing | Refused:
    """Find a program as a shell would, in `search_path` or else in this process's PATH."""
    if search_path is None:
        search_path = os.environ.get("PATH", os.defpath)
    return _answered(lambda: files.which(name, search_path))


def open_file(path: str) -> BufferedReader | Missing | Refused:
    """Open a regular file of this machine, to be read piece by piece, which may raise OSError."""
    return _answered(lambda: files.opened(path))


def write_atomically(path: str, data: bytes) -> Refused | None:
    """Write a whole file or nothing: its old content stays until the new one is on the disk.

    Permissions, and where allowed the owner, of a file that was there are kept; a link stays a link. What is
    no regular file is refused: it would be replaced by one.
    """
    answer = _answered(lambda: files.write(path, data))
    if isinstance(answer, Missing):
        there = os.path.isdir(os.path.dirname(os.path.realpath(path)))
        return Refused(reason="no file can be made in that folder" if there else "no such folder")
    return answer


def _answered(look: Callable[[], _T]) -> _T | Missing | Refused:
    try:
        return look()
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):  # the last: a process left /proc
        return Missing()
    except OSError as error:
        return Refused(reason=error.strerror or str(error) or type(error).__name__)
    except ValueError as error:  # a NUL byte, or a character that no file name can have
        return Refused(reason=f"unusable path: {error}")
