"""A page of text for a person: labels, paragraphs, and commands that are never broken over lines."""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from gpudoctor.model import Severity
from gpudoctor.render.plain import printable

COLOURS = {
    Severity.ERROR: "bold red", Severity.WARNING: "bold yellow",
    Severity.INFO: "bold", Severity.BENIGN: "dim",
}
_LABEL_WIDTH = 12
_LONGEST = 4000  # characters of one thing said; nothing that a person reads is longer


class Page:
    """What is printed on its console, as text without blanks at the ends of lines."""

    def __init__(self, *, width: int | None, colour: bool) -> None:
        self._buffer = io.StringIO()
        self.console = Console(
            file=self._buffer, width=width, force_terminal=colour, no_color=not colour, highlight=False,
            markup=False, emoji=False, legacy_windows=False, color_system="standard" if colour else None)

    def text(self) -> str:
        """Return what was printed so far."""
        return "".join(f"{line.rstrip()}\n" for line in self._buffer.getvalue().splitlines())


def row(console: Console, label: str, said: str, indent: int = 2, width: int = _LABEL_WIDTH) -> None:
    """Print a label and its text, later lines of it below its beginning."""
    label, said = printable(label), printable(said, _LONGEST)
    line = Text(label.ljust(width), style="bold") if len(label) < width else Text(label + " ", style="bold")
    room = max(20, console.width - indent - width)
    wrapped = Text(said).wrap(console, room)
    for number, piece in enumerate(wrapped or [Text("")]):
        lead = line if number == 0 else Text(" " * width)
        console.print(Text(" " * indent) + lead + piece, soft_wrap=True)


def paragraph(console: Console, text: str | Text, indent: int) -> None:
    """Print a paragraph that is indented."""
    console.print(Padding(text, (0, 0, 0, indent)))


def command_line(console: Console, command: str, indent: int = 12) -> None:
    """Print a command on one line, so that it can be copied."""
    console.print(Text(" " * indent + printable(command, 4000), style="cyan"), soft_wrap=True)
