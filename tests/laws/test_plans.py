"""What holds of every plan, whatever is wrong with a machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import assume, planning, remedy, ruledb
from gpudoctor.examine import Policy, every_finding, examine, with_wishes
from gpudoctor.model import Absent, Fact, Finding, Known, RuleDatabase, Severity, Snapshot
from gpudoctor.model.plan import Plan
from gpudoctor.planning.exports import is_of_shell, variables
from gpudoctor.planning.steps import unset_by
from gpudoctor.proving.proofs import case_snapshot
from tests.contract.checkout import RULES
from tests.laws import working
from tests.laws.breaking_frameworks import BREAKAGES
from tests.laws.described import laid, snapshot_of
from tests.laws.working import Machine, drawn

FAULTS = (Severity.ERROR, Severity.WARNING)
Key = tuple[str, str]


@cache
def database() -> RuleDatabase:
    """Return the rules with their cases."""
    return ruledb.load(str(RULES), None)


def plan_of(machine: Snapshot, rules: RuleDatabase, *, of_shell: bool = False) -> Plan:
    """Return the plan for a machine, or the one that `env` makes."""
    report = examine(machine, rules, Policy())
    allowed = is_of_shell if of_shell else lambda _: True
    return planning.make(report, with_wishes(machine, rules, Policy()), rules, allowed=allowed,
                         foreseen=of_shell)


def faults_of(plan: Plan) -> dict[Key, Finding]:
    """Return the faults that a plan is for."""
    return {(found.rule, found.subject): found for found in every_finding(plan.report.findings)
            if found.severity in FAULTS}


def cured_by(plan: Plan) -> set[Key]:
    """Return what its steps claim to cure."""
    return {(fault.rule, fault.subject) for step in plan.steps for fault in step.cures}


def assert_holds(plan: Plan, rules: RuleDatabase) -> None:
    """Lay the effects of its steps over the machine, in their order, and judge what comes of it."""
    before, claimed = faults_of(plan), cured_by(plan)
    state = planning.after(plan.machine, rules, plan.steps)
    assert state is not None
    assert claimed & set(state.faults) == set()
    assert {key for key in before if key not in claimed} == {(f.rule, f.subject) for f in plan.left}
    open_ = {(one.rule, one.subject) for one in plan.report.undecided}
    later = {(fault.rule, fault.subject) for fault in plan.later}
    added = {key for key in state.faults if key not in before and key not in open_}
    assert added <= later
    if not any(step.kind == "hardware" for step in plan.steps):
        assert [state.faults[key] for key in added if state.faults[key].severity is Severity.ERROR] == []
    assert [step.number for step in plan.steps] == list(range(1, len(plan.steps) + 1))


def assert_can_be_read(plan: Plan) -> None:
    """Each step says who does it, how it is undone, and nothing that could not be shown is to be run."""
    for step in plan.steps:
        assert step.title
        assert step.undo or step.undo_note, step.title
        assert (step.done_by == "hand") == bool(step.because), step.title
        if step.done_by == "gpudoctor":
            assert all(command.isprintable() for command in step.commands)
        if step.done_by == "shell":
            assert step.env or step.unset
            assert not step.commands


def cases(family: str = "") -> Iterator[Snapshot]:
    """Yield the machines of the cases of a family's pages."""
    for rule in database().rules:
        if rule.id.startswith(family):
            yield from (case_snapshot(case, database()) for case in rule.case if case.log is None)


@pytest.mark.parametrize("family", sorted({rule.id[:5] for rule in database().rules if rule.detect}))
def test_a_plan_for_the_machines_of_the_pages_holds(family: str) -> None:
    """Together its steps leave nothing that they claim to cure, and bring no error.

    A cause for which a fix holds by itself is in the plan as well: nothing that can be cured is left.
    """
    plans = [plan_of(machine, database()) for machine in cases(family)]
    assert plans
    for plan in plans:
        assert_holds(plan, database())
        assert_can_be_read(plan)
        curable = {(found.rule, found.subject) for found in plan.report.findings if found.fixes}
        assert [fault for fault in plan.left if (fault.rule, fault.subject) in curable] == []


