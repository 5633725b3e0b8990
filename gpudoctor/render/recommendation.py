"""A recommendation for a person: of each framework the newest that fits, and why nothing newer does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpudoctor.examine import EXIT_UNDECIDED
from gpudoctor.model import Candidate, CardSummary, Fit, Recommendation
from gpudoctor.render import alike
from gpudoctor.render.newer import in_vain
from gpudoctor.render.plain import printable
from gpudoctor.render.sheet import LABEL_WIDTH, Sheet

_WORDS = {Fit.FITS: "fits", Fit.WITH_NOTES: "fits, with notes", Fit.REJECTED: "not offered"}
_LABEL_WIDTH, _MOST_VERSIONS, _MOST_SETS = 8, 6, 2
_JOINT = " with "
_ELSEWHERE = {
    "older": "; the last that had, if one did, is older than {oldest}, where these rules begin.",
    "newer": "; the first that has, if there is one, is newer than {newest}, where these rules end.",
    "gone": "; older cards and newer ones are served, CUDA has dropped this one, and no later release will.",
    "nowhere": "; each of them alone has some."}
_MOST_WORDS = 700  # characters of one thing said

# By framework, rule and wording: what is not offered, with what the rule says of each.
Groups = dict[tuple[str, str, str], list[tuple[Candidate, str]]]


def render(said: Recommendation, *, width: int, colour: bool, check: str = "gpudoctor check") -> str:
    """Return the recommendation as text; `check` is the command to examine this machine."""
    page = Sheet(width=width, colour=colour)
    page.line((f"gpudoctor {said.tool_version}, rules {said.rules_version}", ""))
    page.line()
    for label, text in _machine(said):
        _row(page, label, text, indent=2, width=LABEL_WIDTH)
    if said.ground.faults:
        page.line(("  " + "what to do".ljust(LABEL_WIDTH), "bold"), (printable(check, 4000), "cyan"))
    for name, candidates in _by_framework(said.candidates).items():
        for one in _best(candidates):
            _offer(page, one)
        _others(page, name, candidates)
    _rejected(page, said)
    _reasons(page, said)
    _nothing(page, said)
    _hints(page, said)
    _changes(page, said)
    return page.text()


def _row(page: Sheet, label: str, said: str, indent: int = 4, width: int = _LABEL_WIDTH) -> None:
    """Add a label and what belongs to it, safe to print."""
    page.row(label, printable(said, _MOST_WORDS), indent, width)


def _said(page: Sheet, text: str, indent: int) -> None:
    """Add a text without a label, safe to print."""
    page.paragraph(printable(text, _MOST_WORDS), indent)


def _machine(said: Recommendation) -> Iterator[tuple[str, str]]:
    ground = said.ground
    if said.assumptions:
        yield "ASSUMED", f"{', '.join(said.assumptions)} (so what follows is not this machine as it is)"
    if ground.board:
        yield "board", ground.board
    yield "driver", ground.driver
    yield "cards", "; ".join(map(_card, ground.cards)) or "no NVIDIA GPU"
    c_library = f"glibc {ground.glibc}, " if ground.platform.startswith("linux") else ""
    yield "python", f"{ground.python}, {c_library}{ground.platform}"
    yield "into", ground.environment
    for fault in ground.faults:
        yield "fault", f"{fault.message} ({fault.rule})"


def _card(card: CardSummary) -> str:
    types = f" (computes in {', '.join(card.data_types)})" if card.data_types else (
        "" if card.is_listed or card.compute_capability == "unknown" else
        " (which data types it computes in is in no table of these rules)")
    return f"{card.subject}: {card.name}, compute capability {card.compute_capability}{types}"


def _by_framework(candidates: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for one in candidates:
        found.setdefault(_JOINT.join([one.framework, *(m.framework for m in one.beside)]), []).append(one)
    return found


# -- what fits -----------------------------------------------------------------------------------------------


def _best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the newest for pip, the newest of which nothing is to be noted, and the newest image."""
    offered = [one for one in candidates if one.offered]
    for_pip = [one for one in offered if one.kind == "pip"]
    plain = [one for one in for_pip if one.verdict is Fit.FITS]
    images = [one for one in offered if one.kind == "image"]
    return [one for position, one in enumerate([*for_pip[:1], *plain[:1], *images[:1]])
            if one not in [*for_pip[:1], *plain[:1]][:position]]


