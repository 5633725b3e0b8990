"""Numbers of CUDA's errors, in whatever words a program puts around them, become the errors' names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.model import Tables

_OF_CUDA = re.compile(r"cuda|\bcu[A-Z]\w{3,40}\b")
_NUMBER = re.compile(
    r"(?<!exit )(?<!return )\b(?:error|err|code|failure|failed|return(?:s|ed)|status|result)\b"
    r"[\s:=(\[#]{1,3}(?:code|number|no)?[\s:=(\[#.]{0,3}"
    r"(?P<number>\d{2,3}|(?:(?<=\bcuda error )|(?<=\bcuda error: )|(?<=\bcuda error code ))[1-3])"
    r"(?![\d.%/]|,\d| ?[KMGT]i?B| of\b)", re.IGNORECASE)
# Of one digit only 1 to 3 count: 4 to 8 are also numbers of an older runtime, "cuda runtime error (8)".
_ONE_DIGIT = re.compile(
    r"\bcuda (?:runtime )?(?:error|failure)(?: code)?[\s:=(#]{1,3}(?P<number>[4-9])\b(?![.%/\d])",
    re.IGNORECASE)
_LISTS = {"cuda_errors": "the driver", "cuda_runtime_errors": "the runtime"}
_TABLES = tuple(_LISTS)  # a number that both have is the driver's
_LONGEST, _MOST = 2000, 20


def named(lines: Sequence[str], tables: Tables) -> Iterator[Answered]:
    """Yield a line with the name of each error of CUDA that a line gives by its number."""
    names = _names(tables)
    found: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not _OF_CUDA.search(line[:_LONGEST]) and "CUDA" not in line[:_LONGEST]:
            continue
        for error in _NUMBER.finditer(line[:_LONGEST]):
            name = names.get(int(error["number"]))
            if name is not None and name not in found and len(found) < _MOST:
                found.add(name)
                yield Answered(text=f"{error[0].strip()} is {name}", line=number)


def may_be(line: str, tables: Tables) -> str:
    """Return which errors a number of one digit can be, "" where a line has none."""
    error = _ONE_DIGIT.search(line[:_LONGEST])
    if error is None:
        return ""
    found = [f"{row['name']} of {whose}" for table, whose in _LISTS.items() if table in tables
             for row in tables[table].rows if row["code"] == int(error["number"])]
    known = " or ".join(found) or "no number of the driver's and the runtime's lists"
    return f"{error['number']} is {known}; older runtimes number their errors otherwise"


def _names(tables: Tables) -> Mapping[int, str]:
    rows = [row for table in _TABLES if table in tables for row in tables[table].rows]
    return {code: str(row["name"]) for row in reversed(rows) if isinstance(code := row["code"], int)}
