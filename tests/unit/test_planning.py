"""A plan chooses among the fixes of several findings so that they hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gpudoctor import planning, ruledb
from gpudoctor.as_root import without_sudo
from gpudoctor.assume import lay, parse_assumption, supposed
from gpudoctor.examine import Policy, examine, with_wishes
from gpudoctor.exported import as_shown
from gpudoctor.model import (
    Absent, Condition, Detect, Effect, Fact, Fix, FixKind, Known, Operand, Risk, Rule, RuleDatabase, Scope,
    Severity, Value,
)
from gpudoctor.model.plan import Plan
from gpudoctor.planning.exports import variables

A, B, C = "environment.CUDA_CACHE_PATH", "environment.CUDA_HOME", "environment.CUDA_PATH"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped()


def fix(title: str, effect: Mapping[str, str | None], *commands: str, kind: FixKind = "system",
        risk: Risk = "safe", undo: str | None = None) -> Fix:
    """Return a fix that sets facts to texts, or (None) takes them away."""
    return Fix(kind=kind, title=title, risk=risk, commands=commands or (title,), undo=undo, effect=tuple(
        Effect(fact=name, absent=True) if value is None else Effect(fact=name, right=Operand(value=value))
        for name, value in effect.items()))


def rule(number: int, bad: Mapping[str, str], *fixes: Fix, severity: Severity = Severity.ERROR) -> Rule:
    """Return a rule that is found where all of these facts have these values."""
    when = tuple(Condition(fact=name, op="equals", right=Operand(value=value)) for name, value in bad.items())
    return Rule(
        id=f"GPD990{number}", cause=f"fault-{number}", severity=severity, scope=Scope.HOST, summary="x",
        since="2026.11.0", detect=(Detect(name="x", when=when),), fix=fixes, title="x", page="", path="x")


def plan(database: RuleDatabase, facts: Mapping[str, Value], *rules: Rule) -> Plan:
    """Return the plan for a machine with these facts, judged by these rules alone."""
    rules_of_test = replace(database, rules=rules)
    laid: dict[str, Fact] = {name: Known(value=value, source="a test") for name, value in facts.items()}
    machine = lay(database.base, laid, database.tables, source="a test")
    report = examine(machine, rules_of_test, Policy())
    return planning.make(report, with_wishes(machine, rules_of_test, Policy()), rules_of_test)


def titles(made: Plan) -> list[str]:
    """Return what is to be done."""
    return [step.title for step in made.steps]


def left(made: Plan) -> list[str]:
    """Return what no step cures."""
    return [fault.cause for fault in made.left]


# -- choosing --------------------------------------------------------------------------------------

def test_the_first_fix_of_each_finding_is_taken(database: RuleDatabase) -> None:
    """Pages name the best one first."""
    made = plan(database, {A: "bad", B: "bad"},
                rule(1, {A: "bad"}, fix("one", {A: "good"}), fix("other", {A: "good"})),
                rule(2, {B: "bad"}, fix("two", {B: "good"})))
    assert (titles(made), left(made)) == (["one", "two"], [])


def test_what_one_step_cures_as_well_needs_no_other(database: RuleDatabase) -> None:
    """Both findings are named at the step."""
    made = plan(database, {A: "bad"}, rule(1, {A: "bad"}, fix("one", {A: None})),
                rule(2, {A: "bad"}, fix("two", {A: None})))
    assert titles(made) == ["one"]
    assert [fault.cause for fault in made.steps[0].cures] == ["fault-1", "fault-2"]


def test_a_fix_that_undoes_an_earlier_step_is_not_taken(database: RuleDatabase) -> None:
    """The next one of the finding is."""
    made = plan(database, {A: "bad", B: "bad"}, rule(1, {A: "bad"}, fix("one", {A: "good"})),
                rule(2, {B: "bad"}, fix("undoes", {B: "good", A: "bad"}), fix("does not", {B: "good"})))
    assert (titles(made), left(made)) == (["one", "does not"], [])


def test_an_earlier_choice_is_changed_where_a_later_one_needs_it(database: RuleDatabase) -> None:
    """The first fix of the first finding shuts out the only one of the second."""
    clash = rule(3, {A: "good", B: "good"})
    made = plan(database, {A: "bad", B: "bad"},
                rule(1, {A: "bad"}, fix("clashes", {A: "good"}), fix("fits", {A: None})),
                rule(2, {B: "bad"}, fix("two", {B: "good"})), clash)
    assert (titles(made), left(made)) == (["fits", "two"], [])


def test_what_cannot_be_cured_without_harm_is_left_with_the_reason(database: RuleDatabase) -> None:
    """No plan is half a plan."""
    made = plan(database, {A: "bad", B: "bad"}, rule(1, {A: "bad"}, fix("one", {A: "good"})),
                rule(2, {B: "bad"}, fix("undoes", {B: "good", A: "bad"})))
    assert (titles(made), left(made)) == (["one"], ["fault-2"])
    assert made.left[0].why == "'undoes' would bring back fault-1 [host]"


def test_a_cause_without_any_fix_is_for_people_to_decide(database: RuleDatabase) -> None:
    """Regression: "none of its fixes holds on this machine" was said of a page that has none."""
    assert plan(database, {A: "bad"}, rule(1, {A: "bad"})).left[0].why.startswith("nothing that can be typed")


def test_an_error_is_cured_before_a_warning(database: RuleDatabase) -> None:
    """Where only one of the two can be."""
    made = plan(database, {A: "bad", B: "bad"},
                rule(1, {A: "bad"}, fix("one", {A: "good", B: "bad"}), severity=Severity.WARNING),
                rule(2, {B: "bad"}, fix("two", {B: "good", A: "bad"})))
    assert (titles(made), left(made)) == (["two"], ["fault-1"])


def test_no_step_brings_an_error_about(database: RuleDatabase) -> None:
    """Such a fix holds neither alone nor in a plan."""
    made = plan(database, {A: "bad"}, rule(1, {A: "bad"}, fix("one", {A: "worse"})), rule(2, {A: "worse"}))
    assert (titles(made), left(made)) == ([], ["fault-1"])
    assert made.left[0].why == "'one' would bring about fault-2 [host]"


def test_an_error_that_only_shows_behind_a_step_is_cured_by_a_further_one(database: RuleDatabase) -> None:
    """A driver that is missing hides that the cards are hidden; neither fix is enough."""
    made = plan(database, {A: "bad", B: "bad"}, rule(1, {A: "bad"}, fix("one", {A: "good"})),
                rule(2, {A: "good", B: "bad"}, fix("two", {B: "good"})))
    assert (titles(made), left(made)) == (["one", "two"], [])
    assert [step.cures[0].why for step in made.steps] == ["", "it shows behind the steps before"]


def test_a_warning_in_place_of_an_error_is_cured_by_a_further_step(database: RuleDatabase) -> None:
    """Or named, where nothing cures it."""
    error = rule(1, {A: "bad"}, fix("one", {A: "slow"}))
    warning = rule(2, {A: "slow"}, fix("two", {A: "good"}), severity=Severity.WARNING)
    assert titles(plan(database, {A: "bad"}, error, warning)) == ["one", "two"]
    made = plan(database, {A: "bad"}, error, replace(warning, fix=()))
    assert (titles(made), [fault.cause for fault in made.later]) == (["one"], ["fault-2"])


def test_a_later_step_has_the_values_of_the_machine_behind_the_earlier_ones(database: RuleDatabase) -> None:
    """Its command is filled in anew."""
    second = Fix(kind="system", title="then {environment.CUDA_CACHE_PATH}", risk="safe", commands=("true",),
                 effect=(Effect(fact=B, right=Operand(value="good")),))
    made = plan(database, {A: "bad", B: "bad"}, rule(1, {A: "bad"}, fix("one", {A: "good"})),
                rule(2, {B: "bad"}, second))
    assert titles(made) == ["one", "then good"]


def test_what_was_tried_in_vain_is_not_planned_again(database: RuleDatabase) -> None:
    """The next fix is."""
    first = Fix(kind="environment", title="one", risk="safe", env={"CUDA_CACHE_PATH": "good"},
                effect=(Effect(fact=A, right=Operand(value="good")),))
    rules = replace(database, rules=(rule(1, {A: "bad"}, first, fix("other", {A: None})),))
    machine = lay(database.base, {A: Known(value="bad", source="x")}, database.tables, source="x")
    report = examine(machine, rules, Policy())
    refused = frozenset({planning.identity("GPD9901", "host", {"CUDA_CACHE_PATH": "good"}, ())})
    assert titles(planning.make(report, machine, rules)) == ["one"]
    assert titles(planning.make(report, machine, rules, refused)) == ["other"]


# -- order -----------------------------------------------------------------------------------------

def test_one_restart_behind_all_that_needs_it_and_variables_last(database: RuleDatabase) -> None:
    """A restart in the middle would end the plan, and a shell's variables would not outlive it."""
    variable = Fix(kind="environment", title="variable", risk="safe", commands=("unset CUDA_CACHE_PATH",),
                   effect=(Effect(fact=A, absent=True),))
    driver = fix("driver", {B: "good"}, "sudo install", "sudo reboot", kind="driver", risk="admin")
    files = fix("files", {C: "good"}, "sudo write", "sudo reboot", kind="system", risk="restart")
    made = plan(database, {A: "bad", B: "bad", C: "bad"}, rule(1, {A: "bad"}, variable),
                rule(2, {B: "bad"}, driver), rule(3, {C: "bad"}, files))
    assert [(step.commands, step.risk) for step in made.steps] == [
        (("sudo install",), "admin"), (("sudo write",), "admin"), (("sudo reboot",), "restart"), ((), "safe")]
    assert [fault.cause for fault in made.steps[2].cures] == ["fault-2", "fault-3"]
    assert [step.number for step in made.steps] == [1, 2, 3, 4]


