"""Numbers of errors of CUDA and its libraries, in whatever words a program puts around them, become names.

A number belongs to what is named last before it: "CUDA error 13" is another than "cuBLAS error 13".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.model import Tables, rows_of

_CUDA = "cuda"
_NUMBER = re.compile(
    r"(?<!exit )(?<!return )\b(?:error|err|code|failure|failed|return(?:s|ed)|status|"
    r"result)\b[\s:=(\[#]{1,3}(?:code|number|no)?[\s:=(\[#.]{0,3}(?P<number>[0-9]{2,3}|(?:(?<=\bcuda error )|"
    r"(?<=\bcuda error: )|(?<=\bcuda error code ))[1-3])(?![0-9.%/]|,[0-9]| ?[KMGT]i?B| of\b)", re.IGNORECASE)
# Of one digit only 1 to 3 count: 4 to 8 are also numbers of an older runtime, "cuda runtime error (8)".
_ONE_DIGIT = re.compile(
    r"\bcuda (?:runtime )?(?:error|failure)(?: code)?[\s:=(#]{1,3}(?P<number>[4-9])\b(?![.%/0-9])",
    re.IGNORECASE)
_LIBRARIES = ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvrtc")
# cuDNN's numbers depend on its release; NVML, NCCL and the loader ("cublas64_11.dll") have theirs.
_OWNER = re.compile(
    rf"(?i:(?<![a-z])(?P<library>{'|'.join(_LIBRARIES)})(?![\w.]*\.(?:dll|so))|(?P<other>cudnn|nvml|nccl)|cuda)"
    r"|\bcu[A-Z]\w{3,40}\b")
_OF_LIBRARY = re.compile(
    r"(?<!exit )(?<!return )\b(?P<word>error|err|code|status|failed|failure|returned|result|plan(?=:)|"
    r"\w{2,20}_SUCCESS)\b(?: at \S{1,200}:[0-9]{1,6})?[\s:=(\[#]{1,3}(?:code|number|"
    r"no)?[\s:=(\[#.]{0,3}(?P<number>[1-9][0-9]{0,2})(?![\w%/]|\.[0-9]|,[0-9]| ?[KMGT]i?B| of\b|"
    r" errors?\b)(?: vs\. 0\))?", re.IGNORECASE)
_OF_ANY_PROGRAM = frozenset({"failed", "failure", "returned", "result"})  # any program says them with a 1
_OF_MAKE = "***"
_LISTS = {"cuda_errors": "the driver", "cuda_runtime_errors": "the runtime"}
_TABLES = tuple(_LISTS)  # a number that both have is the driver's
_LONGEST, _MOST = 2000, 20


def named(lines: Sequence[str], tables: Tables) -> Iterator[Answered]:
    """Yield a line with the name of each error of CUDA or its libraries that a line gives by its number."""
    names = {library: _names((f"{library}_errors",), tables) for library in _LIBRARIES}
    names[_CUDA] = _names(_TABLES, tables)
    found: set[str] = set()
    for place, line in enumerate(lines, start=1):
        for owner, said, number in _numbers(line[:_LONGEST]):
            name = names[owner].get(number)
            if name is not None and name not in found and len(found) < _MOST:
                found.add(name)
                yield Answered(text=f"{said.strip()} is {name}", line=place, meaning=f"{number} is {name}")


def _numbers(line: str) -> Iterator[tuple[str, str, int]]:
    """Yield whose each number of an error is, the words that say so, and the number."""
    if not _OWNER.search(line):
        return
    for error in _NUMBER.finditer(line):
        owner = _owner(line, error.start())
        if owner == _CUDA:
            yield owner, error[0], int(error["number"])
    for error in _OF_LIBRARY.finditer(line):
        owner = _owner(line, error.end("word"))
        is_any = error["number"] == "1" and error["word"].lower() in _OF_ANY_PROGRAM
        if owner in _LIBRARIES and not is_any and _OF_MAKE not in line:
            yield owner, error[0], int(error["number"])


def _owner(line: str, end: int) -> str:
    """Return what is named last before a place, else first after it: a library, CUDA, or "" for others."""
    before = [*_OWNER.finditer(line, 0, end)]
    last = before[-1] if before else _OWNER.search(line, end)
    if last is None:
        return ""
    return (last["library"] or "").lower() or ("" if last["other"] else _CUDA)


def may_be(line: str, tables: Tables) -> str:
    """Return which errors a number of one digit can be, "" where a line has none."""
    error = _ONE_DIGIT.search(line[:_LONGEST])
    if error is None:
        return ""
    found = [f"{row['name']} of {whose}" for table, whose in _LISTS.items()
             for row in rows_of(tables, table) if row["code"] == int(error["number"])]
    known = " or ".join(found) or "no number of the driver's and the runtime's lists"
    return f"{error['number']} is {known}; older runtimes number their errors otherwise"


def _names(named: Sequence[str], tables: Tables) -> Mapping[int, str]:
    rows = [row for table in named for row in rows_of(tables, table)]
    return {code: str(row["name"]) for row in reversed(rows) if isinstance(code := row["code"], int)}
