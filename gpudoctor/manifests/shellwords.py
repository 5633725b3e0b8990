"""Cut a POSIX shell's text into simple commands, words and redirections, each with its place. Linear.

What is not understood (functions, here-documents inside, arithmetic) makes a word unknown, never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gpudoctor.frozen import frozen
from gpudoctor.manifests.branches import RESERVED, Branches
from gpudoctor.manifests.loops import Loops
from gpudoctor.manifests.spans import Traced, Word

Variables = Mapping[str, str | None]

_BLANKS = " \t\r"
_ENDS = ";&|()\n"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^{}$`\\\"']*))?\}")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_END = re.compile(r"&&|\|\||;;|[;&|()\n]")
_OPERATOR = re.compile(r"<<<|<<-|<<|<>|<&|<|>>|>&|>\||>")


@frozen
class Redirection:
    """`>file`: `glued` says that it follows a word without a blank, `target_glued` that none follows it.

    `after` is the number of words before it, `start` the place of the operator in the file.
    """

    operator: str
    start: int
    glued: bool
    after: int
    target: Word | None
    target_glued: bool


@frozen
class Command:
    """A simple command and its redirections; `conditional` where only the build knows if it is run."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    conditional: bool = False


def commands(text: Traced, variables: Variables, escape: str = "\\") -> list[Command]:
    """Return the simple commands of a script in their order, but for those that are certainly not run."""
    return _Script(text, variables, escape).commands()


class _Script:
    """A script while it is read: its variables change, and which branch it is in."""

    def __init__(self, text: Traced, variables: Variables, escape: str) -> None:
        self.variables = dict(variables)
        self.reader = _Reader(text, self.variables, escape)
        self.branches, self.loops = Branches(), Loops(self.variables)
        self.found: list[Command] = []
        self.words: list[Word] = []
        self.redirections: list[Redirection] = []

    def commands(self) -> list[Command]:
        self._read()
        while not self.reader.is_done:  # the last word was the end of a loop that goes on
            self._read()
        return self.found

    def _read(self) -> None:
        reader = self.reader
        while not reader.is_done:
            here = reader.here
            if here in _BLANKS:
                reader.skip(_BLANKS)
            elif here == "#":
                reader.skip_comment()
            elif here in _ENDS:
                self._end(reader.end())
            elif here in "<>":
                self.redirections.append(_redirection(reader, len(self.words), glued=False))
            else:
                self._word()
        self._end("")

    def _word(self) -> None:
        begin = self.reader.at
        word = self.reader.word()
        if self.reader.next_is_redirection and word.text.isdecimal() and word.plain:
            self.redirections.append(_redirection(self.reader, len(self.words), glued=False))
            return
        self.words += _split(word, self.reader.text[begin:self.reader.at])
        if self.reader.next_is_redirection:
            self.redirections.append(_redirection(self.reader, len(self.words), glued=True))

    def _end(self, end: str) -> None:
        """Take in a command that is whole."""
        first = 0
        while first < len(self.words) and self.words[first].plain and self.words[first].text in RESERVED:
            first += 1
        words, reserved = tuple(self.words[first:]), [word.text for word in self.words[:first]]
        again = self.loops.take(reserved, words, self.reader.at)
        if again is not None:
            self.reader.at, self.words, self.redirections = again, [], []
            return
        runs = self.branches.take(reserved, words, end)
        if words and runs is not False:
            self._assign(words, runs)
            self.found.append(Command(words=words, conditional=runs is None, redirections=tuple(
                replace(one, after=one.after - first) for one in self.redirections)))
        self.words, self.redirections = [], []

    def _assign(self, words: tuple[Word, ...], runs: bool | None) -> None:
        """Keep what a command sets that does nothing else."""
        behind = words[1:] if words[0].text in ("export", "local", "declare") else words
        if all(_ASSIGNMENT.match(word.text) for word in behind):
            for word in behind:
                name, _, value = word.text.partition("=")
                self.variables[name] = value if word.known and runs else None


def _split(word: Word, written: str) -> list[Word]:
    """Return the words that a shell makes of a variable without quotes."""
    if not written.startswith("$") or not word.known or "'" in written or '"' in written:
        return [word]
    return [replace(word, text=part) for part in word.text.split()]


def words_of(text: Traced, variables: Variables, escape: str = "\\") -> list[Word]:
    """Return the words of a text in which operators mean nothing, as ENV and COPY have them."""
    reader = _Reader(text, variables, escape, operators="")
    found: list[Word] = []
    while not reader.is_done:
        if reader.here in f"{_BLANKS}\n":
            reader.skip(f"{_BLANKS}\n")
        else:
            found.append(reader.word())
    return found


