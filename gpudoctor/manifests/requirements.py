"""Read what pip reads with -r: requirements, the indexes they come from, and further files.

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests import releases
from gpudoctor.manifests.shellwords import words_of
from gpudoctor.manifests.spans import ManifestError, Place, Source, Traced, Word
from gpudoctor.manifests.statements import Asked, Bound, Unread
from gpudoctor.nearest import did_you_mean
from gpudoctor.versions import distribution_name

Reader = Callable[[str], Source | None]

_COMMENT = re.compile(r"(?:^|[ \t])#.*\Z", re.DOTALL)
_OPTIONS_BEHIND = re.compile(r"[ \t]+--?[A-Za-z]")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
_WHEEL = re.compile(
    r"(?:\A|[/\s])([A-Za-z0-9_.]{1,100})-([0-9][A-Za-z0-9_.+!]{0,60})-[\w.]{1,60}-[\w.-]{1,200}\.whl\Z")
_MOST_FILES = 50
# a text that asks for a framework, whatever stands behind its name
FRAMEWORK = re.compile(
    r"(?:[\w.-]{0,200}::)?(?:torch|pytorch(?:-gpu)?|tensorflow(?:[-_][cg]pu)?|tf-nightly|jax|jaxlib|"
    r"paddlepaddle(?:[-_]gpu)?)(?=\Z|[^\w.-]|-[0-9])", re.IGNORECASE)
BEGINS_NOTHING = frozenset("@=<>!,;|&%^*+)]}?")  # neither a name nor a path, address or variable
_INDEX = ("-i", "--index-url")
_LINKS = ("-f", "--find-links")
_FILES = ("-r", "--requirement")
_CONSTRAINTS = ("-c", "--constraint")
# what else pip takes in a list, now or before; of each it takes a beginning that no other has
_OTHERS = ("-e", "--editable", "--no-index", "--no-binary", "--only-binary", "--prefer-binary", "--pre",
           "--all-releases", "--only-final", "--pypi-url", "--require-hashes", "--no-require-hashes",
           "--trusted-host", "--use-feature", "--hash", "-C", "--config-settings", "--global-option",
           "--install-option")
_FLAGS = ("--no-index", "--prefer-binary", "--pre", "--require-hashes", "--no-require-hashes")
OPTIONS = (*_INDEX, "--extra-index-url", *_LINKS, *_FILES, *_CONSTRAINTS, *_OTHERS)
_WITH_VALUE = {**dict.fromkeys((*_INDEX, "--extra-index-url", *_LINKS), "ADDRESS"),
               **dict.fromkeys((*_FILES, *_CONSTRAINTS), "FILE")}


@frozen
class Listed:
    """What requirements files ask for, and what of them could not be read."""

    asked: tuple[Asked, ...]
    unread: tuple[Unread, ...]


@frozen
class _Line:
    text: Traced
    start: int


def read(source: Source, reader: Reader) -> Listed:
    """Return what a requirements file asks for, with the files that it names; raise `ManifestError`."""
    reading = _Reading(reader)
    asked = tuple(reading.all_of(source, 0))
    return Listed(asked=asked, unread=tuple(reading.unread))


def bounded(asked: Sequence[Asked], bounds: Sequence[Asked]) -> list[Asked]:
    """Return requirements with the bounds that constraints set to them, and to what may come along.

    What is set for some Pythons alone is left out: which one it will be is not known here.
    """
    by_name: dict[str, list[Bound]] = {}
    for one in bounds:
        for requirement in planned.parse((one.text,)):
            if releases.is_for_any_python(requirement):
                by_name.setdefault(distribution_name(requirement.name), []).append(Bound(
                    specifier=str(requirement.specifier), text=one.text.strip(), place=one.place))
    names = [next(iter(planned.names((one.text,))), "") for one in asked]
    along = [bound for name, some in by_name.items() if name.startswith(releases.ALONG) for bound in some]
    return [replace(one, bounds=(*one.bounds, *by_name.get(name, ())), along=(*one.along, *along))
            for one, name in zip(asked, names, strict=True)]


class _Reading:
    """Reads each file once, so that files that name one another come to an end."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.seen: set[str] = set()
        self.above: list[str] = []  # the files that are being read, each named by the one before
        self.unread: list[Unread] = []

    def all_of(self, source: Source, depth: int) -> Iterator[Asked]:
        self.seen.add(posixpath.normpath(source.file))
        index: str | None = None
        extra: list[str] = []
        links: list[str] = []
        found: list[Asked] = []
        bounds: list[Asked] = []
        for line in _lines(source):
            if not line.text.text.lstrip().startswith("-"):
                found += self._requirement(line, source)
                continue
            for option, value, place in self._options(line.text, source):
                if not value and option in _WITH_VALUE:
                    raise ManifestError(place,
                                        f"{option} without a value: write {option} {_WITH_VALUE[option]}")
                if option in _INDEX:
                    index = value
                elif option == "--extra-index-url":
                    extra.append(value)
                elif option in _LINKS:
                    links.append(value)
                elif option in _FILES:
                    found += self._nested(source, value, place, depth)
                elif option in _CONSTRAINTS:
                    bounds += self._nested(source, value, place, depth)
        for asked in bounded(found, bounds):  # an index that is named anywhere counts for the whole file
            own = asked.index is None and not asked.extra_indexes
            found_here = replace(asked, links=(*asked.links, *links))
            yield replace(found_here, index=index, extra_indexes=tuple(extra)) if own else found_here

    def _options(self, line: Traced, source: Source) -> Iterator[tuple[str, str, Place]]:
        """Yield the options of a line; what else stands behind one, pip passes over, and so it is noted."""
        for option, value, place in _options(words_of(line, {}), source):
            if option:
                yield option, value, place
            else:
                why = f"pip passes over {value[:80]} behind an option: write it in a line of its own"
                of_framework = FRAMEWORK.match(value) is not None
                self.unread.append(Unread(why=why, place=place, of_framework=of_framework))

    def _requirement(self, line: _Line, source: Source) -> Iterator[Asked]:
        """Yield what a line asks for; nothing where it names no release, which is noted."""
        behind = _OPTIONS_BEHIND.search(line.text.text)
        for _ in self._options(line.text.cut(behind.start()), source) if behind is not None else ():
            pass  # one that pip does not take is refused
        asked = _requirement(line, source)
        if asked is not None:
            yield asked
            return
        text = line.text.text.partition(" #")[0].strip()
        place = source.place(line.start, line.text.at[len(line.text.text) - 1] + 1)
        of_framework = FRAMEWORK.match(posixpath.basename(text)) is not None
        variable = _VARIABLE.search(text)
        why = (f"{text[:80]} was not judged: pip puts the value of a variable in place of {variable[0][:80]}"
               if variable else
               f"{text[:80]} is no release of an index, so what it is was not judged")
        is_open = variable is not None and variable.start() == 0  # then it may be a framework
        self.unread.append(Unread(why=why, place=place, of_framework=of_framework or is_open))

    def _nested(self, source: Source, name: str, place: Place, depth: int) -> Iterator[Asked]:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source.file), name))
        above = [*self.above, posixpath.normpath(source.file)]
        if path in above:
            raise ManifestError(place, f"leads in a circle: {path[:80]} is being read, and names this file"
                                if path != above[-1] else "names the file that it stands in")
        if path in self.seen or len(self.seen) >= _MOST_FILES or depth >= _MOST_FILES:
            return
        nested = self.reader(path)
        if nested is not None:
            self.above.append(above[-1])
            yield from self.all_of(nested, depth + 1)
            self.above.pop()
        else:
            self.unread.append(Unread(why=f"{name[:80]} is not there to be read, so what it asks for was not "
                                          "judged", place=place, of_framework=True))


