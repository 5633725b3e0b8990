"""Texts of YAML that are written in quotes or folded: each of their characters with its place in the file.

https://yaml.org/spec/1.2.2/#73-flow-scalar-styles and https://yaml.org/spec/1.2.2/#813-folded-style
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.manifests.spans import Source, Traced
from gpudoctor.manifests.yaml_files import Node

_FOLDED, _DOUBLE, _SINGLE = ">", '"', "'"
_BLANK = re.compile(r"[ \t]*(?:\r?\n[ \t]*)*")  # a whole run: looked at once, however long it is
_CODE = {"x": 2, "u": 4, "U": 8}  # digits behind an escape
_ESCAPED = {  # others are themselves
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}


def lines(node: Node, source: Source) -> list[Traced] | None:
    """Return the lines of a text, each with one place more, where it ends; None where they are not found."""
    text, end = node.text or "", node.place.end
    pieces = _folded(node, source) if node.style == _FOLDED else _flowing(node, source)
    at: list[int] = []
    found = ""
    for piece, place in pieces:
        found += piece
        at += range(place, place + len(piece)) if source.text[place:place + len(piece)] == piece else (
            [place] * len(piece))
    if found != text:
        return None
    at.append(end)
    ends = [number for number, character in enumerate(text) if character == "\n"] + [len(text)]
    return [Traced(text=text[begin:last], at=at[begin:last + 1])
            for begin, last in zip([0, *(number + 1 for number in ends)], ends, strict=False)]


def _flowing(node: Node, source: Source) -> Iterator[tuple[str, int]]:
    """Yield the pieces of a text in quotes, or in none, each with its first place."""
    start, end = node.place.start, node.place.end
    if not node.whole and node.style in (_DOUBLE, _SINGLE):
        start, end = start + 1, end - 1
    raw, at = source.text[:end], start
    while at < end:
        blank = _BLANK.match(raw, at)
        if blank is not None and blank[0]:
            folds = blank[0].count("\n")
            yield ("\n" * (folds - 1) or " ") if folds else blank[0], at
            at = blank.end()
        elif node.style == _DOUBLE and raw[at] == "\\":
            kind = raw[at + 1:at + 2]
            digits = _CODE.get(kind, 0)
            if kind in ("\r", "\n") and (blank := _BLANK.match(raw, at + 1)) is not None:
                yield "\n" * (blank[0].count("\n") - 1), at
                at = blank.end()
                continue
            number = raw[at + 2:at + 2 + digits]
            yield (chr(int(number, 16)) if digits else _ESCAPED.get(kind, kind)), at
            at += 2 + digits
        else:
            yield raw[at], at
            at += 2 if node.style == _SINGLE and raw[at] == _SINGLE else 1


def _folded(node: Node, source: Source) -> Iterator[tuple[str, int]]:
    """Yield the pieces of a folded block: its lines, and what it has in place of the ends between them."""
    text, done, last = node.text or "", 0, node.place.start
    block = [(start, line) for start, line in source.lines()
             if node.place.start < start < node.place.end and line.strip()]
    indent = min((len(line) - len(line.lstrip(" ")) for _, line in block), default=0)
    for start, line in block:
        content = line[indent:]
        while done < len(text) and text[done] in " \n" and not text.startswith(content, done):
            yield text[done], last
            done += 1
        yield content, start + indent
        done, last = done + len(content), start + len(line)
    yield text[done:], last
