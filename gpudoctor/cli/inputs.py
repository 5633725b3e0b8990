"""Open the texts that are named to be read: what has no end, or is no text's place, is refused unopened."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from io import TextIOBase

from gpudoctor.cli.errors import InputError
from gpudoctor.render.plain import printable
from gpudoctor.sources.scan import Input

STANDARD_INPUT = "standard input"
_REFUSED = {
    stat.S_IFDIR: "is a folder; name the files in it",
    stat.S_IFSOCK: "is a socket, which cannot be read as a file",
    stat.S_IFBLK: "is a disk, not a text; name the files on it",
    stat.S_IFCHR: "is a device, which has no end; put what it says into a file (head -c 1000000 FILE)",
}


def each_opened(names: Iterable[str]) -> Iterator[Input]:
    """Open texts one after another, each when the one before has been read and closed."""
    for name in names:
        given = opened(name)
        with contextlib.closing(given.stream) if name != "-" else contextlib.nullcontext():
            yield given


def opened(name: str) -> Input:
    """Open a text by its name, standard input by `-`; InputError says in one line why that is not done."""
    if name == "-":
        return _standard_input()
    try:
        status = os.stat(name)
        _refuse_what_is_no_text(name, status)
        if stat.S_ISFIFO(status.st_mode) and sys.stderr.isatty() and not name.startswith(("/dev/", "/proc/")):
            sys.stderr.write(f"gpudoctor: waiting for what is written into the pipe {printable(name, 200)}\n")
        return Input(name=name, stream=open(name, "rb", buffering=0))
    except FileNotFoundError:
        is_message = " " in name or name.isdecimal()
        hint = "; a message itself is read from standard input: gpudoctor explain -" if is_message else ""
        raise InputError(f"{name}: no such file{hint}") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}") from None


def _standard_input() -> Input:
    if isinstance(sys.stdin, TextIOBase) and sys.stdin.isatty():
        sys.stderr.write("gpudoctor: reading standard input; end it with Ctrl-D\n")
    _refuse_what_is_no_text(STANDARD_INPUT, os.fstat(0))
    return Input(name=STANDARD_INPUT, stream=sys.stdin.buffer)


def _refuse_what_is_no_text(name: str, status: os.stat_result) -> None:
    """Raise InputError for folders, sockets and devices: to open a device may already do something."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFCHR and status.st_rdev in _devices_with_an_end():
        return
    if kind in _REFUSED:
        raise InputError(f"{name}: {_REFUSED[kind]}")


def _devices_with_an_end() -> set[int]:
    """Return the null device, and the terminals that a person can type a text into."""
    found = {os.stat(path).st_rdev for path in (os.devnull, "/dev/tty") if os.path.exists(path)}
    if os.isatty(0):
        found.add(os.fstat(0).st_rdev)
    return found
