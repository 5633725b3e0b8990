"""Laws of reading files: whatever stands in them ends in statements or one line, and soon."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.manifests import kinds
from gpudoctor.manifests.shellwords import commands, words_of
from gpudoctor.manifests.spans import ManifestError, Place, Source, traced
from gpudoctor.manifests.statements import Environment

NAMES = ("Dockerfile", "requirements.txt", "pyproject.toml", "environment.yml")
PIECES = st.sampled_from([
    "FROM", "RUN", "ENV", "ARG", "COPY", "SHELL", "# escape=`", " ", " ", "\n", "\n", "\\\n", "`\n", "<<EOF",
    "EOF", "pip install", "torch>=2", "'", '"', "$", "${", "}", "$(", ")", "`", ">", "<", "=", "[", "]", "{",
    "}",
    ":", "-", "- ", "  ", "image:", "services:", "dependencies", "kind: Pod", "&a", "*a", "!!python/object:x",
    "[project]", "-r x.txt", ";", "&&", "if", "fi", "A=1", "--index-url", "\ufeff", "\x00", "\r\n", "\u2028",
    "é",
    "#", "|", "@"])
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text(max_size=200))


def places(environment: Environment) -> list[Place]:
    """Return the place of every statement."""
    found = [environment.place, *(one.place for one in environment.asked),
             *(one.place for one in environment.settings.values()), *(one.place for one in environment.lost),
             *(one.place for one in environment.wishes), *(one.place for one in environment.images)]
    return [*found, *([environment.python_place] if environment.python_place else [])]


@given(st.sampled_from(NAMES), TEXTS)
def test_whatever_stands_in_a_file_is_read_or_refused_in_one_line(name: str, text: str) -> None:
    def reader(_: str) -> Source:
        return Source("x.txt", "six\n-r x.txt\n")

    said = ""
    found: list[Environment] = []
    try:
        found = kinds.environments(Source(name, text), reader)
    except ManifestError as error:
        said = str(error)
    assert "\n" not in said
    assert said == "" or said.startswith((f"{name}:", "x.txt:"))
    for environment in found:
        for place in places(environment):
            whole = text if place.file == name else "six\n-r x.txt\n"
            assert 0 <= place.start <= place.end <= len(whole)
            before = whole[:place.start].removeprefix("\ufeff")
            assert (place.line, place.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))


@given(TEXTS)
def test_a_word_that_is_plain_stands_where_it_says(text: str) -> None:
    """Character by character; the others at least lie inside the text and in their order."""
    words = [word for command in commands(traced(text, 0), {}) for word in command.words]
    for found in (words, words_of(traced(text, 0), {})):
        assert [word.start for word in found] == sorted(word.start for word in found)
        for word in found:
            assert 0 <= word.start < word.end <= len(text)
            assert not word.plain or text[word.start:word.end] == word.text


@pytest.mark.parametrize(("begin", "again", "end"), [
    ("FROM a\nRUN ", "a\\\n", ""), ("FROM a\nRUN ", "$(", ""), ("FROM a\nRUN ", "${A-", ""),
    ("FROM a\nRUN pip install ", "a>=1 ", ""), ("FROM a\nRUN pip install a", ">=1,<2", ""),
    ("FROM a\nENV A=1", " B='x'", ""), ("FROM a\n", "RUN x\n", ""), ("", "# escape=`\n", ""),
    ("FROM a\nRUN [", '"a",', '"b"]'), ("FROM a\nCOPY ", "<<A ", "/x\nA\n"),
    ("FROM a\nRUN pip install a", "!", ">1"), ("FROM a\nRUN pip install 'a", " ", "#'>=1"),
])
def test_reading_takes_time_in_proportion_to_the_length(begin: str, again: str, end: str) -> None:
    """Eight times the text takes less than thirty times as long; a square would take sixty-four.

    A busy machine may make one look wrong, but not each of five.
    """
    def seconds(count: int) -> float:
        source = Source("Dockerfile", begin + again * count + end)
        begun = time.process_time()
        with contextlib.suppress(ManifestError):
            kinds.environments(source, lambda _: None)
        return time.process_time() - begun

    looks = ((min(seconds(1000) for _ in range(3)), seconds(8000)) for _ in range(5))
    assert any(long < max(30 * short, 0.1) for short, long in looks)
