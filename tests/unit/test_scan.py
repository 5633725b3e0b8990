"""One pass over texts: what it finds where, what it counts, what it suspects, what it keeps."""

from __future__ import annotations

import gzip
import io
import json
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from gpudoctor import symptoms
from gpudoctor.model import SymptomPattern
from gpudoctor.pattern_forms import stem_of
from gpudoctor.sources import scan as scanning
from gpudoctor.sources.anchors import Finder, one_by_one
from gpudoctor.sources.reading import STRETCH_BYTES
from gpudoctor.sources.scan import Input, Seen, finished, scan, scan_text
from tests.contract.checkout import run_python


def symptom(identifier: str, *patterns: str, **captures: str) -> SymptomPattern:
    """Return a symptom."""
    return SymptomPattern(
        id=identifier, program="a program", patterns=patterns, meaning="It ended.", benign=False,
        versions=("1",), captures=captures, examples=(), source=("run:a==1 2026-11-20 it ran",),
        path="symptoms/a.toml")


NOT_LOADED = symptom("not-loaded", "Could not load dynamic library '{library}'; dlerror: {reason}",
                     "Could not load dynamic library '{library}'", reason="rest")
TOO_SHORT = symptom("too-short", "{path}: file too short")
QUOTED = symptom("quoted", 'the option "gpu" is <unknown> here')
KNOWN = (NOT_LOADED, TOO_SHORT, QUOTED)
LINE = "Could not load dynamic library 'libcudnn.so.9'; dlerror: /opt/libcudnn.so.9: file too short"


def found(seen: Seen) -> list[tuple[str, str, int]]:
    """Return each sighting's symptom, file and line."""
    return [(shown.id, one.file, one.line) for shown in seen.shown.values() for one in shown.sightings]


def scanned(data: bytes, known: Sequence[SymptomPattern] = KNOWN) -> Seen:
    """Return what bytes show."""
    return scan([Input(name="a.log", stream=io.BytesIO(data))], known)


def test_each_symptom_has_its_lines_and_what_its_pattern_took() -> None:
    """A line that shows a symptom in two wordings shows it once."""
    seen = scan_text(f"nothing\n{LINE}\nmore\n{LINE}\n", KNOWN)
    assert found(seen) == [("not-loaded", "standard input", 2), ("too-short", "standard input", 2)]
    assert seen.shown["not-loaded"].count == 2
    first = seen.shown["not-loaded"].sightings[0]
    assert first.text == LINE
    assert first.captures == {"library": "libcudnn.so.9", "reason": "/opt/libcudnn.so.9: file too short"}
    assert (seen.lines, seen.bytes_read) == (4, len(f"nothing\n{LINE}\nmore\n{LINE}\n"))


def test_sightings_are_told_apart_by_their_captures() -> None:
    """So many different ones are kept; all are counted."""
    text = "".join(f"Could not load dynamic library 'lib{number % 40}.so'\n" for number in range(100))
    shown = scan_text(text, KNOWN).shown["not-loaded"]
    assert shown.count == 100
    assert [one.line for one in shown.sightings] == list(range(1, scanning.MOST_SIGHTINGS + 1))


def test_several_files_are_one_text_with_several_names() -> None:
    """Each counts its own lines."""
    inputs = (Input(name=name, stream=io.BytesIO(f"{name}\n{LINE}\n".encode())) for name in ("a", "b"))
    seen = scan(inputs, [NOT_LOADED])
    assert seen.shown["not-loaded"].count == 2
    assert [kept.file for kept in seen.kept] == ["a", "b"]
    assert seen.lines == 4


