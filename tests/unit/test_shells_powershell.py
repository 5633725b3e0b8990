"""What PowerShell is given is the value that was meant, whatever it holds: it is parsed here, not run.

No PowerShell is to be had: Debian has no package of it, npm's `pwsh` fetches the program from elsewhere
while it is installed, and what PyPI has under such names talks to one that is there. There is a grammar of
its language, which says how many statements the lines are and where each string begins and ends. It knows one
character as a single quote. PowerShell's own tokenizer takes four more for the same, and those are looked for
in what the grammar found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import tree_sitter_powershell
from hypothesis import given
from tree_sitter import Language, Node, Parser

from tests.unit.test_shells import HOSTILE, PIECES, lines

PARSER = Parser(Language(tree_sitter_powershell.language()))
QUOTE = "['\u2018\u2019\u201a\u201b]"
STRING = re.compile(rf"{QUOTE}((?:(?!{QUOTE}).|{QUOTE}{{2}})*){QUOTE}", re.DOTALL)


def text(node: Node) -> str:
    """Return what a node covers."""
    return (node.text or b"").decode()


def statements(script: str) -> list[Node]:
    """Return what the statements of a script are; nothing else may be in it."""
    tree = PARSER.parse(script.encode())
    assert not tree.root_node.has_error, script
    [all_of_it] = tree.root_node.named_children
    assert {node.type for node in all_of_it.named_children} == {"pipeline"}, script
    return [node.named_children[0] for node in all_of_it.named_children]


def only(node: Node) -> Node:
    """Return the innermost node that covers the same text."""
    while node.named_child_count == 1 and text(node.named_children[0]) == text(node):
        node = node.named_children[0]
    return node


def assigned(statement: Node) -> tuple[str, str]:
    """Return the variable and the value of an assignment of one string in single quotes."""
    assert statement.type == "assignment_expression", text(statement)
    variable, operator, value = (only(node) for node in statement.named_children)
    assert (variable.type, text(operator), value.type) == ("variable", "=", "verbatim_string_characters")
    body = STRING.fullmatch(text(value))
    assert body, text(value)  # one of the quotes that the grammar does not know ends it before
    return text(variable), re.sub(f"{QUOTE}({QUOTE})", r"\1", body[1])


def words(statement: Node) -> Iterator[str]:
    """Yield the words of a command, none of which is more than a bare word."""
    command = only(statement)
    assert command.type == "command", text(statement)
    name, elements = command.named_children
    yield text(name)
    for node in elements.named_children:
        if node.type != "command_argument_sep":
            assert node.type in ("command_parameter", "generic_token"), text(statement)
            yield text(node)


@given(PIECES)
def test_each_value_is_one_string(value: str) -> None:
    """And its line one statement, whatever stands in it; the lines before and behind it are theirs."""
    script = lines({"A": value, "B": None, "C": "x"}, "powershell")
    first, removal, last = statements(script)
    assert (assigned(first), assigned(last)) == (("$env:A", value), ("$env:C", "x"))
    assert [*words(removal)] == ["Remove-Item", "-LiteralPath", "Env:B", "-ErrorAction", "SilentlyContinue"]


@pytest.mark.parametrize("value", HOSTILE)
def test_twice_is_two_times_the_same(value: str) -> None:
    """Lines name whole values, never what was there before."""
    script = lines({"A": value}, "powershell")
    assert [assigned(one) for one in statements(script + script)] == [("$env:A", value)] * 2


@pytest.mark.parametrize("line", [
    "$env:A = 'it's'", "$env:A = 'a\u2019; touch broken #'", '$env:A = "$HOME"', "$env:A = 'a' + 'b'",
    "$env:A = 'a'; touch broken", "touch broken", "$env:A = $(touch broken)", "$env:A = '",
])
def test_lines_that_are_more_are_noticed(line: str) -> None:
    """What this file relies on: a value that left its quotes would be seen."""
    with pytest.raises((AssertionError, ValueError)):
        assert [assigned(one) for one in statements(line + "\n")] == [("$env:A", "a")]
