"""What a summary of many machines says, in its order and its words; each format only lays it out.

All of it is printable, whatever a machine or a file is called.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from gpudoctor.fleet.document import Judging
from gpudoctor.fleet.machine import Cause
from gpudoctor.fleet.odd import LEAST_PEERS, NO_PEERS, Apart, against, compared, words
from gpudoctor.fleet.summary import Peers, Summary
from gpudoctor.fleet.tally import Count, Tally
from gpudoctor.frozen import frozen
from gpudoctor.model import Severity, Verdict
from gpudoctor.render.plain import counted_words, printable

_MOST_LINES = 20  # of one section: what follows is in the JSON
_MOST_DIFFERENCES = 8
_MOST_NAMES = 5
_VALUE_CHARACTERS = 300
_IN_A_LIST = re.compile(r":[0-9]+\Z|\[[0-9]+\]\Z|\.gz\Z")  # a document that no command takes by its file


@frozen
class Line:
    """One thing said of machines: how many, what, their names, what belongs to it, commands to copy."""

    machines: int
    what: str
    names: str = ""
    severity: Severity | None = None
    items: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()


@frozen
class Section:
    """Lines of one kind; `note` says what more there is, or how they came about."""

    title: str
    lines: tuple[Line, ...]
    note: str = ""


def head(summary: Summary, judging: Judging) -> Iterator[tuple[str, str]]:
    """Yield (label, what was read and what was not)."""
    number = summary.machines.number
    if summary.is_interrupted:
        yield "INTERRUPTED", "this is what was read until then"
    verdicts = ", ".join(f"{summary.verdicts[verdict]} {said}" for verdict, said in _VERDICTS.items()
                         if summary.verdicts[verdict])
    yield "machines", f"{number}: {verdicts}" if number else "none"
    judged = summary.kinds["judged"]
    rules = f" judged now by rules {judging.rules[0]}" if judging.rules else " judged now"
    word = "its" if summary.kinds["reports"] == 1 else "their"
    read = [counted_words(summary.kinds["reports"], "report") + f" taken at {word} word"
            if summary.kinds["reports"] else "", f"{judged}{rules}" if judged else ""]
    yield "read", ", ".join(filter(None, read)) or "nothing"
    peers = sorted(summary.peers.items(), key=lambda item: (-item[1].all.number, item[0]))
    if peers:
        yield "peers", printable("; ".join(_kind(key, some) for key, some in peers), 600)
    if summary.kinds["assumed"]:
        yield "ASSUMED", f"{summary.kinds['assumed']} of them are not machines as they are, but as assumed"
    if len(summary.editions.counts) > 1:
        said = "; ".join(f"{edition} ({count.number})" for edition, count in summary.editions.ranked())
        yield "editions", printable(f"{said}: --judge judges all by the same rules", 600)
    if summary.refused.total:
        yield "NOT READ", f"{counted_words(summary.refused.total, 'file')}: {_refused(summary)}"
    for what, count in summary.skipped.ranked():
        yield "left out", f"{counted_words(count.number, 'file')}, {what}: {_named(count, str)}"


def _kind(key: str, peers: Peers) -> str:
    few = f" (not compared: fewer than {LEAST_PEERS})" if peers.all.number < LEAST_PEERS else ""
    alone = " (not compared)" if key in NO_PEERS else few
    return f"{peers.all.number} with {_cards(key, peers)}{alone}"


def _cards(key: str, peers: Peers) -> str:
    """Return the names of the cards of peers, or what is known instead."""
    return " or ".join(name for name, _ in peers.cards.ranked()) or key


_VERDICTS = {Verdict.HEALTHY: "healthy", Verdict.FINDINGS: "not healthy", Verdict.UNDECIDED: "undecided"}


def _refused(summary: Summary) -> str:
    shown = sorted(summary.refused.counts)[:3]
    rest = summary.refused.total - len(shown)
    said = "; ".join(printable(why, 200) for _, why in shown)
    return f"{said}; and {rest} more" if rest else said


def sections(summary: Summary, folder: str = "") -> Iterator[Section]:
    """Yield what there is to say; names are told relative to `folder`."""
    def short(name: str) -> str:
        return name[len(folder):].lstrip("/") if folder and name.startswith(f"{folder}/") else name

    yield from _causes("CAUSES", summary.causes, short)
    shared = [(dict.fromkeys(cause.cause for cause in causes), count)
              for causes, count in summary.alike.ranked()]
    lines = [Line(machines=count.number, what=", ".join(causes), names=_named(count, short))
             for causes, count in shared if len(causes) > 1]
    if lines:
        yield _section("SEVERAL CAUSES TOGETHER", lines)
    questions = _together(summary.open, short)
    if questions:
        yield _section("COULD NOT BE JUDGED", questions)
    kinds = sorted(summary.peers.items(), key=lambda item: (-item[1].all.number, item[0]))
    for key, peers in kinds:
        yield from _peers(key, peers, short)
    yield from _few(kinds, short)
    if summary.peers_beyond:
        yield Section(title="FURTHER CARDS", lines=(), note=(
            f"{counted_words(summary.peers_beyond, 'machine')} with yet other cards were not compared"))


def _causes(title: str, tally: Tally[Cause], short: Callable[[str], str]) -> Iterator[Section]:
    lines = [Line(machines=count.number, what=f"{_grave(cause)} {cause.cause} [{cause.rule}]",
                  names=_named(count, short), severity=cause.severity)
             for cause, count in tally.ranked()]
    if lines:
        yield _section(title, lines)


def _grave(cause: Cause) -> str:
    return cause.severity.value.upper() + (" (likely)" if cause.is_likely else "")


def _together(tally: Tally[Cause], short: Callable[[str], str]) -> list[Line]:
    """Return a line for what is open on the same machines: one thing that was not seen leaves many open."""
    same: dict[tuple[int, int], list[tuple[Cause, Count]]] = {}
    for cause, count in tally.ranked():
        same.setdefault((count.number, count.mark), []).append((cause, count))
    return [Line(machines=number, what=", ".join(f"{cause.cause} [{cause.rule}]" for cause, _ in found),
                 names=_named(found[0][1], short))
            for (number, _), found in same.items()]


def _section(title: str, lines: Sequence[Line], note: str = "") -> Section:
    rest = len(lines) - _MOST_LINES
    more = f"and {rest} more, which --format json tells" if rest > 0 else ""
    return Section(title=title, lines=tuple(lines[:_MOST_LINES]), note="; ".join(filter(None, (more, note))))


def _peers(key: str, peers: Peers, short: Callable[[str], str]) -> Iterator[Section]:
    found = compared(key, peers)
    lines = [_apart(one, short) for one in found.apart]
    among = printable(f"AMONG {peers.all.number} WITH {_cards(key, peers)}", 160)
    if lines or found.varied:
        yield _section(f"APART {among}", lines, _varied(found.varied))
    if found.divided:
        divided = [Line(machines=tally.total, what=printable(fact), items=tuple(
            (str(count.number), printable(f"{words(value)}  ({_named(count, short)})", _VALUE_CHARACTERS))
            for value, count in tally.ranked()[:_MOST_DIFFERENCES])) for fact, tally in found.divided]
        yield _section(f"DIVIDED {among}", divided)


def _few(kinds: Sequence[tuple[str, Peers]], short: Callable[[str], str]) -> Iterator[Section]:
    """Yield the machines with cards that hardly any other has, where the others have peers."""
    few = [(key, peers) for key, peers in kinds
           if key not in NO_PEERS and peers.all.number < LEAST_PEERS]
    if few and len(few) < len(kinds):
        yield _section("WITH OTHER CARDS THAN MOST", [
            Line(machines=peers.all.number, what=printable(_cards(key, peers), 160),
                 names=_named(peers.all, short)) for key, peers in few])


def _varied(facts: Sequence[str]) -> str:
    said = printable(", ".join(facts), _VALUE_CHARACTERS)
    return f"not compared, because there are too many values: {said}" if facts else ""


def _apart(one: Apart, short: Callable[[str], str]) -> Line:
    items: list[tuple[str, str]] = []
    for d in one.differences[:_MOST_DIFFERENCES]:
        value, usual = (printable(said, _VALUE_CHARACTERS) for said in against(d.value, d.usual))
        items.append((printable(d.fact, 100), f"{value} ({d.usual_number} of {d.of}: {usual})"))
    rest = len(one.differences) - len(items)
    if rest > 0:
        items.append(("more", f"and {counted_words(rest, 'more fact')}, which --format json tells"))
    pair = (one.typical, one.names[0])
    commands = () if any(map(_IN_A_LIST.search, pair)) else (
        printable(f"gpudoctor diff {' '.join(map(shlex.quote, pair))}", 4000),)
    return Line(machines=one.number, what=_named(Count(one.number, [*one.names]), short),
                items=tuple(items), commands=commands)


def _named(count: Count, short: Callable[[str], str]) -> str:
    """Return the first names, and how many more there are."""
    shown = count.names[:_MOST_NAMES]
    said = ", ".join(printable(short(name), 120) for name in shown)
    rest = count.number - len(shown)
    return f"{said} and {rest} more" if rest else said


def steps(summary: Summary) -> tuple[str, ...]:
    """Return the command to type next: what the most frequent of the worst causes is."""
    worst = sorted(summary.causes.ranked(),
                   key=lambda item: (item[0].rank, -item[1].number, item[0].is_likely))
    if not worst:
        return ()
    return (f"gpudoctor explain {worst[0][0].cause}",)


def closing(summary: Summary) -> str:
    """Return what it comes to, in one sentence."""
    number, unread = summary.machines.number, summary.refused.total
    healthy = summary.verdicts[Verdict.HEALTHY]
    bad, open_ = summary.verdicts[Verdict.FINDINGS], summary.verdicts[Verdict.UNDECIDED]
    if not number:
        return "Nothing could be read."
    parts = [f"{bad} not healthy" if bad else "", f"{open_} undecided" if open_ else "",
             f"{counted_words(unread, 'file')} could not be read" if unread else ""]
    said = ", ".join(filter(None, parts))
    return f"{healthy} of {counted_words(number, 'machine')} healthy{f'; {said}' if said else ''}."
