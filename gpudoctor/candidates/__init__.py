"""What could be installed here: stacks and images as overlays on a machine's fixed facts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor import __version__
from gpudoctor.candidates import told
from gpudoctor.candidates.changes import KINDS, Changes
from gpudoctor.candidates.ground import Ground, capabilities, ground_of
from gpudoctor.candidates.images import images_of
from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.sets import judged_sets, smallest_conflict
from gpudoctor.candidates.stacks import FRAMEWORKS, Stack, stacks_of
from gpudoctor.candidates.wishes import Wish, WishError, parse
from gpudoctor.frozen import frozen
from gpudoctor.model import Candidate, Change
from gpudoctor.model import Ground as GroundInWords
from gpudoctor.model import Known, LastStack, Recommendation, RuleDatabase, Snapshot

__all__ = ["EXIT_NOTHING", "EXIT_SOMETHING", "Asked", "WishError", "recommend", "refuse"]

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


def refuse(asked: Asked, database: RuleDatabase) -> tuple[Wish, ...]:
    """Return what is wished for; raise `WishError` for what nothing known can fulfil, on whatever machine."""
    for kind in asked.may_change:
        if kind not in KINDS:
            raise WishError(f"--may-change {kind[:80]!r}: write {' or '.join(KINDS)}, or both with a comma")
    reasons = parse(asked.why, database.tables, pre=asked.pre)
    return parse(asked.frameworks, database.tables, pre=asked.pre) or reasons


def recommend(snapshot: Snapshot, database: RuleDatabase, asked: Asked) -> Recommendation:
    """Return what fits the machine of a snapshot, the newest first; raise `WishError`."""
    wishes = refuse(asked, database)
    wanted = wishes or tuple(Wish(framework=name) for name in FRAMEWORKS)
    judge = Judge(ground_of(snapshot, database, asked.python))
    alone = {wish.framework: [judge.of((stack,)) for stack in _listed(wish, judge.base, asked)]
             for wish in wanted}
    fitting = {name: [one.stacks[0] for one in some if not one.objections] for name, some in alone.items()}
    is_set = len(asked.frameworks) > 1 and len(wishes) > 1 and not asked.image
    found = [one for name, some in alone.items() for one in some if not is_set or not fitting[name]]
    if is_set and all(fitting.values()):
        found = list(judged_sets(wishes, fitting, judge))
    listed = [told.candidate(one, judge.base, why=False) for one in found if not asked.image]
    listed += [image for wish in wanted if not is_set for image in images_of(wish, judge.base)]
    offered = any(one.offered for one in listed)
    return Recommendation(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        exit_code=EXIT_SOMETHING if offered else EXIT_NOTHING, assumptions=asked.assumptions,
        wishes=tuple(wish.text for wish in wishes), ground=_in_words(judge.base),
        candidates=tuple(sorted(_explained(listed, judge, asked), key=lambda one: not one.offered)),
        changes=_changes(snapshot, database, asked, judge, alone, is_set=is_set),
        conflict=() if offered or not wishes or asked.image else _conflict(wishes, fitting, alone, judge),
        last=() if offered else _last([w for w in wanted if not fitting[w.framework]], judge.base))


def _listed(wish: Wish, base: Ground, asked: Asked) -> list[Stack]:
    """Return the stacks that a wish admits; one of unknown device code only where it is named."""
    return [stack for stack in stacks_of(wish.framework, base.platform, base.database.tables)
            if wish.admits(stack) and (asked.pre or not stack.is_prerelease)
            and (stack.is_told or wish.is_exact)]


def _explained(listed: Sequence[Candidate], judge: Judge, asked: Asked) -> list[Candidate]:
    """Return the candidates, with the chain of reasons for those of which it is wanted."""
    reasons = parse(asked.why, judge.base.database.tables, pre=asked.pre)
    told_of = [told.candidate(judge.of((stack,)), judge.base, why=True)
               for wish in reasons for stack in _listed(wish, judge.base, asked)]
    names = {(one.name, one.cuda) for one in told_of}
    return [*told_of, *(one for one in listed if one.kind == "image" or (one.name, one.cuda) not in names)]


def _conflict(wishes: Sequence[Wish], fitting: Mapping[str, Sequence[Stack]],
              alone: Mapping[str, Sequence[Judged]], judge: Judge) -> tuple[str, ...]:
    """Return the smallest set of what was asked for that nothing fits, with what it does not fit."""
    some = smallest_conflict(wishes, fitting, judge)
    if len(some) > 1:
        return tuple(wish.text for wish in some)
    python = judge.base.place.python
    mine = [one.stacks[0].pythons for one in alone[some[0].framework]]
    without_wheel = mine and all(python not in pythons for pythons in mine)
    return some[0].text, f"Python {python}" if without_wheel else f"this machine ({judge.base.platform})"


def _changes(snapshot: Snapshot, database: RuleDatabase, asked: Asked, judge: Judge,
             alone: Mapping[str, Sequence[Judged]], *, is_set: bool) -> tuple[Change, ...]:
    if not asked.may_change:
        return ()
    stacks = {name: [one.stacks[0] for one in some] for name, some in alone.items()}
    return tuple(Changes(snapshot, database, judge, stacks, is_set=is_set).worth(asked.may_change))


def _last(wanted: Sequence[Wish], base: Ground) -> tuple[LastStack, ...]:
    """Return of each framework the newest release with code for every card here, whatever else it needs."""
    here, found = capabilities(base), []
    for name in (wish.framework for wish in wanted if here):
        serving = (stack for stack in stacks_of(name, base.platform, base.database.tables)
                   if not stack.is_prerelease and stack.serves(here))
        newest = next(serving, None)
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
