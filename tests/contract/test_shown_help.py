"""The help texts that the guide shows are those that the command prints."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from gpudoctor.compatible import tomllib
from tests.contract.checkout import ROOT, run_gpudoctor
from tests.harness.pages import PAGES

COLUMNS = 80
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A command in a console block, and what the page says it prints."""

    command: str
    output: str


def shown_commands(page: str) -> list[Shown]:
    """Return the commands in a page's console blocks: a line that begins with `$ `, then its output."""
    shown = []
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            shown.append(Shown(command=command.strip(), output=output))
    return shown


def lines_of(text: str) -> list[str]:
    """Return lines without the blanks at their ends and without empty lines around them."""
    return [line.rstrip() for line in text.strip("\n").split("\n")]


def help_texts(page: str) -> list[Shown]:
    """Return the calls of `gpudoctor ... --help` in a page."""
    return [one for one in shown_commands(page) if re.fullmatch(r"gpudoctor( .*)? --help", one.command)]


def test_the_guide_shows_the_help_text_of_check() -> None:
    """Without one there would be nothing to hold against the command."""
    assert "gpudoctor check --help" in {
        shown.command for page in PAGES for shown in help_texts(page.read_text("utf-8"))}


def test_help_texts_in_the_guide_are_the_real_ones(updating: bool) -> None:
    """Line by line, at 80 columns, without colour; `--update-golden` writes them anew."""
    plain = {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERM": "dumb"}
    for page in PAGES:
        text = page.read_text("utf-8")
        for shown in help_texts(text):
            answer = run_gpudoctor(*shlex.split(shown.command)[1:], environment=plain)
            assert answer.returncode == 0, answer.stderr
            real = lines_of(answer.stdout)
            if updating and lines_of(shown.output) != real:
                page.write_text(text := text.replace(shown.output, "\n".join(real) + "\n"), "utf-8")
            else:
                assert lines_of(shown.output) == real, shown.command


def test_command_in_a_console_block_is_found_with_its_output() -> None:
    """Several commands in one block are told apart."""
    page = "text\n```console\n$ gpudoctor --help\nUsage\n\n  more\n$ true\n```\n```toml\n$ no = 1\n```\n"
    assert shown_commands(page) == [
        Shown(command="gpudoctor --help", output="Usage\n\n  more\n"), Shown(command="true", output="")]


def test_the_readme_names_each_extra_in_a_line_of_its_own() -> None:
    """Regression: Install named `docker` alone, and YAML needs `lint`."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    install = (ROOT / "README.md").read_text("utf-8").partition("## Install\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^- `([\w-]+)`: ", install, re.MULTILINE)) == sorted(extras)
