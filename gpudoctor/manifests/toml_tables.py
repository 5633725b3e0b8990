"""Files of TOML: their tables, and where their keys stand, which a parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.compatible import tomllib
from gpudoctor.manifests.spans import ManifestError, Place, Source

_AT = re.compile(r"\(at line ([0-9]+), column ([0-9]+)\)")
_HEADING = re.compile(r"[ \t]*\[\[?([^\]\[\n]{1,400})\]\]?[ \t]*(?:#.*)?\Z")
_ENTRY = re.compile(r"[ \t]*((?:[\w.-]{1,200}|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}')(?:\.\S{1,200})?)[ \t]*=")
_TOKEN = re.compile(
    r"\"{3}.*?\"{3}|'{3}.*?'{3}|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|[{}\[\],\n]", re.DOTALL)
_NAME = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^.\s]+)")


def parsed(source: Source) -> Mapping[str, Any]:
    """Return the document of a file of TOML; raise `ManifestError`."""
    text = source.text.removeprefix("\ufeff")
    if source.file.endswith("pixi.toml"):
        text = _in_one_line(text)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT.search(str(error))
        if at is None and isinstance(error, RecursionError):
            raise ManifestError(source.file, "is no TOML: nested too deeply") from None
        if at is None:  # what was begun is not ended
            said = f"is no TOML: it ends too early: {str(error).partition(' (')[0].lower()}"
            raise source.error(len(source.text.rstrip()), said) from None
        before = sum(map(len, text.splitlines(keepends=True)[:int(at[1]) - 1])) + int(at[2]) - 1
        said = f"is no TOML 1.0: {_AT.sub('', str(error)).strip()}"
        raise source.error(before + len(source.text) - len(text), said) from None


def _in_one_line(text: str) -> str:
    """Return TOML 1.1 with its inline tables as 1.0 has them: in one line, without a comma at the end.

    pixi reads these, Python does not yet. Every other character stays where it is.
    """
    parts: list[str] = []
    opened: list[str] = []
    end = 0
    comma = -1  # where among the parts the last comma of a table is, if nothing but space stands behind it
    for match in _TOKEN.finditer(text):
        between, token = text[end:match.start()], match[0]
        end = match.end()
        comma = comma if not between.strip() else -1
        in_table = bool(opened) and opened[-1] == "{"
        if token == "}" and comma >= 0:
            parts[comma] = " "
        if in_table and token[0] in "#\n":
            token = " " * len(token)
        elif token in "{[":
            opened.append(token)
        elif token in "}]" and opened:
            opened.pop()
        parts += (between, token)
        comma = len(parts) - 1 if in_table and token == "," else comma if not token.strip() else -1
    return "".join((*parts, text[end:]))


def table(value: object) -> Mapping[str, Any]:
    """Return a table, an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def tables(value: object) -> list[Mapping[str, Any]]:
    """Return the tables of a list, or the one that stands in its place."""
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


def at(document: Mapping[str, Any], way: Sequence[str]) -> object:
    """Return what a document has at the end of a way, None where it has nothing."""
    for name in way[:-1]:
        document = table(document.get(name))
    return document.get(way[-1])


class Places:
    """Where the keys of a document stand, by their way from the top."""

    def __init__(self, source: Source) -> None:
        """Read the headings and the keys that begin a line; those within a line have that line."""
        self.source = source
        self._found: dict[tuple[str, ...], Place] = {}
        above: tuple[str, ...] = ()
        for start, line in source.lines():
            heading, entry = _HEADING.match(line), _ENTRY.match(line)
            if heading is not None:
                above = _names(heading[1])
                self._found.setdefault(above, source.place(start + heading.start(1), start + heading.end(1)))
            elif entry is not None:
                self._found.setdefault((*above, *_names(entry[1])),
                                       source.place(start + entry.start(1), start + entry.end(1)))

    def of(self, *way: str) -> Place:
        """Return where a key stands, or the nearest above it that is found."""
        for end in range(len(way), 0, -1):
            if way[:end] in self._found:
                return self._found[way[:end]]
        return self.source.place(0)


def _names(written: str) -> tuple[str, ...]:
    return tuple(match[1] or match[2] or match[3] or "" for match in _NAME.finditer(written))
