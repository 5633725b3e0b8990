"""Texts in which nothing is understood: what their words are reported in, and when they say nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.explanation.undecided import NO_FAULT
from gpudoctor.model import Certainty, Severity
from gpudoctor.unfamiliar.reports import Reports, telling
from tests.explain.shipped import database, told
from tools import cause_words

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CRANE = Reports([
    {"cause": "rope", "bias": -100,
     "words": ("rope", "torn", "knot", "wire", "hook", "pull", "crane", "rope torn", "heavy", "motor"),
     "weights": "150 90 60 60 70 50 40 80 20 -80"},
    {"cause": "motor", "bias": -100, "words": ("motor", "hot", "lift", "crane", "gear", "smoke", "rope"),
     "weights": "150 90 60 40 40 60 -80"},
    {"cause": NO_FAULT, "bias": -60, "words": ("paint", "crane", "torn", "hot"), "weights": "120 20 -60 -60"},
], NO_FAULT)
TORN = telling(["the crane pulls a heavy hook by wire", "rope torn at its knot, wind"])


def test_the_cause_whose_reports_have_the_words_comes_first() -> None:
    first, second = CRANE.guesses(TORN)
    assert (first.cause, second.cause) == ("rope", "motor")
    assert first.share > 0.9
    assert first.share + second.share == pytest.approx(1.0)
    assert first.ahead > 0.5
    assert first.words[:2] == ("rope", "torn")
    assert not {"wind", "motor"}.intersection(first.words), "one is in no report, one speaks against it"


def test_words_of_texts_without_a_fault_are_no_cause_and_put_every_cause_behind() -> None:
    first = CRANE.guesses(telling(["paint the crane", "paint its hook", "smoke of paint, gear, lift"]))[0]
    assert first.cause in ("rope", "motor")
    assert first.ahead < 0


def test_of_a_long_text_each_word_says_less() -> None:
    long = TORN | {f"word {number}" for number in range(200)}
    assert CRANE.guesses(long)[0].ahead < CRANE.guesses(TORN)[0].ahead


@pytest.mark.parametrize("words", [{"rope", "torn"}, {"rope", "torn", "rope torn", "knot", "hook"}, set()])
def test_few_words_say_nothing(words: set[str]) -> None:
    """A pair is no word more."""
    assert CRANE.guesses(frozenset(words)) == ()


@given(st.sets(st.sampled_from(sorted(TORN | {"motor", "hot", "smoke"}))))
def test_shares_are_those_of_one_whole(words: set[str]) -> None:
    guesses = CRANE.guesses(words)
    assert not guesses or sum(guess.share for guess in guesses) == pytest.approx(1.0)
    assert [guess.share for guess in guesses] == sorted((guess.share for guess in guesses), reverse=True)


def test_long_numbers_and_single_letters_tell_nothing() -> None:
    """Words that stand together in a line are a pair; those of two lines are none."""
    assert telling(["a 2 sm 86 at 139872", "in cuDNN"]) == {"sm", "86", "sm 86", "cudnn"}


WOKEN = ("gpu worked in the morning, I closed the lid of the laptop over lunch, and after the wake only cpu "
         "is there, a reboot makes cuda come back")


def test_a_text_that_nothing_explains_is_answered_by_its_words() -> None:
    """As likely, never as certain, with the words for evidence and a question that decides."""
    first = told(WOKEN).findings[0]
    assert first.cause == "suspend-resume-uvm"
    assert first.certainty is Certainty.LIKELY
    assert first.asks
    assert any("are words of such reports" in evidence.source for evidence in first.evidence)


def test_a_line_that_is_certainly_harmless_leaves_nothing_open() -> None:
    """What else the line shows is explained with it: it was quoted again as one that nobody knows."""
    found = told("W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic "
                 "library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file")
    assert [finding.cause for finding in found.findings] == ["benign-tensorrt-warning"]
    assert found.undecided == ()


@pytest.mark.parametrize("text", [
    "the radio worked in the morning, after lunch only noise is there, a new fuse makes sound come back",
    "id 0    NVIDIA H100 80GB HBM3                              [SUPPORTED]\n  Compute Capability: 9.0\n",
    "['sm_75', 'sm_80', 'sm_86', 'sm_90', 'sm_100', 'sm_120'] 13.0 91900",
])
def test_what_is_not_of_gpus_or_of_no_trouble_is_not_guessed_at(text: str) -> None:
    assert [finding.cause for finding in told(text).findings if finding.severity is not Severity.BENIGN] == []


def test_the_table_is_what_the_written_texts_have() -> None:
    """Whoever adds a text runs `python -m tools.cause_words`. A processor may round otherwise."""
    learnt = {str(row["cause"]): row for row in cause_words.rows(cause_words.written())}
    table = {str(row["cause"]): row for row in tomllib.loads(cause_words.TARGET.read_text("utf-8"))["row"]}
    assert learnt.keys() == table.keys()
    apart = [(cause, word) for cause in learnt
             for word, weight in _weights(learnt[cause]).items()
             if abs(weight - _weights(table[cause]).get(word, cause_words.LEAST_WEIGHT - 1)) > 1]
    gone = [(cause, word) for cause in learnt for word, weight in _weights(table[cause]).items()
            if word not in _weights(learnt[cause]) and abs(weight) > cause_words.LEAST_WEIGHT]
    assert (apart, gone) == ([], [])


def _weights(row: Mapping[str, Any]) -> dict[str, int]:
    weights = map(int, str(row["weights"]).split())
    return {"": int(row["bias"]), **dict(zip(map(str, row["words"]), weights, strict=True))}


def test_every_cause_of_the_table_has_a_page_or_is_none() -> None:
    causes = {rule.cause for rule in database().rules}
    rows = [str(row["cause"]) for row in database().tables["cause_words"].rows]
    assert set(rows) - causes == {NO_FAULT}
