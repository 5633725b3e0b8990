"""Several values that one line of a transcript asks for, and the line below gives.

`print(torch.__version__, torch.cuda.is_available())` is followed by `2.4.0+cu121 True`, the same without
print by `('2.4.0+cu121', True)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpudoctor.frozen import frozen

_LONGEST = 300
_PROMPT = re.compile(r"(?:>>> ?|In ?\[[0-9]{0,6}\]: ?|Out ?\[[0-9]{0,6}\]: ?|\.\.\. )")
_ASKED = re.compile(r"[A-Za-z_][\w.]{1,80}(?:\([\w\"'., =:]{0,60}\))?")
_SEPARATOR = re.compile(r"(?:sep|end) ?=")  # what print puts in place of a blank, or of the end of the line
# `2.16.1 []` and `TF 2.16.1 GPUs: []`, alone in a line
_WITHOUT_GPUS = re.compile(r"(?:(?:tf|tensorflow) )?([0-9]\.[0-9]{1,2}\.[0-9]{1,2}(?:rc[0-9])?)[ ,:]{1,3}"
                           r"(?:gpus?: ?)?\[\]", re.IGNORECASE)
_OPEN, _CLOSED, _QUOTES = "([{", ")]}", "'\""


@frozen
class Pair:
    """An expression, its value as it was written, and the place of the value's line, from 0."""

    asked: str
    value: str
    place: int


def pairs(lines: Sequence[str]) -> Iterator[Pair]:
    """Yield each expression of a line that asks for several with what stands for it in the line below."""
    for place, (line, below) in enumerate(pairwise(lines), start=1):
        if "," not in line or "." not in line or max(len(line), len(below)) > _LONGEST:
            continue
        printed = "print(" in line
        if not (printed or below.rstrip().endswith(")")):
            continue
        asked = _inside(line.partition("print(")[2]) if printed else _parts(_bare(line))
        if len(asked) < 2 or not any(_ASKED.fullmatch(one) for one in asked):
            continue
        for one, value in zip(asked, _printed(asked, below) if printed else _shown(below), strict=False):
            if _ASKED.fullmatch(one):
                yield Pair(asked=one, value=value, place=place)


def release_without_gpus(line: str) -> str | None:
    """Return the release of TensorFlow that a line gives beside an empty list of GPUs, and no more."""
    alone = _WITHOUT_GPUS.fullmatch(line.strip()) if "[]" in line and len(line) <= _LONGEST else None
    return alone[1] if alone else None


def _bare(line: str) -> str:
    line = line.strip()
    prompt = _PROMPT.match(line)
    return line[prompt.end():].strip() if prompt else line


def _inside(words: str) -> list[str]:
    """Return the arguments of a call whose bracket is open already, [] if it is never closed."""
    depth, quote = 0, ""
    for place, letter in enumerate(words):
        if quote or letter in _QUOTES:
            quote = ("" if letter == quote else quote) if quote else letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSED and depth == 0:
            return _parts(words[:place])
        elif letter in _CLOSED:
            depth -= 1
    return []


def _parts(words: str) -> list[str]:
    """Return what commas part that stand in no bracket and no quotation."""
    parts, depth, quote = [""], 0, ""
    for letter in words:
        if quote or letter in _QUOTES:
            quote = ("" if letter == quote else quote) if quote else letter
        elif letter in _OPEN or letter in _CLOSED:
            depth += 1 if letter in _OPEN else -1
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += letter
    return [part.strip() for part in parts]


def _shown(below: str) -> list[str]:
    """Return the items of a tuple as Python shows it."""
    said = _bare(below)
    return [item.strip(_QUOTES) for item in _parts(said[1:-1])] if said[:1] + said[-1:] == "()" else []


def _printed(asked: Sequence[str], below: str) -> list[str]:
    """Return the words of a printed line, one for each argument; a quotation is printed as it stands."""
    if any(_SEPARATOR.match(one) for one in asked):
        return []
    rest, values = below.strip(), []
    for one in asked:
        label = one[1:-1].strip() if one[:1] in _QUOTES and one[-1:] == one[:1] else None
        value = label if label is not None else rest.partition(" ")[0]
        if not value or not rest.startswith(value):
            return []
        values.append(value)
        rest = rest[len(value):].strip()
    return [] if rest else values
