"""What could be installed here: stacks and images as overlays on a machine's fixed facts. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudoctor import __version__
from gpudoctor.candidates import elsewhere, told
from gpudoctor.candidates.changes import KINDS, Changes
from gpudoctor.candidates.ground import Ground, ground_of, require_abi, require_made, usable_capabilities
from gpudoctor.candidates.images import Images, images_of
from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.sets import judged_sets, smallest_conflict
from gpudoctor.candidates.wishes import Wish, WishError, parse
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.examine import EXIT_FINDINGS, EXIT_HEALTHY, EXIT_UNDECIDED
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Candidate, Change
from gpudoctor.model import Ground as GroundInWords
from gpudoctor.model import (
    Hint, Known, LastStack, Recommendation, RuleDatabase, Scope, Snapshot, Unserved, rows_of,
)
from gpudoctor.versions import parse as parse_version

__all__ = ["Asked", "WishError", "exit_code", "recommend", "refuse"]


@frozen
class Asked:
    """What is asked for; `why` are releases whose chain of reasons is wanted.

    `python` is the version to install for; `only_python` the one that an image has to have as well, None
    where it may bring another. `images` is what the names of images begin with, None where none will do.
    """

    frameworks: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    python: str | None = None
    only_python: str | None = None
    image: bool = False
    images: str | None = ""
    pre: bool = False
    may_change: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def refuse(asked: Asked, database: RuleDatabase) -> tuple[Wish, ...]:
    """Return what is wished for; raise `WishError` for what nothing known can fulfil, on whatever machine."""
    for kind in asked.may_change:
        if kind not in KINDS:
            raise WishError(f"--may-change {kind[:80]!r}: write {' or '.join(KINDS)}, or both with a comma")
    reasons = _asked_why(asked, database)
    named = parse(asked.frameworks, database.tables, pre=asked.pre)
    if asked.image and len(named) > 1:
        raise WishError(f"--image: an image holds one framework, and {named[0].framework} and "
                        f"{named[1].framework} are two; ask for each alone, or without --image for an "
                        "environment that holds both")
    return named or _each_once(reasons)


def exit_code(candidates: Sequence[Candidate]) -> int:
    """Return 0 where one is offered, 3 where every one is open, for then nobody knows; 1 where nothing fits.
    """
    if any(one.offered for one in candidates):
        return EXIT_HEALTHY
    return EXIT_UNDECIDED if candidates and all(one.is_open for one in candidates) else EXIT_FINDINGS


def _asked_why(asked: Asked, database: RuleDatabase) -> list[Wish]:
    """Return the releases whose reasons are wanted: each is a question of its own, also of one framework."""
    return [wish for text in asked.why for wish in parse((text,), database.tables, pre=asked.pre)]


def _each_once(reasons: Sequence[Wish]) -> tuple[Wish, ...]:
    """Return one wish for each framework; of one that is asked about several times, any release will do."""
    names = [wish.framework for wish in reasons]
    return tuple(dict.fromkeys(wish if names.count(wish.framework) == 1 else Wish(framework=wish.framework)
                               for wish in reasons))


def recommend(snapshot: Snapshot, database: RuleDatabase, asked: Asked) -> Recommendation:
    """Return what fits the machine of a snapshot, the newest first; raise `WishError`."""
    wishes = refuse(asked, database)
    wanted = wishes or tuple(Wish(framework=name) for name in FRAMEWORKS)
    judge = Judge(ground_of(snapshot, database, asked.python))
    require_made(judge.base.place)
    require_abi(snapshot, judge.base.place)
    alone = {wish.framework: [judge.of((stack,)) for stack in _listed(wish, judge.base, asked)]
             for wish in wanted}
    fitting = {name: [one.stacks[0] for one in some if not one.objections] for name, some in alone.items()}
    is_set = len(asked.frameworks) > 1 and len(wishes) > 1
    found = [one for name, some in alone.items() for one in some if not is_set or not fitting[name]]
    if is_set and all(fitting.values()):
        found = list(judged_sets(wishes, fitting, judge))
    listed = [told.candidate(one, judge.base, why=False) for one in found if not asked.image]
    listed += [told.without_build(wish, judge.base) for wish in wanted
               if not alone[wish.framework] and not asked.image]
    whys = _asked_why(asked, database) if asked.image else ()
    images = {} if is_set else _images(wanted, asked)
    listed += [image for some in images.values() for image in images_of(some, judge, whys)]
    offered = any(one.offered for one in listed)
    explained = [] if asked.image else [judge.of((stack,)) for stack in _reasons(asked, judge)]
    is_of_reasons = bool(explained) and not asked.may_change
    helpless = [] if offered else [wish.framework for wish in wanted if not fitting[wish.framework]]
    unserved = tuple(_unserved(helpless, judge.base)) if judge.base.takes_server_wheels else ()
    return Recommendation(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        exit_code=exit_code(listed),
        assumptions=(*snapshot.assumed, *asked.assumptions),
        wishes=tuple(wish.text for wish in wishes), ground=_in_words(judge.base),
        candidates=tuple(sorted(_with_reasons(listed, explained, judge), key=lambda one: not one.offered)),
        may_change=asked.may_change,
        changes=_changes(snapshot, database, asked, judge, _refused(explained) if is_of_reasons else alone,
                         {} if is_of_reasons else images, is_set=is_set, is_lost=not offered),
        conflict=() if offered or not wishes or asked.image else _conflict(
            wishes, fitting, alone, judge, is_assumed=bool(snapshot.assumed or asked.assumptions)),
        last=tuple(_last(helpless, judge.base)) if judge.base.takes_server_wheels else (),
        unserved=unserved,
        hints=(*_otherwise([wish for wish in wanted if not fitting[wish.framework]], wanted, asked,
                           judge.base, is_lost=not offered),
               *(() if offered else _hints(
                   wanted, {one.framework: alone[one.framework] for one in unserved}, asked, judge.base))))


def _otherwise(wishes: Sequence[Wish], wanted: Sequence[Wish], asked: Asked, base: Ground, *,
               is_lost: bool) -> Iterator[Hint]:
    """Yield who has what pip has not for this machine: images with whatever Python, conda, WSL."""
    if is_lost and asked.only_python is not None and asked.images is not None:
        yield from elsewhere.with_own_python(wishes, asked.only_python, base)
    if not asked.image:
        yield from elsewhere.of_conda(wishes, base)
        yield from elsewhere.inside_wsl(wanted, base, f" --python {asked.python}" if asked.python else "")
        yield from elsewhere.of_own_index(wishes, base)
    if is_lost:
        yield from elsewhere.of_processor(wishes, base)


def _hints(wanted: Sequence[Wish], unserved: Mapping[str, Sequence[Judged]], asked: Asked,
           base: Ground) -> Iterator[Hint]:
    """Yield the next steps where nothing is offered; `unserved` is what has no code for all cards here."""
    if asked.image:
        yield from elsewhere.without_image(wanted, base)
    options = " --image" if asked.image else f" --python {asked.python}" if asked.python else ""
    yield from elsewhere.hints(wanted, base, options + (" --pre" if asked.pre else ""))
    if unserved and not asked.image:
        stacks = {name: [one.stacks[0] for one in some] for name, some in unserved.items()}
        yield from elsewhere.for_one_card(wanted, stacks, base)


def _listed(wish: Wish, base: Ground, asked: Asked) -> list[Stack]:
    """Return the stacks that a wish admits; one of unknown device code only where it is named."""
    return [stack for stack in stacks_of(wish.framework, base.platform, base.database.tables)
            if wish.admits(stack) and (asked.pre or not stack.is_prerelease)
            and (stack.is_told or wish.is_exact)]


def _images(wanted: Iterable[Wish], asked: Asked) -> dict[str, Images]:
    """Return by framework which images would do."""
    if asked.images is None:
        return {}
    return {wish.framework: Images(wish=wish, begins=asked.images, python=asked.only_python)
            for wish in wanted}


def _reasons(asked: Asked, judge: Judge) -> list[Stack]:
    """Return the stacks of which the chain of reasons is wanted.

    Of a framework without one release named, the newest, and the newest that nothing objects to.
    """
    found: list[Stack] = []
    for wish in dict.fromkeys(_asked_why(asked, judge.base.database)):
        some = _listed(wish, judge.base, asked)
        fitting = next((stack for stack in some if judge.fits(stack)), None)
        few = [*some[:1], *([fitting] if fitting is not None and fitting not in some[:1] else [])]
        found += some if wish.is_exact else few
    return found


def _with_reasons(listed: Sequence[Candidate], explained: Sequence[Judged], judge: Judge) -> list[Candidate]:
    """Return the candidates, those that are to be explained with the chain of reasons, and first."""
    told_of = [told.candidate(one, judge.base, why=True) for one in explained]
    names = {(one.name, one.cuda) for one in told_of}
    return [*told_of, *(one for one in listed if one.kind == "image" or (one.name, one.cuda) not in names)]


def _refused(explained: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Return what was to be explained and is not offered, by framework."""
    found: dict[str, list[Judged]] = {}
    for one in explained:
        if one.objections:
            found.setdefault(one.stacks[0].framework, []).append(one)
    return found