def _redirection(reader: _Reader, after: int, *, glued: bool) -> Redirection:
    place = reader.places[reader.at]
    operator = reader.operator()
    behind = reader.at
    reader.skip(_BLANKS)
    stops = reader.is_done or reader.here in f"{_ENDS}<>"
    return Redirection(operator=operator, start=place, glued=glued, after=after,
                       target_glued=reader.at == behind, target=None if stops else reader.word())


class _Reader:
    """Goes over a text once; what it has read it does not look at again."""

    def __init__(self, text: Traced, variables: Variables, escape: str, operators: str = f"{_ENDS}<>"
                 ) -> None:
        self.text, self.variables, self.escape = text.text, variables, escape
        self.places = text.at
        self.operators = operators
        self.at = 0

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.text)

    @property
    def here(self) -> str:
        return self.text[self.at]

    @property
    def next_is_redirection(self) -> bool:
        return not self.is_done and self.here in "<>" and bool(self.operators)

    def skip(self, characters: str) -> None:
        while not self.is_done and self.here in characters:
            self.at += 1

    def skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def end(self) -> str:
        match = _END.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match[0]

    def operator(self) -> str:
        match = _OPERATOR.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match[0]

    def word(self) -> Word:
        """Return the word that begins here."""
        begin, parts, known, plain = self.at, list[str](), True, True
        stops = f"{_BLANKS}{self.operators}" if self.operators else f"{_BLANKS}\n"
        while not self.is_done and self.here not in stops:
            here = self.here
            if here == "'":
                plain = False
                parts.append(self._until("'"))
            elif here == '"':
                plain = False
                known &= self._quoted(parts)
            elif here == self.escape:
                plain = False
                parts.append(self.text[self.at + 1:self.at + 2])
                self.at += 2
            elif here in "$`":
                plain = False
                known &= self._expansion(parts)
            else:
                parts.append(here)
                self.at += 1
        self.at = max(self.at, begin + 1)
        end = min(self.at, len(self.text))
        return Word(text="".join(parts), start=self.places[begin], end=self.places[end - 1] + 1, known=known,
                    plain=plain)

    def _until(self, quote: str) -> str:
        end = self.text.find(quote, self.at + 1)
        end = len(self.text) if end < 0 else end
        found = self.text[self.at + 1:end]
        self.at = end + 1
        return found

    def _quoted(self, parts: list[str]) -> bool:
        """Read what stands in double quotes; return whether all of it is known."""
        known = True
        self.at += 1
        while not self.is_done and self.here != '"':
            if self.here == self.escape:
                following = self.text[self.at + 1:self.at + 2]
                parts.append(following if following in f'"$`{self.escape}' else self.here + following)
                self.at += 2
            elif self.here in "$`":
                known &= self._expansion(parts)
            else:
                parts.append(self.here)
                self.at += 1
        self.at += 1
        return known

    def _expansion(self, parts: list[str]) -> bool:
        """Read `$NAME`, `${NAME}`, `$(...)` or backticks; return whether its value is known."""
        if self.here == "`":
            self._until("`")
            return False
        self.at += 1
        if not self.is_done and self.here == "(":
            self._skip_nested()
            return False
        braced, bare = _BRACED.match(self.text, self.at), _NAME.match(self.text, self.at)
        match = braced or bare
        if match is None:
            if not self.is_done and self.here not in f'{_BLANKS}"{_ENDS}':
                self._skip_unknown()
                return False
            parts.append("$")
            return True
        self.at = match.end()
        value = self._value(match) if braced else self.variables.get(match[0])
        parts.append(value or "")
        return value is not None

    def _value(self, match: re.Match[str]) -> str | None:
        """Return the value of `${NAME}`, `${NAME:-otherwise}` or `${NAME:+instead}`; None where not known."""
        name, operator, word = match[1], match[2], match[3]
        value = self.variables.get(name)
        if operator is None:
            return value
        if name in self.variables and value is None:
            return None
        is_set = bool(value) if operator.startswith(":") else value is not None
        if operator.endswith("-"):
            return value if is_set else word
        return word if is_set else ""

    def _skip_nested(self) -> None:
        depth = 0
        while not self.is_done:
            depth += (self.here == "(") - (self.here == ")")
            self.at += 1
            if depth == 0:
                return

    def _skip_unknown(self) -> None:
        """Skip a special parameter, or an expansion in braces that is not read."""
        if self.here != "{":
            self.at += 1
            return
        end = self.text.find("}", self.at)
        self.at = len(self.text) if end < 0 else end + 1
