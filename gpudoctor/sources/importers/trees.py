"""Lists of packages in other forms: trees of pipdeptree and uv, `pip freeze` of files, poetry, dnf."""

from __future__ import annotations

import re
from urllib.parse import unquote

from gpudoctor import versions
from gpudoctor.sources.found import Found
from gpudoctor.sources.importers.libraries import note_package
from gpudoctor.sources.lines import Text

_NAME, _VERSION = r"([A-Za-z0-9_][A-Za-z0-9._-]{0,80})", r"([0-9][A-Za-z0-9.!+_-]{0,60})"
_INSTALLED = re.compile(rf"[\s\u2502|]{{0,60}}[\u251c\u2514+-][\u2500-]{{1,2}} {_NAME} "
                        rf"\[required: [^\]]{{1,100}}, installed: {_VERSION}\]")
_BRANCH = re.compile(rf"[\s\u2502|]{{0,60}}[\u251c\u2514]\u2500{{2}} {_NAME} v{_VERSION}"
                     r"(?: \(\*\)| \[.{1,80})?\s*")
_WHEEL = re.compile(rf"{_NAME} @ (?:file|https?)://\S{{0,300}}/([A-Za-z0-9_.]{{1,80}})-"
                    r"([0-9][A-Za-z0-9.!+_%]{0,60})-[a-z0-9_.]{2,40}-[a-z0-9_.]{2,40}-[A-Za-z0-9_.]{2,80}"
                    r"\.whl(?:#\S{1,200})?")
_POETRY = re.compile(rf"{_NAME} {{1,60}}(\(!\) )?{_VERSION} {{1,20}}(?:{_VERSION} {{1,20}})?(\S.{{0,300}})")
_POETRY_ROWS = 3  # below one another, their versions in one column
_DNF = re.compile(r"([A-Za-z0-9_+][A-Za-z0-9_.+-]{1,80})\.(?:x86_64|aarch64|noarch|i686|ppc64le) {1,60}"
                  r"(?:[0-9]{1,2}:)?([0-9][A-Za-z0-9.+_~]{0,40})-[A-Za-z0-9.+_~]{1,60} {1,60}"
                  r"@[A-Za-z0-9_./@+-]{1,60}\s*")


def read(text: Text, found: Found) -> None:
    """Read every row that says by itself which package is installed, and poetry's in a block."""
    for index in text.having("installed: "):
        row = _INSTALLED.fullmatch(text.lines[index].rstrip()[:400])
        if row:
            found.package(row[1], row[2], text.source(index))
    for index in text.having("\u2500 "):
        row = _BRANCH.fullmatch(text.lines[index][:400])
        if row:
            found.package(row[1], row[2], text.source(index))
    for index in text.having(" @ "):
        row = _WHEEL.fullmatch(text.lines[index].strip()[:800])
        if row and versions.distribution_name(row[1]) == versions.distribution_name(row[2]):
            found.package(row[1], unquote(row[3]), text.source(index))
    _dnf(text, found)
    _poetry(text, found)


def _dnf(text: Text, found: Found) -> None:
    """Read `dnf list installed`: behind the at sign stands where a package came from."""
    for index in text.having(" @"):
        row = _DNF.fullmatch(text.lines[index][:300])
        if row:
            note_package(found, row[1], row[2], text.source(index))


def _poetry(text: Text, found: Found) -> None:
    """Read `poetry show`: three or more rows, of which one is a framework's, with a description each."""
    rows: list[tuple[int, re.Match[str]]] = []
    for index, line in enumerate([*text.lines, ""]):
        row = _POETRY.fullmatch(line[:400])
        if row and (row[5][0].isdecimal() or "  " in row[5] or " " not in row[5]):
            row = None  # no sentence: a row of another list
        if row and (not rows or row.start(3) == rows[0][1].start(3)):
            rows.append((index, row))
            continue
        if len(rows) >= _POETRY_ROWS:
            for place, listed in rows:
                if not listed[2]:  # what it marks is locked, and not installed
                    found.package(listed[1], listed[3], text.source(place))
        rows = [(index, row)] if row else []
