"""The manual page is the help of the commands, and troff takes it; every command shows an example."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from gpudoctor.cli.app import application
from tests.contract.checkout import run_gpudoctor
from tools.build_man_page import PAGE, render


def commands(group: Any, path: str = "gpudoctor") -> Iterator[tuple[str, Any]]:
    """Yield every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


EVERY = dict(commands(typer.main.get_command(application([]))))


def test_the_page_is_the_generated_one() -> None:
    """`python -m tools.build_man_page` was run after the last change of an option."""
    assert PAGE.read_text("utf-8") == render()


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_troff_has_nothing_to_complain_of() -> None:
    """And what it prints holds every command and option as they are typed."""
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", str(PAGE)], capture_output=True,
                          text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert [path for path in EVERY if f"{path} " not in done.stdout] == []
    assert "--require WHAT" in done.stdout
    assert "gpudoctor check --python .venv/bin/python" in done.stdout


@pytest.mark.parametrize("path", EVERY)
def test_every_command_shows_an_example(path: str) -> None:
    """One that begins with the command itself."""
    assert f"Example: {path}" in EVERY[path].help or f"$({path}" in EVERY[path].help


@pytest.mark.parametrize("path", EVERY)
def test_an_example_can_be_copied(path: str) -> None:
    """Regression: of one that was broken over two lines the second would be run as a command of its own."""
    [example] = [line.strip() for line in EVERY[path].help.splitlines() if "Example: " in line]
    said = EVERY[path].get_help(typer.Context(EVERY[path], info_name=path, terminal_width=80))
    assert example in [line.strip() for line in said.splitlines()]


@pytest.mark.parametrize("path", EVERY)
def test_help_fits_the_terminal(path: str) -> None:
    """Regression: what `env --shell` takes stood in one line of 97 characters."""
    said = EVERY[path].get_help(typer.Context(EVERY[path], info_name=path, terminal_width=80))
    assert [line for line in said.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", [(), ("rules",)])
def test_a_group_names_what_to_type_and_says_each_command_whole(words: tuple[str, ...]) -> None:
    """Regression: eight descriptions ended in "..." however wide the terminal was."""
    said = run_gpudoctor(*words, "--help", environment={"COLUMNS": "80"}).stdout
    assert f"Example: gpudoctor {' '.join(words)}" in said
    assert "..." not in said.replace("COMMAND [ARGS]...", "")


@pytest.mark.parametrize("path", EVERY)
def test_an_argument_that_repeats_has_three_dots(path: str) -> None:
    """Regression: the usage of `report` ended in six."""
    said = EVERY[path].get_help(typer.Context(EVERY[path], info_name=path))
    assert "...." not in said


@pytest.mark.parametrize("path", EVERY)
def test_no_help_shows_a_type_of_python(path: str) -> None:
    """Regression: an argument was told as `FILE <list[str]>`."""
    said = EVERY[path].get_help(typer.Context(EVERY[path], info_name=path))
    assert [word for word in ("<str>", "list[", "TEXT", "INTEGER", "FLOAT") if word in said] == []
