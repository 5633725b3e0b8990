"""From a candidate to a finding: what the text shows, what it means, and what to do, without a proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpudoctor.derive.view import as_texts
from gpudoctor.engine import Truth, all_hold, resolve
from gpudoctor.explanation import bound
from gpudoctor.explanation.ranking import Candidate
from gpudoctor.explanation.reading import Said
from gpudoctor.explanation.stand_ins import with_stand_ins
from gpudoctor.explanation.supposed import CONTAINERS
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Ask, Certainty, Condition, Evidence, Finding, Fix, Known, Operand, Remedy, Rule, Severity,
    Subject, SymptomPattern, Tables,
)
from gpudoctor.remedy import asked, concretise
from gpudoctor.words import always_said, fill, placeholders, show_fact

MOST_LINES = 3  # quoted for a candidate
MOST_FIXES = 4
SUBJECT = "text"
LAST_RESORT = Ask(
    question="Is it so on the machine itself?", command="gpudoctor explain LOG --here",
    answers={"it is found there": "then it is the cause", "it is not found": "then it is another one"})
_FILLED_IN = "gpudoctor fix    # on that machine: prints the commands with its packages and folders"
_WHOSE = "framework.name"
_SAID = "text."
_MAKER = "text.maker"
_OTHER_BUILDS = ("rocm", "xpu")
_OF_BUILD = "framework."
_OF_OTHER_MAKERS = "other-accelerator"  # the page of cards that are not NVIDIA's
_NOT_QUOTED = ("text.symptoms", "text.places", "text.frameworks")


@frozen
class Teller:
    """What candidates are told with: the lines that were read, the facts of the text, tables and pages.

    `rules` has the first page of each cause, `pages` all of them. `supposed` is the machine that the
    text lets one suppose: it has what the words of fixes need.
    """

    said: Sequence[Said]
    subject: Subject
    supposed: Subject
    tables: Tables
    rules: Mapping[str, Rule]
    pages: Mapping[str, Sequence[Rule]]
    symptoms: Mapping[str, SymptomPattern]

    def finding(self, candidate: Candidate, *, certain: bool) -> Finding:
        """Return what is said of a candidate; its fixes are unproven, for nothing of a machine was seen."""
        rule, other = self._page(candidate), self._of_another_maker(candidate)
        if other is None:
            asks, fixes = self._what_to_do(rule)
            # information about a machine is what keeps the program of a text from running
            severity = Severity.WARNING if rule.severity is Severity.INFO else rule.severity
        else:
            asks, _ = self._what_to_do(other)
            fixes, severity = (), Severity.ERROR
        return Finding(
            rule=rule.id, cause=rule.cause, severity=severity, subject=SUBJECT,
            certainty=Certainty.CERTAIN if certain else Certainty.LIKELY,
            message=_message(other or rule, candidate, self.subject),
            evidence=tuple(self._evidence(candidate)), fixes=fixes, asks=() if certain else asks)

    def _what_to_do(self, rule: Rule) -> tuple[tuple[Ask, ...], tuple[Remedy, ...]]:
        """Return what of a page's questions and fixes the stated place has."""
        foreign = bound.foreign_words(self.supposed, self.tables)
        elsewhere = bound.foreign_to_fixes(self.supposed, self.tables)
        there = (bound.as_asked_there(ask, elsewhere) for ask in rule.ask)
        questions = [ask for ask in there if bound.fits(ask, foreign)]
        some = [fix for fix in _of_place(rule.fix, elsewhere, self.supposed)
                if not _is_in_vain(fix, self.supposed, self.tables)]
        fixes = tuple(_remedies(some, self.supposed, self.tables))
        if not fixes:
            filled = [with_stand_ins(fix, rule.cause, self.supposed, self.tables)
                      for fix in _lending(some, self.supposed, self.tables)]
            fixes = tuple(_remedies(_of_place(filled, elsewhere, self.supposed), self.supposed, self.tables))
        fixes = (*_left_open(some, fixes, self.supposed, self.tables), *fixes)
        if not fixes and not bound.speaks_of(rule.title, elsewhere):
            fixes = _as_the_page_says(rule, some, self.supposed, self.tables)
        return asked(questions, self.supposed, self.tables) or (LAST_RESORT,), fixes

    def _page(self, candidate: Candidate) -> Rule:
        """Return the page of a cause that asks of a machine what a reason of the candidate asks of the text.

        `text.driver_fit` is of a text what `gpu.driver_fit` is of a card. So are its symptoms those of a
        framework, where a page is written for texts. Where none does, the cause's own.
        """
        shown = {("symptoms", "contains", Operand(value=name)) for name in candidate.suspicions}
        reasons = {_asked_of(condition) for suspect in candidate.suspicions.values()
                   for condition in suspect.when if condition.fact not in _NOT_QUOTED}
        nearer = (rule for rule in self.pages.get(candidate.cause, ()) for block in rule.detect
                  if not (reasons | shown if rule.told else reasons).isdisjoint(map(_asked_of, block.when)))
        return next(nearer, self.rules[candidate.cause])

    def _of_another_maker(self, candidate: Candidate) -> Rule | None:
        """Return the page of cards that are not NVIDIA's, where their programs speak for the candidate.

        The page of the cause has NVIDIA's driver, nodes and commands in it: this one's words and question
        stand in their place, with the reason that the symptom gives, and no fix.
        """
        speaking = max(candidate.suspicions, key=lambda name: candidate.suspicions[name].weight, default="")
        symptom = self.symptoms.get(speaking)
        gives = symptom.gives if symptom is not None else {}
        is_theirs = _MAKER in gives or self.subject.value("text.without_cuda") in _OTHER_BUILDS
        return self.rules.get(_OF_OTHER_MAKERS) if is_theirs else None

    def _evidence(self, candidate: Candidate) -> Iterator[Evidence]:
        """Yield the lines that speak for it, the weightiest symptom first, and facts that reasons read."""
        order = sorted(candidate.suspicions, key=lambda name: -candidate.suspicions[name].weight)
        first = {line.id: line for line in reversed(self.said)}
        lines = [first[name] for name in order if name in first][:MOST_LINES]
        for line in lines:
            unknown = f"a wording that is not known: {line.because}, as in " if line.because else ""
            yield Evidence(fact="text.symptoms", saw=line.text, source=f"{line.source}, {unknown}{line.id}")
        suspects = (*(candidate.suspicions[name] for name in order), *candidate.refuted)
        asked = [condition.fact for suspect in suspects for condition in suspect.when]
        telling = [name for name in asked if name not in _NOT_QUOTED]
        for name in dict.fromkeys(telling or ([] if lines else asked)):
            fact = self.subject.fact(name)
            if isinstance(fact, Known) and fact.value not in ((), ""):
                yield Evidence(fact=name, saw=show_fact(fact), source=fact.source)


