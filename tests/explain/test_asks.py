"""Which question of a page is asked: the one in the words of the framework at hand, filled in."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from gpudoctor import derive, ruledb, texts
from gpudoctor.editions import differences
from gpudoctor.explanation import explain, findings, subjects
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.model import Ask, Condition, Known, Operand, Rule, RuleDatabase, Snapshot, Subject, Value
from gpudoctor.proving.form import form_problems
from gpudoctor.remedy import asked
from gpudoctor.words import PLACEHOLDER
from tests.contract.checkout import RULES

STATED = {"torch": "pytorch"}  # what a person calls it
_OF_TORCH = Ask(question="t", command="python -c 'import torch'", when=(
    Condition(fact="framework.name", op="equals", right=Operand(value="torch")),))
_FILLED = Ask(question="Where is {framework.name}?",
              command="{python.executable} -c 'import {framework.name}'",
              answers={"there": "{framework.name} is there"})
_LAST = Ask(question="else", command="gpudoctor check")


@cache
def database() -> RuleDatabase:
    """Return the pages as they stand in the checkout."""
    return ruledb.load_pages(RULES)


def subject(**facts: Value) -> Subject:
    """Return a subject with these facts, a dot written as two underscores."""
    return Subject(name="test", facts={name.replace("__", "."): Known(value=value, source="test")
                                       for name, value in facts.items()})


@cache
def of_text(framework: str | None, platform: str = "linux") -> Subject:
    """Return what a text that states nothing but its framework and platform lets one suppose."""
    stated = "" if framework is None else f"\nframework: {STATED.get(framework, framework)}"
    reading = texts.read_text(f"it fails{stated}\nplatform: {platform}\n", database())
    told = subjects.told_snapshot(reading, subjects.text_facts(reading, database()), None)
    return subjects.supposed_subject(told, database())


@cache
def of_image(framework: str | None) -> Subject:
    """Return what is seen of a framework in an image."""
    host = {"image.reference": Known(value="app:1", source="test"),
            "image.engine": Known(value="docker", source="test"),
            "python.executable": Known(value="/venv/bin/python", source="test")}
    facts = {} if framework is None else {"framework.name": Known(value=framework, source="test")}
    seen = Snapshot(host=host, gpus=(), frameworks=(facts,), probes=())
    return subjects.whole_subject(derive.subjects(seen, database()))


def test_the_first_question_that_fits_is_asked() -> None:
    """A condition that holds, else one whose words are known, else the last."""
    asks = (_OF_TORCH, _FILLED, _LAST)
    for machine, command in (
            (subject(framework__name="torch"), "python -c 'import torch'"),
            (subject(framework__name="jax", python__executable="/a b/python"),
             "'/a b/python' -c 'import jax'"),
            (subject(framework__name="jax"), "gpudoctor check"), (subject(), "gpudoctor check")):
        assert [ask.command for ask in asked(asks, machine, {})] == [command]
    (filled,) = asked((_FILLED,), subject(framework__name="jax", python__executable="python"), {})
    assert (filled.question, dict(filled.answers)) == ("Where is jax?", {"there": "jax is there"})
    assert asked((_OF_TORCH,), subject(framework__name="jax"), {}) == ()


@pytest.mark.parametrize("framework", [*FRAMEWORKS, None])
def test_no_page_asks_about_another_framework(framework: str | None) -> None:
    """What torch said of its build was answered with `import tensorflow`."""
    others = "|".join(name for name in FRAMEWORKS if name != framework)
    for rule in database().rules:
        for ask in asked(rule.ask, of_text(framework), database().tables):
            assert re.findall(rf"\bimport (?:{others})\b", ask.command) == [], rule.id
            assert PLACEHOLDER.findall(f"{ask}") == [], rule.id


def test_every_question_of_every_page_is_asked_somewhere() -> None:
    """A question that no framework leads to would never be read."""
    for rule in database().rules:
        numbered = [replace(ask, question=str(number)) for number, ask in enumerate(rule.ask)]
        seen = [of_image(framework) for framework in (*FRAMEWORKS, None)]
        seen += [of_text(framework, platform) for framework in (*FRAMEWORKS, None)
                 for platform in ("linux", "windows", "macos")]
        found = {ask.question for subject in seen for ask in asked(numbered, subject, database().tables)}
        assert found == {ask.question for ask in numbered}, rule.id


@pytest.mark.parametrize("framework", [*FRAMEWORKS, None])
def test_no_question_about_an_image_leaves_it(framework: str | None) -> None:
    """Who had an image examined was told to run `gpudoctor check`, which looks at the machine."""
    for rule in database().rules:
        for ask in asked(rule.ask, of_image(framework), database().tables):
            said = " ".join((ask.question, ask.command, *ask.answers.values()))
            assert re.findall(r"gpudoctor (?:check|snapshot)(?! --(?:image|container) | on the host)",
                              said) == [], rule.id


def test_a_log_of_torch_is_asked_about_torch() -> None:
    """From the text to the report."""
    log = "AssertionError: Torch not compiled with CUDA enabled\n"
    (finding, *_) = explain(texts.read_text(log, database()), database()).findings
    (ask,) = finding.asks
    assert "torch.version.cuda" in ask.command
    assert "tensorflow" not in ask.command


def test_a_log_of_windows_is_asked_what_windows_can_answer() -> None:
    """`ldconfig -p | grep` is no command there."""
    log = "Could not load dynamic library 'cudnn64_8.dll'; dlerror: cudnn64_8.dll not found\n"
    found = explain(texts.read_text(log, database()), database()).findings
    asks = {finding.cause: finding.asks[0].command for finding in found if finding.asks}
    assert asks["cudnn-missing"] == "where.exe cudnn*.dll"


def test_a_driver_that_is_too_old_has_a_cure_in_a_text_too() -> None:
    """The page's own title, a diagnosis, stood where the fix belongs; 11040 is its CUDA, 11.4."""
    log = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n"
    (finding, *_) = explain(texts.read_text(log, database()), database()).findings
    first, *_, last = finding.fixes
    assert first.title.startswith("Update the NVIDIA driver")
    index = "https://download.pytorch.org/whl/cu118"
    assert last.commands == (f"python -m pip install torch==2.6.0+cu118 --index-url {index}",)


