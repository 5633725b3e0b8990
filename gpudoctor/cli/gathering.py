"""Where the documents of `gpudoctor report` come from: folders, files, lists, gzip; one at a time.

Whatever lies in a folder, reading it ends: only regular files are opened, links to folders are not followed,
a document has a limit, and what cannot be used is told and left behind.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, BufferedReader
from typing import Any, TypeAlias, cast

from gpudoctor import codec, host
from gpudoctor.cli.sources import STANDARD_INPUT
from gpudoctor.fleet.summary import FOREIGN, HIDDEN, LINKED
from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Missing, Names, Refused

MAX_BYTES = 16 << 20  # of one document; those of real machines have less than one MiB
_DEEPEST = 32  # folders in folders
_GZIP = b"\x1f\x8b"
_STEP = 1 << 20  # bytes read at once where the end of a document is looked for
# where one document ends and the next begins: within one, a comma stands between the two
_BETWEEN = re.compile(rb"\}[ \t\r]*\n\s*\{|^\}\{", re.MULTILINE)
_LISTS = (".ndjson", ".jsonl")
_ENDINGS = (".json", *_LISTS)


@frozen
class Found:
    """A JSON document, and what its machine is called: the file, and the line in a file of many."""

    name: str
    document: Any


@frozen
class Unusable:
    """What was to be read and cannot be."""

    name: str
    why: str


@frozen
class LeftOut:
    """What was not asked for, and what it is."""

    name: str
    what: str


Gathered: TypeAlias = Found | Unusable | LeftOut


def gather(names: Iterable[str]) -> Iterator[Gathered]:
    """Yield what is in files and folders, each once; `-` is standard input."""
    for name in _apart(list(dict.fromkeys(names))):
        if name == "-":
            yield from _documents(cast(BufferedReader, sys.stdin.buffer), STANDARD_INPUT)
        elif os.path.isdir(name):
            yield from _folder(name.rstrip("/") or "/", 0)
        else:
            yield from _file(name)


def _apart(names: list[str]) -> list[str]:
    """Return the names without those that lie in a folder that is named as well, or are named twice."""
    real: dict[str, str] = {}
    for name in names:
        real.setdefault(name if name == "-" else os.path.realpath(name), name)
    return [name for path, name in real.items() if not any(above in real for above in _above(path))]


def _above(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _folder(folder: str, depth: int) -> Iterator[Gathered]:
    listed = Host().list_folder(folder)
    if not isinstance(listed, Names):
        yield Unusable(name=folder, why=f"{folder}: cannot be listed: {_why(listed)}")
        return
    if listed.truncated:
        yield Unusable(name=folder, why=f"{folder}: only {len(listed.names)} of its files were read")
    for name in listed.names:
        path = os.path.join(folder, name)
        if name.startswith("."):
            yield LeftOut(name=path, what=HIDDEN)
        elif not os.path.isdir(path):
            yield from _file(path) if _is_ours(name) else (LeftOut(name=path, what=FOREIGN),)
        elif os.path.islink(path):
            yield LeftOut(name=path, what=LINKED)
        elif depth == _DEEPEST:
            yield Unusable(name=path, why=f"{path}: lies too deep in folders")
        else:
            yield from _folder(path, depth + 1)


def _is_ours(name: str) -> bool:
    return name.removesuffix(".gz").endswith(_ENDINGS)


def _file(path: str) -> Iterator[Gathered]:
    stream = host.open_file(path)
    if isinstance(stream, Missing | Refused):
        yield Unusable(name=path, why=f"{path}: cannot be read: {_why(stream)}")
        return
    with stream:
        yield from _documents(stream, path)


def _why(refused: Missing | Refused) -> str:
    return "no such file" if isinstance(refused, Missing) else refused.reason


def _documents(stream: BufferedReader, name: str) -> Iterator[Gathered]:
    """Yield the documents in a stream; what is wrong with it comes last."""
    try:
        packed = stream.peek(len(_GZIP))[:len(_GZIP)] == _GZIP
        yield from _unpacked(cast(BufferedIOBase, gzip.GzipFile(fileobj=stream)) if packed else stream, name)
    except (OSError, EOFError, zlib.error) as error:
        yield Unusable(name=name, why=f"{name}: cannot be read: {error}")


def _unpacked(stream: BufferedIOBase, name: str) -> Iterator[Gathered]:
    """Yield one document, or one of each line where the first line is one in itself."""
    first, number = b"", 0
    while not first.strip():
        first, number = stream.readline(MAX_BYTES + 1), number + 1
        if not first:
            yield Unusable(name=name, why=f"{name}: is empty")
            return
    second = stream.readline(MAX_BYTES + 1)
    is_list = name.removesuffix(".gz").endswith(_LISTS)
    if is_list or first.rstrip().endswith(b"}"):
        begun = _parsed(first, name if number == 1 and not second else f"{name}:{number}")
        if is_list or (isinstance(begun, Found) and isinstance(begun.document, dict)):
            yield begun
            yield from _lines(stream, first, second, number, name)
            return
    yield from _behind_one_another(stream, first + second, number, name)


def _behind_one_another(stream: BufferedIOBase, data: bytes, number: int, name: str) -> Iterator[Gathered]:
    """Yield documents that spread over lines: one, or as many as `cat` has put behind one another."""
    begin, called = 0, name
    while True:
        met = _BETWEEN.search(data, begin)
        if met is not None:
            yield from _whole(data[begin:met.start() + 1], name, number, f"{name}:{number}")
            number += data.count(b"\n", begin, met.end())
            begin, called = met.end() - 1, f"{name}:{number}"
            continue
        data, begin = data[begin:], 0
        more = stream.read(_STEP) if len(data) <= MAX_BYTES else b""
        if not more:
            yield from _whole(data, name, number, called)
            return
        data += more


def _whole(data: bytes, name: str, number: int, called: str) -> Iterator[Gathered]:
    """Yield a document; where one was cut off, what is wrong with it, and the one behind it."""
    found = _parsed(data, called)
    yield found
    begin = data.rfind(b"\n{") + 1
    if isinstance(found, Unusable) and begin:
        number += data.count(b"\n", 0, begin)
        behind = _parsed(data[begin:], f"{name}:{number}")
        yield from [behind] if isinstance(behind, Found) else []


def _lines(stream: BufferedIOBase, line: bytes, following: bytes, number: int, name: str
           ) -> Iterator[Gathered]:
    """Yield the documents of the lines behind one, up to one that is too long to find its end."""
    while following and len(line) <= MAX_BYTES:
        line, following, number = following, stream.readline(MAX_BYTES + 1), number + 1
        if line.strip():
            yield _parsed(line, f"{name}:{number}")


def _parsed(data: bytes, name: str) -> Gathered:
    if len(data) > MAX_BYTES:
        return Unusable(name=name, why=f"{name}: larger than {MAX_BYTES >> 20} MiB, which no report is")
    try:
        return Found(name=name, document=codec.parse_json(data.decode("utf-8-sig", "replace"), name))
    except codec.CodecError as error:
        return Unusable(name=name, why=str(error))
