"""Log lines against patterns: what matches and is captured, what a symptom proves, what is recognised."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gpudoctor import compiled, ruledb, symptoms
from gpudoctor.derive.lazy import LazyFacts
from gpudoctor.derive.view import View
from gpudoctor.model import Fact, Known, RuleDatabase, SymptomExample, SymptomPattern, Unknown
from gpudoctor.pages import PageError, parse_symptoms
from gpudoctor.proving.said import symptom_problems

RULES = Path(__file__).parents[2] / "rules"
HEARD = Path(__file__).with_name("framework_stderr.txt")
# A folder of such files, all of which are read when this names it.
EVIDENCE = os.environ.get("GPUDOCTOR_EVIDENCE", "")


@cache
def database() -> RuleDatabase:
    """Return the shipped pages."""
    return ruledb.load_pages(RULES)


NAMED = {"old": "version", "new": "version", "why": "rest"}


@pytest.mark.parametrize(("pattern", "line", "expected"), [
    ("cannot open {library}", "E: cannot open libcudnn.so.9, says dlopen", {"library": "libcudnn.so.9"}),
    ("cannot open {library}", "cannot open ", None),
    ("cannot open {library}", "cannot OPEN libcuda.so.1", None),
    ("library '{library}' is gone", "library 'libcudart.so.12' is gone", {"library": "libcudart.so.12"}),
    ("library '{library}' is gone", "library 'a b' is gone", None),
    ("library '{library}' is gone", f"library '{'x' * 129}' is gone", None),
    ("library '{library}' is gone", "library '?' is gone, library 'b' is gone", {"library": "b"}),
    ("{path}: file too short", "dlerror: /opt/a b/libcudnn.so.9: file too short; x",
     {"path": "b/libcudnn.so.9"}),
    ("{path}: file too short", "OSError: /usr/lib/libx.so.1: file too short", {"path": "/usr/lib/libx.so.1"}),
    ("{path}: file too short", ": file too short", None),
    ("loaded {old} but built with {new}.  See", "loaded 8.0.5 but built with 8.1.0.  See",
     {"old": "8.0.5", "new": "8.1.0"}),
    ("compute capability {number}", "compute capability 3.5.", {"number": "3.5"}),
    ("failed call: {why}", "failed call: ", {"why": ""}),
    ("failed call: {why}", "failed call: no (device) 'here'  ", {"why": "no (device) 'here'"}),
    ("no literal ${{DIR}}/x", "no literal ${DIR}/x here", {}),
    ("{why} ended badly", "it all ended badly", {"why": "it all"}),
    ("CUDA error 100", "CUDA error 1000", None),
    ("CUDA error 100", "CUDA error 1000, CUDA error 100: no device", {}),
    ("719 of CUDA {why}", "7719 of CUDA", None),
    ("719 of CUDA {why}", "error 719 of CUDA it is", {"why": "it is"}),
])
def test_match(pattern: str, line: str, expected: Mapping[str, str] | None) -> None:
    """A pattern gives what its holes hold, or nothing at all."""
    assert symptoms.match(pattern, line, NAMED) == expected


@pytest.mark.parametrize("pattern", [
    "an open {brace", "two {library}{version} holes", "{library}", "short", "a hole with a {library:type}",
    "a hole with a {library!r}", "a hole without {} name", "",
])
def test_pattern_that_cannot_be_read(pattern: str) -> None:
    """It is refused in our own words."""
    with pytest.raises(symptoms.PatternError):
        symptoms.parts(pattern)


def symptom(identifier: str, *patterns: str, examples: tuple[SymptomExample, ...] = ()) -> SymptomPattern:
    """Return a symptom."""
    return SymptomPattern(
        id=identifier, program="a program", patterns=patterns, meaning="It ended.", benign=False,
        versions=("1",), examples=examples, source=("run:a==1 2026-11-20 it ran",), path="symptoms/a.toml")


def test_hits_come_in_the_order_of_lines_and_then_of_patterns() -> None:
    """Lines count from 1; a line that shows a symptom in two wordings shows it once."""
    early = symptom("early", "library {library}", "the library is")
    known = [symptom("later", "the library is missing"), early]
    said = ["nothing", "the library is missing", "library libx.so"]
    assert symptoms.read(said, known) == (
        symptoms.Hit(id="later", line=2, captures={}),
        symptoms.Hit(id="early", line=2, captures={"library": "is"}),
        symptoms.Hit(id="early", line=3, captures={"library": "libx.so"}))


def test_what_no_terminal_should_see_is_no_part_of_a_capture() -> None:
    """Escapes, NUL bytes, half characters and tabs become spaces."""
    line = "failed call:\t\x1b[31mred\x00\udc80\u202e end"
    hit = symptoms.read([line], [symptom("a", "failed call: {rest}")])
    assert hit[0].captures == {"rest": " [31mred    end"}


def test_what_stands_behind_the_first_4096_characters_is_not_read() -> None:
    """The line is cut, so that the time for it is bounded."""
    known = [symptom("a", "failed call: {rest}")]
    before = "x" * (symptoms.LINE_CHARACTERS - len("failed call: end"))
    assert symptoms.read([f"{before}failed call: end and more"], known)[0].captures == {"rest": "end"}
    assert symptoms.read([f"{before}xfailed call: end and more" * 1000], known)[0].captures == {"rest": "en"}


def test_a_beginning_that_is_repeated_is_tried_at_a_few_places_only() -> None:
    """A line made of nothing but beginnings costs no more than a few tries."""
    tries = symptoms.ATTEMPTS
    pattern = "library '{library}' is gone"
    last = "library 'b' is gone"
    assert symptoms.match(pattern, "library '? " * (tries - 1) + last, {}) == {"library": "b"}
    assert symptoms.match(pattern, "library '? " * tries + last, {}) is None


def test_derivations_see_the_symptoms_of_the_database() -> None:
    """A fact can be derived from what a log says."""
    known = replace(database(), symptoms=(symptom("broken", "the library is broken"),))

    def derive(view: View) -> Fact:
        hits = symptoms.read(["the library is broken"], view.symptoms)
        return Known(value=tuple(hit.id for hit in hits), source="a log")

    facts = LazyFacts({}, {}, {"driver.version": derive}, known, Unknown(reason="nobody said"))
    assert facts["driver.version"] == Known(value=("broken",), source="a log")


# -- files -----------------------------------------------------------------------------------------

HEAD = '[program]\nname = "A"\nsummary = "B"\n'
ENTRY = ('[[symptom]]\nid = "a-b"\npattern = "it fell over"\nmeaning = "It fell."\nbenign = false\n'
         'versions = ["1"]\nexamples = ["it fell over"]\nsource = "run:a==1 2026-11-20 it ran"\n')


def test_file_of_symptoms() -> None:
    """One or many patterns, examples and sources; an example may say what is captured."""
    example = '{line = "fell on /x", captures = {path = "/x"}, filled = true}'
    many = ENTRY.replace('"it fell over"\nmeaning', '["it fell over", "fell on {path}"]\nmeaning')
    many = many.replace('["it fell over"]\n', f'["it fell over", {example}]\n')
    one, two = parse_symptoms(HEAD + ENTRY + many, "symptoms/a.toml")
    assert one == replace(symptom("a-b", "it fell over"), program="A", meaning="It fell.",
                          examples=(SymptomExample(line="it fell over"),))
    assert two.patterns == ("it fell over", "fell on {path}")
    assert two.examples[1] == SymptomExample(line="fell on /x", filled=True, captures={"path": "/x"})


def test_what_is_made_of_sentences_is_their_one_spelling() -> None:
    people = HEAD.replace('"A"', '"People"')
    entry = ENTRY.replace("it fell over", "It does not see the card")
    said, = parse_symptoms(people + entry, "symptoms/a.toml")
    assert said.spoken == ("it doesn't see card",)


@pytest.mark.parametrize(("text", "words"), [
    ("[program\n", ("a.toml:1: ",)),
    (ENTRY, ("a.toml:1: ", "[program]")),
    (HEAD, ("a.toml:1: ", "[[symptom]]")),
    ("symptom = [1]\n" + HEAD, ("symptom 1", "[[symptom]]")),
    (HEAD + ENTRY + "colour = 1\n", ("symptom 1 (a-b)", "colour")),
    (HEAD + ENTRY + 'spoken = ["it"]\n', ("symptom 1 (a-b)", "spoken is made, not written")),
    (HEAD + ENTRY.replace("versions", "version"), ("symptom 1 (a-b)", "versions")),
    (HEAD + ENTRY + ENTRY.replace("false", '"no"'), ("symptom 2 (a-b)", "benign")),
    (HEAD + ENTRY.replace("it fell over", "it {fell"), ("symptom 1 (a-b)", "brace")),
    (HEAD + ENTRY.replace("it fell over", "it fell {down}"), ("symptom 1 (a-b)", "captures", "{down}")),
    (HEAD + ENTRY.replace("it fell over", "it fell {path} on {path}"), ("symptom 1 (a-b)", "twice")),
    (HEAD + ENTRY.replace("it fell over", "fell at {version}."), ("symptom 1 (a-b)", "leave that out")),
    (HEAD + ENTRY + 'captures = {down = "colour"}\n', ("symptom 1 (a-b)", "colour", "library")),
])
def test_file_of_symptoms_that_is_wrong(text: str, words: tuple[str, ...]) -> None:
    """The message names file and entry, and what is to be written."""
    with pytest.raises(PageError) as caught:
        parse_symptoms(text, "symptoms/a.toml")
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_folder_of_symptoms_reads_as_it_compiles(tmp_path: Path) -> None:
    """A site's own symptoms come after the shipped ones; a taken id is refused with the file's name."""
    (tmp_path / "symptoms").mkdir()
    file = tmp_path / "symptoms" / "site.toml"
    file.write_text(HEAD + ENTRY)
    site = ruledb.load_pages(tmp_path)
    for name, data in compiled.encode(site).items():
        (tmp_path / name).write_bytes(data)
    assert ruledb.load_compiled(tmp_path, "whole").symptoms == site.symptoms
    assert ruledb.load(None, str(tmp_path)).symptoms[-1] == site.symptoms[0]
    file.write_text(HEAD + ENTRY.replace("a-b", database().symptoms[0].id))
    with pytest.raises(ruledb.RuleDatabaseError, match=r"symptoms/site\.toml: the id .* is taken"):
        ruledb.load(None, str(tmp_path))


# -- proofs ----------------------------------------------------------------------------------------

FELL = SymptomExample(line="it fell /x", captures={"path": "/x"})
GOOD = symptom("a-b", "it fell {path}", examples=(FELL,))


def problems(*known: SymptomPattern) -> str:
    """Return the linter's words on these symptoms."""
    return "\n".join(symptom_problems(replace(database(), symptoms=known)))


