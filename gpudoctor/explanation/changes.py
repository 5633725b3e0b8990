"""What people say of another version of a driver, a kernel or a release: that it works, where this one fails.

"Rolled back to 566.36 and it is stable again", "2.0.1 works, 2.1.0 does not", "with 575 the output is right":
a version is said to work beside one that does not, in whatever words. Which of them is the older tells the
way back, or the numbers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.frozen import frozen
from gpudoctor.lazily import Pattern

OLDER, NEWER = "an older {} is said to work", "a newer {} is said to work"
_DRIVER, _KERNEL, _RELEASE = "driver", "kernel", "release"
_BACK = Pattern(r"\b(?:down-?grad\w*|roll(?:ed|ing|s)? ?back|revert\w*|go(?:es|ing)? back|went back|back to|"
                r"older|previous|earlier)\b")
_ON = Pattern(r"\b(?:up-?grad\w*|updat\w*|newer|newest|latest)\b")
_WORKS = Pattern(
    r"\b(?:fix(?:es|ed)|cure[sd]?|re?solve[sd]?|help(?:s|ed)|(?:go(?:es)?|gone|went) away|disappear\w*|"
    r"stable|fine|ok(?:ay)?|correct(?:ly)?|work(?:s|ed|ing)?|used again|uses? (?:the )?gpu|(?:find|found|"
    r"detect|see)s? (?:the )?gpu|problem is gone)\b")
_FAILS = Pattern(
    r"\b(?:broken?|breaks?|fail\w*|crash\w*|segfault\w*|hangs?|hung|freez\w*|garbage|wrong|die[sd]?|errors?|"
    r"raises?|no longer|stopped|black screen|cpu only|only (?:the )?cpu|nan|regression|page fault|xid [0-9]+|"
    r"unable|tdr|(?:does|do|is|did|has|can)(?:n't| not)|cannot|not)\b")
_DENIED = Pattern(r"(?:\bnot|n't|\bno longer|\bnever|\bnothing)\b[^.,;]{0,24}$")
_NUMBER = Pattern(r"(?<![\w.:/])(?<![rg]t[x ] )(?:[a-z-]{1,40}-)?v?([0-9]{1,4}(?:\.[0-9]{1,5}){1,3}|"
                  r"[3-6][0-9]{2})(?![\w/%]|:[0-9])")
_CLAUSES = Pattern(r"[.;,!](?:\s+|$)| but | and | while | whereas | - ")
_OF_DRIVER = Pattern(r"\bdrivers?\b|\bnvidia-[0-9]{3}")
_OF_KERNEL = Pattern(r"\bkernels?\b(?! launch)|\blinux [0-9]")
_DRIVERS_OWN = Pattern(r"[3-6][0-9]{2}(?:\.[0-9]{2,3}){0,2}")
_OF_GPUS = Pattern(r"cuda|gpu|nvidia|torch|tensorflow|\bjax|paddle|onnxruntime|ollama|vllm|"
                   r"llama", re.IGNORECASE)
# Of these another version cures something else.
_OTHERS = Pattern(r"\b(?:numpy|protobuf|scipy|pandas|pip|setuptools|python|gcc|bazel|cmake|keras|"
                  r"transformers|docker|pydantic|cuda [0-9]|cudnn|cuda toolkit|conda|glibc|bios)\b")
_LONGEST = 400


@frozen
class _Clause:
    """Part of a sentence: its words, the versions in it, and whether it says that they work."""

    words: str
    numbers: tuple[str, ...]
    works: bool


def other_versions(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each kind of thing of which another version is said to work."""
    if not any(_OF_GPUS.search(line[:_LONGEST]) for line in lines):
        return
    given: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not _WORKS.search(line[:_LONGEST].lower()):
            continue
        text = _said(line[:_LONGEST].lower().replace("\u2019", "'"))
        if text is not None and text not in given:
            given.add(text)
            yield Answered(text=text, line=number)


def _said(line: str) -> str | None:
    clauses = list(_clauses(line))
    works = [one for one in clauses if one.works]
    fails = {number for one in clauses if one.works is False for number in one.numbers}
    for one in works:
        goes_back = _BACK.search(one.words)
        number = next((number for number in one.numbers if goes_back or number not in fails), None)
        kind = _kind(line, number)
        if kind is None:
            continue
        if goes_back:
            return OLDER.format(kind)
        other = number and next((other for other in fails if _is_alike(number, other)), None)
        if number and other:
            return (OLDER if _parts(number) < _parts(other) else NEWER).format(kind)
        if _ON.search(one.words) and not fails and (number or kind is not _RELEASE):
            return NEWER.format(kind)
    return None


def _clauses(line: str) -> Iterator[_Clause]:
    """Yield the clauses that say how it went; one that does not belongs to the next."""
    before = ""
    for part in _CLAUSES.split(line):
        if _OTHERS.search(part):
            before = ""
            continue
        words = f"{before} {part}".strip()
        works = _polarity(words)
        before = words if works is None else ""
        if works is not None:
            yield _Clause(words=words, numbers=tuple(_NUMBER.findall(words)), works=works)


def _polarity(words: str) -> bool | None:
    worked = [found for found in _WORKS.finditer(words) if not _DENIED.search(words[:found.start()])]
    if worked and (_BACK.search(words) or not _FAILS.search(words)):
        return True
    return False if _FAILS.search(words) or _WORKS.search(words) else None


def _kind(line: str, number: str | None) -> str | None:
    """Return of what a version is spoken: a number tells it, else the words of the line; None for neither."""
    of_driver = _OF_DRIVER.search(line) is not None
    if number is not None and _DRIVERS_OWN.fullmatch(number):
        return _DRIVER if of_driver or "nvidia" in line else None
    if _OF_KERNEL.search(line) and (number is None or not of_driver or number.count(".")):
        return _KERNEL
    if of_driver:
        return _DRIVER
    return _RELEASE if number is not None or re.search(r"\bversions?\b|\breleases?\b", line) else None


def _is_alike(one: str, other: str) -> bool:
    """Say whether two numbers may be versions of one thing."""
    return bool(_DRIVERS_OWN.fullmatch(one)) == bool(_DRIVERS_OWN.fullmatch(other))


def _parts(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in number.split("."))
