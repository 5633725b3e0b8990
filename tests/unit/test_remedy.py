"""Fixes are made concrete, proven on the snapshot, and consequences are folded under their causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpudoctor import remedy, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Absent, Fact, Fix, Known, RuleDatabase, Snapshot, Subject, Value

HOSTILE = "/home/a b/$(touch x);`id`/venv/bin/python"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped()


def subject(**facts: Value) -> Subject:
    """Return a host with these facts; `python__executable` stands for python.executable."""
    known: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="a test")
                              for name, value in facts.items()}
    return Subject(name="host", facts=known)


def machine(database: RuleDatabase, facts: Mapping[str, Value], absent: tuple[str, ...] = ()) -> Snapshot:
    """Return the base machine with these facts, and without others."""
    laid: dict[str, Fact] = {name: Known(value=value, source="a test") for name, value in facts.items()}
    laid.update({name: Absent(source="a test") for name in absent})
    return lay(database.base, laid, database.tables, source="a test")


def test_values_in_commands_are_quoted() -> None:
    """Whatever a path holds, the shell sees one word; lists become words, folders one word with colons."""
    fix = Fix(kind="pip", title="{python.executable}", risk="safe",
              commands=("{python.executable} -m pip", "use {system.gpu_modules}",
                        "look {loader.library_path}"))
    found = remedy.concretise(fix, subject(python__executable=HOSTILE, system__gpu_modules=("a b", "c"),
                                           loader__library_path=("/x y", "/z")))
    assert found is not None
    assert found.commands == (f"'{HOSTILE}' -m pip", "use 'a b' c", "look '/x y:/z'")


def test_a_value_that_looks_like_a_hole_is_not_filled() -> None:
    """A folder called {system.kernel} would bring quotes into its own quotes."""
    fix = Fix(kind="pip", title="x", risk="safe", commands=("{python.executable} -m pip {system.kernel}",),
              env={"A": "{python.executable}:{system.kernel}"})
    found = remedy.concretise(fix, subject(python__executable="/a b/{system.kernel}", system__kernel="6;x"))
    assert found is not None
    assert found.commands == ("'/a b/{system.kernel}' -m pip '6;x'",)
    assert found.env == {"A": "/a b/{system.kernel}:6;x"}


def test_a_fix_that_needs_an_unknown_value_is_none() -> None:
    """Half a command is no command."""
    fix = Fix(kind="pip", title="x", risk="safe", commands=("{python.executable} -m pip",))
    assert remedy.concretise(fix, subject()) is None


def test_a_list_of_folders_with_none_left_unsets_the_variable() -> None:
    """An empty value would be another thing than no value."""
    fix = Fix(kind="environment", title="x", risk="safe", env={"LD_LIBRARY_PATH": "{loader.library_path}"})
    found = remedy.concretise(fix, subject(loader__library_path=()))
    assert found is not None
    assert (found.commands, dict(found.env)) == (("unset LD_LIBRARY_PATH",), {})


@pytest.mark.parametrize(("before", "undo"), [
    ({}, "unset LD_LIBRARY_PATH XLA_FLAGS"),
    ({"environment__LD_LIBRARY_PATH": "/a b"}, "unset XLA_FLAGS; export LD_LIBRARY_PATH='/a b'"),
    ({"environment__LD_LIBRARY_PATH": "/x", "environment__XLA_FLAGS": ""},
     "export LD_LIBRARY_PATH=/x; export XLA_FLAGS=''"),
])
def test_what_a_variable_held_comes_back(before: Mapping[str, Value], undo: str) -> None:
    """`unset` would have taken the driver's folder along that stood in LD_LIBRARY_PATH before."""
    fix = Fix(kind="environment", title="x", risk="safe", env={"LD_LIBRARY_PATH": "/new", "XLA_FLAGS": "--y"},
              undo="unset LD_LIBRARY_PATH XLA_FLAGS")
    found = remedy.concretise(fix, subject(**before))
    assert found is not None
    assert found.undo == undo


def test_a_fix_whose_effect_does_not_cure_is_not_given(database: RuleDatabase) -> None:
    """The same page with an effect that changes nothing offers nothing."""
    hidden = machine(database, {"environment.CUDA_VISIBLE_DEVICES": ""})
    cured = remedy.diagnose(hidden, database).findings[0]
    assert cured.cause == "cuda-visible-devices"
    assert cured.fixes[0].proven == "model"
    useless = tuple(
        replace(rule, fix=tuple(
            replace(fix, effect=tuple(replace(effect, fact="environment.XLA_FLAGS", absent=True, right=None)
                                      for effect in fix.effect))
            for fix in rule.fix)) if rule.cause == "cuda-visible-devices" else rule
        for rule in database.rules)
    uncured = remedy.diagnose(hidden, replace(database, rules=useless)).findings[0]
    assert (uncured.cause, uncured.fixes) == ("cuda-visible-devices", ())


def test_what_a_fix_clears_as_well_is_folded_under_its_cause(database: RuleDatabase) -> None:
    """A requirement that only the missing driver leaves unmet is no cause of its own."""
    wanting = machine(database, {"driver": "none", "require.wanted": ("gpu>=1",)})
    findings = remedy.diagnose(wanting, database).findings
    errors = [(f.cause, [c.cause for c in f.consequences]) for f in findings if f.severity.value == "error"]
    assert errors == [("driver-not-installed", ["requirement-not-met"])]


def test_two_fixes_that_come_to_the_same_are_given_once(database: RuleDatabase) -> None:
    """Two ways on a page can be one on this machine."""
    hidden = machine(database, {"environment.CUDA_VISIBLE_DEVICES": ""})
    twice = tuple(replace(rule, fix=rule.fix * 2) if rule.cause == "cuda-visible-devices" else rule
                  for rule in database.rules)
    once = remedy.diagnose(hidden, database).findings[0].fixes
    assert remedy.diagnose(hidden, replace(database, rules=twice)).findings[0].fixes == once
