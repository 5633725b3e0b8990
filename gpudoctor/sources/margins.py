"""What stands in the margin of a copied report: the prefixes of loggers and of launchers, and line numbers.

Importers read a line from its beginning. A pattern finds its words anywhere, and some need the prefix, so
what is taken off here is taken off for importers alone; what nothing needs is gone before (`unwrap.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_STAMP = rf"{_DAY}[ T]{_TIME}(?:[.,][0-9]{{1,9}})?(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
_PLACE = r"\[?[A-Za-z0-9_./<>-]{1,80}:[0-9]{1,6}\]"
_PREFIX = re.compile("|".join((
    (rf"(?:[A-Z][a-z]{{2}} [ 0-9][0-9] {_TIME}(?:\.[0-9]{{1,6}})?|{_STAMP}) [A-Za-z0-9_.-]{{1,64}} "
     r"[A-Za-z0-9_.@/()-]{1,64}\[[0-9]{1,8}\]:(?: |$)"),  # journalctl, syslog; the kernel has no process
    rf"\[{_STAMP}\](?: |$)",  # Jenkins
    rf"{_TIME}(?:\.[0-9]{{3}})? {{2}}",  # Jenkins, by its older plugin
    rf"(?:{_STAMP} )?[0-9]{{2}}[OE][ +]",  # GitLab's runner
    rf"{_STAMP} - [A-Za-z0-9_.]{{1,80}} - {_LEVEL} - ",  # Python's logging, as its documentation writes it
    rf"{_STAMP} {_LEVEL}:? (?:{_PLACE} )?",
    # loguru
    rf"{_STAMP} \| {_LEVEL} {{0,8}}\| [A-Za-z0-9_.<>]{{1,80}}:[A-Za-z0-9_<>]{{1,80}}:[0-9]{{1,6}} - ",
    rf"{_LEVEL} [0-9]{{2}}-[0-9]{{2}} {_TIME} {_PLACE} ",  # vLLM
    rf"{_LEVEL}:[A-Za-z0-9_.]{{1,80}}:",  # logging without any format
    r"\[rank[0-9]{1,5}\]: ?", r"\[[0-9]{1,5},[0-9]{1,5}\]<std(?:out|err)>: ?",  # torchrun, mpirun
    r"\((?:[A-Za-z0-9_.]{1,60} )?pid=[0-9]{1,8}(?:, ip=[0-9.]{7,15})?\) ",  # Ray
    r"#[0-9]{1,4} [0-9]{1,6}\.[0-9]{1,4} ",  # BuildKit
)))
_MOST = 4  # prefixes before one another
_NUMBER = re.compile(r" {0,8}([0-9]{1,6})(\t|: ?| )")
_RUN_LINES = 12  # fewer may be a list of cards


def without_margin(lines: Sequence[str]) -> list[str]:
    """Return the lines without what stands before each of them."""
    return _without_numbers([_without_prefix(line) for line in lines])


def _without_prefix(line: str) -> str:
    start = 0
    for _ in range(_MOST):
        found = _PREFIX.match(line, start)
        if found is None:
            break
        start = found.end()
    return line[start:]


def _without_numbers(lines: list[str]) -> list[str]:
    """Take off the numbers of `cat -n`, `grep -n`, `less -N` and editors: each goes on from that above."""
    numbered = [_NUMBER.match(line) for line in lines]
    first = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines) and _goes_on(numbered[index - 1], numbered[index]):
            continue
        if index - first >= _RUN_LINES:
            for place in range(first, index):
                found = numbered[place]
                lines[place] = lines[place][found.end():] if found else lines[place]
        first = index
    return lines


def _goes_on(above: re.Match[str] | None, below: re.Match[str] | None) -> bool:
    return (above is not None and below is not None and int(below[1]) == int(above[1]) + 1
            and above[2].strip() == below[2].strip())
