"""Wrapping as rich wraps, which is not imported where nothing is coloured."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from gpudoctor.render.plain import printable
from gpudoctor.render.sheet import Sheet, wrap

LETTERS = st.one_of(st.sampled_from("ab /-.,()  "), st.sampled_from("zü日本語한국ﾊ"), st.characters())
TEXTS = st.text(LETTERS, max_size=200)


@given(TEXTS.map(printable), st.integers(2, 60))
@example("000000 ", 2)
def test_lines_break_where_rich_breaks_them(text: str, width: int) -> None:
    """For any text that can be printed, scripts with wide characters included; rich knows no addresses."""
    text = text.replace("://", "")
    console = Console(width=width)
    expected = [line.plain.rstrip() for line in Text(text).wrap(console, width)]
    assert wrap(text, width) == [line for line in expected if line]


def test_a_row_and_a_paragraph() -> None:
    """Later lines of a row stand below its beginning; a label that is too long shifts only its own line."""
    sheet = Sheet(width=34, colour=False)
    sheet.row("driver", "none of the modules is loaded")
    sheet.row("a-label-that-is-long", "said")
    sheet.line()
    sheet.paragraph("that is what was seen on this machine", 4)
    assert sheet.text().splitlines() == [
        "  driver      none of the modules", "              is loaded",
        "  a-label-that-is-long said", "",
        "    that is what was seen on this", "    machine"]


def test_colours_change_nothing_but_colours() -> None:
    """The same words; a style that is empty is none."""
    sheet = Sheet(width=80, colour=True)
    sheet.line(("ERROR", "bold red"), ("  cause", ""))
    assert sheet.text() == "\x1b[1;31mERROR\x1b[0m  cause\n"


def test_an_address_is_never_broken() -> None:
    """In two lines it can be neither clicked nor copied."""
    address = "https://docs.example.org/a-page-with-a-long-name"
    assert wrap(f"judged by what they say ({address}), it was not read", 30) == [
        "judged by what they say", f"({address}),", "it was not read"]
