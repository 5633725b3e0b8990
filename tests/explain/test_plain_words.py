"""Texts in which nothing is understood: what their words are reported in, and when they say nothing."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import ruledb, texts
from gpudoctor.explanation import Told, explain
from gpudoctor.explanation.undecided import NO_FAULT
from gpudoctor.model import Certainty, RuleDatabase, Severity
from gpudoctor.unfamiliar.reports import Reports, telling
from tools import cause_words
from tools.table_file import render_table

CRANE = Reports([
    {"cause": "rope",
     "words": ("rope 9", "torn 8", "knot 5", "wire 6", "hook 7", "pull 4", "crane 9", "heavy 2")},
    {"cause": "motor", "words": ("motor 9", "hot 8", "lift 6", "crane 9", "gear 4", "smoke 5")},
])
TORN = frozenset({"rope", "torn", "knot", "wire", "hook", "pull", "crane", "heavy", "wind"})


@cache
def database() -> RuleDatabase:
    """Return the shipped rules, as a command reads them."""
    return ruledb.load_shipped("told")


def told(text: str) -> Told:
    """Return what is told of a text."""
    return explain(texts.read_text(text, database()), database())


def test_the_cause_whose_reports_have_the_words_comes_first() -> None:
    first, second = CRANE.guesses(TORN)
    assert (first.cause, second.cause) == ("rope", "motor")
    assert first.share > 0.9
    assert first.share + second.share == pytest.approx(1.0)
    assert "rope" in first.words
    assert not {"wind", "crane"}.intersection(first.words), "one is in no report, one in those of both"


@pytest.mark.parametrize("words", [
    {"rope", "torn"}, {"crane", "rope", "motor", "torn", "hot", "knot", "gear"}, set(),
])
def test_few_words_and_words_of_all_reports_say_nothing(words: set[str]) -> None:
    assert CRANE.guesses(frozenset(words)) == ()


@given(st.sets(st.sampled_from(sorted(TORN | {"motor", "hot", "smoke"}))))
def test_shares_are_those_of_one_whole(words: set[str]) -> None:
    guesses = CRANE.guesses(words)
    assert not guesses or sum(guess.share for guess in guesses) == pytest.approx(1.0)
    assert [guess.share for guess in guesses] == sorted((guess.share for guess in guesses), reverse=True)


def test_long_numbers_and_single_letters_tell_nothing() -> None:
    assert telling(["a 2 sm 86 at 139872 in cuDNN"]) == {"sm", "86", "cudnn"}


WOKEN = ("gpu worked in the morning, I closed the lid of the laptop over lunch, and after the wake only cpu "
         "is there, a reboot makes cuda come back")


def test_a_text_that_nothing_explains_is_answered_by_its_words() -> None:
    """As likely, never as certain, with the words for evidence and a question that decides."""
    first = told(WOKEN).findings[0]
    assert first.cause == "suspend-resume-uvm"
    assert first.certainty is Certainty.LIKELY
    assert first.asks
    assert any("are words of such reports" in evidence.source for evidence in first.evidence)


@pytest.mark.parametrize("text", [
    "the radio worked in the morning, after lunch only noise is there, a new fuse makes sound come back",
    "id 0    NVIDIA H100 80GB HBM3                              [SUPPORTED]\n  Compute Capability: 9.0\n",
    "['sm_75', 'sm_80', 'sm_86', 'sm_90', 'sm_100', 'sm_120'] 13.0 91900",
])
def test_what_is_not_of_gpus_or_of_no_trouble_is_not_guessed_at(text: str) -> None:
    assert [finding.cause for finding in told(text).findings if finding.severity is not Severity.BENIGN] == []


def test_the_table_is_what_the_written_texts_have() -> None:
    """Whoever adds a text runs `python -m tools.cause_words`."""
    found = cause_words.rows(cause_words.written())
    assert render_table(cause_words.TABLE, found) == cause_words.TARGET.read_text("utf-8")


def test_every_cause_of_the_table_has_a_page_or_is_none() -> None:
    causes = {rule.cause for rule in database().rules}
    rows = [str(row["cause"]) for row in database().tables["cause_words"].rows]
    assert set(rows) - causes == {NO_FAULT}
