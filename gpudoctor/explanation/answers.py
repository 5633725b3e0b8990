"""Calls and their answers in a transcript: `>>> tf.test.is_gpu_available()`, and `False` in a line below it.

A symptom is found in one line. The bare answer says nothing without its call, so both are put into one line
as `tf.test.is_gpu_available(): False`, which symptoms may name. So is each of several that one line asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from gpudoctor.frozen import frozen
from gpudoctor.transcripts import pairs

_ANSWERS = frozenset({
    "False", "True", "None", "[]", "()", "''", '""', "0", "cpu", "'cpu'", '"cpu"', "CPU",
})
# What may stand before an answer.
_OUTPUT = re.compile(r"(?:Out ?\[[0-9]{0,6}\]|>{1,3}|#|=>|->):? ?")
_STEMS = ("available", "gpu", "device", "cuda", "backend")
# The last name of a call or of a value that tells which devices there are.
_CALL = re.compile(
    r"[A-Za-z_][\w.]{0,80}?\.?(?:is_available|is_gpu_available|gpu_device_name|is_built_with_cuda"
    r"|is_built_with_gpu_support|list_physical_devices|list_logical_devices|list_local_devices|device_count"
    r"|is_compiled_with_cuda|cuda_device_count|get_cuda_device_count|get_device|default_backend|devices"
    r"|local_devices|local_device_count|_get_available_gpus|get_available_providers|is_cuda_available"
    r"|get_num_gpus|get_cuda_device|version\.cuda|get_backend\(\)\.platform)\b")
_ECHO = re.compile(r"(?:^|[$#>%] ?)(?:echo|printenv) [\"']?\$?\{?([A-Z][A-Z0-9_]{3,40})\}?[\"']?\Z")
_SUDO = re.compile(r"(?:^|[$#>] ?)sudo\s")
AS_ROOT = "as root it works"  # a sentence that people write as well
_FARTHEST = 60  # lines of a log between a call and its answer
_LONGEST = 300
_MOST = 50


@frozen
class Answered:
    """A call with its answer as one line, and the number of the answer's line in the text, from 1.

    Where the text is made of a part of that line, `meaning` is what is shown beside the line itself.
    """

    text: str
    line: int
    meaning: str = ""


def answered(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield the calls of a text that a bare answer follows."""
    of_several = list(islice(pairs(lines), _MOST))
    for pair in of_several:
        if (call := _last_call(pair.asked)) is not None:
            yield Answered(text=f"{call}: {pair.value}", line=pair.place + 1)
    given = {pair.place + 1 for pair in of_several}
    asked: tuple[int, str, bool] | None = None
    by_who: dict[tuple[str, bool], str] = {}  # the last answer to a call as an ordinary user and through sudo
    found = 0
    for number, line in enumerate(lines, start=1):
        asked = None if number in given else asked
        if len(line) > _LONGEST:
            continue
        said = line.strip(" \t\r>*`")
        answer = _answer(said) if asked is not None and number - asked[0] <= _FARTHEST else None
        if asked is not None and answer is not None:
            _, call, with_sudo = asked
            yield Answered(text=f"{call}: {answer}", line=number)
            by_who[call, with_sudo] = answer
            if by_who.get((call, True)) == "True" and by_who.get((call, False), "True") != "True":
                yield Answered(text=f"{call}: {AS_ROOT}", line=number)
            asked, found = None, found + 1
            if found == _MOST:
                return
            continue
        name = _last_call(said)
        asked = (number, name, _SUDO.search(said) is not None) if name is not None else asked


def echoed(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield the variables that a shell was asked for, each with the value in the line below."""
    for place, (line, below) in enumerate(pairwise(lines), start=1):
        asked = _ECHO.search(line.strip()) if len(line) <= _LONGEST else None
        if asked is not None and below.strip():
            yield Answered(text=f"{asked[1]}={below.strip()[:_LONGEST]}", line=place + 1)


def _answer(said: str) -> str | None:
    before = _OUTPUT.match(said)
    bare = said[before.end():].strip() if before else said
    return bare if bare in _ANSWERS else None


def _last_call(said: str) -> str | None:
    names = _CALL.findall(said) if any(stem in said for stem in _STEMS) else ()
    if not names:
        return None
    name = str(names[-1])
    return name if name.endswith((".cuda", ".platform")) else f"{name}()"
