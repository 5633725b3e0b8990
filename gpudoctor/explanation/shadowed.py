"""A module that a file of one's own hides: it lacks what it should have, and lies outside the libraries.

Or a traceback shows the import itself: a file of Python's, or of a package, imports a module of Python's, and
the next frame is a file of that name outside the libraries.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

HIDDEN = "is hidden by a file that bears its name"
_PACKAGES = frozenset({
    "tensorflow", "torch", "keras", "jax", "numpy", "cupy", "paddle", "transformers", "onnxruntime",
    "tokenizers",
})
# The module that lacks something, as Python says it.
_LACKING = Pattern(
    r"(?:cannot import name '?[\w.]{1,80}'? from (?:partially initialized module )?|module )"
    r"'(?P<module>\w{2,40})'(?: has no attribute|(?= \()|$| \(most)")
_NAME = Pattern(r"(?<![\w-])[a-z]\w{1,39}$")
_ENDING, _PATH = ".py", 200
_FRAME = 'File "'
_IMPORT = Pattern(r"\s*(?:import|from) (\w{2,40})")
_LIBRARIES = Pattern(r"(?:site|dist)-packages|[/\\][Ll]ib(?:64)?[/\\](?:python)?|python[0-9]|\.zip|<frozen")
_LONGEST, _MOST = 1000, 3


def hidden_modules(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each module of Python's or of a framework that such a file hides."""
    lacking: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if "'" in line and ("cannot import name" in line or "has no attribute" in line):
            for found in _LACKING.finditer(line[:_LONGEST]):
                module = found["module"]
                if module in _PACKAGES or module in sys.stdlib_module_names:
                    lacking.setdefault(module, number)
    if not lacking:
        return
    own = {name for line in lines if _ENDING in line for name in _files(line[:_LONGEST])} & lacking.keys()
    for module in sorted(own)[:_MOST]:
        yield Answered(text=f"the module {module} {HIDDEN}", line=lacking[module])


def taken_imports(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each import of the libraries that ends in a file of the user's: two frames show it."""
    found = 0
    for number, (before, line, after) in enumerate(zip(lines, lines[1:], lines[2:], strict=False), start=3):
        if _FRAME not in before or _FRAME not in after or not _LIBRARIES.search(before[:_LONGEST]):
            continue
        imported = _IMPORT.match(line[:_LONGEST])
        if imported is None or not (imported[1] in _PACKAGES or imported[1] in sys.stdlib_module_names):
            continue
        if imported[1] in _files(after[:_LONGEST]):
            yield Answered(text=f"the module {imported[1]} {HIDDEN}", line=number)
            found += 1
        if found == _MOST:
            return


def _files(line: str) -> Iterator[str]:
    """Yield the modules whose files a line names, but those of Python's own folders and of packages."""
    end = line.find(_ENDING)
    while end >= 0:
        before = re.split(r"[\"'(`]", line[max(end - _PATH, 0):end])[-1]
        name = _NAME.search(before)
        if name is not None and not line[end + len(_ENDING):][:1].isalnum() and not _LIBRARIES.search(before):
            yield name[0]
        end = line.find(_ENDING, end + 1)
