"""Take a line out of what carried it: the prefixes of containers and of CI, and envelopes of JSON.

Docker's json-file logs, journald's `-o json`, loggers that write JSON and cells of notebooks hold the text
escaped. Prefixes of which no pattern and no importer needs a word are taken off: the time stamps of
`kubectl logs --timestamps` and of GitHub Actions, CRI's stream names, Compose's service names. Everything
here takes time that is linear in the line, and taking a line out twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_MESSAGE_KEYS = ("log", "MESSAGE", "message", "msg", "textPayload")
_STREAMS = ("stdout F ", "stderr F ", "stdout P ", "stderr P ")
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
# A line that begins with none of these has neither a prefix nor an envelope, but for Compose's and gh's.
_SHORTEST_STAMP, _LONGEST_STAMP = len("2026-11-20T05:43:12Z"), len("2026-11-20T05:43:12.123456789+00:00")
_DEEPEST = 4  # of an object's texts that are no message


def unwrapped(line: str) -> str:
    """Return a line as the program wrote it; what was several lines in an envelope is several again.

    All the texts of an envelope come, the message first: a logger may put the error in another field.
    """
    while True:
        inner = _from_envelope(_from_literal(without_prefix(line)))
        if inner == line:
            return line
        line = inner


def message(line: str) -> str:
    """Return a line as importers want it: an envelope gives its message alone, and other JSON stays JSON."""
    while True:
        bare = without_prefix(line)
        raw = _object(bare)
        inner = _message(raw) if raw is not None else None
        inner = bare if inner is None else inner.rstrip("\r\n")
        if inner == line:
            return line
        line = inner


# -- prefixes ----------------------------------------------------------------------------------------


def without_prefix(line: str) -> str:
    """Return the line behind all prefixes."""
    start = end = 0
    while (end := _behind_prefix(line, start)) > start:
        start = end
    return line[start:]


def _behind_prefix(line: str, start: int) -> int:
    first = line[start:start + 1]
    if first.isdecimal() and (end := _behind_stamp(line, start)) > start:
        return end
    if first == "[":
        return _behind_pod(line, start)
    return _behind_service(line, start) or _behind_step(line, start) or start


def _behind_stamp(line: str, start: int) -> int:
    """Return where the text after `2026-11-20T05:43:12.123456789Z stderr F ` begins."""
    end = line.find(" ", start + _SHORTEST_STAMP, start + _LONGEST_STAMP + 1)
    stamp = line[start:end] if end >= 0 else ""
    if stamp[4:5] + stamp[7:8] + stamp[10:11] + stamp[13:14] + stamp[16:17] != "--T::":
        return start
    if not (stamp[-1] == "Z" or stamp[-6] in "+-") or not stamp[:4].isdecimal():
        return start
    end += 1
    return end + len(_STREAMS[0]) if line.startswith(_STREAMS, end) else end


def _behind_pod(line: str, start: int) -> int:
    """Return where the text after `[pod/name/container] ` begins."""
    end = line.find("] ", start, start + 300) if line.startswith("[pod/", start) else -1
    return end + 2 if end >= 0 else start


def _behind_service(line: str, start: int) -> int:
    """Return where the text after Compose's `trainer-1  | ` begins, 0 when there is none."""
    bar = line.find(" | ", start, start + 100)
    if bar < 0:
        bar = len(line) - 2 if line.endswith(" |") and len(line) < start + 100 else -1
    name = line[start:bar].rstrip(" ") if bar > start else ""
    stem = name.rstrip("0123456789")
    if len(stem) < 2 or stem == name or stem[-1] not in "-_" or not _NAME_CHARACTERS.issuperset(name):
        return 0
    return min(bar + 3, len(line))


def _behind_step(line: str, start: int) -> int:
    """Return where the text after the `job TAB step TAB time` of `gh run view --log` begins, 0 for none."""
    first = line.find("\t", start, start + 200)
    second = line.find("\t", first + 1, first + 200) if first >= 0 else -1
    end = _behind_stamp(line, second + 1) if second >= 0 else -1
    return end if end > second + 1 else 0


# -- envelopes ---------------------------------------------------------------------------------------


def _object(line: str) -> Mapping[str, Any] | None:
    """Return the JSON object that a line is, None when it is none."""
    line = line.strip()
    if line[:1] != "{" or line[-1:] != "}" or '"' not in line:
        return None
    raw = _decoded(line)
    return raw if isinstance(raw, dict) else None


def _decoded(text: str) -> Any:
    """Return what a JSON text holds, None when it is none, or one of many levels or of endless numbers."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _message(raw: Mapping[str, Any]) -> str | None:
    for key in _MESSAGE_KEYS:
        value = raw.get(key)
        if isinstance(value, str):
            return value
        if key == "MESSAGE" and isinstance(value, list) and all(_is_byte(number) for number in value):
            return bytes(value).decode("utf-8", "replace")  # journald's form of what is not plain text
    return None


def _is_byte(number: object) -> bool:
    return type(number) is int and 0 <= number <= 255


def _from_envelope(line: str) -> str:
    raw = _object(line)
    if raw is None:
        return line
    first = _message(raw)
    texts = [text for text in _texts(raw, 1) if text != first]
    found = [text.rstrip("\r\n") for text in ([] if first is None else [first]) + texts]
    return "\n".join(found) if found else line


def _texts(raw: Any, depth: int) -> Iterator[str]:
    """Yield the texts in it that have words: what has no blank says nothing."""
    if isinstance(raw, str):
        if " " in raw:
            yield raw
    elif isinstance(raw, dict | list) and depth <= _DEEPEST:
        for value in raw.values() if isinstance(raw, dict) else raw:
            yield from _texts(value, depth + 1)


def _from_literal(line: str) -> str:
    """Return the text of a line that is a text of JSON, as the outputs of notebook cells are."""
    bare = line.strip().removesuffix(",")
    if len(bare) < 2 or bare[0] != '"' or bare[-1] != '"' or "\\" not in bare:
        return line
    text = _decoded(bare)
    return text.rstrip("\r\n") if isinstance(text, str) else line