def _message(rule: Rule, candidate: Candidate, subject: Subject) -> str:
    """Return the first of the page's summaries whose facts the text has, else its title; and why."""
    said = next((fill(words, subject) for words in (rule.told, rule.summary)
                 if words is not None and _is_fillable(words, subject)), rule.title)
    because = dict.fromkeys(suspect.because for suspect in candidate.suspicions.values() if suspect.because)
    why = "; ".join(clause for clause in because if clause)
    said = said if said.endswith((".", "!", "?")) else f"{said}."
    said = f"{said} Why: {why}." if why else said
    against = "; ".join(suspect.because for suspect in candidate.refuted if suspect.because)
    return f"{said} Against it: {against}." if against else said


def _is_fillable(words: str, subject: Subject) -> bool:
    required = placeholders(always_said(words))
    return all(isinstance(subject.fact(name), Known) for name in required)


def _remedies(fixes: Sequence[Fix], subject: Subject, tables: Tables) -> Iterator[Remedy]:
    """Yield the fixes whose words can be filled in and whose conditions are not false.

    Where the text fulfils the conditions of some, only those; one that has its words in its title stands
    in the place of those that a page has whatever is said.
    """
    named = [fix for fix in fixes if any(name.startswith(_SAID) for name in placeholders(fix.title))
             and _truth(fix, subject, tables) is Truth.TRUE]
    fixes = named or fixes
    fitting: list[tuple[Truth, Remedy]] = []
    for fix in fixes:
        truth = _truth(fix, subject, tables)
        remedy = concretise(fix, subject)
        if truth is not Truth.FALSE and remedy is not None:
            fitting.append((truth, replace(remedy, proven="unproven")))
    best = max((truth.value for truth, _ in fitting), default=0)
    given: set[tuple[object, ...]] = set()
    for truth, remedy in fitting:
        steps = (remedy.commands, tuple(sorted(remedy.env.items())), remedy.image)
        what: tuple[object, ...] = steps if any(steps) else (remedy.title,)
        if truth.value == best and what not in given and len(given) < MOST_FIXES:
            given.add(what)
            yield remedy


