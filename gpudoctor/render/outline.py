"""What a report says, in its order and its words; each format only lays it out. All of it is printable.

A command may be as long as it is: it is copied, never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudoctor.examine import counts
from gpudoctor.exported import as_shown
from gpudoctor.frozen import frozen
from gpudoctor.model import Ask, Certainty, Finding, Remedy, Report, Severity, Snapshot, Undecided
from gpudoctor.render import areas, told
from gpudoctor.render.plain import REDACTED, printable
from gpudoctor.skeleton import OF_A_SITE

LONGEST = 4000  # characters of one thing said; nothing that a person reads is longer
_PROVEN = {
    "model": "proven on what was seen", "tried": "tried in a child process",
    "unproven": "not proven: only a text was read",
}


@frozen
class Item:
    """One thing said below a heading: its label, the words, commands to copy, and what answers mean.

    `undo` takes the commands back; it stands apart from them, for a block is copied as a whole.
    """

    label: str
    said: str
    commands: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    undo: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the commands and the one that takes them back, where each is copied by itself."""
        return (*self.commands, f"{self.undo}    # to undo it") if self.undo else self.commands


@frozen
class Entry:
    """A finding as it is told: `sureness` is "", "likely" or "likely, 2 of 3"."""

    severity: Severity
    sureness: str
    rule: str
    cause: str
    subject: str
    message: str
    items: tuple[Item, ...]

    @property
    def label(self) -> str:
        """Return how grave and how sure it is: "ERROR (likely)"."""
        return self.severity.value.upper() + (f" ({self.sureness})" if self.sureness else "")


@frozen
class Open:
    """Something that could not be judged: what, how grave its worst would be, and its items.

    `causes` are what was to be judged, each with its subject; of a text's lines there are none.
    """

    said: str
    severity: Severity
    items: tuple[Item, ...]
    causes: tuple[str, ...] = ()


def head(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what holds for all of the report: assumptions, and that names in it are stand-ins."""
    if report.assumptions:
        said = f"{', '.join(report.assumptions)} (so what follows is not this machine as it is)"
        yield "ASSUMED", printable(said, 600)
    if report.snapshot.redacted:
        yield "REDACTED", printable(REDACTED, LONGEST)


def seen(report: Report) -> Iterator[tuple[str, str]]:
    """Yield (area, what is there) of the text, the machine or both."""
    if told.is_of_text(report.snapshot):
        stated = list(told.lines(report.snapshot))
        if told.is_of_machine(report.snapshot):  # which has cards and versions of its own
            stated = [("text", "; ".join(f"{label} {said}" for label, said in stated))] if stated else []
        yield from ((printable(label), printable(said, LONGEST)) for label, said in stated)
    if told.is_of_machine(report.snapshot):
        yield from ((printable(label), printable(said, LONGEST))
                    for label, said in areas.lines(report.snapshot))


def entries(report: Report) -> Iterator[Entry]:
    """Yield the findings; a line of a text that an earlier one showed is only pointed at."""
    quoted: set[str] = set()
    ranks = told.ranks(report)
    for finding in report.findings:
        likely = finding.certainty is not Certainty.CERTAIN
        yield Entry(
            severity=finding.severity, sureness=f"likely{ranks.get(finding.rule, '')}" if likely else "",
            rule=finding.rule, cause=finding.cause, subject=printable(finding.subject),
            message=printable(finding.message, 1200), items=tuple(_items(finding, quoted)))


def _items(finding: Finding, quoted: set[str]) -> Iterator[Item]:
    for evidence in finding.evidence:
        said = f"{evidence.fact} = {printable(evidence.saw, 200)}  ({printable(evidence.source, 160)})"
        yield Item(label="seen", said=printable(told.quoted(evidence, quoted) or said, LONGEST))
    for number, fix in enumerate(finding.fixes):
        yield _fix(fix if number else replace(fix, title=fix.first_title))
    yield from map(_ask, finding.asks)
    if finding.consequences and finding.severity is Severity.BENIGN:
        names = ", ".join(one.cause for one in finding.consequences)
        yield Item(label="also", said=f"harmless: {names}")
    elif finding.consequences:
        names = ", ".join(f"{one.cause} [{printable(one.subject)}]" for one in finding.consequences)
        yield Item(label="follows", said=printable(names, LONGEST))
        # nobody knows a site's page by the name of its cause
        yield from (Item(label="site", said=printable(f"{one.rule} {one.cause}: {one.message}", LONGEST))
                    for one in finding.consequences if one.rule.startswith(OF_A_SITE))
    yield Item(label="more", said=f"gpudoctor rules show {finding.rule}")


def _ask(ask: Ask) -> Item:
    return Item(label="decide", said=printable(ask.question, LONGEST),
                commands=(printable(ask.command, LONGEST),),
                answers=tuple(f"{printable(answer)} -> {printable(meaning)}"
                              for answer, meaning in ask.answers.items()))


def _fix(fix: Remedy) -> Item:
    commands = [*fix.commands, *(as_shown(name, value) for name, value in fix.env.items())]
    commands += [fix.image] if fix.image else []
    return Item(label="fix", undo=printable(fix.undo or "", LONGEST),
                said=printable(f"{printable(fix.title)} ({fix.risk}; {_PROVEN[fix.proven]})", LONGEST),
                commands=tuple(printable(command, LONGEST) for command in commands))


def open_questions(report: Report) -> Iterator[Open]:
    """Yield what could not be judged and would matter, those with the same reason together."""
    reasons: dict[str, list[Undecided]] = {}
    for verdict in report.undecided:
        if not counts(verdict, Severity.WARNING):
            continue
        if verdict.cause in told.OPEN:
            yield _unknown(verdict)
            continue
        why = "; ".join(dict.fromkeys(_root(reason.source) for reason in verdict.reasons))
        reasons.setdefault(why, []).append(verdict)
    for why, verdicts in reasons.items():
        causes = dict.fromkeys(f"{one.cause} [{one.subject}]" for one in verdicts)
        yield Open(said=printable(", ".join(causes), 1200), causes=tuple(map(printable, causes)),
                   severity=min((one.severity for one in verdicts), key=lambda severity: severity.rank),
                   items=(Item(label="because", said=printable(why, 600)),))


def _unknown(verdict: Undecided) -> Open:
    """Return the lines of a text that nothing explains, or that are all it says, and what helps then."""
    lines = tuple(Item(label="line", said=printable(told.quoted(reason, set()) or reason.saw, LONGEST))
                  for reason in verdict.reasons if reason.saw)
    return Open(said=told.OPEN[verdict.cause] if lines else told.NO_LINE, severity=verdict.severity,
                items=(*lines, *map(_ask, verdict.asks),
                       Item(label="helps", said=told.what_helps(verdict.cause))))


_CHAIN = re.compile(r"(?:[a-z_]+(?:\.[A-Za-z0-9_]+)+: )+")


def _root(reason: str) -> str:
    """Return what is at the bottom of a chain of facts that each rest on the next."""
    return _CHAIN.sub("", reason)


def failed_probes(snapshot: Snapshot) -> Sequence[tuple[str, str]]:
    """Return (probe, how it failed) of those that gave no answer."""
    return [(printable(probe.probe), printable(f"{probe.outcome}, {probe.detail}", 600))
            for probe in snapshot.probes if probe.outcome not in ("ok", "not-asked")]