@pytest.mark.parametrize("data", [
    f"\x1b[31mCould \x1b[1mnot\x1b[0m load dynamic library 'libcudnn.so.9'{LINE[46:]}".encode(),
    f"0%\r10%\r{LINE}\r20%\n".encode(),
    f"{LINE}\r\n".encode(),
    LINE.encode("utf-16"),
    gzip.compress(LINE.encode()),
    json.dumps({"log": LINE + "\n", "stream": "stderr"}).encode(),
    f"2026-11-20T05:43:12.1Z stderr F {LINE}".encode(),
    b"Could not\0 load dynamic library 'libcudnn.so.9'" + LINE[46:].encode(),
    LINE.replace(" ", "\u00a0").encode(),
    b"\xff\xfe\xfa"[1:] + LINE.encode(),
    b"x" * 5000 + LINE.encode(),
    b"x" * 5_000_000 + b" " + LINE.encode() + b" " + b"y" * 5_000_000,
], ids=["colours", "progress", "Windows", "UTF-16", "gzip", "Docker", "containerd", "NUL", "no-break spaces",
        "no UTF-8", "long line", "very long line"])
def test_whatever_carries_a_line_it_is_found(data: bytes) -> None:
    """Colours, progress bars, encodings, envelopes, and what stands before it in a line without end."""
    shown = scanned(data).shown
    assert {one.captures["library"] for one in shown["not-loaded"].sightings} == {"libcudnn.so.9"}
    assert {one.captures["path"] for one in shown["too-short"].sightings} == {"/opt/libcudnn.so.9"}
    assert shown["not-loaded"].count == 1


def test_what_json_escapes_is_found_in_its_envelope() -> None:
    """Docker writes <, > and quotes in another way."""
    said = 'the option "gpu" is <unknown> here'
    escaped = json.dumps({"log": said}).replace("<", "\\u003c").replace(">", "\\u003e")
    assert scanned(escaped.encode()).shown["quoted"].sightings[0].text == said


@pytest.mark.parametrize("at", [*range(STRETCH_BYTES - 200, STRETCH_BYTES + 200, 7), 2 * STRETCH_BYTES - 20])
def test_a_symptom_on_the_border_of_two_stretches_is_found_once(at: int) -> None:
    """With all that its pattern takes out."""
    line = "x" * (at - 1) + " " + LINE + ", " + "z" * (2 * STRETCH_BYTES)
    shown = scanned(line.encode(), [NOT_LOADED]).shown["not-loaded"]
    assert (shown.count, shown.sightings[0].captures["library"]) == (1, "libcudnn.so.9")


@pytest.mark.parametrize("at", range(1900, 2200, 3))
def test_a_symptom_on_the_border_of_two_pieces_is_found_once(at: int) -> None:
    """A line of several thousand characters is read in overlapping pieces."""
    line = "x" * (at - 1) + " " + LINE + "; " + "z" * 9000
    shown = scanned(line.encode(), [NOT_LOADED, TOO_SHORT]).shown
    assert [(one.count, len(one.sightings)) for one in shown.values()] == [(1, 1), (1, 1)]
    assert shown["too-short"].sightings[0].captures == {"path": "/opt/libcudnn.so.9"}


def test_a_symptom_of_very_many_lines_is_counted_without_a_closer_look() -> None:
    """The time goes to what is rare."""
    many = scanning.CLOSELY_COUNTED
    text = f"{LINE}\n" * many + "Could not load dynamic libraries\n" * 5
    assert scan_text(text, [NOT_LOADED]).shown["not-loaded"].count == many + 5
    assert scan_text(text, [NOT_LOADED]).suspicious == ()


# -- suspicious lines --------------------------------------------------------------------------------


def test_lines_that_speak_of_errors_and_are_not_explained() -> None:
    """Those that differ by numbers alone count as one; faults come first."""
    lines = (
        "WARNING: slow", "step 3 failed at 0x7f12ab", LINE, "step 4 failed at 0x7f99cd", "all is well",
        "mean_squared_error: 0.31", "Traceback (most recent call last):", "KeyError: 'gpu'", "0 errors",
        "E0000 00:00:1795154095.8 26542 x.cc:1] who knows", "I was errorless")
    seen = scan_text("\n".join(lines), KNOWN)
    assert [(one.line, one.count, one.warning) for one in seen.suspicious] == [
        (2, 2, False), (8, 1, False), (10, 1, False), (11, 1, False), (1, 1, True)]