def _left_open(fixes: Sequence[Fix], given: Sequence[Remedy], subject: Subject, tables: Tables
               ) -> Iterator[Remedy]:
    """Yield a page's main fix in bare words where it is a driver, and only others could be filled in.

    How a driver is installed few texts say; what else one can do does not stand in its place.
    """
    main = next((fix for fix in fixes[:1] if fix.kind == "driver"), None)
    if main is None or not given or any(other.kind == main.kind for other in given):
        return
    bare = concretise(_bare(main), subject)
    if bare is not None and _truth(main, subject, tables) is Truth.UNKNOWN:
        yield replace(bare, proven="unproven")


def _bare(fix: Fix) -> Fix:
    return replace(fix, commands=(), env={}, image=None, undo=None)


def _lending(fixes: Sequence[Fix], subject: Subject, tables: Tables) -> Sequence[Fix]:
    """Return the fixes that have words to lend where none can be filled in: those whose conditions hold.

    Of fixes whose conditions the text leaves open only the first, the page's main one.
    """
    truths = [(fix, _truth(fix, subject, tables)) for fix in fixes]
    fitting = [fix for fix, truth in truths if truth is Truth.TRUE]
    return fitting or [fix for fix, truth in truths[:1] if truth is not Truth.FALSE]


def _as_the_page_says(rule: Rule, fixes: Sequence[Fix], subject: Subject, tables: Tables
                      ) -> tuple[Remedy, ...]:
    """Return what to do in the words of the page, whose commands need what the text does not say."""
    if not rule.fix or rule.severity is Severity.BENIGN:
        return ()
    bare = ((fix, concretise(_bare(fix), subject)) for fix in _lending(fixes, subject, tables))
    filled = ((fix, remedy.title) for fix, remedy in bare if remedy is not None)
    lending, title = next(filled, (rule.fix[0], rule.title))
    # what a text does not say, the machine does
    there = rule.detect and (lending.commands or lending.env) and subject.value("system.os") == "Linux"
    return (Remedy(
        kind=rule.fix[0].kind, title=title, risk=rule.fix[0].risk, proven="unproven",
        commands=(_FILLED_IN,) if there else (), env={}, image=None, undo=None, effect={}),)


def _of_place(fixes: Sequence[Fix], foreign: tuple[str, ...], subject: Subject) -> Sequence[Fix]:
    """Return the fixes that the stated place has: those of containers only where nothing else is left."""
    fixes = [fitting for fix in fixes if (fitting := bound.of_place(fix, foreign)) is not None]
    if not CONTAINERS.isdisjoint(as_texts(subject.value("text.places"))):
        return fixes
    return [fix for fix in fixes if fix.kind not in ("container", "image")] or fixes


def _is_in_vain(fix: Fix, subject: Subject, tables: Tables) -> bool:
    """Say whether another driver cannot help: none serves build and card, or the build not the card."""
    wanted = [effect.right for effect in fix.effect if effect.fact == "driver" and effect.right is not None]
    if any(isinstance(resolve(right, subject, tables), Absent) for right in wanted):
        return True
    is_for_build = any((right.other or "").startswith(_OF_BUILD) for right in wanted)
    return is_for_build and subject.value("text.card_fit") in ("too-old", "too-new")


def _truth(fix: Fix, subject: Subject, tables: Tables) -> Truth:
    asks_whose = any(condition.fact == _WHOSE for condition in fix.when)
    if asks_whose and not isinstance(subject.fact(_WHOSE), Known):
        return Truth.FALSE  # a fix for one framework is none for another
    return all_hold(fix.when, subject, tables).truth


def _asked_of(condition: Condition) -> tuple[str, str, Operand | None]:
    """Return what a condition asks, whatever it asks it of."""
    return condition.fact.partition(".")[2], condition.op, condition.right


def pages_by_cause(rules: Sequence[Rule]) -> Mapping[str, Sequence[Rule]]:
    """Return all pages of each cause."""
    pages: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.withdrawn is None:
            pages.setdefault(rule.cause, []).append(rule)
    return pages


def rules_by_cause(rules: Sequence[Rule]) -> Mapping[str, Rule]:
    """Return the page of each cause: of several the one that is written for texts, else the first.

    One without questions has those of another page of its cause.
    """
    valid = [rule for rule in rules if rule.withdrawn is None]
    ordered = sorted(valid, key=lambda rule: (bool(rule.detect), rule.told is None))
    first = {rule.cause: rule for rule in reversed(ordered)}
    asks = {rule.cause: rule.ask for rule in reversed(ordered) if rule.ask}
    return {cause: rule if rule.ask else replace(rule, ask=asks.get(cause, ()))
            for cause, rule in first.items()}
