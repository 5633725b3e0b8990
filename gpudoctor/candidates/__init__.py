"""What could be installed here: stacks and images as overlays on a machine's fixed facts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor import __version__, versions
from gpudoctor.candidates import told
from gpudoctor.candidates.changes import KINDS, Changes
from gpudoctor.candidates.ground import Ground, capabilities, ground
from gpudoctor.candidates.images import images
from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.sets import judged_sets, smallest_conflict
from gpudoctor.candidates.stacks import FRAMEWORKS, Stack, stacks
from gpudoctor.candidates.wishes import Wish, WishError, parse
from gpudoctor.derive import device_code
from gpudoctor.derive.view import as_records
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Candidate, Change, Fit, Known, LastStack, Recommendation, RuleDatabase, Snapshot,
)
from gpudoctor.model import Ground as GroundInWords

__all__ = ["EXIT_NOTHING", "EXIT_SOMETHING", "Asked", "WishError", "recommend"]

EXIT_SOMETHING, EXIT_NOTHING = 0, 1


@frozen
class Asked:
    """What is asked for; `why` are releases whose chain of reasons is wanted."""

    frameworks: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    python: str | None = None
    image: bool = False
    pre: bool = False
    may_change: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def recommend(snapshot: Snapshot, database: RuleDatabase, asked: Asked) -> Recommendation:
    """Return what fits the machine of a snapshot, the newest first; raise `WishError`."""
    for kind in asked.may_change:
        if kind not in KINDS:
            raise WishError(f"--may-change {kind[:80]!r}: write {' or '.join(KINDS)}, or both with a comma")
    wishes = parse((*asked.frameworks, *asked.why), database.tables, pre=asked.pre)
    reasons = parse(asked.why, database.tables, pre=asked.pre)
    base = ground(snapshot, database, asked.python)
    listed = {wish.framework: _listed(wish, base, asked) for wish in wishes or map(_all_of, FRAMEWORKS)}
    wanted = wishes or tuple(map(_all_of, FRAMEWORKS))
    judge = Judge(base)
    judged = {name: [judge.of((stack,)) for stack in some] for name, some in listed.items()}
    is_set = len(asked.frameworks) > 1 and len(wishes) > 1
    fitting = {name: [one.stacks[0] for one in some if not one.objections] for name, some in judged.items()}
    singles = [one for some in judged.values() for one in some]
    found = [*judged_sets(wanted, fitting, judge)] if is_set and all(fitting.values()) else singles
    if asked.image:
        found = []
    explained = {stack.release for wish in reasons for stack in listed[wish.framework] if wish.admits(stack)}
    candidates = [told.candidate(one, base, why=bool(explained & {s.release for s in one.stacks}))
                  for one in found]
    if not is_set:
        candidates += [image for wish in wanted for image in images(wish, base)]
    offered = any(one.offered for one in candidates) if not is_set else any(not one.objections for one in found
                                                                          if len(one.stacks) > 1)
    conflict = () if offered else _conflict(wanted if wishes else (), fitting, judge, base, singles)
    return _whole(database, asked, wanted if wishes else (), base, candidates=_preferred(candidates),
                  offered=offered, conflict=conflict,
                  changes=tuple(_changes(snapshot, database, asked, base, listed, fitting)),
                  last=() if offered else _last(listed, base))


def _whole(database: RuleDatabase, asked: Asked, wishes: Sequence[Wish], base: Ground, *,
           candidates: Sequence[Candidate], offered: bool, conflict: tuple[str, ...],
           changes: tuple[Change, ...], last: tuple[LastStack, ...]) -> Recommendation:
    return Recommendation(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        exit_code=EXIT_SOMETHING if offered else EXIT_NOTHING, assumptions=asked.assumptions,
        wishes=tuple(wish.text for wish in wishes), ground=_in_words(base), candidates=tuple(candidates),
        changes=changes, conflict=conflict, last=last)


def _all_of(framework: str) -> Wish:
    return Wish(framework=framework)


def _listed(wish: Wish, base: Ground, asked: Asked) -> list[Stack]:
    """Return the stacks that a wish admits; one of unknown device code only where it is named."""
    return [stack for stack in stacks(wish.framework, base.platform, base.database.tables)
            if wish.admits(stack) and (asked.pre or not stack.is_prerelease)
            and (stack.is_measured or wish.is_exact)]


def _preferred(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return what is offered before what is not, each in the order it came: newest first."""
    return sorted(candidates, key=lambda one: one.verdict is Fit.REJECTED)


def _conflict(wishes: Sequence[Wish], fitting: Mapping[str, Sequence[Stack]], judge: Judge, base: Ground,
              singles: Sequence[Judged]) -> tuple[str, ...]:
    """Return the smallest set of what was asked for that nothing fits."""
    if not wishes:
        return ()
    some = smallest_conflict(wishes, fitting, judge)
    if len(some) > 1:
        return tuple(wish.text for wish in some)
    mine = [one for one in singles if one.stacks[0].framework == some[0].framework]
    here = f"Python {base.place.python}" if mine and all(
        base.place.python not in one.stacks[0].pythons for one in mine) else f"this machine ({base.platform})"
    return some[0].text, here


def _changes(snapshot: Snapshot, database: RuleDatabase, asked: Asked, base: Ground,
             listed: Mapping[str, Sequence[Stack]], fitting: Mapping[str, Sequence[Stack]]) -> list[Change]:
    if not asked.may_change:
        return []
    newest = {name: next(iter(some), None) for name, some in fitting.items()}
    return Changes(snapshot, base, database, listed, newest).worth(asked.may_change)


def _last(listed: Mapping[str, Sequence[Stack]], base: Ground) -> tuple[LastStack, ...]:
    """Return of each framework the newest release with code for every card here, whatever else it needs."""
    here = capabilities(base)
    found = []
    for name in listed if here else ():
        every = stacks(name, base.platform, base.database.tables)
        serving = (stack for stack in every if stack.is_measured and not stack.is_prerelease and all(
            device_code.coverage(as_records(stack.row["code"]), card).kind != "none" for card in here))
        newest = max(serving, key=lambda stack: versions.parse(stack.version), default=None)
        if newest is not None:
            found.append(LastStack(framework=name, version=newest.version, cuda=newest.cuda,
                                   python=newest.pythons))
    return tuple(found)


def _in_words(base: Ground) -> GroundInWords:
    driver, glibc = base.fact("driver.version"), base.fact("system.glibc")
    ceiling = base.fact("driver.cuda_ceiling")
    runs = f", runs CUDA up to {ceiling.value}" if isinstance(ceiling, Known) else ""
    return GroundInWords(
        platform=base.platform, python=base.place.python, cards=told.card_summaries(base),
        driver=f"{driver.value}{runs}" if isinstance(driver, Known) else "none that works",
        glibc=str(glibc.value) if isinstance(glibc, Known) else "unknown", environment=base.place.in_words,
        faults=told.faults(base))
