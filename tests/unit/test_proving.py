"""What a page must prove: one thing is broken on a real page, and the linter says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.model import (
    Case, Certainty, Condition, Effect, Finding, Fix, Judgement, Operand, Rule, RuleDatabase, Source, Table,
    Value,
)
from gpudoctor.proving import problems_of
from gpudoctor.proving.form import form_problems
from gpudoctor.proving.proofs import as_expected, proof_problems, strangers
from gpudoctor.proving.sections import WITHOUT_ADVICE, section_problems
from gpudoctor.proving.tabled import table_problems

Change = Callable[[Rule], Rule]
LIMITED, TIGHT = "address space is limited", "out of memory at the start"


@cache
def database() -> RuleDatabase:
    """Return the rules that ship, with their pages."""
    return ruledb.load(extent="whole")


def page(identifier: str) -> Rule:
    """Return a page of theirs."""
    return next(rule for rule in database().rules if rule.id == identifier)


def limit(**changed: object) -> Rule:
    """Return the page on limited memory with parts of it changed."""
    return replace(page("GPD1070"), **changed)  # type: ignore[arg-type]


def with_rule(rule: Rule) -> RuleDatabase:
    """Return the rules with this page in place of the one of its id."""
    rules = tuple(rule if rule.id == old.id else old for old in database().rules)
    return replace(database(), rules=rules)


def condition(fact: str, value: Value) -> Condition:
    return Condition(fact=fact, op="equals", right=Operand(value=value))


def block(rule: Rule, name: str, *more: Condition) -> Rule:
    """Return the rule with conditions added to a block."""
    return replace(rule, detect=tuple(
        replace(block, when=(*block.when, *more)) if block.name == name else block for block in rule.detect))


def fix(*, fact: str, value: Value, when: tuple[Condition, ...] = ()) -> Fix:
    effect = (Effect(fact=fact, right=Operand(value=value)),)
    return Fix(kind="restart", title="Turn it off and on", risk="restart", when=when, effect=effect)


MATCH = next(case for case in page("GPD1070").case if case.expect == "match" and case.block == LIMITED)
PROOFS: dict[str, tuple[Rule, str]] = {
    "a verdict that the case does not get": (
        limit(case=(*page("GPD1070").case, Case(name="x", expect="clear", facts=MATCH.facts))),
        "case 'x': expected clear, got match"),
    "a block that did not match": (
        limit(case=(replace(MATCH, name="x", block="another"),)), "names block 'another', but"),
    "a block that is only likely beside one that is certain": (
        limit(case=(replace(MATCH, name="x", block=TIGHT),)), f"names block '{TIGHT}', which is only likely"),
    "facts that there are not": (
        limit(case=(Case(name="x", expect="clear", facts={"system.colour": "red"}),)), "system.colour"),
    "a condition that no case makes false": (
        block(page("GPD1070"), TIGHT, condition("system.os", "Linux")),
        f"no case makes system.os equals (block {TIGHT!r}) false"),
    "a condition that no case makes true": (
        block(page("GPD1070"), TIGHT, condition("system.os", "Hurd")),
        f"no case makes system.os equals (block {TIGHT!r}) true"),
    "a fact without which the block is decided all the same": (
        block(page("GPD1070"), LIMITED, Condition(
            fact="system.os", op="exists", right=Operand(other="system.kernel"))),
        f"with system.kernel hidden the block {LIMITED!r} is still decided"),
    "a fix that changes nothing of it": (
        limit(fix=(fix(fact="system.kernel", value="6.2"),)), "fix 'Turn it off and on' does not clear it"),
    "a fix that breaks something else": (
        limit(fix=(fix(fact="driver", value="none"),)), "fix 'Turn it off and on' does not clear it"),
    "a fix that is offered to no case": (
        limit(fix=(*page("GPD1070").fix, fix(fact="system.kernel", value="6.2",
                                             when=(condition("system.os", "Hurd"),)))),
        "no case is offered the fix 'Turn it off and on'"),
    "a case that is offered no fix": (
        limit(fix=tuple(replace(one, when=(condition("system.os", "Hurd"),)) for one in page("GPD1070").fix)),
        "it is offered []; where that is right, the case names them"),
    "a case that is offered another fix than it names": (
        limit(case=(replace(MATCH, name="x", offers=("Another",)),)), "case 'x': it is offered ['"),
    "a summary with a blank": (
        limit(summary="cuInit gave up on {gpu.name} with {framework.name}"), "the summary names gpu.name"),
}


@pytest.mark.parametrize("kind", PROOFS)
def test_a_page_that_does_not_prove_itself(kind: str) -> None:
    """Each check of the proofs has a page that it refuses, and says which case or condition it is."""
    broken, said = PROOFS[kind]
    assert list(proof_problems(page("GPD1070"), database())) == []
    problems = list(proof_problems(broken, with_rule(broken)))
    assert [problem for problem in problems if said in problem] != [], problems


def test_pages_of_a_family_that_match_together_name_each_other() -> None:
    """Both of them, in their texts: whoever reads one must learn of the other."""
    nouveau, module = page("GPD2002"), page("GPD2004")
    assert "GPD2004" in nouveau.page
    silent = replace(nouveau, page=nouveau.page.replace("GPD2004", ""))
    said = "GPD2004 matches as well: the page of GPD2002 must name GPD2004"
    assert any(said in problem for problem in proof_problems(silent, with_rule(silent)))
    other = replace(module, page=module.page.replace("GPD2002", ""))
    said = "GPD2002 matches as well: the page of GPD2004 must name GPD2002"
    assert any(said in problem for problem in proof_problems(nouveau, with_rule(other)))


def test_pages_that_only_a_third_page_s_case_shows_together_name_each_other() -> None:
    """A card that vfio-pci has, on a case of the page on nouveau: nobody looked at the others there."""
    silent = replace(page("GPD2000"), page=page("GPD2000").page.replace("GPD2004", ""))
    said = "GPD2004 matches as well: the page of GPD2000 must name GPD2004"
    assert any(said in problem for problem in proof_problems(page("GPD2002"), with_rule(silent)))


def test_a_published_page_names_no_page_of_a_site_that_names_it() -> None:
    """`rules lint` with a site's own pages demanded that of dozens of pages that nobody there may change."""
    module, sites = page("GPD2004"), replace(page("GPD2002"), id="GPDX0001", cause="ours")
    both = replace(database(), rules=(*(rule for rule in database().rules if rule.id != "GPD2002"), sites))
    assert not [problem for problem in proof_problems(module, both) if "GPDX0001" in problem]
    assert not [problem for problem in proof_problems(sites, both) if "must name" in problem]
    silent = replace(sites, page=sites.page.replace("GPD2004", ""))
    beside = replace(both, rules=(*both.rules[:-1], silent))
    said = "GPD2004 matches as well: the page of GPDX0001 must name GPD2004"
    assert any(said in problem for problem in proof_problems(silent, beside))
    found = Judgement(undecided=(), findings=tuple(Finding(
        rule=rule.id, cause=rule.cause, severity=rule.severity, subject="host", message="",
        certainty=Certainty.CERTAIN) for rule in (module, silent)))
    assert list(strangers(found, beside, module)) == list(strangers(found, beside)) == []
    assert list(strangers(found, beside, silent)) == [said]


