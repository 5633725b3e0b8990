"""Every catalogued fact has somebody who finds it out, and somebody who asks for it."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.facts import CATALOGUE, FILE, TEXT, FactSpec
from gpudoctor.model import Fact, Known, RuleDatabase, Subjects
from tests.contract.checkout import PACKAGE, files_below, parsed

_NAME = re.compile(r"[a-z]+\.[A-Za-z_0-9]+")
_VARIABLES = "environment."  # one name for each; the probe reads them by a list
# they look facts up for a program, a person or a file, whatever their meaning
_KNOW_NONE = {"facts", "variables", "codec", "schema", "compiled", "engine"}


@cache
def database() -> RuleDatabase:
    """Return the rules that ship."""
    return ruledb.load(extent="whole")


@cache
def named_in_code() -> dict[str, frozenset[str]]:
    """Return the dotted names in each part's strings."""
    found: dict[str, set[str]] = {}
    for path in files_below(PACKAGE):
        if path.suffix == ".py":
            part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
            texts = [node.value for node in ast.walk(parsed(path))
                     if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            found.setdefault(part, set()).update(_NAME.findall(" ".join(texts)))
    return {part: frozenset(names) for part, names in found.items()}


@cache
def asked_for() -> frozenset[str]:
    """Return the facts that a rule or a symptom reads, or that a part which concludes something names."""
    rules = [(rule.detect, rule.fix, rule.summary, rule.told) for rule in database().rules]
    said = [tuple(symptom.suspects) for symptom in database().symptoms]
    parts = named_in_code().keys() - _KNOW_NONE - {"probes", "payloads", "lint"}
    return frozenset(_NAME.findall(repr((rules, said)))).union(*(named_in_code()[part] for part in parts))


@pytest.mark.parametrize("spec", CATALOGUE.values(), ids=lambda spec: spec.name)
def test_a_fact_is_asked_for_or_marked_informative(spec: FactSpec) -> None:
    """What nobody asks for is looked at on every machine for nothing, unless it is there to be read."""
    assert spec.informative is (spec.name not in asked_for())


def producers(spec: FactSpec) -> frozenset[str]:
    """Return the names that the fact's own producers have in their code or, of a text, in the symptoms."""
    if spec.probe == TEXT:
        given = (name for symptom in database().symptoms for name in symptom.gives)
        return frozenset(given) | named_in_code()["sources"] | named_in_code()["explanation"]
    if spec.probe == FILE:
        return named_in_code()["manifests"]
    if spec.probe == "require":
        return named_in_code()["examine"] | named_in_code()["cli"] | named_in_code()["derive"]
    return named_in_code()["probes"]


READ = [spec for spec in CATALOGUE.values() if not spec.derived and not spec.name.startswith(_VARIABLES)]


@pytest.mark.parametrize("spec", READ, ids=lambda spec: spec.name)
def test_a_fact_is_produced_by_its_probe_or_by_a_symptom(spec: FactSpec) -> None:
    """A name that no reader writes is one that always reads unknown."""
    assert spec.name in producers(spec)


@cache
def judged() -> Subjects:
    """Return the subjects of a machine with a card and a framework."""
    facts: dict[str, Fact] = {"release": Known(value="torch==2.10.0", source="the test")}
    return derive.subjects(lay(database().base, facts, database().tables, source="the test"), database())


@pytest.mark.parametrize("spec", [spec for spec in CATALOGUE.values() if spec.derived],
                         ids=lambda spec: spec.name)
def test_a_derived_fact_has_a_derivation(spec: FactSpec) -> None:
    """In the subjects of its scope, on a machine with a card and a framework."""
    subjects = judged()[spec.scope]
    assert subjects
    assert [subject.name for subject in subjects if spec.name not in subject.facts] == []
