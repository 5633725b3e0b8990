"""Lines that speak of trouble, for what no symptom explains: which they are, and which say the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from gpudoctor.frozen import frozen

_FAULTS = (
    "error", "failed", "failure", "cannot", "can't", "could not", "couldn't", "unable to", "fatal",
    "exception", "not found", "no such file", "denied", "refused", "abort", "segmentation fault",
    "core dumped", "undefined symbol", "unsupported", "not supported", "incompatible", "invalid", "mismatch",
    "insufficient", "unavailable", "not available", "corrupt", "crash", "killed", "timed out",
    "out of memory", "panic",
)
_WARNINGS = ("warning", "deprecated")
# The letters by which glog and TensorFlow begin a line, in their own cases alone.
_GLOG_FAULTS, _GLOG_WARNINGS = (": E ", ": F ", "E0000 ", "F0000 "), (": W ", "W0000 ")
# Names of measures (mean_squared_error: 0.31) and options, counts of nothing, the line before a traceback.
_HARMLESS = (
    "_error", "-error", "0 errors", "no error", "errors: 0", "error=0", "error: 0", "_errors", "error rate",
    "error_rate", "errors=remount-ro", "-werror", "0 error(s)", "0 warning(s)", "0 warnings", "no warnings",
    "traceback (most recent call last)", "without error", "0 failed",
    '"error":""', '"error": ""', '"oomkilled":false', '"oomkilled": false',  # docker inspect
)
FIRST, LAST, WARNINGS = 24, 8, 8
_HEXADECIMAL = frozenset("0123456789abcdefABCDEFx-")
_DIGITS = {ord(digit): None for digit in "0123456789"}
_SHORTEST_HASH = 7


def words() -> tuple[str, ...]:
    """Return the texts, in the cases in which they are written, that a line must have one of."""
    cased = dict.fromkeys(form for word in (*_FAULTS, *_WARNINGS)
                          for form in (word, word[0].upper() + word[1:], word.upper()))
    return (*cased, *_GLOG_FAULTS, *_GLOG_WARNINGS)


def is_fault(line: str) -> bool:
    """Say whether a line speaks of an error."""
    return _speaks_of(line, _FAULTS, _GLOG_FAULTS)


def is_warning(line: str) -> bool:
    """Say whether a line is a warning."""
    return _speaks_of(line, _WARNINGS, _GLOG_WARNINGS)


def _speaks_of(line: str, spoken: Sequence[str], letters: Sequence[str]) -> bool:
    folded = line.lower()
    for harmless in _HARMLESS:
        if harmless in folded:
            folded = folded.replace(harmless, " ")
    return any(word in folded for word in spoken) or any(letter in line for letter in letters)


def masked(line: str) -> str:
    """Return what two lines have in common that differ by numbers, addresses, hashes and times alone."""
    return " ".join(_masked_word(word) for word in line.split())


def _masked_word(word: str) -> str:
    core = word.strip("()[]{}<>,.;:'\"=")
    if len(core) >= _SHORTEST_HASH and _HEXADECIMAL.issuperset(core) and not core.isalpha():
        return "#"
    return word.translate(_DIGITS)


@frozen
class Suspicious:
    """A line that speaks of an error and that no symptom explains; `count` lines differ by numbers alone.

    The count is of the lines that were looked at: in a text of millions of such lines, not of all.
    """

    file: str
    line: int
    text: str
    count: int
    warning: bool


class Gathered:
    """The first and the last different faults, and the first warnings; memory is bounded."""

    def __init__(self) -> None:
        self._first: dict[str, Suspicious] = {}
        self._last: OrderedDict[str, Suspicious] = OrderedDict()
        self._warnings: dict[str, Suspicious] = {}

    def add(self, file: str, number: int, line: str) -> None:
        """Take a line that no symptom explains, if it speaks of trouble."""
        fault = is_fault(line)
        if not fault and not is_warning(line):
            return
        mask = masked(line)
        seen = Suspicious(file=file, line=number, text=line, count=1, warning=not fault)
        if not fault:
            _count(self._warnings, mask, seen, WARNINGS)
        elif not _count(self._first, mask, seen, FIRST):
            before = self._last.pop(mask, None)
            self._last[mask] = replace(seen, count=before.count + 1) if before else seen
            if len(self._last) > LAST:
                self._last.popitem(last=False)

    def all(self) -> tuple[Suspicious, ...]:
        """Return them, faults first."""
        return (*self._first.values(), *self._last.values(), *self._warnings.values())


def _count(group: dict[str, Suspicious], mask: str, seen: Suspicious, most: int) -> bool:
    """Count a line in a group that holds it or has room for it."""
    before = group.get(mask)
    if before is None and len(group) >= most:
        return False
    group[mask] = seen if before is None else replace(before, count=before.count + 1)
    return True
