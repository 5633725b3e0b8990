"""Cut a POSIX shell's text into simple commands, words and redirections, each with its place. Linear.

What is not understood (functions, here-documents inside, arithmetic) makes a word unknown, never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Traced, Word

Variables = Mapping[str, str | None]

_BLANKS = " \t\r"
_ENDS = ";&|()\n"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^{}$`\\\"']*))?\}")
_RESERVED = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec"})
_OPENS, _CLOSES = frozenset({"if", "case", "for", "while", "until"}), frozenset({"fi", "esac", "done"})
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
    """A simple command and where its input and output go; `conditional` inside if, case and loops."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    conditional: bool = False


def commands(text: Traced, variables: Variables, escape: str = "\\") -> list[Command]:
    """Return the simple commands of a script, in the order in which they are written."""
    found: list[Command] = []
    reader = _Reader(text, variables, escape)
    words: list[Word] = []
    redirections: list[Redirection] = []
    depth = 0
    while not reader.is_done:
        here = reader.here
        if here in _BLANKS:
            reader.skip(_BLANKS)
        elif here == "#":
            reader.skip_comment()
        elif here in _ENDS:
            reader.at += 1
            depth += _nesting(words)
            found += _command(words, redirections, depth)
            words, redirections = [], []
        elif here in "<>":
            redirections.append(_redirection(reader, len(words), glued=False))
        else:
            word = reader.word()
            if reader.next_is_redirection and word.text.isdigit() and word.plain:
                redirections.append(_redirection(reader, len(words), glued=False))
                continue
            words.append(word)
            if reader.next_is_redirection:
                redirections.append(_redirection(reader, len(words), glued=True))
    return [*found, *_command(words, redirections, depth)]


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


def _nesting(words: list[Word]) -> int:
    """Return by how much a command goes into what may be run or not."""
    first = words[0].text if words and words[0].plain else ""
    return (first in _OPENS) - (first in _CLOSES)


def _command(words: list[Word], redirections: list[Redirection], depth: int) -> Iterator[Command]:
    first = 0
    while first < len(words) and words[first].plain and words[first].text in _RESERVED:
        first += 1
    if words[first:]:
        yield Command(words=tuple(words[first:]), conditional=depth > 0, redirections=tuple(
            replace(r, after=r.after - first) for r in redirections))


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