def test_a_restart_is_a_step_with_a_risk_of_its_own(database: RuleDatabase) -> None:
    """Who lets a driver be installed may still choose when the machine goes down."""
    driver = fix("driver", {B: "good"}, "sudo install", "sudo reboot", kind="driver", risk="admin")
    made = plan(database, {B: "bad"}, rule(2, {B: "bad"}, driver))
    assert [(step.commands, step.risk) for step in made.steps] == [
        (("sudo install",), "admin"), (("sudo reboot",), "restart")]
    alone = fix("again", {B: "good"}, "sudo reboot", kind="restart", risk="restart")
    made = plan(database, {B: "bad"}, rule(2, {B: "bad"}, alone))
    assert [(step.title, step.risk) for step in made.steps] == [("again", "restart")]


# -- who does it -----------------------------------------------------------------------------------

@pytest.mark.parametrize(("made", "facts", "why"), [
    (fix("x", {A: "good"}, "docker run IMAGE", kind="container"), {}, "where the container is started"),
    (fix("x", {A: "good"}, "docker run IMAGE", kind="image"), {}, "where the image"),
    (replace(fix("x", {A: "good"}, "look"), by_hand=True), {}, "belong to another place"),
    (replace(fix("x", {A: "good"}), commands=()), {}, "no command does it"),
    (fix("x", {A: "good"}, "echo {python.executable}"), {"python.executable": "/a\x1b[2K/python"}, "shown"),
    (fix("x", {A: "good"}, "echo {python.executable}"), {"python.executable": "/a\u202e/python"}, "be shown"),
    (fix("x", {A: "good"}, "{python.pip_command} torch", kind="pip"),
     {"python.externally_managed": True, "python.environment": "system"}, "PEP 668"),
])
def test_what_a_person_has_to_do(
    made: Fix, facts: Mapping[str, Value], why: str, database: RuleDatabase,
) -> None:
    """It is never run, and the step says why."""
    [step] = plan(database, {A: "bad", **facts}, rule(1, {A: "bad"}, made)).steps
    assert step.done_by == "hand"
    assert why in step.because


