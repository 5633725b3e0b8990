"""From what texts say to a report: facts, candidates, findings, by the engine and pages of `check`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gpudoctor import __version__, derive
from gpudoctor.examine import Policy, conclude, counts, every_finding
from gpudoctor.explanation import complaints, denied, entries, findings, here, subjects
from gpudoctor.explanation.choosing import INFORMS, Choice, at_most_likely, choose, raised
from gpudoctor.explanation.context import is_context
from gpudoctor.explanation.ranking import Candidate, ranked, without_words
from gpudoctor.explanation.reading import Quoted, Reading, Said
from gpudoctor.explanation.stated_findings import STATED, completed, joined, stated_findings
from gpudoctor.explanation.undecided import COMPLAINT, QUESTIONS, complaint, unexplained
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Ask, Certainty, Evidence, Finding, Report, Rule, RuleDatabase, Severity, Snapshot, SymptomPattern,
    Undecided,
)
from gpudoctor.pattern_forms import PEOPLE

_OF_WORKING = frozenset({"cpu-only-build", "no-nvidia-gpu"})  # what only a card in use speaks against

__all__ = ["Quoted", "Reading", "Said", "Told", "explain", "report"]


@frozen
class Told:
    """What is told of a text: findings in order, what could not be explained, and the facts of it.

    `contradictions` are what the text states and the machine beside it denies.
    """

    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    snapshot: Snapshot
    contradictions: tuple[Evidence, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Return whether nothing more need be asked: a certain fault, or none."""
        faults = [finding for finding in self.findings if finding.severity is not Severity.BENIGN]
        if not faults:
            return not self.is_unexplained or bool(self.findings)
        return faults[0].certainty is Certainty.CERTAIN

    @property
    def is_complaint(self) -> bool:
        """Return whether the text says that something does not work, and no more."""
        return any(question.cause == COMPLAINT for question in self.undecided)

    @property
    def is_unexplained(self) -> bool:
        """Return whether the text leaves open what its fault is."""
        return any(question.cause in QUESTIONS for question in self.undecided)


def explain(reading: Reading, database: RuleDatabase, machine: Report | None = None) -> Told:
    """Return what the texts show, held against a machine where one was looked at.

    Where known wordings explain no fault and leave a question open, or only people speak and no program,
    lines in other wordings are read; where no program told anything, and there is no machine to ask, words
    count: beside what a program says they mislead as often as they help. The database needs the rules that
    only a text shows (extent "told").
    """
    if reading.recorded is not None:
        reading = _beside_document(reading)
    reading = denied.meant(reading, database)
    reading = replace(reading, suspicious=entries.of_faults(reading.suspicious))
    told = _told(reading, database, machine)
    is_complaint = _is_complaint(reading, database)
    is_understood = bool(told.findings) and not is_complaint
    if told.is_unexplained or is_complaint:
        reading, told = _otherwise(reading, told, database, machine)
    is_understood = is_understood or (bool(told.findings) and told.is_settled)
    if machine is not None or is_understood or _works(reading, database):
        return told  # a machine is asked, a known line believed
    from gpudoctor.explanation import plain_words  # as of these

    guessed = plain_words.guessed(reading, database, beside=bool(told.findings) or told.is_complaint)
    if not guessed.said:
        return told
    return _told(replace(reading, said=(*reading.said, *guessed.said)),
                 replace(database, symptoms=(*database.symptoms, *guessed.symptoms)), machine,
                 guesses=frozenset(line.id for line in guessed.said))


def _works(reading: Reading, database: RuleDatabase) -> bool:
    """Say whether a program tells that it sees a card and has CUDA: words alone make no fault beside it."""
    symptoms = subjects.by_id(database)
    shown = (symptoms[line.id] for line in reading.said if line.likeness == 1.0)
    return any(symptom.benign and _OF_WORKING.issubset(symptom.against) for symptom in shown)


def _beside_document(reading: Reading) -> Reading:
    """Return what a text says beside gpudoctor's own document, whose rows are what was seen, and no messages.

    Nor do they tell the place: the machine's facts do.
    """
    return replace(
        reading, said=tuple(line for line in reading.said if not entries.is_listed(line.text)),
        suspicious=tuple(line for line in reading.suspicious if not entries.is_listed(line.text)),
        text={name: fact for name, fact in reading.text.items() if name != "text.places"})


def _otherwise(reading: Reading, told: Told, database: RuleDatabase, machine: Report | None
               ) -> tuple[Reading, Told]:
    """Return the reading with what lines in other wordings say, and what is told then, where it is more."""
    from gpudoctor.explanation.unfamiliar import said_otherwise  # most texts need none of it

    said = said_otherwise(reading, database)
    if not said:
        return reading, told
    more = replace(reading, said=(*reading.said, *said))
    again = _told(more, database, machine)
    return (reading, told) if again.is_unexplained and not again.is_complaint else (more, again)


def _is_complaint(reading: Reading, database: RuleDatabase) -> bool:
    """Say whether all that speaks of a fault are sentences of people's: they name more than one thing."""
    symptoms = subjects.by_id(database)
    faulty = [symptom for symptom in (symptoms[line.id] for line in reading.said)
              if not symptom.benign and (symptom.program == PEOPLE or not is_context(symptom))]
    return bool(faulty) and all(symptom.program == PEOPLE for symptom in faulty)


