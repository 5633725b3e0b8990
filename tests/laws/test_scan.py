"""Laws of the pass: nothing raises, no border of a read shows, it finds what reading line by line finds."""

from __future__ import annotations

import gzip
import json
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import symptoms
from gpudoctor.sources.anchors import Finder, one_by_one
from gpudoctor.sources.reading import LONGEST_BYTES, blocks, without_escapes
from gpudoctor.sources.scan import Seen
from gpudoctor.sources.unwrap import message, unwrapped
from tests.fuzz import trial
from tests.laws.made_up import json_documents, words
from tests.laws.test_symptoms import HOSTILE, REPEATED, database


@cache
def examples() -> tuple[str, ...]:
    """Return lines as programs really said them."""
    return tuple(example.line for symptom in database().symptoms for example in symptom.examples)


real = st.deferred(lambda: st.sampled_from(examples()))
carried = st.one_of(
    real, HOSTILE, words,
    real.map(lambda line: json.dumps({"log": f"{line}\n", "stream": "stderr"})),
    real.map(lambda line: f"2026-11-20T05:43:12.123456789Z stdout F {line}"),
    real.map(lambda line: f"\x1b[31m{line}\x1b[0m"),
    st.sampled_from(["", "\x1b[", "\x1b]0;", "50%\r", "x" * 5000, "\0", "error 1", "trainer-1  | "]),
)
texts = st.lists(carried, max_size=8).map("\n".join)
raw = st.one_of(
    st.binary(max_size=200), texts.map(str.encode), texts.map(lambda text: text.encode("utf-16")),
    texts.map(lambda text: gzip.compress(text.encode(), mtime=0)),
    st.tuples(texts.map(str.encode), st.binary(max_size=40)).map(b"".join),
)


def seen(data: bytes, size: int = 1 << 20) -> Seen:
    """Return what a file shows that is read in pieces of a size."""
    return trial.seen(data, database(), size)


@given(raw)
def test_whatever_a_file_holds_it_is_read(data: bytes) -> None:
    """Nothing raises, and nothing that is quoted can harm a terminal."""
    found = seen(data)
    quoted = [line.text for line in found.suspicious]
    for shown in found.shown.values():
        assert 1 <= len(shown.sightings) <= shown.count
        for one in shown.sightings:
            quoted += [one.text, *one.captures.values()]
    assert all(text.isprintable() for text in quoted)
    for kept in found.kept:
        assert len(kept.numbers) == len(kept.lines)
        assert list(kept.numbers) == sorted(kept.numbers)
        assert all(line.replace("\t", "").isprintable() for line in kept.lines)
        assert all(1 <= number <= found.lines for number in kept.numbers)


@given(raw, st.integers(1, 300))
def test_no_border_of_a_read_shows(data: bytes, size: int) -> None:
    """However a pipe delivers a text, it shows the same."""
    assert seen(data, size) == seen(data)


@settings(max_examples=10)
@given(st.lists(st.one_of(real, HOSTILE), min_size=1, max_size=4).map(" ".join), st.integers(0, 5000),
       st.integers(50, 300_000))
def test_no_border_of_a_read_shows_in_a_line_without_end(line: str, before: int, size: int) -> None:
    """It is cut where its own beginning says."""
    data = b"x" * before + (line.encode("utf-8", "replace") + b" ") * (600_000 // (len(line) + 1))
    assert seen(data, size) == seen(data)


printable = st.one_of(HOSTILE, REPEATED).filter(str.isprintable)


@given(st.lists(st.one_of(real, printable), max_size=5))
def test_the_pass_finds_what_reading_line_by_line_finds(lines: list[str]) -> None:
    """In lines that are read whole and are in no envelope: the same symptoms, and the same captures."""
    cut = (line[:symptoms.LINE_CHARACTERS] for line in lines)
    plain = [line for line in cut if unwrapped(line) == line]
    hits = symptoms.read(plain, database().symptoms)
    found = seen("\n".join(plain).encode("utf-8", "replace")).shown
    counts = {hit.id: sum(other.id == hit.id for other in hits) for hit in hits}
    assert {shown.id: shown.count for shown in found.values()} == counts
    captured = {(hit.id, *sorted(hit.captures.items())) for hit in hits}
    assert {(shown.id, *sorted(one.captures.items()))
            for shown in found.values() for one in shown.sightings} <= captured


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"x" * 70_000]), max_size=12).map(b"".join),
       st.integers(1, LONGEST_BYTES))
def test_blocks_own_the_text_and_number_it(data: bytes, size: int) -> None:
    """Put together again they are the text; each begins with the line that its number says."""
    position = 0
    for block in blocks(data[start:start + size] for start in range(0, len(data), size)):
        own = block.data[block.begin:block.end]
        assert data.startswith(own, position)
        assert block.line == data.count(b"\n", 0, position) + 1
        position += len(own)
    assert position == len(data)


enveloped = st.recursive(
    st.one_of(carried, json_documents.map(json.dumps)),
    lambda inner: st.one_of(
        inner.map(lambda text: json.dumps({"log": text})),
        inner.map(lambda text: json.dumps({"msg": "it", "error": text})),
        inner.map(json.dumps),
        inner.map(lambda text: f"a-1 | {text}"),
        inner.map(lambda text: f"2026-11-20T05:43:12Z {text}"),
    ), max_leaves=5)


@given(enveloped)
def test_a_line_is_taken_out_of_its_envelope_once(line: str) -> None:
    """Taking it out twice changes nothing, and nothing grows."""
    for take in (unwrapped, message):
        assert take(take(line)) == take(line)
        assert len(take(line)) <= len(line)


escapes = st.lists(st.sampled_from(
    [b"\x1b", b"[", b"]", b"31;1", b"m", b"\x07", b"\\", b"a", b"\n", b"P", b"(", b" ", b"\xc2\xa0"]))


@given(escapes.map(b"".join))
def test_escapes_are_taken_out_once(data: bytes) -> None:
    """None is left, and no line end is lost."""
    once = without_escapes(data)
    assert b"\x1b" not in once
    assert without_escapes(once) == once
    assert once.count(b"\n") == data.count(b"\n")


@given(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6, unique=True), st.text("ab \n"))
def test_places_are_the_same_without_the_library(wanted: list[str], text: str) -> None:
    """Every place of every text."""
    encoded = [each.encode() for each in wanted]
    assert sorted(Finder(wanted).find(text.encode())) == sorted(one_by_one(encoded, text.encode()))