@pytest.mark.parametrize(("named", "has_fix", "is_offered", "expected"), [
    (None, True, True, True), (None, True, False, False), (None, False, False, True),
    (("Turn it",), True, True, True), (("Turn it",), True, False, False), (("Another",), True, True, False),
    ((), True, False, True), ((), True, True, False)])
def test_a_match_is_offered_what_its_case_names_and_else_something(
        named: tuple[str, ...] | None, has_fix: bool, is_offered: bool, expected: bool) -> None:
    """A page whose fixes leave out the machine of a case was proven all the same."""
    [one] = [fix(fact="system.kernel", value="6.1")]
    rule = limit(fix=(one,) if has_fix else ())
    assert as_expected(replace(MATCH, offers=named), rule, [one] if is_offered else []) is expected


FORMS: dict[str, tuple[Rule, str]] = {
    "an id": (limit(id="GPD17"), "the id 'GPD17' is not GPDnnnn"),
    "a file": (limit(path="host/limits.md"), "the file must be called"),
    "no case": (limit(case=()), "no [[case]]"),
    "no source": (limit(source=()), "no [[source]]"),
    "an undated source": (limit(source=(Source(url="https://example.org"),)), "lacks the day it was read"),
    "a source of no day": (
        limit(source=(Source(url="https://example.org", accessed="2026-02-30"),)), "lacks the day"),
    "a page that there is not": (
        limit(page=page("GPD1070").page + "\nSee GPD7777.\n"), "its text names GPD7777, which is no page"),
    "a fact in the text": (
        limit(page=page("GPD1070").page.replace("answered 2", "answered {cuda.init_code}")),
        "its text has {cuda.init_code}"),
    "a fact in the title": (limit(title="Give {gpu.name} memory"), "its text has {gpu.name}"),
    "wheels alone": (limit(source=(Source(url="pypi:torch==2.15.0"),)), "wheels are its only sources"),
    "a source that is none": (limit(source=(Source(url="somebody"),)), "neither https:// nor pypi:"),
    "a section": (limit(page=page("GPD1070").page.replace("## How to check", "")), "\"## How to check\""),
    "a section of nothing": (
        limit(page=re.sub(r"(## Versions it applies to\n).*", r"\1", page("GPD1070").page, flags=re.DOTALL)),
        "\"## Versions it applies to\", or the section is empty"),
    "no wrong advice": (
        limit(page=page("GPD1070").page.replace("Common wrong advice:", "By the way:")),
        "the page names no wrong advice"),
    "a name in braces": (limit(summary="{system.colour}"), "there is no fact system.colour"),
    "a name of another scope": (limit(summary="{gpu.name}"), "not visible in scope 'host'"),
    "likely without a question": (limit(ask=()), "no [[ask]] says what would decide"),
    "two blocks of a name": (
        limit(detect=tuple(replace(b, name=TIGHT) for b in page("GPD1070").detect)), "two blocks are called"),
    "something left open": (limit(title="FILL IN: what to do"), "still to be filled in: 1"),
    "a fix without effect": (
        limit(fix=(Fix(kind="restart", title="Hope", risk="safe"),)), "nothing can prove it"),
    "a fix for root that would be run unasked": (
        limit(fix=(Fix(kind="system", title="Write", risk="safe", commands=("echo ON | sudo tee /x",)),)),
        "acts as root"),
    "a container that not every engine starts": (
        limit(fix=(Fix(kind="container", title="Start", risk="restart",
                       commands=("docker run --rm --gpus all I",)),)),
        "asks for GPUs as not every engine takes them"),
    "a variable that is set otherwise than proven": (
        limit(fix=(replace(fix(fact="environment.XLA_FLAGS", value="a"), env={"XLA_FLAGS": "b"}),)),
        "is not proven as it is printed: XLA_FLAGS is 'b' in it, and in its effect 'a'"),
    "a variable that no effect unsets": (
        limit(fix=(replace(fix(fact="system.kernel", value="6"), commands=("unset CUDA_VISIBLE_DEVICES",)),)),
        "CUDA_VISIBLE_DEVICES is '' in it, and in its effect 'not in it'"),
    "a log that is offered fixes": (
        limit(case=(Case(name="x", expect="match", log="words", offers=()),)), "and is offered no fix"),
    "a next step that leaves the image": (
        limit(fix=(Fix(kind="pip", title="Look", risk="safe", by_hand=True,
                       commands=("gpudoctor check --python ITS",)),)),
        "fix 'Look' leaves the image that was examined"),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_page_of_a_wrong_form(kind: str) -> None:
    """Each check of the form has a page that it refuses."""
    broken, said = FORMS[kind]
    assert list(form_problems(page("GPD1070"), database())) == []
    problems = list(form_problems(broken, with_rule(broken)))
    assert [problem for problem in problems if said in problem] != [], problems


def test_a_page_without_wrong_advice_has_its_reason() -> None:
    """Every page names some, or its cause stands there; an entry that is not needed is a problem."""
    for rule in database().rules:
        assert list(section_problems(rule)) == [], rule.id
        excused = [cause for cause in WITHOUT_ADVICE if cause == rule.cause]
        assert excused == [] or "wrong advice" not in rule.page.lower()
    assert set(WITHOUT_ADVICE) <= {rule.cause for rule in database().rules}
    needless = replace(page("GPD9010"), page=page("GPD9010").page + "\nCommon wrong advice: guessing.\n")
    assert [problem for problem in section_problems(needless) if "has no place in WITHOUT_ADVICE" in problem]


def test_a_page_of_a_site_needs_no_wrong_advice() -> None:
    """Nothing circulates about what only one place has."""
    silent = page("GPD1070").page.replace("Common wrong advice:", "By the way:")
    assert list(section_problems(limit(id="GPDX0001", page=silent))) == []


def test_an_id_of_two_pages_is_found() -> None:
    """Also where both pages are sound by themselves."""
    twice = replace(database(), rules=(page("GPD1070"), page("GPD1070")), symptoms=())
    path = page("GPD1070").path
    said = f"{path}: the id GPD1070 is also that of {path}; each page has its own"
    assert next(iter(problems_of(twice, lambda _: ()))) == said


@pytest.mark.parametrize(("row", "said"), [
    ({"source": "https://example.org"}, "row 2: its https source lacks the day it was read"),
    ({"source": "https://example.org", "accessed": "yesterday"}, "row 2: its https source lacks the day"),
    ({"source": "https://example.org", "accessed": "2026-02-30"}, "row 2: its https source lacks the day"),
    ({"source": "somebody"}, "row 2: its source 'somebody' is neither"),
    ({"source": "pypi:cards==1", "name": "A"}, "2 rows have the key A"),
])
def test_a_table_that_does_not_say_where_it_was_read(row: dict[str, Value], said: str) -> None:
    """Or that has two answers to one question."""
    first: dict[str, Value] = {"name": "A", "source": "https://example.org", "accessed": "2026-11-20"}
    other: dict[str, Value] = {"name": "B", **row}
    columns = {"name": "text", "source": "text", "accessed": "text"}
    table = Table(name="cards", summary="", key=("name",), columns=columns, rows=(first, other))
    (problem,) = table_problems(replace(database(), tables={"cards": table}))
    assert problem.startswith(f"tables/cards.toml: {said}")


def test_a_database_that_says_nothing_wrong_has_certain_and_likely_blocks() -> None:
    """The tests above would prove little on a page of one kind."""
    assert {block.certainty for block in page("GPD1070").detect} == {Certainty.CERTAIN, Certainty.LIKELY}
