"""Options mean the same with and without the converter that stands before typer's."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated, Any

import pytest
import typer

from gpudoctor.cli.plain_values import Command
from tests.contract.checkout import run_python


class Colour(str, Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def converted(words: list[str], plain: bool) -> Any:
    """Return what a command is called with, or what typer says against it."""
    app = typer.Typer(add_completion=False)
    seen: dict[str, Any] = {}

    @app.command(cls=Command if plain else None)
    def command(
        text: str | None = None, colour: Colour = Colour.RED, many: list[str] | None = None,
        flag: bool = False,
        seconds: Annotated[float, typer.Option(min=0.1, max=60)] = 20.0,
        number: Annotated[int | None, typer.Option(min=1)] = None,
        verbose: Annotated[int, typer.Option("-v", count=True)] = 0,
    ) -> None:
        seen.update(text=text, colour=colour, many=list(many or ()), flag=flag, seconds=seconds,
                    number=number, verbose=verbose)

    try:
        app(words, standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - of whichever click this typer brings
        return type(error).__name__, str(error)
    return seen


WORDS = (
    "", "--text a", "--text=", "--colour blue", "--colour BLUE", "--colour=", "--many a --many b", "--many=",
    "--flag", "--seconds 0.1", "--seconds 60", "--seconds 0.05", "--seconds 61", "--seconds nan",
    "--seconds inf", "--seconds 1e1", "--seconds x", "--seconds 1_0", "--number 3", "--number 0",
    "--number 3.5", "-vv", "--unknown",
)


@pytest.mark.parametrize("line", WORDS)
def test_plain_values_are_converted_as_typer_does(line: str) -> None:
    """The same values are taken, and the same refused, as wrong usage."""
    plain, by_typer = (converted(line.split(), plain=plain) for plain in (True, False))
    assert plain == by_typer or (plain[0], by_typer[0]) == ("BadParameter", "BadParameter")


@pytest.mark.parametrize(("line", "said"), [
    ("--colour BLUE", "'BLUE' is not one of red, blue; did you mean blue?"),
    ("--colour=", "'' is not one of red, blue"),
    ("--seconds -1", "'-1' is not a number from 0.1 to 60"), ("--seconds x", "'x' is not a number from "),
    ("--seconds nan", "'nan' is not a number from 0.1 to 60"), ("--seconds 61", "'61' is not a number from "),
])
def test_what_a_value_may_be_is_said_in_our_words(line: str, said: str) -> None:
    """Those of the functions that other programs call, not those of a library for data."""
    error, message = converted(line.split(), plain=True)
    assert error == "BadParameter"
    assert said in message


def test_a_check_does_not_import_pydantic() -> None:
    """Nor does any other command whose options are plain; typer would, for every one."""
    code = """
import json, sys
from gpudoctor.cli import run
sys.argv = ["gpudoctor", "rules", "table", "ptx_isa", "--format", "json"]
code = run()
sys.stderr.write(json.dumps([code, "pydantic" in sys.modules]))
"""
    ended = run_python(code)
    assert json.loads(ended.stderr.splitlines()[-1]) == [0, False]

