"""Make fixes concrete and prove them on the snapshot. Pure.

A fix is given only if laying its effect over the snapshot clears the finding and makes no rule match that was
clear before and is as bad. (A rule that could not be judged before may be revealed: a fix is not to blame for
what was hidden.)
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from gpudoctor import derive
from gpudoctor.assume import AssumptionError, Place, lay, unobserved
from gpudoctor.consequences import Key, fold, key_of, rank_of
from gpudoctor.derive import planned
from gpudoctor.engine import Truth, all_hold, evaluate, resolve
from gpudoctor.exported import exported
from gpudoctor.facts import CATALOGUE, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Ask, Certainty, Effect, Fact, Facts, Finding, Fix, Judgement, Known, Remedy, Rule, RuleDatabase,
    Scope, Severity, Snapshot, Subject, Subjects, Tables, Value,
)
from gpudoctor.proven import tempered
from gpudoctor.words import PLACEHOLDER, always_said, fill, placeholders, show

_PATIENT, _PLANNED, _SHELL = "python.executable", "python.planned_distributions", "container.shell_command"
_UNSET = "unset "
_CHOSEN = re.compile(r"--(python|kernel) ([^:]+)")
_KERNEL_FILE = re.compile(r"--kernel [^:]+: (/.*?/kernel\.json)")
_OWN_COMMAND = re.compile(r"\bgpudoctor (?:check|snapshot)\b")


@frozen
class Proof:
    """A fix that holds: what to print, and which findings its effect clears."""

    remedy: Remedy
    cleared: frozenset[Key]


def diagnose(snapshot: Snapshot, database: RuleDatabase,
             proving: Callable[[], None] | None = None,
             place_of: Callable[[Finding], object] = lambda _: None) -> Judgement:
    """Return findings, causes first, with proven fixes and folded consequences; and what was undecided.

    `proving` is called when the proving of fixes begins; `place_of` says where a finding is put right.
    """
    subjects = derive.subjects(snapshot, database)
    before = tempered(evaluate(subjects, database.rules, database.tables), subjects)
    rules = {rule.id: rule for rule in database.rules}
    ranked = sorted(before.findings, key=rank_of)
    if proving is not None:
        proving()
    proofs: dict[Key, list[Proof]] = {}
    for finding in ranked:
        rule = rules[finding.rule]
        subject = _subject_of(finding, rule, subjects)
        proofs[key_of(finding)] = list(_prove_all(rule, subject, finding, before, snapshot, database))
    options, places = _patient_options(subjects), _places(subjects)
    treated = [replace(f, fixes=tuple(_placed(p.remedy, places) for p in proofs[key_of(f)]),
                       asks=tuple(_asked_of_patient(f, rules[f.rule], subjects, database, options)))
               for f in ranked]
    clears = {key: found[0].cleared if found else frozenset() for key, found in proofs.items()}
    return Judgement(findings=fold(treated, clears, place_of), undecided=before.undecided)


def _patient_options(subjects: Subjects) -> str:
    """Return the options that name what somebody named; an image is named by `container.check_command`."""
    facts = subjects[Scope.HOST][0]
    number, because = facts.fact("process.id"), facts.fact("python.chosen_because")
    if isinstance(number, Known):
        return f"--pid {number.value}"
    chosen = _CHOSEN.match(str(because.value)) if isinstance(because, Known) else None
    return f"--{chosen[1]} {shlex.quote(chosen[2])}" if chosen else ""


def _places(subjects: Subjects) -> dict[str, str]:
    """Return by the kind of a fix where its commands belong, where that is not the caller's shell."""
    facts = subjects[Scope.HOST][0]
    number, because = facts.fact("process.id"), facts.fact("python.chosen_because")
    if isinstance(number, Known):
        place = "not in this shell, but where that process gets its environment from; then start it anew"
        return {"environment": place}
    if isinstance(facts.fact("image.reference"), Known):
        return {"environment": "not in this shell, but in the image (ENV) or with docker run -e",
                "pip": "not on this machine, but in the image: RUN in its Dockerfile"}
    kernel = _KERNEL_FILE.match(str(because.value)) if isinstance(because, Known) else None
    return {"environment": f'not in this shell, but in "env" of {kernel[1]}'} if kernel else {}


def _placed(remedy: Remedy, places: Mapping[str, str]) -> Remedy:
    place = places.get(remedy.kind)
    return replace(remedy, title=f"{remedy.title} ({place})") if place else remedy


def _subject_of(finding: Finding, rule: Rule, subjects: Subjects) -> Subject:
    return next(one for one in subjects[rule.scope] if one.name == finding.subject)