def test_the_first_and_the_last_suspicious_lines_are_quoted() -> None:
    """What ended a program stands at its end."""
    names = [chr(97 + number // 26) + chr(97 + number % 26) for number in range(600)]
    text = "".join(f"error {name}\n" for name in names)
    quoted = [one.text for one in scan_text(text, KNOWN).suspicious]
    assert quoted[0] == "error aa"
    assert quoted[-1] == f"error {names[-1]}"
    assert len(quoted) == 32


def test_the_end_of_a_text_of_nothing_but_errors_is_looked_at() -> None:
    """Even where most of it is not."""
    text = "an error\n" * (scanning.CLOSELY_SUSPECTED * 2) + "fatal: the end\n"
    assert [one.text for one in scan_text(text, KNOWN).suspicious] == ["an error", "fatal: the end"]


def test_nothing_quoted_can_harm_a_terminal() -> None:
    """Controls, marks that turn the text around, half characters."""
    half = b"Could not load dynamic library 'a'; dlerror: \xe2\x80\n"
    seen = scanned("error \x07\x9b31m \u202e end\n".encode() + half)
    assert (len(seen.suspicious), len(seen.shown)) == (1, 1)
    assert all(one.text.isprintable() for one in seen.suspicious)
    assert all(one.text.isprintable() for shown in seen.shown.values() for one in shown.sightings)


# -- what is kept ------------------------------------------------------------------------------------


def test_a_short_text_is_kept_whole_with_its_numbers() -> None:
    """Without what stands in the way of importers."""
    first = json.dumps({"log": "torch==2.1.0\nnumpy==1.26\n"})
    seen = scanned(f"{first}\n1%\r2%\n\tpci\t\x1b[1mbold\x1b[0m\r\n\nend".encode())
    (kept,) = seen.kept
    assert kept.text == "torch==2.1.0\nnumpy==1.26\n1%\n2%\n\tpci\tbold\n\nend"
    assert list(kept.numbers) == [1, 1, 2, 2, 3, 4, 5]


def test_of_a_long_text_the_beginning_and_the_end_are_kept() -> None:
    """With the right numbers, and no more than was promised."""
    lines = 400_000
    seen = scanned(b"".join(b"line number %d of a long log\n" % number for number in range(1, lines + 1)))
    head, tail = seen.kept
    for kept in (head, tail):
        assert all(line == f"line number {number} of a long log"
                   for number, line in zip(kept.numbers, kept.lines, strict=True))
        assert len(kept.text) < scanning.KEPT_BYTES + 1024 * 1024
    assert (head.numbers[0], tail.numbers[-1], seen.lines) == (1, lines, lines)
    assert head.numbers[-1] < tail.numbers[0] - 1


def test_many_texts_are_kept_within_one_bound() -> None:
    """A thousand logs do not fill the memory, and what was not kept is said."""
    data = b"a line of text, not a long one, as most lines in a log are\n" * 20_000 + LINE.encode()
    seen = scan((Input(name=str(number), stream=io.BytesIO(data)) for number in range(60)), [NOT_LOADED])
    kept = {stretch.file for stretch in seen.kept}
    assert sum(len(stretch.text) for stretch in seen.kept) < scanning.KEPT_BYTES_IN_ALL + 1024 * 1024
    assert seen.shown["not-loaded"].count == 60
    assert 5 < len(kept) < 60
    assert len({note.file for note in seen.notes} | kept) == 60


# -- how it is read ----------------------------------------------------------------------------------


class Interrupted(io.BytesIO):
    """Ctrl-C after the first read."""

    def read1(self, size: int | None = -1, /) -> bytes:
        """Return what there is, then Ctrl-C."""
        data = super().read1(size)
        if not data:
            raise KeyboardInterrupt
        return data


def test_ctrl_c_hands_over_what_was_found() -> None:
    """Whether it comes during a read or between two; no other input is begun."""
    first = Input(name="a", stream=Interrupted(LINE.encode()))
    seen = scan([first, Input(name="b", stream=io.BytesIO(LINE.encode()))], [NOT_LOADED])
    assert seen.interrupted
    assert found(seen) == [("not-loaded", "a", 1)]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    seen = scan([Input(name="a", stream=io.BytesIO(LINE.encode()))], KNOWN, progress=stop)
    assert (seen.interrupted, seen.shown) == (True, {})


def test_progress_names_the_input_and_counts_its_bytes() -> None:
    """After each read."""
    told: list[tuple[str, int]] = []
    data = b"x\n" * 500_000
    scan([Input(name="a", stream=io.BytesIO(data))], KNOWN, progress=lambda *news: told.append(news))
    assert told[-1] == ("a", len(data))
    assert len(told) > 2


def test_what_could_not_be_read_is_noted() -> None:
    """With the input's name."""
    notes = scanned(b"PK\x03\x04...").notes
    assert [note.file for note in notes] == ["a.log"]
    assert "zip" in notes[0].text


# -- finding -----------------------------------------------------------------------------------------


def test_stems_are_what_no_envelope_writes_in_another_way() -> None:
    """They are short, never nearly nothing, and never what a hole holds."""
    assert stem_of('the "gpu" option is <unknown>') == " option is "
    assert stem_of('a "b" c "d" {library}') == 'a "b" c "d" '
    assert stem_of("Could not load dynamic library '{library}'") == "Could not load d"
    assert stem_of("{library} was not ${{FOUND}} in {a_very_long_name_of_a_hole}") == " was not $"


def test_places_are_the_same_without_the_library() -> None:
    """Overlapping and repeated ones too; it may be missing on some machine."""
    texts = ["abab", "ab", "b", "bab", "missing"]
    data = b"abababab b ab" * 3
    assert sorted(Finder(texts).find(data)) == sorted(one_by_one([text.encode() for text in texts], data))
    code = """
import sys
sys.modules["ahocorasick_rs"] = None  # what `import` finds where there is no wheel
from tests.unit import test_scan as t
seen = t.scan_text(f"one\\n{t.LINE}\\nan error\\n" * 3, t.KNOWN)
print([(s.id, s.count) for s in seen.shown.values()], len(seen.suspicious))
"""
    answer = run_python(code)
    assert answer.stdout == "[('not-loaded', 3), ('too-short', 3)] 1\n", answer.stderr


def calls(data: bytes) -> int:
    """Return how many functions, ours and built-in ones, one pass calls: its work, whatever the machine."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    stream = io.BytesIO(data)
    sys.setprofile(count)
    try:
        scan([Input(name="a", stream=stream)], KNOWN)
    finally:
        sys.setprofile(None)
    return counted


ANCHORS = [symptoms.anchor_of(pattern) for each in KNOWN for pattern in each.patterns]


@pytest.mark.parametrize("unit", [
    LINE + "\n", LINE, ANCHORS[0], "".join(map(stem_of, ANCHORS)), "error ", "error\n", "\n", "\r", "\r\n",
    "\x1b[", "\x1b]", "\x1b[1mx", "a-1 | ", '{"', '{"log":"error"}\n', '"\\\\', "{" * 1000 + "\n", "\x00",
    " ", "2026-11-20T05:43:12Z ", json.dumps({"log": json.dumps({"log": LINE})}) + "\n",
])
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    """Four times the text is four times the work (and the overlaps of a long line), whatever was written."""
    size = 25_000 if unit[-1] in "\r\n" else 120_000  # one long line becomes several stretches
    once = unit.encode() * (size // len(unit))
    small, large = calls(once), calls(once * 4)
    assert large <= 4.5 * small + 500


def test_ctrl_c_after_the_reading_loses_nothing() -> None:
    """Regression: it ended `explain` without a word while what had been read was understood."""
    calls: list[int] = []

    def work() -> str:
        calls.append(len(calls))
        if calls == [0]:
            signal.raise_signal(signal.SIGINT)
        return "found"

    assert finished(work) == "found"


def test_a_second_ctrl_c_ends_it() -> None:
    """Whoever presses it twice does not want to wait."""
    with pytest.raises(KeyboardInterrupt):
        finished(lambda: signal.raise_signal(signal.SIGINT))
