"""What a test needs of a machine's GPUs, and why a machine does not meet it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from gpudoctor import derive, ruledb, versions
from gpudoctor.arguments import allowed, refused
from gpudoctor.derive import requirements
from gpudoctor.derive.cards import card_within
from gpudoctor.derive.requirements import Requirement
from gpudoctor.examine import Policy, every_finding, examine
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.model import Known, Report, RuleDatabase, Scope, Severity, Snapshot, Subject, Unknown

KEYWORDS = ("count", "memory", "capability", "framework")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_HOST = "host"
_EACH = " x "  # between a card and a framework


@frozen
class Need:
    """So many cards, each with `memory` and `capability`, and a framework that runs on them."""

    count: int
    memory: Requirement | None
    capability: str | None
    framework: Requirement | None


def as_written(arguments: Sequence[object], keywords: Mapping[str, object]) -> Need:
    """Return the need that a call's arguments state; raise ValueError for what means nothing."""
    unknown = [name for name in keywords if name not in KEYWORDS]
    if unknown:
        raise ValueError(f"{unknown[0]}: it takes {allowed(unknown[0], KEYWORDS)}")
    if len(arguments) > 1 or (arguments and "count" in keywords):
        raise ValueError("only the count can stand without its name")
    return need(*arguments, **keywords)  # type: ignore[arg-type]  # need() looks at each value itself


def need(count: int = 1, *, memory: str | None = None, capability: str | float | None = None,
         framework: str | None = None) -> Need:
    """Return the need; raise ValueError for what means nothing."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise refused("count", count, "a number of GPUs, 1 or more")
    if capability is not None and not versions.is_version(str(capability)):
        raise refused("capability", capability, "a compute capability, such as \"8.0\"")
    named = None if framework is None else _requirement(framework)
    if framework is not None and (named is None or named.subject not in FRAMEWORKS):
        name = _NAME.match(framework) if isinstance(framework, str) else None
        known = allowed(name and name[0], FRAMEWORKS)
        raise refused("framework", framework, f"a framework with its version, as in \"torch>=2.6\"; {known}")
    size = None if memory is None else _requirement(f"gpu.memory>={memory}")
    if memory is not None and size is None:
        raise refused("memory", memory, "a size with its unit, such as \"40GiB\"")
    return Need(count=count, memory=size, framework=named,
                capability=None if capability is None else str(capability))


def _requirement(text: object) -> Requirement | None:
    try:
        return requirements.parse(text) if isinstance(text, str) else None
    except requirements.RequirementError:
        return None


def unmet(wanted: Need, snapshot: Snapshot) -> str:
    """Return in one line why the machine does not meet the need, "" where it does."""
    database = ruledb.load()
    asked = () if wanted.framework is None else (wanted.framework,)
    report = examine(snapshot, database, Policy(requirements=asked))
    return next(_against(wanted, report, database), "")


def _against(wanted: Need, report: Report, database: RuleDatabase) -> Iterator[str]:
    """Yield what speaks against it, the cause of all before what is wrong with single cards."""
    framework = wanted.framework.subject if wanted.framework else None
    subjects = [_HOST, *([framework] if framework else [])]
    yield from _wrong(report, subjects)
    unfit = []
    cards = derive.subjects(report.snapshot, database)[Scope.GPU]
    for card in cards:
        own = [card.name, *([f"{card.name}{_EACH}{framework}"] if framework else [])]
        why = next(chain(_unfit(wanted, card), _wrong(report, own)), None)
        unfit += [f"{card.name}: {why}"] if why else []
    fit = len(cards) - len(unfit)
    if fit < wanted.count:
        yield "; ".join((f"of {wanted.count} wanted {fit} would do", *unfit))


def _unfit(wanted: Need, card: Subject) -> Iterator[str]:
    """Yield what a card lacks, or why that cannot be said."""
    hidden, capability = card.fact("gpu.hidden"), card.fact("gpu.compute_capability")
    if isinstance(hidden, Known) and hidden.value is True:
        yield "CUDA_VISIBLE_DEVICES hides it"
    if wanted.capability is not None:
        if not isinstance(capability, Known):
            yield "its compute capability could not be seen"
        elif versions.parse(str(capability.value)) < versions.parse(wanted.capability):
            yield f"compute capability {capability.value} is below {wanted.capability}"
    if wanted.memory is not None:
        verdict = card_within(wanted.memory.bound, card.facts)
        if isinstance(verdict, Unknown):
            yield f"its memory could not be seen ({verdict.reason})"
        elif not verdict:
            yield f"its memory is not {wanted.memory.bound}"


def _wrong(report: Report, subjects: Sequence[str]) -> Iterator[str]:
    """Yield the errors of the subjects, each by its cause, then what could not be judged of them."""
    for finding in report.findings:
        errors = [one for one in every_finding([finding]) if one.severity is Severity.ERROR]
        if any(one.subject in subjects for one in errors):
            yield f"{finding.message} ({finding.cause}, {finding.rule})"
    for open_ in report.undecided:
        if open_.subject in subjects and open_.severity is Severity.ERROR and open_.asked:
            yield f"it could not be seen whether there is {open_.cause} ({open_.rule})"
