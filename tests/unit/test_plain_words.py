"""Words mean the same whether typer reads them or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import Any

import pytest
import typer

from gpudoctor.cli import app, checking, explaining, parameters, plain_words
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.plain_words import CHECK, EXPLAIN, Grammar


def as_typer_reads(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Asked | str:
    """Return what typer asks of a check with these words, or what it complains about."""
    heard: list[Asked] = []

    def hear(asked: Asked) -> int:
        heard.append(asked)
        return 0

    monkeypatch.setattr(checking, "check", hear)
    try:
        app.application(["check"])(["check", *words], standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - of whichever click this typer brings
        return str(error)
    return heard[0]


PLAIN = (
    "", "--python a", "--python=a", "--python=", "--python=--x", "--kernel k", "--from -", "--from=s.json",
    "-o f", "--output f", "--output=-", "--rules d", "--depth static", "--depth=import", "--depth smoke",
    "--format json", "--fail-on info",
    "--timeout 5", "--timeout=0.1", "--timeout 3600", "--timeout 1e1", "--smoke-timeout 1",
    "--smoke-timeout=86400", "--gpu 0 --gpu GPU-1", "--stages matmul,convolution", "--require gpu>=2",
    "--require=a --require b", "--assume driver=570.86.15 --assume=cc=9.0", "--allow-undecided", "-v", "-vv",
    "-v -v", "--verbose --verbose -v", "--depth static -v --format json -o out.json --allow-undecided",
)
LEFT_TO_TYPER = (
    "--help", "-h", "--unknown", "--unknown x", "--python", "--python --depth", "--depth never",
    "--depth STATIC", "--dept static", "--timeout x", "--timeout 0.05", "--timeout 3601", "--timeout nan",
    "--timeout inf", "--timeout=",
    "--python a --python b", "--output a -o b", "-vvv", "-of", "-o=f", "--pid 3", "--",
    "--allow-undecided=yes", "--verbose=2", "word", "-", "--gpu -1", "--assume -x", "--format=yaml",
    "--timeout 1 2",
)


@pytest.mark.parametrize("line", PLAIN)
def test_plain_words_ask_for_what_typer_would(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same options, those that were given among them."""
    asked, by_typer = plain_words.read_check(line.split()), as_typer_reads(line.split(), monkeypatch)
    assert isinstance(by_typer, Asked), by_typer
    assert asked is not None
    assert _long(asked) == by_typer


def _long(asked: Asked) -> Asked:
    """Return what was asked with the first name of each option that was given."""
    first = {"-o": "--output", "-v": "--verbose", "-vv": "--verbose"}
    return replace(asked, given=frozenset(first.get(name, name) for name in asked.given))


@pytest.mark.parametrize("line", LEFT_TO_TYPER)
def test_what_is_not_plain_is_left_to_typer(line: str) -> None:
    """Help, wrong usage, what is unusual."""
    assert plain_words.read_check(line.split()) is None


PLAIN_EXPLANATIONS = (
    "a.log", "-", "a.log b.log -", "GPD1001", "a.log --here", "--here a.log --format json", "--format=json a",
    "-o out a", "--output=- a", "--rules d a --fail-on info --allow-undecided b",
)


@pytest.mark.parametrize("line", PLAIN_EXPLANATIONS)
def test_plain_words_explain_what_typer_would(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in their order, and the same options."""
    heard: list[tuple[tuple[str, ...], explaining.Wish]] = []

    def hear(what: Iterable[str], wish: explaining.Wish) -> int:
        heard.append((tuple(what), wish))
        return 0

    monkeypatch.setattr(explaining, "explain", hear)
    app.application(["explain"])(["explain", *line.split()], standalone_mode=False)
    values = plain_words.read(line.split(), EXPLAIN)
    assert values is not None
    assert [(values.pop("what"), explaining.Wish(**values))] == heard


@pytest.mark.parametrize("line", [
    "", "--help", "--here", "-- a", "-x a", "a --rules", "a --here=yes", "--format yaml a", "-o a -o b c",
    "a -h"])
def test_what_is_no_plain_explanation_is_left_to_typer(line: str) -> None:
    """No file at all is wrong usage, for which typer has the words."""
    assert plain_words.read(line.split(), EXPLAIN) is None


@pytest.mark.parametrize(("command", "grammar", "others"), [
    ("check", CHECK, {"--pid"}), ("explain", EXPLAIN, set())])
def test_every_option_is_known_to_both(command: str, grammar: Grammar, others: set[str]) -> None:
    """An option that is added to the one must be added to the other, or be left to typer on purpose."""
    group: Any = typer.main.get_command(app.application([]))
    options = [one for one in group.commands[command].params if one.param_type_name == "option"]
    names = {name for parameter in options for name in parameter.opts}
    plain = {*grammar.texts, *grammar.lists, *grammar.choices, *grammar.numbers, *grammar.flags,
             *grammar.counted}
    assert names - plain - {"--help", "-h"} == others
    assert plain - names <= {"-vv"}


@pytest.mark.parametrize("grammar", [CHECK, EXPLAIN])
def test_choices_are_those_of_typer(grammar: Grammar) -> None:
    """A choice that is added to the one must be added to the other."""
    kinds: dict[str, Iterable[Enum]] = {
        "--depth": parameters.Depth, "--format": parameters.Format, "--fail-on": parameters.FailOn}
    assert {name: choices for name, (_, choices) in grammar.choices.items()} == {
        name: tuple(member.value for member in kinds[name]) for name in grammar.choices}


@pytest.mark.parametrize("option", CHECK.numbers)
def test_bounds_are_those_of_typer(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least and the most are taken, a little less and a little more refused."""
    _, least, most = CHECK.numbers[option]
    for number in (least, most):
        assert isinstance(as_typer_reads([option, str(number)], monkeypatch), Asked)
    for number in (least * 0.99, most * 1.01):
        assert isinstance(as_typer_reads([option, str(number)], monkeypatch), str)