def _asked_of_patient(finding: Finding, rule: Rule, subjects: Subjects, database: RuleDatabase,
                      options: str) -> Iterable[Ask]:
    """Yield what would decide a finding that is only likely, with commands of ours about the same patient."""
    if finding.certainty is Certainty.LIKELY:
        for ask in asked(rule.ask, _subject_of(finding, rule, subjects), database.tables):
            yield replace(ask, command=_of_patient(ask.command, options))


def _of_patient(command: str, options: str) -> str:
    """Return a command of ours about the same patient."""
    return _OWN_COMMAND.sub(lambda own: f"{own[0]} {options}", command) if options else command


# -- proving ---------------------------------------------------------------------------------------

def _prove_all(rule: Rule, subject: Subject, finding: Finding, before: Judgement, snapshot: Snapshot,
               database: RuleDatabase) -> Iterable[Proof]:
    """Yield the fixes that hold; of two that come to the same commands on this machine, the first."""
    given: set[tuple[object, ...]] = set()
    for fix in rule.fix:
        if all_hold(fix.when, subject, database.tables).truth is not Truth.TRUE:
            continue
        proof = prove(fix, subject, finding, before, snapshot, database)
        if proof is None:
            continue
        remedy = proof.remedy
        steps = (remedy.commands, tuple(sorted(remedy.env.items())), remedy.image)
        what: tuple[object, ...] = steps if remedy.commands else (remedy.title,)
        if what not in given:
            given.add(what)
            yield proof


def cures_alone(finding: Finding, snapshot: Snapshot, database: RuleDatabase) -> Iterable[Remedy]:
    """Yield the fixes whose effect clears a finding, whatever else then shows: others may cure that."""
    subjects = derive.subjects(snapshot, database)
    before = tempered(evaluate(subjects, database.rules, database.tables), subjects)
    rule = next(rule for rule in database.rules if rule.id == finding.rule)
    subject = _subject_of(finding, rule, subjects)
    for fix in rule.fix:
        if all_hold(fix.when, subject, database.tables).truth is Truth.TRUE:
            proof = prove(fix, subject, finding, before, snapshot, database, alone=False)
            if proof is not None:
                yield proof.remedy


def prove(fix: Fix, subject: Subject, finding: Finding, before: Judgement, snapshot: Snapshot,
          database: RuleDatabase, *, alone: bool = True) -> Proof | None:
    """Return the fix made concrete if its effect clears the finding and causes no other; else None.

    If it does not stand `alone`, what it causes is left to others.
    """
    remedy = concretise(fix, subject)
    effect = resolve_effect(fix.effect, subject, database)
    if remedy is None or effect is None:
        return None
    after_snapshot = changed(snapshot, effect, subject, database, source=f"fix: {remedy.title}")
    if after_snapshot is None:
        return None
    subjects = derive.subjects(after_snapshot, database)
    after = evaluate(subjects, database.rules, database.tables, worded=False)
    matched = {key_of(f) for f in after.findings}
    unseen = {(u.rule, u.subject) for u in after.undecided}
    if key_of(finding) in matched or key_of(finding) in unseen:
        return None
    had = {key_of(f) for f in before.findings}
    open_before = {(u.rule, u.subject) for u in before.undecided}
    # a warning in place of an error is still worth printing; what is as bad as the finding is no cure
    caused = {key_of(f) for f in after.findings
              if f.severity.rank <= min(finding.severity.rank, Severity.WARNING.rank)}
    reveals = fix.kind == "hardware"  # what another machine shows of this environment was wrong before
    if alone and caused - had - open_before and not reveals:
        return None
    shown = {name: fact.value if isinstance(fact, Known) else None for name, fact in effect.items()}
    others = {other.name for scope in subjects.values() for other in scope if _is_of_another(other, subject)}
    only_unseen = {key for key in unseen if key[1] in others}  # run anew, another framework may say the same
    return Proof(remedy=replace(remedy, effect=shown), cleared=frozenset(had - matched - only_unseen))


def changed(snapshot: Snapshot, effect: Facts, subject: Subject, database: RuleDatabase, *,
            source: str) -> Snapshot | None:
    """Return the machine as a fix of this subject leaves it, None where that cannot be told."""
    try:
        return lay(unobserved(snapshot, effect, framework=subject.framework), effect, database.tables,
                   source=source, place=Place(gpu=subject.gpu, framework=subject.framework))
    except AssumptionError:
        return None


def _is_of_another(other: Subject, subject: Subject) -> bool:
    """Return whether both are of one framework each, and not of the same."""
    if subject.framework is None or other.framework is None:
        return False
    mine, theirs = (one.fact("framework.name") for one in (subject, other))
    return isinstance(mine, Known) and isinstance(theirs, Known) and mine.value != theirs.value


