"""Two packages that own the same files, as a text tells of them: one was removed, or both are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.derive.view import as_texts
from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern
from gpudoctor.model import Tables, rows_of

REMOVED = "one of the packages that own the folder {folder} was removed"
SHARED = "packages are said to own the folder {folder} together"
BESIDE = "one package that owns the folder {folder} is beside another"
_REMOVES = Pattern(
    r"\b(?:un-?install\w*|remov\w+|autoremov\w+|delet\w+|purg\w+|clean(?:ed|ing) up)\b", re.IGNORECASE)
_SHARES = Pattern(
    r"\bshar(?:e|es|ed|ing)\b|\bboth (?:list|own|hold|contain|install|ship|put|write)|\bown(?:s|ed)\b"
    r"|\bclobber|\boverw(?:rit|rote)|\bsame (?:file|folder|path|director)|\bcolli[ds]", re.IGNORECASE)
_BESIDE = Pattern(
    r"\bboth\b|\b(?:next to|besides?|over|on top of|along with|together with|and also)\b|\*and\*"
    r"|\bsame env|\bpip list\b|\bpulled\b", re.IGNORECASE)
# A name of a single word is a package's where a version or its other name stands beside it.
_NAME = Pattern(
    r"(?<![\w-])[a-z][a-z0-9]{1,20}(?:[-_][a-z0-9]{2,20}){1,4}(?!\w)|\bpaddlepaddle\b"
    r"|\btensorflow\b(?= ?(?:==)? ?v?[0-9]| and tensorflow[-_]|,? both own)|(?<=[-_]gpu and )tensorflow\b")
_ONE_AT_A_TIME = Pattern(r"\b(?:instead|either|neither|rather than|tried)\b", re.IGNORECASE)
_FLAVOUR = Pattern(r"(?:^|[^\w-])(cu1[0-9])\b")
_LONGEST = 1000


def told(lines: Sequence[str], tables: Tables) -> Iterator[Answered]:
    """Yield at most one line: where a text names two such packages and says what became of one."""
    owners, folders = _owners(tables)
    named: dict[int, set[str]] = {}
    for number, line in enumerate(lines, start=1):
        folded = line[:_LONGEST].lower()
        names = {found.replace("_", "-") for found in _NAME.findall(folded)} & owners.keys()
        if names:
            names |= {name for own in names for name in _beside(own, folded) if name in owners}
            named[number] = names
    together = set().union(*named.values())
    colliding = {name for name in together if len(owners[name] & together) > 1}
    for text, says in ((REMOVED, _REMOVES), (SHARED, _SHARES), (BESIDE, _BESIDE)):
        for number, names in named.items():
            own, line = names & colliding, lines[number - 1][:_LONGEST]
            if text is BESIDE and (len(own) == 1 or _ONE_AT_A_TIME.search(line)):
                continue
            if own and says.search(line):
                yield Answered(text=text.format(folder=folders[min(own)]), line=number)
                return


def _beside(name: str, line: str) -> Iterator[str]:
    """Yield the same package for another CUDA that the line names by its end alone: "files of cu12"."""
    base, mark, _ = name.rpartition("-cu1")
    if mark:
        yield from (f"{base}-{flavour}" for flavour in _FLAVOUR.findall(line))


def _owners(tables: Tables) -> tuple[dict[str, set[str]], dict[str, str]]:
    """Return for each distribution all that write one of its files, itself among them, and their folder."""
    found: dict[str, set[str]] = {}
    folders: dict[str, str] = {}
    for table in ("nvidia_shared_files", "folder_owners"):
        for row in rows_of(tables, table):
            names = {re.split(r"[<>=]", name)[0] for name in as_texts(row["distributions"])}
            for name in names:
                found.setdefault(name, set()).update(names)
                folders[name] = str(row["folder"])
    return found, folders