def _conflict(wishes: Sequence[Wish], fitting: Mapping[str, Sequence[Stack]],
              alone: Mapping[str, Sequence[Judged]], judge: Judge, *, is_assumed: bool) -> tuple[str, ...]:
    """Return the smallest set of what was asked for that nothing fits, with what it does not fit."""
    some = smallest_conflict(wishes, fitting, judge)
    if len(some) > 1:
        return tuple(wish.text for wish in some)
    python = judge.base.place.python
    faults = {fault.rule for fault in told.faults(judge.base)}
    if any(one.objections[0].rule in faults or one.objections[0].is_open
           for one in alone[some[0].framework] if one.objections):
        return ()  # nothing speaks against one but the machine's own fault, or what nobody knows
    mine = [one.stacks[0].pythons for one in alone[some[0].framework]]
    without_wheel = mine and all(python not in pythons for pythons in mine)
    here = "such a machine" if is_assumed else "this machine"
    return some[0].text, f"Python {python}" if without_wheel else f"{here} ({_parts(judge.base, mine)})"


def _parts(base: Ground, builds: Sequence[object]) -> str:
    """Return what of a machine refuses builds: its platform where there are none for it."""
    driver, glibc = base.driver, base.fact("system.glibc")
    cards = ", ".join(dict.fromkeys(usable_capabilities(base)))
    parts = [f"driver {driver}" if driver else "", f"compute capability {cards}" if cards else "",
             f"glibc {glibc.value}" if isinstance(glibc, Known) else ""]
    return ", ".join(filter(None, parts)) if builds and base.takes_server_wheels else base.platform