BROKEN = st.deferred(lambda: st.tuples(drawn(), st.lists(st.sampled_from(sorted(BREAKAGES)), min_size=1,
                                                         max_size=3, unique=True), st.integers(0, 99)))


def broken(machine: Machine, kinds: list[str], number: int) -> Snapshot:
    """Return a machine that is broken in several ways at once, as far as it can be."""
    snapshot = snapshot_of(machine)
    for kind in kinds:
        what = BREAKAGES[kind](machine, number)
        snapshot = snapshot if what is None else laid(snapshot, what[0])
    return snapshot


@settings(max_examples=60)
@given(BROKEN)
def test_a_plan_for_several_faults_at_once_holds(made: tuple[Machine, list[str], int]) -> None:
    """Their fixes may undo one another, set the same variable, or come to the same."""
    plan = plan_of(broken(*made), working.database())
    assert_holds(plan, working.database())
    assert_can_be_read(plan)


SEARCH_PATHS = ("/usr/local/cuda/lib64/stubs", "/usr/local/cuda/compat", "/opt/it's $(here)", "/opt/a b", "")
ENVIRONMENTS = st.fixed_dictionaries({}, optional={
    "CUDA_VISIBLE_DEVICES": st.sampled_from(["", "-1", "5", "0", "NoDevFiles"]),
    "CUDA_FORCE_PTX_JIT": st.just("1"), "CUDA_DISABLE_PTX_JIT": st.just("1"),
    "CUDA_MPS_PIPE_DIRECTORY": st.just("/tmp/mps"), "ACCELERATE_MIXED_PRECISION": st.just("bf16"),
    "LD_LIBRARY_PATH": st.lists(st.sampled_from(SEARCH_PATHS), max_size=3).map(":".join)})


def with_environment(machine: Snapshot, values: dict[str, str | None]) -> Snapshot:
    """Return the machine with these variables, as its probes would see them."""
    facts: dict[str, Fact] = {
        f"environment.{name}": Absent(source="the test") if value is None else Known(value=value, source="x")
        for name, value in values.items()}
    if "LD_LIBRARY_PATH" in values:
        path = values["LD_LIBRARY_PATH"]
        facts["loader.library_path"] = Absent(source="the test") if path is None else Known(
            value=tuple(part for part in path.split(":") if part), source="the test")
    return assume.lay(machine, facts, working.database().tables, source="the test")


@settings(max_examples=60)
@given(BROKEN, ENVIRONMENTS)
def test_variables_that_are_set_twice_change_nothing_more(
    made: tuple[Machine, list[str], int], environment: dict[str, str],
) -> None:
    """With what `env` prints set, it has nothing more to print; what it claims to cure is not found."""
    rules = working.database()
    machine = with_environment(broken(*made), dict(environment))
    first = plan_of(machine, rules, of_shell=True)
    assert all(step.done_by == "shell" for step in first.steps)
    state = planning.after(first.machine, rules, first.steps)
    assert state is not None
    again = plan_of(state.snapshot, rules, of_shell=True)
    assert variables(again.steps).items() <= {**environment, **variables(first.steps)}.items(), (
        variables(first.steps), variables(again.steps))
    assert cured_by(again) & cured_by(first) == set()


def test_the_environments_drawn_are_repaired_by_many() -> None:
    """A law of variables that never come up would say nothing."""
    rules = working.database()
    found = (finding for machine in cases("GPD1") for finding in remedy.diagnose(machine, rules).findings)
    causes = {finding.cause for finding in found if any(fix.env or unset_by(fix) for fix in finding.fixes)}
    assert len(causes) > 1
    hidden = with_environment(rules.base, {"CUDA_VISIBLE_DEVICES": ""})
    assert variables(plan_of(hidden, rules, of_shell=True).steps) == {"CUDA_VISIBLE_DEVICES": None}