def test_variables_are_for_the_shell(database: RuleDatabase) -> None:
    """A later step's value stands; what is unset is None."""
    first = Fix(kind="environment", title="one", risk="safe", env={"X": "1", "Y": "1"},
                effect=(Effect(fact=A, absent=True),))
    second = Fix(kind="environment", title="two", risk="safe", env={"X": "2"}, commands=("unset Z",),
                 effect=(Effect(fact=B, absent=True),))
    made = plan(database, {A: "bad", B: "bad"}, rule(1, {A: "bad"}, first), rule(2, {B: "bad"}, second))
    assert [step.done_by for step in made.steps] == ["shell", "shell"]
    assert variables(made.steps) == {"X": "2", "Y": "1", "Z": None}


@pytest.mark.parametrize(("command", "expected"), [
    ("sudo modprobe nvidia", "modprobe nvidia"),
    ("echo 'a; sudo b' | sudo tee /etc/x", "echo 'a; sudo b' | tee /etc/x"),
    ("a && sudo b && sudo c", "a && b && c"),
    ("if x; then sudo a; else sudo b; fi", "if x; then a; else b; fi"),
    ("for f in *; do sudo mv \"$f\" x; done; sudo y", "for f in *; do mv \"$f\" x; done; y"),
    ("p || sudo rm -r /tmp/x", "p || rm -r /tmp/x"), ("pseudo x", "pseudo x"), ("echo sudo x", "echo sudo x"),
    ("'/opt/sudo x/python' -m pip", "'/opt/sudo x/python' -m pip"),
])
def test_root_needs_no_sudo(command: str, expected: str) -> None:
    """Where a command stands it goes; in a word, a quotation or an argument it stays."""
    assert without_sudo(command) == expected