def _offer(page: Sheet, one: Candidate) -> None:
    page.line()
    page.line((_head(one), "bold"))
    for note in one.notes:
        _row(page, "note", note)
    labels = ("pip", "uv") if one.kind == "pip" else ("run",)
    for position, command in enumerate(one.commands):
        label = labels[position] if position < len(labels) else ""
        if one.kind == "pip" and position == len(labels):
            why = ", so that its CUDA libraries are found" * ("LD_LIBRARY_PATH" in one.environment)
            _row(page, "then", f"after pip or uv, in each shell that starts it{why}:")
        page.line((" " * 4 + label.ljust(_LABEL_WIDTH), "bold"), (printable(command, 4000), "cyan"))


def _head(one: Candidate) -> str:
    """Return which candidate it is, also among builds of one release, and what becomes of it."""
    cuda = f"CUDA {one.cuda}" if one.cuda else ""
    if one.kind == "pip":
        shown = f"{one.name}{_in_brackets(cuda)}"
    else:
        python = f"Python {one.python[0]}" if one.python else ""
        shown = f"{one.framework}: image {one.image}{_in_brackets(cuda, python)}"
    return f"{printable(shown)}  {_WORDS[one.verdict]}"


def _in_brackets(*parts: str) -> str:
    said = ", ".join(filter(None, parts))
    return f" ({said})" if said else ""


def _others(page: Sheet, name: str, candidates: Sequence[Candidate]) -> None:
    """Write which other releases fit; where images are asked for, the newest of each who publishes some."""
    told = [one.name for one in _best(candidates)]
    more = list(dict.fromkeys(one.name for one in candidates
                              if one.offered and one.kind == "pip" and one.name not in told))
    if more:
        how = "by pip " if any(one.kind == "image" for one in _best(candidates)) else ""
        _row(page, "also", f"{how}{_list(more, name)} {'fit' if len(more) > 1 else 'fits'} as well")
    if all(one.kind == "image" for one in candidates):
        names = [str(one.image) for one in candidates if one.offered]
        for image in {name.partition(":")[0]: name for name in reversed(names)}.values():
            if image != names[0]:
                _row(page, "also", f"{image} fits as well")


def _list(names: Sequence[str], framework: str) -> str:
    """Return names in one line; of one framework only the versions, of many the first."""
    short = [name.removeprefix(f"{framework} ") for name in names]
    most = _MOST_SETS if _JOINT in framework else _MOST_VERSIONS
    rest = len(short) - most
    return ", ".join(short[:most]) + (f" and {rest} more" if rest > 0 else "")


# -- what does not -------------------------------------------------------------------------------------------


def _rejected(page: Sheet, said: Recommendation) -> None:
    """Write by which rule newer releases than those that fit are kept away; all, where none fits.

    Those of which a rule says the same but for numbers share a line, which is true of each.
    """
    groups: Groups = {}
    faulty: dict[str, list[Candidate]] = {}
    faults = {fault.rule for fault in said.ground.faults}
    for name, candidates in _by_framework(said.candidates).items():
        newer = in_vain(candidates)
        widest = _widest(newer)
        for one in newer:
            reason = min(one.rejected_by, key=lambda each: (each.is_open, each.rule != widest))
            if one.rejected_by[0].rule in faults:
                faulty.setdefault(name, []).append(one)
            else:
                key = (name, reason.rule, alike.form(reason.message))
                groups.setdefault(key, []).append((one, reason.message))
    if faulty and said.exit_code != 0:  # nothing else matters before that is cured
        groups = {key: some for key, some in groups.items() if key[0] not in faulty}
    refused = {key: some for key, some in groups.items() if not all(one.is_open for one, _ in some)}
    if refused or faulty:
        page.line()
        page.line(("NOT OFFERED", "bold"))
    _faulty(page, faulty)
    _grouped(page, refused)
    if len(groups) > len(refused):
        page.line()
        page.line(("NOT JUDGED, so not offered: each of these may fit or not", "bold"))
        _grouped(page, {key: some for key, some in groups.items() if key not in refused})