def _options(words: Sequence[Word], source: Source) -> Iterator[tuple[str, str, Place]]:
    """Yield each option, what it is given and where that stands; "" and the word for one that is none.

    Raise `ManifestError` for an option that pip does not take in a list.
    """
    rest = iter(words)
    for word in rest:
        if not word.text.startswith("-"):
            yield "", word.text, source.of(word)
            continue
        written, equals, glued = word.text.partition("=")
        option = _written_out(written, source.of(word))
        if not option.startswith("--") and len(word.text) > 2:
            yield option[:2], word.text[2:], source.of(word)
        elif equals or option in _FLAGS:
            yield option, glued, source.of(word)
        else:
            value = next(rest, None)
            yield option, value.text if value else "", source.of(value or word)


def _written_out(option: str, place: Place) -> str:
    """Return an option in full; raise `ManifestError` for one that pip does not take in a list."""
    if option in OPTIONS or not option.startswith("--"):
        meant = [option] if option[:2] in OPTIONS or option in OPTIONS else []
    else:
        meant = [one for one in OPTIONS if one.startswith(option)]
    if len(meant) != 1:
        near = did_you_mean(option, OPTIONS) if not meant else f": it may be {' or '.join(meant)}"
        raise ManifestError(place, f"pip refuses {option[:80]} in a list{near}")
    return meant[0]