# -- undoing ---------------------------------------------------------------------------------------

HELD = ({"name": "nvidia-cudnn-cu12", "version": "9.1", "location": "/x"},)


def undone(database: RuleDatabase, made: Fix, facts: Mapping[str, Value],
           absent: Sequence[str] = ()) -> tuple[tuple[str, ...], str]:
    """Return how a fix is undone on a machine with these facts."""
    rules = replace(database, rules=(rule(1, {C: "bad"}, made),))
    laid: dict[str, Fact] = {
        name: Known(value=value, source="x") for name, value in {C: "bad", **facts}.items()}
    laid.update({name: Absent(source="x") for name in absent})
    machine = lay(database.base, laid, database.tables, source="x")
    [step] = planning.make(examine(machine, rules, Policy()), machine, rules).steps
    return step.undo, step.undo_note


def test_a_variable_gets_its_value_back(database: RuleDatabase) -> None:
    """Quoted; one that was not set is unset, whatever the page says."""
    made = Fix(kind="environment", title="x", risk="safe", env={"CUDA_CACHE_PATH": "n", "CUDA_HOME": "n"},
               undo="unset ALL", effect=(Effect(fact=C, absent=True),))
    undo, note = undone(database, made, {A: "it's $(old)"}, [B])
    assert undo == ("export CUDA_CACHE_PATH='it'\"'\"'s $(old)'", "unset CUDA_HOME")
    assert "new shell" in note


def test_packages_are_brought_back_as_far_as_is_known(database: RuleDatabase) -> None:
    """Other versions again, what was not there goes; of numpy nobody knows whether it was there."""
    planned = Operand(value=("nvidia-cudnn-cu12<9", "nvidia-nccl-cu12", "numpy<2"))
    made = Fix(kind="pip", title="x", risk="safe", commands=("pip",), effect=(
        Effect(fact=C, absent=True), Effect(fact="python.planned_distributions", right=planned)))
    facts: dict[str, Value] = {"python.executable": "/v/bin/python", "python.pip_version": "25.0",
                               "python.nvidia_distributions": HELD}
    undo, note = undone(database, made, facts, ["python.numpy"])
    assert undo == ("/v/bin/python -m pip uninstall --yes nvidia-nccl-cu12",
                    "/v/bin/python -m pip install nvidia-cudnn-cu12==9.1")
    assert "gpudoctor fix --apply" in note


def test_what_pip_removes_is_brought_back_from_where_it_came(database: RuleDatabase) -> None:
    """Regression: torch==2.13.0+cpu was to come back from an index that has no such build, and what only
    the commands of a step remove did not come back at all.
    """
    pip = ("{python.pip_uninstall_command} torch nvidia-cudnn-cu12", "{python.pip_command} x")
    made = Fix(kind="pip", title="x", risk="safe", commands=pip, undo="rm -r there",
               effect=(Effect(fact=C, absent=True),))
    rules = replace(database, rules=(rule(1, {C: "bad"}, made),))
    machine = lay(database.base, {
        C: Known(value="bad", source="x"), "release": Known(value="torch==2.15.0", source="x"),
        "python.nvidia_distributions": Known(value=HELD, source="x")}, database.tables, source="x")
    assert isinstance(machine.frameworks, tuple)
    torch = {**machine.frameworks[0], "framework.version": Known(value="2.13.0+cpu", source="x")}
    machine = replace(machine, frameworks=(torch,))
    [step] = planning.make(examine(machine, rules, Policy()), machine, rules).steps
    assert [line.partition(" install ")[2] or line for line in step.undo] == [
        "rm -r there", ("torch==2.13.0+cpu nvidia-cudnn-cu12==9.1 "
                        "--extra-index-url https://download.pytorch.org/whl/cpu")]


