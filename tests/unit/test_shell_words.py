"""A shell's text as simple commands: words with their places, operators, redirections, what is not known."""

from __future__ import annotations

import pytest

from gpudoctor.manifests.shellwords import commands, words_of
from gpudoctor.manifests.spans import traced


def said(text: str, **variables: str) -> list[list[str]]:
    """Return the words of each command, those that are not known in brackets."""
    return [[word.text if word.known else f"[{word.text}]" for word in command.words]
            for command in commands(traced(text, 0), variables)]


@pytest.mark.parametrize(("text", "expected"), [
    ("a b  c", [["a", "b", "c"]]),
    ("a && b; c | d || e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
    ("a 'b  c' \"d e\" f\\ g", [["a", "b  c", "d e", "f g"]]),
    ("a # b\nc", [["a"], ["c"]]),
    ("a b#c", [["a", "b#c"]]),
    ("if x; then y; fi", [["x"], ["y"], ["fi"]]),
    ("(a; b)", [["a"], ["b"]]),
    ("a 'b", [["a", "b"]]),
    ("", []),
    (" \t ", []),
    ("A=1 b", [["A=1", "b"]]),
    ("a $(b c) d", [["a", "[]", "d"]]),
    ("a `b c`d", [["a", "[d]"]]),
    ("a $X ${Y}", [["a", "[]", "[]"]]),
    ("a '$X' \\$X", [["a", "$X", "$X"]]),
    ("a \"b\\\"c\" \"\\d\"", [["a", "b\"c", "\\d"]]),
    ("a ${X:-b} ${X-c} ${X:+d}", [["a", "b", "c", ""]]),
    ("a $", [["a", "$"]]),
    ("a ${", [["a", "[]"]]),
    ("a $(", [["a", "[]"]]),
])
def test_words_of_commands(text: str, expected: list[list[str]]) -> None:
    assert said(text) == expected


def test_variables_are_filled_in() -> None:
    assert said("a $X-${X} ${X:+y} ${X:-z}", X="1") == [["a", "1-1", "y", "1"]]


@pytest.mark.parametrize(("text", "expected"), [
    ("a>=2", [(">", True, 1, "=2")]),
    ("a >b", [(">", False, 1, "b")]),
    ("a 2>&1", [(">&", False, 1, "1")]),
    ("a >> b", [(">>", False, 1, "b")]),
    ("a b<2 c", [("<", True, 2, "2")]),
    ("a >", [(">", False, 1, None)]),
])
def test_redirections(text: str, expected: list[tuple[str, bool, int, str | None]]) -> None:
    [command] = commands(traced(text, 0), {})
    assert [(one.operator, one.glued, one.after, one.target.text if one.target else None)
            for one in command.redirections] == expected


def test_a_word_stands_where_it_says() -> None:
    """With quotes, and behind a variable that is longer than its name."""
    text = "pip $LONG 'a b' c"
    [command] = commands(traced(text, 0), {"LONG": "something longer"})
    assert [text[word.start:word.end] for word in command.words] == ["pip", "$LONG", "'a b'", "c"]


def test_what_may_not_be_run_is_marked() -> None:
    found = commands(traced("a; if b; then c; fi; d; for x in y; do e; done; f", 0), {})
    sure = [command.words[0].text for command in found if not command.conditional]
    assert sure == ["a", "fi", "d", "done", "f"]


def test_words_without_operators() -> None:
    """As ENV and COPY have them."""
    assert [word.text for word in words_of(traced("A=1>2 B='c;d' e|f", 0), {})] == ["A=1>2", "B=c;d", "e|f"]
