"""Laws of reading logs: nothing raises, captures are parts of the line, and no pattern is overlooked."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import ruledb, symptoms
from gpudoctor.model import RuleDatabase
from gpudoctor.pages import PageError, parse_symptoms
from tests.laws.made_up import refusal, words

RULES = Path(__file__).parents[2] / "rules"


@cache
def database() -> RuleDatabase:
    """Return the shipped pages."""
    return ruledb.load_pages(RULES)


@cache
def pieces() -> tuple[str, ...]:
    """Return the literal parts of every pattern: the words that a hostile line is made of."""
    known = (pattern for symptom in database().symptoms for pattern in symptom.patterns)
    literals = (literal for pattern in known for literal, _ in symptoms.parts(pattern))
    return tuple(dict.fromkeys(filter(None, literals)))


HOSTILE = st.lists(
    st.one_of(
        st.deferred(lambda: st.sampled_from(pieces())),
        words,
        st.sampled_from(["{", "}", "'", " ", "8.1"]),
    ),
    max_size=12,
).map("".join)
REPEATED = st.builds(lambda text, times: text * times, HOSTILE, st.integers(1, 2000))


@given(st.lists(st.one_of(HOSTILE, REPEATED, words), max_size=4))
def test_whatever_a_line_holds_it_is_read(lines: list[str]) -> None:
    """No line raises; what is captured stands in the line, is bounded, and cannot harm a terminal."""
    types = {symptom.id: symptom.captures for symptom in database().symptoms}
    for hit in symptoms.read(lines, database().symptoms):
        line = symptoms.clean(lines[hit.line - 1])
        for name, value in hit.captures.items():
            kind = symptoms.HOLE_TYPES[types[hit.id].get(name, name)]
            assert value in line
            assert len(value) <= kind.longest
            assert value.isprintable()


@given(REPEATED)
def test_time_is_bounded_by_the_line_that_is_read(line: str) -> None:
    """What stands behind the bound changes nothing: a line of any length costs no more than one of 4096."""
    cut = line[: symptoms.LINE_CHARACTERS]
    assert symptoms.read([line], database().symptoms) == symptoms.read([cut], database().symptoms)


@given(HOSTILE)
def test_no_pattern_is_overlooked(line: str) -> None:
    """The short cut by words and stems finds exactly what trying every pattern finds."""
    wanted = [symptom.id for symptom in database().symptoms
              if any(symptoms.match(pattern, symptoms.clean(line), symptom.captures) is not None
                     for pattern in symptom.patterns)]
    assert [hit.id for hit in symptoms.read([line], database().symptoms)] == wanted


@given(st.one_of(words, HOSTILE))
def test_any_pattern_is_read_or_refused(pattern: str) -> None:
    """In our own words."""
    said = refusal(lambda: symptoms.parts(pattern), symptoms.PatternError)
    assert said or "".join(literal for literal, _ in symptoms.parts(pattern))


@given(words, st.sampled_from(["pattern", "id", "versions", "examples", "source", "captures", "benign"]))
def test_any_file_of_symptoms_is_read_or_refused(text: str, key: str) -> None:
    """A wrong type in any place is a problem of that file, said in our own words."""
    quoted = "".join(f"\\U{ord(character):08x}" for character in text if character.isprintable())
    entry = f'[program]\nname = "a"\nsummary = "b"\n[[symptom]]\n{key} = "{quoted}"\n'
    assert "symptoms/a.toml" in refusal(lambda: parse_symptoms(entry, "symptoms/a.toml"), PageError)