def test_laying_the_same_down_again_needs_no_undoing(database: RuleDatabase) -> None:
    """The version that is installed is what was installed."""
    made = Fix(kind="pip", title="x", risk="safe", commands=("pip",), effect=(
        Effect(fact=C, absent=True),
        Effect(fact="python.planned_distributions", right=Operand(value=("nvidia-cudnn-cu12==9.1",)))))
    assert undone(database, made, {"python.nvidia_distributions": HELD}) == (
        (), "the same versions are laid down again: there is nothing to undo")


# -- whose environment it is -----------------------------------------------------------------------

@pytest.mark.parametrize(("tool", "lasts"), [
    (None, ""), ("pipx", "until `pipx reinstall`: `pipx inject` of the same packages is kept by pipx"),
    ("poetry", ("until the next `poetry sync`, which brings what the lock has: `poetry add` of the same "
                "packages puts them there"))])
def test_what_a_tool_takes_back_is_said(tool: str | None, lasts: str, database: RuleDatabase) -> None:
    """pip changes the environment, and the tool that made it knows nothing of that."""
    facts: dict[str, Value] = {A: "bad", **({} if tool is None else {"python.kept_by": tool})}
    [step] = plan(database, facts, rule(1, {A: "bad"}, fix("one", {A: "good"}, kind="pip"))).steps
    assert step.lasts == lasts
    [other] = plan(database, facts, rule(1, {A: "bad"}, fix("one", {A: "good"}))).steps
    assert other.lasts == ""


# -- the way back of JAX's plugins, and what no line can show ---------------------------------------

def test_plugins_that_are_exchanged_come_back(database: RuleDatabase) -> None:
    """Nothing was named beforehand: the plugins of JAX were not among what is known to be installed."""
    machine = supposed(database.base, [parse_assumption(text) for text in (
        "driver=580.65.06", "cc=6.1", "release=jax[cuda13]==0.10.2")], database.tables)
    machine = lay(machine, {"python.executable": Known(value="/v/bin/python", source="a test"),
                            "python.pip_version": Known(value="26.3", source="a test")}, database.tables,
                  source="a test")
    report = examine(machine, database, Policy())
    made = planning.make(report, with_wishes(machine, database, Policy()), database)
    [undo] = [step.undo for step in made.steps if step.kind == "pip"]
    assert undo == ("/v/bin/python -m pip uninstall --yes jax-cuda12-pjrt jax-cuda12-plugin",
                    "/v/bin/python -m pip install jax-cuda13-pjrt==0.10.2 jax-cuda13-plugin==0.10.2")


def test_a_value_that_no_line_can_show_is_not_shown_as_another() -> None:
    """A line break in the name of a folder stood there as a backslash and an n, and was copied so."""
    assert as_shown("A", "/a b") == "export A='/a b'"
    assert as_shown("A", "/a\nb") == (
        "# A gets a value with a character that no line can show: `gpudoctor env` prints it as it is")


# -- what an image leaves behind -------------------------------------------------------------------

def test_what_is_left_for_an_image_is_not_mended_first(database: RuleDatabase) -> None:
    """Regression: on an RTX 5090 the CUDA libraries of a TensorFlow without code for it were installed, and
    then it was left for NVIDIA's image. Another framework of the environment is mended as before."""
    words = ("cc=12.0", "driver=580.95.05", "python=3.12.1", "release=tensorflow==2.21.0")
    machine = supposed(database.base, [parse_assumption(word) for word in words], database.tables)
    report = examine(machine, database, Policy())
    made = planning.make(report, with_wishes(machine, database, Policy()), database)
    assert [step.kind for step in made.steps] == ["image"]
    assert {fault.cause for fault in made.steps[0].cures} > {"gpu-too-new-for-build"}
    assert [step.number for step in made.steps] == [1]