def test_symptom_that_proves_itself() -> None:
    """Silence is proof."""
    assert problems(GOOD) == ""


@pytest.mark.parametrize(("changed", "words"), [
    (replace(GOOD, id="A B"), "slug"),
    (replace(GOOD, meaning="It fell"), "full stop"),
    (replace(GOOD, versions=("new",)), "specifier"),
    (replace(GOOD, versions=()), "no versions"),
    (replace(GOOD, captures={"down": "path"}), "{down}"),
    (replace(GOOD, also=("c-d",)), "no other symptom"),
    (replace(GOOD, source=()), "no source"),
    (replace(GOOD, source=("hearsay",)), "neither"),
    (replace(GOOD, source=("run:a==1 it ran",)), "neither"),
    (replace(GOOD, source=("https://example.org/",)), "lacks the day"),
    (replace(GOOD, source=("pypi:a==1 a.so",)), "said to have been heard"),
    (replace(GOOD, examples=()), "no example"),
    (replace(GOOD, examples=(SymptomExample(line="it rose /x"),)), "does not show it"),
    (replace(GOOD, examples=(SymptomExample(line="it fell /x"),)), "gives {'path': '/x'}, not {}"),
    (replace(GOOD, patterns=(*GOOD.patterns, "it slipped")), "no example has the wording 'it slipped'"),
])
def test_symptom_that_proves_nothing(changed: SymptomPattern, words: str) -> None:
    """The problem is said with the symptom's file and id."""
    said = problems(changed)
    assert words in said
    assert said.startswith(f"symptoms/a.toml: {changed.id}: ")