def _lines(source: Source) -> Iterator[_Line]:
    """Yield the logical lines: continued ones in one, comments left out."""
    parts: list[str] = []
    places: list[int] = []
    for start, line in source.lines():
        goes_on = line.endswith("\\")
        kept = line[:-1] if goes_on else line
        parts.append(kept)
        places += range(start, start + len(kept))
        if not goes_on:
            yield from _without_comment(parts, places)
            parts, places = [], []
    yield from _without_comment(parts, places)


def _without_comment(parts: list[str], places: list[int]) -> Iterator[_Line]:
    joined = "".join(parts)
    text = _COMMENT.sub("", joined, count=1).rstrip()
    first = len(text) - len(text.lstrip())
    if text.strip():
        yield _Line(text=Traced(text=text[first:], at=places[first:len(text)]), start=places[first])


def _requirement(line: _Line, source: Source) -> Asked | None:
    behind = _OPTIONS_BEHIND.search(line.text.text)
    text = line.text.text[:behind.start()] if behind else line.text.text
    wheel = of_wheel(text)
    is_begun = text[:1] not in BEGINS_NOTHING
    if wheel is None and is_begun and (is_elsewhere(text) or _VARIABLE.search(text)):
        return None
    if wheel is None and not any(True for _ in planned.parse((text,))):
        raise source.error(line.start, f"{text[:60]!r} is no requirement: write NAME, NAME==VERSION or "
                                       "NAME[EXTRA]>=VERSION")
    word = Word(text=text, start=line.start, end=line.text.at[len(text) - 1] + 1)
    return Asked(text=wheel or text, place=source.of(word), is_file=wheel is not None,
                 rewritable=wheel is None and word.end - word.start == len(text))


def of_wheel(text: str) -> str | None:
    """Return what a wheel by its address or path is, torch==2.3.1+cu121; None for any other text."""
    address = text.partition(";")[0].partition("#")[0].strip()
    match = _WHEEL.search(address.replace("%2B", "+").replace("%2b", "+"))
    named = f"{match[1].replace('_', '-')}=={match[2]}" if match else ""
    return named if any(True for _ in planned.parse((named,))) else None


def is_of_index(text: str) -> bool:
    """Return whether a text asks for a release of an index, and can be read."""
    return not is_elsewhere(text) and any(True for _ in planned.parse((text,)))


def is_elsewhere(text: str) -> bool:
    """Return whether a requirement names a file, a folder or an address, and no release of an index."""
    bare = text.strip()
    return (bare.startswith((".", "/", "~")) or "://" in bare or "@" in bare.partition(";")[0]
            or bare.endswith((".whl", ".gz", ".zip")) or ("/" in bare and ";" not in bare))
