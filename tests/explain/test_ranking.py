"""Scores of causes: noisy-or over symptoms, the heaviest entry that holds, and what speaks against."""

from __future__ import annotations

import pytest

from gpudoctor import derive, texts
from gpudoctor.explanation import findings, subjects
from gpudoctor.explanation.ranking import Candidate, ranked
from tests.explain.cranes import CUDNN, HOOK, STILL, TORN, database


def scores(*lines: str) -> dict[str, float]:
    """Return each candidate's score."""
    return {candidate.cause: round(candidate.score, 4) for candidate in candidates(*lines)}


def candidates(*lines: str) -> tuple[Candidate, ...]:
    """Return the candidates of a text."""
    reading = texts.read_text("\n".join(lines), database())
    facts = subjects.text_facts(reading, database())
    snapshot = subjects.told_snapshot(reading, facts, None)
    subject = subjects.whole_subject(derive.subjects(snapshot, database()))
    rules = findings.rules_by_cause(database().rules)
    return ranked(reading.said, subjects.by_id(database()), subject, database().tables, rules)


def test_a_cause_has_the_weight_of_its_entry() -> None:
    """One symptom: the weights themselves, heaviest first."""
    assert scores(HOOK) == {"hook-missing": 0.4, "hook-of-other-make": 0.3, "benign-crane-parked": 0.2}


def test_a_symptom_counts_once_however_often_it_is_said() -> None:
    """A loop that prints a line a thousand times is no better reason than one that prints it once."""
    assert scores(*[HOOK] * 1000) == scores(HOOK)


def test_symptoms_add_up_as_independent_reasons() -> None:
    """1 - (1 - 0.4)(1 - 0.1)."""
    assert scores(HOOK, STILL)["hook-missing"] == 0.46


def test_the_heaviest_entry_whose_conditions_hold_counts() -> None:
    """In a container the hook is more often missing; elsewhere the unconditional entry stands."""
    assert scores(HOOK, "platform: docker")["hook-missing"] == 0.7
    assert scores(HOOK, "platform: linux")["hook-missing"] == 0.4


def test_an_unknown_condition_does_not_count() -> None:
    """Nothing is stated of cuDNN, so nothing differs from what is missing."""
    assert scores(CUDNN)["hook-of-other-make"] == 0.3
    assert scores(CUDNN, "cudnn: 9.1.0")["hook-of-other-make"] == 0.8
    assert scores(CUDNN, "cudnn: 8.9.7")["hook-of-other-make"] == 0.3


def test_a_symptom_against_a_cause_leaves_it_a_tenth() -> None:
    """Who sees the rope torn has the hook."""
    assert scores(HOOK, TORN)["hook-missing"] == pytest.approx(0.04)


def test_what_a_message_says_of_this_very_text_holds_anyway() -> None:
    """The other reasons keep their tenth beside it: 1 - (1 - 0.6)(1 - 0.04)."""
    refused = "crane: this hook is refused"
    assert scores(refused, TORN)["hook-missing"] == 0.6
    assert scores(HOOK, refused, TORN)["hook-missing"] == 0.616


def test_a_candidate_knows_which_symptoms_speak_for_it_and_against_it() -> None:
    """Each with the entry that counted."""
    found = {candidate.cause: candidate for candidate in candidates(HOOK, STILL, TORN, "platform: docker")}
    assert {name: suspect.weight for name, suspect in found["hook-missing"].suspicions.items()} == {
        "crane-hook-missing": 70, "crane-stands-still": 10}
    assert found["hook-missing"].opposed == ("crane-rope-torn",)


def test_only_what_both_claim_is_held_against_a_fault() -> None:
    """A squeak elsewhere does not make the message about the hook any more harmless."""
    parked = {one.cause: one for one in candidates(HOOK, STILL)}["benign-crane-parked"]
    assert parked.score_of({"crane-hook-missing"}) == pytest.approx(0.2)
    assert parked.score_of({"crane-rope-torn"}) == 0.0
