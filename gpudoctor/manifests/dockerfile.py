"""Read a Dockerfile into instructions, by the documented grammar: directives, continuations, here-documents.

https://docs.docker.com/reference/dockerfile/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Part, Source, Traced, Word

INSTRUCTIONS = frozenset(
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL "
    "USER VOLUME WORKDIR".split())
_WITH_DOCUMENTS = frozenset({"RUN", "COPY", "ADD"})
_DIRECTIVE = re.compile(r"#[ \t]*([A-Za-z][A-Za-z0-9]*)[ \t]*=[ \t]*(.*?)[ \t]*\Z")
_DOCUMENT = re.compile(r"<<(-?)(['\"]?)([A-Za-z_][A-Za-z0-9_.]*)\2(?![\w<])")
_KEYWORD = re.compile(r"[ \t]*([A-Za-z]+)(?=[ \t]|\Z)[ \t]*")
_FLAG = re.compile(r"--[a-z][a-z-]*(?:=\S*)?(?:[ \t]+|\Z)")
_LONGEST = 40  # characters of junk that are quoted


@frozen
class Document:
    """A here-document: its name, its text, and whether the builder leaves variables in it alone."""

    name: str
    text: Traced
    is_quoted: bool = False

    def whole(self, source: Source) -> Source | None:
        """Return it as the file that it becomes, None where variables are filled in."""
        if "$" in self.text.text and not self.is_quoted:
            return None
        lines, at = list[Traced](), 0
        for line in self.text.text.splitlines(keepends=True):
            lines.append(Traced(text=line.rstrip("\n"), at=self.text.at[at:at + len(line)]))
            at += len(line)
        return Part(source, lines)


@frozen
class Instruction:
    """One instruction: its keyword, flags (`--from=x`), arguments and here-documents."""

    keyword: Word
    flags: tuple[Word, ...]
    arguments: Traced
    documents: tuple[Document, ...] = ()

    @property
    def name(self) -> str:
        """Return the keyword in capitals."""
        return self.keyword.text

    def flag(self, name: str) -> str | None:
        """Return the value of a flag."""
        return next((flag.text.partition("=")[2] for flag in self.flags
                     if flag.text.startswith(f"--{name}=")), None)


@frozen
class Dockerfile:
    """The instructions in their order, the character that continues lines, and the comments."""

    instructions: tuple[Instruction, ...]
    escape: str
    comments: tuple[Word, ...]


def parse(source: Source) -> Dockerfile:
    """Return what a Dockerfile says; raise `ManifestError` where it is none."""
    lines = source.traced_lines()
    escape = _escape(lines)
    comments: list[Word] = []
    found: list[Instruction] = []
    at = 0
    while at < len(lines):
        logical, at = _logical_line(lines, at, escape, comments)
        if logical is not None:
            instruction, at = _instruction(logical, lines, at, source)
            _require_beginning(instruction, found, source)
            found.append(instruction)
    if not any(instruction.name == "FROM" for instruction in found):
        raise source.error(lines[0].at[0], "a Dockerfile without FROM: nothing says what it starts from")
    return Dockerfile(instructions=tuple(found), escape=escape, comments=tuple(comments))


def trigger(instruction: Instruction, source: Source) -> Instruction:
    """Return what an ONBUILD holds back; raise `ManifestError` where no builder takes it."""
    found, _ = _instruction(instruction.arguments, (), 0, source)
    if found.name in ("FROM", "ONBUILD"):
        raise source.error(found.keyword.start, f"ONBUILD with {found.name}, which it cannot hold back")
    return found


def _escape(lines: Sequence[Traced]) -> str:
    """Return the character that the directives at the top name, else the backslash."""
    for line in lines:
        match = _DIRECTIVE.match(line.text.strip())
        if match is None:
            break
        if match[1].lower() == "escape" and match[2] == "`":
            return "`"
    return "\\"


def _logical_line(lines: Sequence[Traced], at: int, escape: str, comments: list[Word]
                  ) -> tuple[Traced | None, int]:
    """Return the next line with what it is continued by, None for an empty one; and where to go on."""
    parts: list[str] = []
    places: list[int] = []
    begun = goes_on = False
    while at < len(lines) and (goes_on or not begun):
        line = lines[at]
        at += 1
        bare = line.text.strip()
        if bare.startswith("#"):
            comments.append(Word(text=bare, start=line.at[0], end=line.at[len(line.text)]))
            continue
        if not bare:
            continue
        begun = True
        kept = line.text.rstrip(" \t")
        goes_on = kept.endswith(escape)
        kept = kept[:-1] if goes_on else kept
        parts.append(kept)
        places += line.at[:len(kept)]
    text = "".join(parts)
    return (Traced(text=text, at=places) if text.strip() else None), at


def _instruction(line: Traced, lines: Sequence[Traced], at: int, source: Source
                 ) -> tuple[Instruction, int]:
    first = len(line.text) - len(line.text.lstrip())
    match = _KEYWORD.match(line.text)
    if match is None or match[1].upper() not in INSTRUCTIONS:
        junk = line.text.split()[0][:_LONGEST]
        raise source.error(line.at[first], f"{junk!r} is no instruction of a Dockerfile")
    keyword = Word(text=match[1].upper(), start=line.at[match.start(1)], end=line.at[match.end(1) - 1] + 1)
    flags, rest = [], match.end()
    while (flag := _FLAG.match(line.text, rest)) is not None:
        end = rest + len(flag[0].rstrip())
        flags.append(Word(text=line.text[rest:end], start=line.at[rest], end=line.at[end - 1] + 1))
        rest = flag.end()
    arguments, documents = line.cut(rest), list[Document]()
    if keyword.text in _WITH_DOCUMENTS:
        for marker in list(_DOCUMENT.finditer(arguments.text)):
            document, at = _document(marker, lines, at, source, arguments)
            documents.append(document)
    return Instruction(keyword=keyword, flags=tuple(flags), arguments=arguments,
                       documents=tuple(documents)), at


def _document(marker: re.Match[str], lines: Sequence[Traced], at: int, source: Source,
              arguments: Traced) -> tuple[Document, int]:
    tabs, end = marker[1] == "-", marker[3]
    begin = at
    while at < len(lines):
        line = lines[at].text
        if (line.lstrip("\t") if tabs else line) == end:
            return Document(name=end, text=_joined(lines[begin:at]), is_quoted=bool(marker[2])), at + 1
        at += 1
    raise source.error(arguments.at[marker.start()], f"the here-document {end[:_LONGEST]} does not end")


def _joined(lines: Sequence[Traced]) -> Traced:
    places: list[int] = []
    for line in lines:
        places += line.at[:len(line.text) + 1]
    return Traced(text="".join(f"{line.text}\n" for line in lines), at=places)


def _require_beginning(new: Instruction, before: Sequence[Instruction], source: Source) -> None:
    """Raise where something other than ARG stands before the first FROM."""
    if new.name not in ("FROM", "ARG") and not any(one.name == "FROM" for one in before):
        raise source.error(new.keyword.start, f"{new.name} stands before the first FROM")


def marker_free(arguments: Traced) -> Iterator[str]:
    """Yield what a RUN has besides the markers of its here-documents."""
    rest = _DOCUMENT.sub(" ", arguments.text).split()
    yield from rest