def test_a_driver_to_name_leaves_open_that_an_older_one_will_do() -> None:
    """It named driver 580 alone, for a build of CUDA 12."""
    log = ("torch 2.3.1+cu121 on ubuntu 20.04\nRuntimeError: The NVIDIA driver on your system is too old "
           "(found version 11040).\n")
    (finding, *_) = explain(texts.read_text(log, database()), database()).findings
    assert "(the oldest that will do is 525.60.13)" in finding.fixes[0].title


@pytest.mark.parametrize(("asks", "says"), [
    ((_LAST, _LAST), "question 'else' always holds: it is the last"),
    ((_OF_TORCH,), "the last question 't' has conditions or names facts"),
    ((_FILLED,), "the last question 'Where is {framework.name}?' has conditions or names facts"),
    ((Ask(question="t", command="python -c 'import torch'"),), "imports torch, whatever the framework is"),
    ((_LAST,), "leaves the image that was examined: write {container.check_command}"),
    ((Ask(question="{no.such} fact", command="ls"), _LAST), "there is no fact no.such"),
    ((Ask(question="t", command="ls", when=(Condition(fact="framework.name", op="below", right=Operand(
        value="x")),)), _LAST), "question 't': framework.name below: text has no order"),
])
def test_a_question_that_nobody_is_asked_rightly_is_found(asks: tuple[Ask, ...], says: str) -> None:
    """Each mistake has its own line."""
    found = list(form_problems(_page_with(asks), database()))
    assert [problem for problem in found if says in problem] != [], found


def _page_with(asks: tuple[Ask, ...]) -> Rule:
    rules = findings.rules_by_cause(database().rules)
    return replace(rules["driver-too-old"], ask=asks)


def test_a_question_that_is_new_is_told_with_its_conditions() -> None:
    """`rules diff` tells two questions of the same words apart."""
    asks = (_OF_TORCH, replace(_OF_TORCH, when=()))
    pages = [replace(database(), rules=(_page_with(part),)) for part in (asks[1:], asks)]
    assert [one.what for one in differences(*pages)] == [
        "question is new: 't' where framework.name is equal to torch"]


def test_one_question_decides_whether_harmless_lines_are_more() -> None:
    """Each of them asked its own, beside the one that names what else it may be."""
    log = ("E cuda_dnn.cc:9342] Unable to register cuDNN factory: Attempting to register factory for plugin "
           "cuDNN when one has already been registered\n"
           "Could not find cuda drivers on your machine, GPU will not be used.\n")
    first, *rest = explain(texts.read_text(log, database()), database()).findings
    (ask,) = first.asks
    assert "if it is a fault" in ask.answers
    assert [finding.asks for finding in rest] == [()]
