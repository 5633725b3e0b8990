"""Libraries that a trace of system calls shows to be nowhere: each place that was tried lacks the file.

One place that lacks it says nothing, since a loader tries many and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

NOWHERE = "{library}: cannot open shared object file: No such file or directory"  # as the loader says it
_OPENED = Pattern(r"\b(?:openat|open)\(.{0,40}?\"[^\"]{0,300}?/(?P<library>lib(?:cuda|nv|"
                  r"cu)[\w-]{0,40}\.so[\w.]{0,30})\"[^)]{0,100}\) += (?P<result>-1 ENOENT|-?[0-9]{1,6})")
_LONGEST = 600


def nowhere(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each library of NVIDIA's that was looked for and not opened anywhere."""
    tried: dict[str, int] = {}
    opened: set[str] = set()
    for number, line in enumerate(lines, start=1):
        call = _OPENED.search(line[:_LONGEST]) if ".so" in line and "open" in line else None
        if call is None:
            continue
        if call["result"].startswith("-"):
            tried[call["library"]] = number
        else:
            opened.add(call["library"])
    yield from (Answered(text=NOWHERE.format(library=library), line=number)
                for library, number in tried.items() if library not in opened)
