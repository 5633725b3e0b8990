"""The report in one line, for places that have room for no more.

The reason of a drained node, the condition of a Kubernetes node, the message of a container that ended: what
was seen, and the command that tells the rest.
"""

from __future__ import annotations

from gpudoctor.examine import EXIT_FINDINGS, EXIT_UNDECIDED, Policy
from gpudoctor.model import Known, Report, Severity, Snapshot
from gpudoctor.render import closing, outline, told
from gpudoctor.render.outline import Entry, Item, Open
from gpudoctor.render.plain import counted_words, printable

_TEXT = "text"
_MOST_NAMED = 3
_LONGEST = 300  # characters of each part; what matters most stands first, for places that cut the end off


def render(report: Report, policy: Policy) -> str:
    """Return one line and its end; it tells what the exit code is about."""
    failing = [one for one in outline.entries(report)
               if one.severity.rank <= policy.fail_on.rank or _is_candidate(one)]
    questions = [one for one in outline.open_questions(report) if one.severity.rank <= policy.fail_on.rank]
    if report.exit_code == EXIT_FINDINGS and failing:
        said = _faults(failing)
    elif report.exit_code == EXIT_UNDECIDED and questions:
        said = _could_not_look(questions, report.snapshot)
    else:
        said = printable(closing.words(report), _LONGEST)
    return f"{said}\n"


def _is_candidate(one: Entry) -> bool:
    """Say whether it is one of the causes that a text may have: the first is the most probable one."""
    return one.subject == _TEXT and bool(one.sureness) and one.severity is not Severity.BENIGN


def _faults(failing: list[Entry]) -> str:
    """Return the first failure, the names of the others, and where its page is."""
    first = failing[0]
    likely = f" ({first.sureness})" if first.sureness else ""
    names = _few(tuple(dict.fromkeys(one.cause for one in failing if one.cause != first.cause)))
    also = f" Also: {names}." if names else ""
    more = ", ".join(item.said for item in first.items if item.label == "more")
    return (f"{first.cause} [{first.subject}]{likely}: {_sentence(printable(first.message, _LONGEST))}{also}"
            f" Next: {more}")


def _could_not_look(questions: list[Open], snapshot: Snapshot) -> str:
    """Return why the first question is open, and which it is; of a text, what nothing explains in it."""
    first, *others = questions
    more = f" (And {counted_words(len(others), 'reason')} more.)" if others else ""
    open_ = _few(first.causes) or printable(first.said, _LONGEST).rstrip(":")
    if first.said == told.NO_LINE:
        return f"{told.NO_LINE} Next: gpudoctor check"
    if first.said in told.OPEN.values():  # a text was read, and does not tell
        lines = "; ".join(item.said for item in first.items if item.label == "line")
        return f"{open_}: {_sentence(printable(lines, _LONGEST))} Next: gpudoctor check"
    again = snapshot.host.get("container.check_command")
    return (f"could not look: {_sentence(printable(_why(first.items), _LONGEST))}{more}"
            f" Open: {_sentence(open_)}"
            f" Next: {printable(str(again.value)) if isinstance(again, Known) else 'gpudoctor check'}")


def _few(names: tuple[str, ...]) -> str:
    """Return the first names, and how many there are besides."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return printable(", ".join(names[:_MOST_NAMED]), _LONGEST) + more


def _why(items: tuple[Item, ...]) -> str:
    return "; ".join(item.said for item in items)


def _sentence(said: str) -> str:
    return said if said.endswith(".") else f"{said}."
