"""The lines of a Dockerfile: an instruction with the reason that stands above it, and how each is quoted.

What comes from outside never leaves its line: an image is a reference by its grammar, a variable is quoted as
`gpudoctor env` quotes it, a word of a command as a shell wants it, and what holds a control character, a line
end or anything else that cannot be printed is refused, wherever it would stand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from gpudoctor.derive.requirements import RequirementError
from gpudoctor.frozen import frozen
from gpudoctor.references import is_reference
from gpudoctor.render import shells
from gpudoctor.render.plain import printable

_NEXT = " \\\n && "  # the next command of a RUN; it is read only if the one before succeeded
_GOES_ON = " \\\n    "  # Docker joins the lines before it reads them
_COMMENT = 400  # characters of one reason


class UnwritableError(ValueError):
    """Something cannot stand in a Dockerfile or beside it; one line that says what and why."""


class JunkReference(RequirementError):
    """The name that was asked for is no image reference; one line that says what one looks like."""


@frozen
class Line:
    """An instruction as it is written, and why it is there; without `text` it is a remark of its own."""

    text: str = ""
    why: str = ""


def rendered(blocks: Iterable[Sequence[Line]]) -> str:
    """Return the file: lines in blocks with an empty line between, each reason in front of its line."""
    return "\n".join("".join(f"{comment(line.why)}{line.text}\n" if line.text else comment(line.why)
                             for line in block) for block in blocks if block)


def comment(text: str) -> str:
    """Return a comment of one line, "" for no text; what cannot be printed is spelled out."""
    return f"# {printable(text, _COMMENT)}\n" if text else ""


def command(text: str) -> Line:
    """Return a remark that is a command to type, whole however long it is."""
    return Line(text=f"# {sound(text, 'the command')}")


def sound(text: str, what: str) -> str:
    """Return a text that can stand on a line; raise `UnwritableError` for one that would end it."""
    if not text.isprintable():
        raise UnwritableError(f"{what} '{printable(text, 80)}' holds characters that cannot stand in a line")
    return text


def name(text: str) -> str:
    """Return what an image can be called; raise `JunkReference` for what is no reference, or has a digest."""
    if not is_reference(text) or "@" in text:
        raise JunkReference(f"'{printable(text, 80)}' is no name for an image: write NAME:TAG in small "
                            "letters, for example registry.example/team/training:1")
    return text


def base(image: str, why: str) -> list[Line]:
    """Return the lines that take an image; another can be named when it is built."""
    if not is_reference(image):
        raise UnwritableError(f"the rules name an image {printable(image, 80)!r}, which is no reference")
    return [Line(text=f"ARG BASE={image}", why=why), Line(text="FROM ${BASE}")]


def variables(values: Mapping[str, str], why: str) -> list[Line]:
    """Return a line for each variable, the reason in front of the first."""
    written = shells.write(values, "dockerfile", "")
    if written.refused:
        raise UnwritableError(f"a variable cannot be written: {written.refused[0]}")
    lines = written.text.splitlines()
    return [Line(text=sound(line, "the line"), why=why if position == 0 else "")
            for position, line in enumerate(lines)]


def run(commands: Sequence[str], why: str = "") -> Line:
    """Return one layer that runs commands, each already quoted for a shell."""
    return Line(text=f"RUN {_NEXT.join(sound(command, 'the command') for command in commands)}", why=why)


def words(instruction: str, values: Sequence[str | Sequence[str]], why: str = "") -> Line:
    """Return an instruction in its exec form, which no shell reads; a word in parts goes over lines."""
    listed = ", ".join(f'"{_json(value)}"' if isinstance(value, str) else
                       f'"{_GOES_ON.join(map(_json, value))}"' for value in values)
    return Line(text=f"{instruction} [{listed}]", why=why)


def _json(text: str) -> str:
    return json.dumps(sound(text, "the argument"))[1:-1]