def test_examples_show_only_symptoms_that_are_named() -> None:
    """Naming one that no example shows is as wrong as not naming one that is shown."""
    other = symptom("c-d", "it fell /x", examples=(SymptomExample(line="it fell /x"),))
    both = (replace(GOOD, also=("c-d",)), replace(other, also=("a-b",)))
    assert problems(*both) == ""
    assert "shows c-d as well" in problems(GOOD, both[1])
    away = symptom("c-d", "it rose again", examples=(SymptomExample(line="it rose again"),))
    assert "also names c-d, which no example shows" in problems(both[0], away)
    assert "used by 2 symptoms" in problems(GOOD, GOOD)


# -- what frameworks really said -------------------------------------------------------------------

# Not of a framework: the answers of pip's resolver.
NOT_KNOWN = ("WARNING: Location 'file:", "ERROR: Could not find a version", "ERROR: No matching distribution")


def complaints(text: str) -> list[str]:
    """Return the lines of weight: warnings, errors and fatal ones of a log, and Python's exceptions."""
    return [line for line in text.splitlines() if any((
        line[:1] in "WEF" and line[1:5].isdigit(), f" {line.partition(': ')[2][:2]}" in (" W ", " E ", " F "),
        line.partition(":")[0].endswith(("Error", "ERROR", "WARNING", "Warning"))))]


def not_recognised(text: str) -> list[str]:
    """Return the complaints that are no known symptom."""
    lines = [line for line in complaints(text) if not line.startswith(NOT_KNOWN)]
    hits = {hit.line for hit in symptoms.read(lines, database().symptoms)}
    return [line for number, line in enumerate(lines, start=1) if number not in hits]


def test_every_complaint_of_real_runs_is_recognised() -> None:
    """TensorFlow 2.9 to 2.22 without driver, with scripted ones, with parts missing or too new."""
    text = HEARD.read_text(encoding="utf-8")
    assert len(complaints(text)) > 40
    assert not_recognised(text) == []


@pytest.mark.skipif(not EVIDENCE, reason="beside the checkout: GPUDOCTOR_EVIDENCE names no folder of it")
def test_every_complaint_in_a_folder_of_evidence_is_recognised() -> None:
    """Every file counts."""
    files = sorted(Path(EVIDENCE).glob("*.txt"))
    assert files
    said = {file.name: not_recognised(file.read_text(encoding="utf-8", errors="replace")) for file in files}
    assert {name: lines for name, lines in said.items() if lines} == {}
