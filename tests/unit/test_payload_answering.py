"""Answers are written as the json module writes them, and copied whole."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudoctor
from gpudoctor.payloads import answering

PAYLOAD = Path(gpudoctor.__file__).parent / "payloads" / "__main__.py"
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()))
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(
    st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(st.one_of(st.text(), st.integers()), inner)))


@given(VALUES)
def test_any_answer_is_written_as_json_writes_it(value: object) -> None:
    """Surrogates, endless numbers and keys that are numbers included."""
    assert answering.dumps(value) == json.dumps(value)


@given(VALUES)
def test_a_copy_is_written_as_the_original(value: object) -> None:
    """Tuples have become lists, which JSON does not tell apart."""
    assert json.dumps(answering.still(value)) == json.dumps(value)


def test_what_json_has_no_word_for_is_written_as_its_text() -> None:
    """Bytes of a library, say; a collector promises an answer."""
    assert answering.dumps({"what": b"\xff"}) == json.dumps({"what": str(b"\xff")})
    assert answering.still([b"x", math.pi]) == ["b'x'", math.pi]


def test_a_copy_does_not_change_with_the_original() -> None:
    """The thread that fills the notes may still be at work."""
    notes = {"calls": {"cuInit": {"code": 0}}}
    copy = answering.still(notes)
    notes["calls"]["cuInit"]["code"] = 1
    assert copy == {"calls": {"cuInit": {"code": 0}}}


@pytest.mark.parametrize("collector", ["cuda", "nvml"])
def test_asking_a_library_that_is_not_there_imports_no_regular_expressions(collector: str) -> None:
    """They take as long to import as everything else that this child does."""
    argv = [sys.executable, "-I", "-S", "-X", "importtime", str(PAYLOAD), collector, "1", "8.0"]
    run = subprocess.run(argv, env={"PATH": ""}, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "ctypes" in imported
    if json.loads(run.stdout)["load"].get("error"):
        assert imported & {"json", "re", "enum", "typing"} == set()


@pytest.mark.parametrize(("words", "expected"), [
    ([], {}), (["16.0"], {"answer_within_seconds": 16.0}), (['{"executable": "/x"}'], None)])
def test_a_request_may_be_the_limit_alone(words: list[str], expected: object) -> None:
    """A number needs no json module."""
    assert answering.limit_alone(words) == expected
