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
    ("if x; then y; fi", [["x"], ["y"]]),
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
    ("a ${X:-b} ${X-c} ${X:+d}", [["a", "b", "c"]]),
    ("a $", [["a", "$"]]),
    ("a ${", [["a", "[]"]]),
    ("a $(", [["a", "[]"]]),
])
def test_words_of_commands(text: str, expected: list[list[str]]) -> None:
    assert said(text) == expected


def test_variables_are_filled_in() -> None:
    assert said("a $X-${X} ${X:+y} ${X:-z}", X="1") == [["a", "1-1", "y", "1"]]


def test_a_variable_without_quotes_becomes_as_many_words_as_are_in_it() -> None:
    assert said('a $X "$X" b$X $Y c', X=" 1  2 ", Y="") == [["a", "1", "2", " 1  2 ", "b 1  2 ", "c"]]


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
    assert [text[word.start:word.end] for word in command.words] == ["pip", "$LONG", "$LONG", "'a b'", "c"]


@pytest.mark.parametrize(("text", "expected"), [
    ("for p in a 'b c'; do e $p; done; f $p", "e a|e b c|f b c"),
    ("for p in a b\ndo\n  e \"$p\"\ndone", "e a|e b"),
    ("for p in 1 2; do for q in x y; do e $p$q; done; done", "e 1x|e 1y|e 2x|e 2y"),
    ("for p in 1 2; do while t; do e $p; done; done", "t|e 1|t|e 2"),
    ("for p in $L; do e $p; done", "e one|e two"),
    ("for p in *.whl; do e $p; done", "e []"), ("for p in $(ls); do e $p; done", "e []"),
    ("for p in a $U; do e $p; done", "e []"), ("for p; do e $p; done", "e []"),
    ("for p in a b; do e $p", "e a"), ("done; e", "e"), ("for", ""),
    (f"for p in {' '.join('abcdefghij' * 6)}; do e $p; done", "e []"),
])
def test_the_body_of_a_loop_is_read_for_each_of_its_words(text: str, expected: str) -> None:
    """What is listed by a command, by files or without an end leaves its variable unknown."""
    found = said(text, L="one two", p="before")
    assert "|".join(" ".join(words) for words in found) == expected


def test_loops_within_loops_end() -> None:
    """Each level would multiply what is read."""
    text = "".join(f"for v{n} in a b c d e f; do " for n in range(30)) + "x; " + "done; " * 30
    assert len(commands(traced(text, 0), {})) < 60


@pytest.mark.parametrize(("text", "sure", "open_"), [
    ("a; if b; then c; fi; d; while x; do e; done; f", "a b d x f", "c e"),
    ("for x in y z; do e; done; for x in $(y); do g; done", "e e", "g"),
    ("if [ 1 = 1 ]; then a; else b; fi; if [ 1 != 1 ]; then c; elif [ 2 ]; then d; else e; fi",
     "[ a [ [ d", ""),
    ('if [ -z "$U" ]; then a; elif [ "$K" = 1 ]; then b; else c; fi', "[", "a [ b"),
    ('if [ "$K" = 1 ] && x; then a; else b; fi', "[ x", "a b"),
    ('if ! [ "$K" = 1 ]; then a; else b; fi', "[ b", ""),
    ('case "$K" in 0) a ;; 1|2) b; c ;; *) d ;; esac; e', "b c e", ""),
    ("case $(uname -m) in\n x86) a ;;\n (*) b\n esac\n e", "e", "a b"),
    ('[ "$K" = 1 ] && a || b; c', "[ a c", "b"),
    ('[ "$K" = 2 ] && a || b; c', "[ b c", ""),
    ("a || b; c && d", "a c d", "b"),
    ('[ "$K" = 1 ] || { a; b; }; c', "[ c", ""),
    ('[ "$U" ] && (a; b) && c; d', "[ d", "a b c"),
    ("true && a; false && b; false || c", "true a false false c", ""),
    ("a | b && c", "a b c", ""),
    ("f() { a; }; b", "f a b", ""), ("f(x) y", "f x y", ""),
    ("if [ 1 = 1 ]; then if x; then a; fi; b; fi; c", "[ x b c", "a"),
    ("fi; done; esac; } ; ) a; ;; b", "a b", ""),
    ("if", "", ""), ("case x in", "", ""), ("case x in a", "", ""),
])
def test_which_commands_a_shell_comes_to(text: str, sure: str, open_: str) -> None:
    """K is 1, of U nothing is known; what is certainly not run is left out."""
    found = commands(traced(text, 0), {"K": "1"})
    assert " ".join(one.words[0].text for one in found if not one.conditional) == sure
    assert " ".join(one.words[0].text for one in found if one.conditional) == open_


def test_what_a_script_sets_counts_from_there_on() -> None:
    """Not what one branch may set, nor what stands before one command only."""
    assert said("X=1; a $X; export Y=2; b $Y; if c; then X=3; fi; d $X; Z=1 e; f $Z") == [
        ["X=1"], ["a", "1"], ["export", "Y=2"], ["b", "2"], ["c"], ["X=3"], ["d", "[]"], ["Z=1", "e"],
        ["f", "[]"]]


def test_words_without_operators() -> None:
    """As ENV and COPY have them."""
    assert [word.text for word in words_of(traced("A=1>2 B='c;d' e|f", 0), {})] == ["A=1>2", "B=c;d", "e|f"]