def _changes(snapshot: Snapshot, database: RuleDatabase, asked: Asked, judge: Judge,
             alone: Mapping[str, Sequence[Judged]], images: Mapping[str, Images], *, is_set: bool,
             is_lost: bool) -> tuple[Change, ...]:
    """Return what changes would buy: those that were asked about; any, where there is no other way."""
    kinds = asked.may_change or (KINDS if is_lost or asked.why else ())
    stacks = {name: [] if asked.image else [one.stacks[0] for one in some] for name, some in alone.items()}
    if not kinds or not stacks:
        return ()
    return tuple(Changes(snapshot, database, judge, stacks, images, is_set=is_set).worth(kinds))


def _serving(name: str, base: Ground) -> Iterator[Stack]:
    """Yield the releases with working code for every card here, whatever else they need, the newest first."""
    here = usable_capabilities(base)
    if here:
        yield from (stack for stack in stacks_of(name, base.platform, base.database.tables)
                    if not stack.is_prerelease and stack.serves(here, base.database.tables))


def _last(names: Iterable[str], base: Ground) -> Iterator[LastStack]:
    """Yield of each framework the newest release with working code for every card here."""
    for name in names:
        for newest in itertools.islice(_serving(name, base), 1):
            yield LastStack(framework=name, version=newest.version, cuda=newest.cuda, python=newest.pythons,
                             is_ptx=newest.has_ptx_alone(usable_capabilities(base), base.database.tables))


def _unserved(names: Iterable[str], base: Ground) -> Iterator[Unserved]:
    """Yield each framework of which no release is known to have working code for the cards here."""
    for name in names if usable_capabilities(base) else ():
        final = [stack for stack in stacks_of(name, base.platform, base.database.tables)
                 if not stack.is_prerelease]
        known = [stack for stack in final if stack.is_measured]
        if known and not any(True for _ in _serving(name, base)):
            yield Unserved(framework=name, oldest=known[-1].version, newest=known[0].version,
                           would_be=_would_be(known, base), unread=tuple(dict.fromkeys(
                               stack.version for stack in final if not stack.is_measured)))


def _would_be(known: Sequence[Stack], base: Ground) -> str:
    """Return where a release for the cards would be if there were one: beyond one end of what is known,
    "nowhere", as each card has releases of its own, and no release has code for all, or "gone": what is known
    serves older cards and newer ones, and CUDA has dropped this one.
    """
    tables = base.database.tables
    rows = {str(row["compute_capability"]): row for row in rows_of(tables, "architectures")}
    served = [card for card in rows if any(stack.serves((card,), tables) for stack in known)]
    alone = [card for card in usable_capabilities(base)
             if not any(stack.serves((card,), tables) for stack in known)]
    if not alone:
        return "nowhere"
    oldest = min(map(parse_version, served), default=None)
    if oldest is not None and min(map(parse_version, alone)) < oldest:
        return "older"
    return "gone" if any("last_cuda" in rows.get(card, {}) for card in alone) else "newer"


def _in_words(base: Ground) -> GroundInWords:
    driver, glibc = base.fact("driver.version"), base.fact("system.glibc")
    ceiling = base.fact("driver.cuda_ceiling")
    runs = f", runs CUDA up to {ceiling.value}" if isinstance(ceiling, Known) else ""
    return GroundInWords(
        platform=base.platform, python=base.place.python, cards=told.card_summaries(base),
        driver=f"{driver.value}{runs}" if isinstance(driver, Known) else "none that works",
        glibc=(str(glibc.value) if isinstance(glibc, Known) else
               "none" if isinstance(glibc, Absent) else "unknown"), environment=base.place.in_words,
        faults=told.faults(base), board=told.board(base.subjects[Scope.HOST][0], base.database.tables))
