"""What a verdict means for whoever reads it: the candidate with its commands, notes and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor import derive
from gpudoctor.candidates import commands, exactly
from gpudoctor.candidates.ground import Ground, cards, causes, version_of
from gpudoctor.candidates.judging import Judged
from gpudoctor.candidates.together import rule_of
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive import jetson
from gpudoctor.derive.stacks import Stack, known_versions, stacks_of
from gpudoctor.derive.view import as_texts
from gpudoctor.model import (
    Absent, Candidate, CardSummary, Fact, Facts, Finding, Fit, Known, Member, Rejection, Scope, Subject,
    Subjects, Tables, Unknown, row_of, rows_of,
)
from gpudoctor.versions import parse
from gpudoctor.words import show_fact

_CHAIN = ("framework.glibc_floor", "framework.cuda", "framework.cuda_floor", "framework.libraries_missing",
          "framework.cudnn_found")
_CAPABILITY = "gpu.compute_capability"
_OF_HOST = ("driver.version", "driver.cuda_ceiling", "system.glibc")


def candidate(judged: Judged, base: Ground, *, why: bool) -> Candidate:
    """Return a judged stack, or set of them, as it is told."""
    judged = exactly.pinned(judged, base)
    first, *rest = judged.stacks
    offered = not judged.objections
    notes = tuple(_notes(judged, base)) if offered else ()
    typed = (*commands.install(judged.stacks, judged.pins, base.place),
             *commands.exports(judged.environment, _searched(base))) if offered else ()
    verdict = Fit.REJECTED if not offered else Fit.WITH_NOTES if notes else Fit.FITS
    return Candidate(
        framework=first.framework, version=first.version, kind="pip", verdict=verdict, cuda=first.cuda,
        least_cuda=_least_cuda(judged) if offered else None,
        toolkit=judged.toolkit.version if offered and judged.toolkit is not None else None,
        beside=tuple(Member(framework=stack.framework, version=stack.version) for stack in rest),
        python=_pythons(judged.stacks), commands=typed, notes=notes, rejected_by=judged.objections,
        environment=dict(judged.environment) if offered else {}, pins=judged.pins if offered else (),
        why=tuple(_chain(judged, base)) if why else ())


def _searched(base: Ground) -> Sequence[str]:
    """Return the folders that LD_LIBRARY_PATH names on the machine as it is."""
    fact = base.snapshot.host.get("loader.library_path")
    return as_texts(fact.value) if isinstance(fact, Known) else ()


def without_build(wish: Wish, base: Ground) -> Candidate:
    """Return the newest release that is wished for, of which there is no build with CUDA for the platform."""
    known = known_versions(wish.framework, base.database.tables)
    newest = next((version for version in known if wish.allows(version)), known[0] if known else "")
    has_others = bool(stacks_of(wish.framework, base.platform, base.database.tables))
    what = wish.text if has_others else wish.framework
    said = f"no build of {what} with CUDA is known for {base.platform}"
    if base.platform.startswith("darwin"):
        said = f"{said}: CUDA is made for macOS no more"
    return Candidate(
        framework=wish.framework, version=newest.partition("+")[0], kind="pip", verdict=Fit.REJECTED,
        rejected_by=(Rejection(rule=rule_of("wheel-arch-linux-aarch64", base.database), message=said),))


def _least_cuda(judged: Judged) -> str | None:
    """Return the oldest CUDA that a driver must run for all of them, None where that is not known of each."""
    subjects = judged.subjects[Scope.FRAMEWORK] if judged.subjects is not None else ()
    floors = [version_of(subject.fact("framework.cuda_floor")) for subject in subjects]
    known = [floor for floor in floors if floor is not None]
    return max(known, key=parse) if known and len(known) == len(floors) else None


def _pythons(stacks: Sequence[Stack]) -> tuple[str, ...]:
    """Return the Python versions that have a wheel of each."""
    return tuple(python for python in stacks[0].pythons if all(python in stack.pythons for stack in stacks))


# -- notes ---------------------------------------------------------------------------------------------------


def _notes(judged: Judged, base: Ground) -> Iterator[str]:
    """Yield what to know before it is installed, each thing once."""
    said = (*(f"{taken.first_title} ({finding.rule})" for finding, taken in judged.remedies),
            *([judged.toolkit.in_words] if judged.toolkit is not None else []), *_noted(judged, base))
    yield from dict.fromkeys(said)


def _noted(judged: Judged, base: Ground) -> Iterator[str]:
    """Yield what is to be known of it that nothing was done about."""
    yield from judged.pin_reasons
    yield from at_first_start(judged)
    yield from _indexes(judged)
    yield from _without_libraries(judged, base)


def at_first_start(judged: Judged) -> Iterator[str]:
    """Yield what the rules warn of, and what code the driver has to compile: the same in an image."""
    yield from (f"{finding.message} ({finding.rule})" for finding in judged.warnings)
    yield from _compiled(judged)


def _pairs(judged: Judged) -> Sequence[Subject]:
    return judged.subjects[Scope.PAIR] if judged.subjects is not None else ()


def _compiled(judged: Judged) -> Iterator[str]:
    """Yield that a part of the code must be compiled; that all of it must is a warning of a rule."""
    for pair in _pairs(judged):
        code, isa = pair.fact("pair.code"), pair.fact("pair.ptx_isa")
        if isinstance(code, Known) and code.value == "partial" and isinstance(isa, Known):
            yield (f"{pair.name}: part of the code is PTX {isa.value}, which the driver compiles when it is "
                   "first used")


def _indexes(judged: Judged) -> Iterator[str]:
    for stack in judged.stacks:
        if stack.index is not None:
            yield (f"from PyTorch's own index for CUDA {stack.cuda}: judged by what PyTorch says of this "
                   f"build ({stack.row['source']}), its wheel was not read")


def _without_libraries(judged: Judged, base: Ground) -> Iterator[str]:
    """Yield what the system must have for a build that brings no CUDA libraries."""
    searched = "PATH" if base.place.is_windows else "LD_LIBRARY_PATH"
    for stack in judged.stacks:
        if stack.lacks_libraries:
            cudnn = f" and cuDNN {stack.row['cudnn']}" if "cudnn" in stack.row else ""
            yield (f"{stack.framework} {stack.version} brings no CUDA libraries: install CUDA "
                   f"{stack.cuda or 'of its build'}{cudnn}, and name their folders in {searched}; which "
                   "of their files it opens is in no table, so this was not judged")


# -- reasons -------------------------------------------------------------------------------------------------


def _chain(judged: Judged, base: Ground) -> Iterator[str]:
    """Yield the chain of reasons: the index, what was laid over what, the rules that spoke, the verdict."""
    for stack in judged.stacks:
        yield _wheels(stack, base)
    yield from reasons(judged, base, tuple(_noted(judged, base)))


def _wheels(stack: Stack, base: Ground) -> str:
    """Return for which Pythons a release has wheels, as far as its table says."""
    name, source = f"{stack.framework} {stack.version}", stack.row.get("source", "no source")
    if not stack.pythons:
        return f"which Python {name} has wheels for on {base.platform} is in no table ({source})"
    has = "has a" if base.place.python in stack.pythons else "has no"
    return (f"{name} {has} wheel for Python {base.place.python} on {base.platform} (there are some for "
            f"{', '.join(stack.pythons)}; {source})")


def reasons(judged: Judged, base: Ground, noted: Sequence[str]) -> Iterator[str]:
    """Yield what was laid over what, the rules that spoke, what is noted where it is offered, the verdict."""
    shown = None
    if judged.snapshot is not None:
        shown = derive.subjects(judged.snapshot, base.database, derive.Supposed)
        yield from (_said(name, shown[Scope.HOST][0].fact(name)) for name in _OF_HOST)
        for framework in shown[Scope.FRAMEWORK]:
            yield from (f"{framework.name}: {_said(name, fact)}" for name in _CHAIN
                        if not isinstance(fact := framework.fact(name), Absent))
        yield from (f"{pair.name}: {_said('pair.code', pair.fact('pair.code'))}"
                    for pair in shown[Scope.PAIR])
    for finding, taken in judged.remedies:
        yield f"{finding.rule} {finding.cause}: {finding.message}"
        yield f"cured by: {taken.first_title} (proven)"
    if judged.toolkit is not None:
        yield f"with a toolkit laid over it: {judged.toolkit.in_words}"
    spoke = {finding.rule: finding for finding in judged.errors}
    for objection in judged.objections:
        yield f"{objection.rule}: {objection.message}"
        yield from _evidence(spoke.get(objection.rule), shown)
    if judged.objections:
        yield "so it is not offered"
        return
    yield from (f"noted: {note}" for note in dict.fromkeys(noted))
    has_notes = noted or judged.remedies or judged.toolkit is not None
    yield "so it is offered, with notes" if has_notes else "so no rule objects to it"


def _evidence(finding: Finding | None, shown: Subjects | None) -> Iterator[str]:
    """Yield what a rule saw; what follows from an assumption says so."""
    if finding is None or shown is None:
        return
    subject = next(one for scope in shown.values() for one in scope if one.name == finding.subject)
    yield from (f"because {_said(seen.fact, subject.fact(seen.fact))}" for seen in finding.evidence)


def _said(name: str, fact: Fact) -> str:
    source = fact.reason if isinstance(fact, Unknown) else fact.source
    return f"{name} = {show_fact(fact)} ({source})"


# -- the machine ---------------------------------------------------------------------------------------------


def card_summaries(base: Ground) -> tuple[CardSummary, ...]:
    """Return the cards, with the data types that each computes in."""
    return tuple(_card(card, position, base.database.tables) for position, card in enumerate(cards(base)))


def _card(card: Facts, position: int, tables: Tables) -> CardSummary:
    index, name, known = card.get("gpu.index"), card.get("gpu.name"), version_of(card.get(_CAPABILITY))
    own = row_of(tables, "architectures", compute_capability=known or "") or {}
    types = tuple(str(row["precision"]) for row in (rows_of(tables, "precisions") if known else ())
                  if "architecture" in own and parse(str(row["first_compute_capability"])) <= parse(known))
    return CardSummary(
        subject=f"GPU {index.value if isinstance(index, Known) else position}",
        name=str(name.value) if isinstance(name, Known) else "NVIDIA GPU",
        compute_capability=known or "unknown", data_types=types, is_listed="architecture" in own)


def board(host: Subject, tables: Tables) -> str:
    """Return what a Jetson board is and takes, "" for any other machine."""
    release, takes = host.fact("system.jetson"), host.fact("system.takes_server_wheels")
    if not isinstance(release, Known):
        return ""
    return jetson.in_words(str(release.value), takes, tables)


def faults(base: Ground) -> tuple[Rejection, ...]:
    """Return what is wrong with the machine whatever is installed."""
    return tuple(Rejection(rule=f.rule, message=f.message) for f in causes(base))