def resolve_effect(effects: Sequence[Effect], subject: Subject,
                   database: RuleDatabase) -> dict[str, Fact] | None:
    """Return what a fix changes, or None when part of it cannot be known here (or it changes nothing)."""
    facts: dict[str, Fact] = {}
    for effect in effects:
        if effect.absent:
            facts[effect.fact] = Absent(source="fix")
            continue
        assert effect.right is not None
        value = resolve(effect.right, subject, database.tables)
        if not isinstance(value, Known):
            return None
        facts[effect.fact] = Known(value=value.value, source="fix")
    if _PLANNED in facts:
        facts[_PLANNED] = planned.as_well(subject.fact(_PLANNED), facts[_PLANNED])
    return facts or None


# -- words -----------------------------------------------------------------------------------------

def concretise(fix: Fix, subject: Subject) -> Remedy | None:
    """Return the fix with this machine's values in it, or None when one of them is not known."""
    if not _is_known(subject, *fix.commands, *fix.env.values(), always_said(fix.title), fix.image or "",
                     fix.undo or ""):
        return None
    commands = [_fill_command(command, subject) for command in fix.commands]
    variables = {name: _fill_plain(value, subject) for name, value in fix.env.items()}
    # a list of folders of which none is left: the variable goes, it is not set to nothing
    commands += [f"unset {name}" for name, value in variables.items() if not value]
    return Remedy(
        kind=fix.kind, title=fill(fix.title, subject), risk=fix.risk, commands=tuple(commands),
        env={name: value for name, value in variables.items() if value},
        image=_fill_plain(fix.image, subject) if fix.image else None,
        undo=_undo(fix.undo, subject) if fix.undo else None, effect={}, proven="model", by_hand=fix.by_hand)


def _undo(text: str, subject: Subject) -> str:
    """Return the command that undoes a fix; a variable that was set gets its value back, and is not unset."""
    names = text.removeprefix(_UNSET).split() if text.startswith(_UNSET) else ()
    before = [(name, fact.value) for name in names
              if isinstance(fact := subject.fact(f"environment.{name}"), Known)]
    if not before:
        return _fill_command(text, subject)
    gone = [name for name in names if name not in dict(before)]
    return "; ".join([*([_UNSET + " ".join(gone)] if gone else []),
                      *(exported(name, str(value)) for name, value in before)])


def asked(asks: Sequence[Ask], subject: Subject, tables: Tables) -> tuple[Ask, ...]:
    """Return the first question that fits, with this machine's values in it; none where none fits."""
    for ask in asks:
        fits = all_hold(ask.when, subject, tables).truth is Truth.TRUE
        if fits and _is_known(subject, ask.question, ask.command, *ask.answers.values()):
            answers = {answer: fill(meaning, subject) for answer, meaning in ask.answers.items()}
            return (Ask(question=fill(ask.question, subject), command=_there(ask.command, subject),
                        answers=answers),)
    return ()


def _there(command: str, subject: Subject) -> str:
    """Return a command filled in; one that names the patient runs where he is, be it in a container."""
    filled, shell = _fill_command(command, subject), subject.fact(_SHELL)
    if isinstance(shell, Known) and _PATIENT in placeholders(command):
        return f"{shell.value} {shlex.quote(filled)}"
    return filled


def _is_known(subject: Subject, *texts: str) -> bool:
    """Return whether everything is known that stands in braces."""
    return all(isinstance(subject.fact(name), Known) for text in texts for name in placeholders(text))


def _fill_command(text: str, subject: Subject) -> str:
    """Fill in a shell command: values are quoted, lists become words, derived commands stand as they are."""
    return PLACEHOLDER.sub(lambda found: _words(found[1], _known(found[1], subject)), text)


def _known(name: str, subject: Subject) -> Value:
    fact = subject.fact(name)
    assert isinstance(fact, Known)
    return fact.value


def _words(name: str, value: Value) -> str:
    if CATALOGUE[name].type is FactType.COMMAND:
        return str(value)
    if CATALOGUE[name].type is FactType.PATHS and isinstance(value, tuple):
        return shlex.quote(":".join(str(item) for item in value))
    if isinstance(value, tuple):
        return " ".join(shlex.quote(str(item)) for item in value)
    return shlex.quote(show(value))


def _fill_plain(text: str, subject: Subject) -> str:
    return PLACEHOLDER.sub(lambda found: _plain(_known(found[1], subject)), text)


def _plain(value: Value) -> str:
    return ":".join(str(item) for item in value) if isinstance(value, tuple) else show(value)
