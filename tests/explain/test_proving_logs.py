"""What symptoms and pages of texts must prove: causes that exist, conditions that fit, logs that show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor.model import Case, Comparison, Condition, Fix, Operand, RuleDatabase, Suspect, SymptomPattern
from gpudoctor.proving.form import form_problems
from gpudoctor.proving.logs import log_problems
from gpudoctor.proving.said import symptom_problems
from tests.explain.cranes import HOOK, SQUEAK, causes, database

_CASES = (Case(name="torn", expect="match", log="the rope"),
          Case(name="whole", expect="clear", log="all well"))


def hook(**changed: object) -> RuleDatabase:
    """Return the database with the first symptom changed."""
    first, *rest = database().symptoms
    return replace(database(), symptoms=(replace(first, **changed), *rest))  # type: ignore[arg-type]


def suspecting(*suspects: Suspect) -> RuleDatabase:
    """Return the database with other suspects of the first symptom."""
    return hook(suspects=suspects)


def test_the_crane_proves_itself() -> None:
    """Its symptoms are sound; the tests below change one thing each."""
    assert list(symptom_problems(database())) == []


@pytest.mark.parametrize(("changed", "says"), [
    (suspecting(Suspect(cause="no-such-cause", weight=5)), "suspects 'no-such-cause', which is"),
    (suspecting(Suspect(cause="hook-missing", weight=101)), "it is 1 to 100"),
    (suspecting(Suspect(cause="hook-missing", weight=5, when=(Condition(
        fact="text.colour", op="exists"),))), "there is no fact text.colour"),
    (suspecting(Suspect(cause="hook-missing", weight=5, when=(Condition(
        fact="framework.name", op="exists"),))), "not visible in scope 'host'"),
    (suspecting(Suspect(cause="hook-missing", weight=5, when=(Condition(
        fact="text.places", op="equals", right=Operand(value="docker")),))), "is no texts"),
    (suspecting(Suspect(cause="hook-missing", weight=5, when=(Condition(
        fact="text.cuda", op="contains", right=Operand(value="11")),))), "is no list"),
    (hook(against=("nothing-known",)), "is against 'nothing-known'"),
    (hook(holds=(Comparison(left="metre", op="near", right="library"),)), "compares metre by 'near'"),
    (hook(holds=(Comparison(left="metre", op="below", right="library"),)), "compares {metre}, which not"),
    (hook(gives={"system.os": "library"}), "which is no fact of a text"),
    (hook(gives={"text.os": "metre"}), "neither a hole of a pattern nor"),
    (hook(benign=True, suspects=(Suspect(cause="hook-missing", weight=5),)), "suspects no benign cause"),
    (hook(patterns=(), examples=(), captures={}), "without a condition, and has no pattern"),
])
def test_a_symptom_with_a_wrong_suspect_is_found(changed: RuleDatabase, says: str) -> None:
    """Each wrong word has its own line."""
    assert [problem for problem in symptom_problems(changed) if says in problem] != []


@pytest.mark.parametrize(("changed", "says"), [
    ({"ask": ()}, "no [[ask]] that says"),
    ({"cause": "rope-wet"}, "no symptom suspects its cause"),
    ({"case": _CASES[:1]}, "no case with a log that does not show"),
    ({"case": _CASES[1:]}, "no case with a log that shows"),
    ({"case": (*_CASES, Case(name="bare", expect="match"))}, "has no log, and the page no [[detect]]"),
    ({"case": (*_CASES, Case(name="both", expect="match", log="x", facts={"driver": "1"}))}, "neither facts"),
    ({"case": (*_CASES, Case(name="open", expect="undecided", log="x"))}, "match, first or clear"),
    ({"case": (*_CASES, Case(name="early", expect="first"))}, "only the cause of a log can be"),
])
def test_a_page_that_only_texts_show_needs_questions_and_logs(changed: dict[str, object], says: str) -> None:
    """And no fix of it needs an effect: there is no machine to prove one on."""
    rope = next(rule for rule in database().rules if rule.cause == "rope-torn")
    fix = Fix(kind="hardware", title="Knot it", risk="safe")
    whole = replace(rope, case=_CASES, fix=(fix,))
    before = list(form_problems(whole, database()))
    assert says in "\n".join(form_problems(replace(whole, **changed), database()))  # type: ignore[arg-type]
    assert not any(says in problem or "effect" in problem for problem in before)


@pytest.mark.parametrize(("expect", "log", "problem"), [
    ("first", HOOK, None), ("match", HOOK, None), ("clear", SQUEAK, None),
    ("first", f"{HOOK}\ncuda: 11.2\nplatform: linux\ncrane: the rope is torn at 3 m", "hook-missing first"),
    ("match", SQUEAK, "hook-missing among the candidates"), ("clear", HOOK, "no hook-missing"),
])
def test_a_log_gives_what_its_case_says(expect: str, log: str, problem: str | None) -> None:
    """The causes that are told of it, in order."""
    page = next(rule for rule in database().rules if rule.cause == "hook-missing")
    case = Case(name="a log", expect=expect, log=log)  # type: ignore[arg-type]
    found = list(log_problems(replace(database(), rules=(replace(page, case=(case,)),)), causes))
    assert found == [] if problem is None else f"expected {problem}, got" in found[0]


def test_a_symptom_reads_back_with_its_suspects() -> None:
    """Conditions in the pages' language, whose right-hand side is gathered."""
    first: SymptomPattern = database().symptoms[0]
    assert first.suspects[1] == Suspect(
        cause="hook-missing", weight=70, because="an image seldom has a hook",
        when=(Condition(fact="text.places", op="contains", right=Operand(value="docker")),))
    assert first.framework == "crane"