def _grouped(page: Sheet, groups: Groups) -> None:
    """Write of which candidates a rule says the same."""
    for (name, rule, _), some in groups.items():
        shown = list(dict.fromkeys(one.name if one.kind == "pip" else str(one.image) for one, _ in some))
        _said(page, ("" if _JOINT in name else f"{name} ") + _list(shown, name), indent=2)
        _row(page, rule, alike.of_all([message for _, message in some]))


def _widest(rejected: Sequence[Candidate]) -> str | None:
    """Return the rule that keeps most of them away: what some suffer from besides explains less."""
    counted = Counter(rule for one in rejected
                      for rule in dict.fromkeys(each.rule for each in one.rejected_by))
    return next((rule for rule, _ in counted.most_common(1)), None)


def _faulty(page: Sheet, faulty: dict[str, list[Candidate]]) -> None:
    """Write in one line what the machine's own fault keeps away, which the page began with."""
    shown = []
    for some in faulty.values():
        names = list(dict.fromkeys(one.name if one.kind == "pip" else str(one.image) for one in some))
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        shown.append(f"{names[0]}{more}")
    if shown:
        rules = dict.fromkeys(one.rejected_by[0].rule for some in faulty.values() for one in some)
        _said(page, "; ".join(shown), indent=2)
        _row(page, ", ".join(rules), "the fault above, whatever is installed")


def _reasons(page: Sheet, said: Recommendation) -> None:
    for one in said.candidates:
        if one.why:
            page.line()
            page.line((f"WHY {_head(one)}", "bold"))
            for reason in one.why:
                _row(page, "-", reason, width=2)


def _changes(page: Sheet, said: Recommendation) -> None:
    if said.changes:
        page.line()
        page.line(("A CHANGE WOULD HELP", "bold"))
    elif said.may_change:
        page.line()
        newer = "anything newer" if said.exit_code == 0 else "anything"
        other = " or ".join(said.may_change).replace("python", "Python")
        _said(page, f"No other {other} makes {newer} possible, as far as these rules know.", indent=0)
    if any("driver" in change.change for change in said.changes):
        _said(page, "Only drivers count that are still maintained, or the last for the cards here.", indent=4)
    for change in said.changes:
        _said(page, f"{change.change} makes {_joined(change.gains)} possible", indent=4)


def _joined(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _nothing(page: Sheet, said: Recommendation) -> None:
    """Write that nothing fits, and what came closest; nothing, where something does."""
    if said.exit_code == 0:
        return
    page.line()
    if said.exit_code == EXIT_UNDECIDED:
        _said(page, "Nothing is offered: what was asked for could not be judged here.", indent=0)
    elif said.conflict:
        _said(page, f"Nothing fits: {' and '.join(said.conflict)} do not go together.", indent=0)
    else:
        where = "such a machine" if said.assumptions else "this machine"
        is_open = not said.ground.faults and any(one.is_open for one in said.candidates)
        fits = "is known to fit" if is_open else "that these rules know fits"
        _said(page, f"Nothing {fits} {where}.", indent=0)
    for one in () if said.changes else said.last:
        cuda = f"CUDA {one.cuda}, " if one.cuda else ""
        code = "code for the cards here, PTX alone" if one.is_ptx else "code for the cards here"
        _said(page, f"The last with {code}: {one.framework} {one.version} ({cuda}Python "
                    f"{', '.join(one.python)}).", indent=0)
    for never in () if said.changes else said.unserved:
        here = ", ".join(dict.fromkeys(card.compute_capability for card in said.ground.cards))
        cards = "all the cards here together" if never.would_be == "nowhere" else "the cards here"
        have = "have read" if never.unread else "know"
        known = f"{never.framework} that these rules {have} ({never.oldest} to {never.newest})"
        elsewhere = (f"; {', '.join(never.unread)} may have some: nobody read them." if never.unread else
                     _ELSEWHERE[never.would_be].format(oldest=never.oldest, newest=never.newest))
        _said(page, f"No release of {known} has code that is known to work on {cards} (compute "
                    f"capability {here}){elsewhere}", indent=0)


def _hints(page: Sheet, said: Recommendation) -> None:
    """Write the next steps."""
    if said.hints and said.exit_code == 0:
        page.line()
    for hint in said.hints:
        _said(page, hint.words, indent=0)
        if hint.command:
            page.line((f"    {printable(hint.command, 4000)}", "cyan"))