def _told(reading: Reading, database: RuleDatabase, machine: Report | None, *,
          guesses: Collection[str] = ()) -> Told:
    """Return what the lines show that were read as symptoms; only words stand for those in `guesses`."""
    stated = reading.text if machine is None else here.with_machine(reading.text, machine.snapshot)
    facts = subjects.text_facts(replace(reading, text=stated), database)
    snapshot = subjects.told_snapshot(reading, facts, None if machine is None else machine.snapshot)
    found = derive.subjects(snapshot, database)
    subject = subjects.whole_subject(found)
    symptoms, rules = subjects.by_id(database), findings.rules_by_cause(database.rules)
    candidates = at_most_likely(ranked(reading.said, symptoms, subject, database.tables, rules), guesses)
    if machine is None:
        by_facts = without_words(reading.said, symptoms, subject, database.tables, rules)
        candidates = joined(candidates, stated_findings(found, database))
        is_suspect = _only_informs(candidates, rules) or _speaks_of_errors(reading, symptoms)
        understood = {STATED, *(line.id for line in reading.said if line.likeness == 1.0)}
        candidates = completed(candidates, by_facts, rules, understood=understood, is_suspect=is_suspect)
    else:
        candidates = here.verified(candidates, rules, machine)
    choice = choose(candidates, rules, raised(reading.said))
    if machine is None and not choice.harmless and complaints.is_bare(
            reading.said, choice.faults, symptoms, snapshot.host):
        asks = complaints.question(subject.value("text.framework"), database.tables)
        return Told(findings=(), undecided=(complaint(reading.said, asks),), snapshot=snapshot)
    tell = findings.Teller(said=reading.said, subject=subject, tables=database.tables, rules=rules,
                           pages=findings.pages_by_cause(database.rules), symptoms=symptoms,
                           supposed=subjects.supposed_subject(snapshot, database))
    faults = [tell.finding(candidate, certain=choice.certain_at(number))
              for number, candidate in enumerate(choice.faults)]
    harmless = [tell.finding(candidate, certain=not choice.instead) for candidate in choice.harmless]
    if choice.instead and harmless:
        one, *others = harmless  # one question decides for all of them
        harmless = [replace(one, asks=(_is_it_more(choice, one.asks),)),
                    *(replace(other, asks=()) for other in others)]
    told = (*faults, *(_folded(harmless) if faults else harmless))
    outweighed = {name for candidate in choice.instead for name in candidate.suspicions}
    opposed = {cause for line in reading.said if line.likeness == 1.0 for cause in symptoms[line.id].against}
    together = told if machine is None else here.merged(told, machine, opposed)
    open_question = unexplained(reading, together, symptoms, outweighed, candidates,
                                only_informs=_only_informs(candidates, rules))
    if machine is None:
        return Told(findings=told, undecided=open_question, snapshot=snapshot)
    return Told(findings=together, undecided=(*open_question, *machine.undecided), snapshot=snapshot,
                contradictions=tuple(here.contradictions(reading.text, machine.snapshot)))


def _only_informs(candidates: Sequence[Candidate], rules: Mapping[str, Rule]) -> bool:
    """Say whether no known line is worth an answer: a table of nvidia-smi, a library that was opened."""
    return all(candidate.score < INFORMS for candidate in candidates if candidate.cause in rules)


def _speaks_of_errors(reading: Reading, symptoms: Mapping[str, SymptomPattern]) -> bool:
    """Say whether something in the text is not known to be harmless."""
    return bool(reading.suspicious) or not all(symptoms[line.id].benign for line in reading.said)


def _folded(harmless: list[Finding]) -> list[Finding]:
    """Return harmless findings as one: beside a fault they are worth one line."""
    if not harmless:
        return []
    return [replace(harmless[0], consequences=tuple(harmless[1:]))]


def _is_it_more(choice: Choice, asks: tuple[Ask, ...]) -> Ask:
    """Return the question whether it is harmless after all, with what it could be instead."""
    causes = ", ".join(candidate.cause for candidate in choice.instead[:3])
    first = asks[0] if asks else None
    return Ask(
        question=first.question if first else "Is there a GPU in this machine that should be used?",
        command=first.command if first else "gpudoctor explain LOG --here",
        answers={**(first.answers if first else {"no": "the line is harmless"}),
                 "if it is a fault": f"it may be {causes}"})


def report(told: Told, database: RuleDatabase, policy: Policy, *, interrupted: bool = False) -> Report:
    """Return the report on texts, with the verdict and the exit code that `check` would give.

    Of a text that was not read to its end nobody knows that it holds no fault, nor of one that is harmless
    only where there is no card: it does not say whether there is one.
    """
    severities = [finding.severity for finding in every_finding(told.findings)]
    is_doubtful = not any(severity.is_fault for severity in severities) and any(
        f.certainty is Certainty.LIKELY for f in told.findings if f.severity is Severity.BENIGN)
    is_open = interrupted or is_doubtful or any(counts(u, policy.fail_on) for u in told.undecided)
    verdict, code = conclude(severities, is_open=is_open, policy=policy)
    return Report(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        verdict=verdict, exit_code=code, findings=told.findings, undecided=told.undecided,
        snapshot=told.snapshot)
