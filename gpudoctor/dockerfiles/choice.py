"""Which image to build on and what to install: what `recommend` offers to a container on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from gpudoctor import derive, versions
from gpudoctor.candidates import Asked, WishError, exit_code, recommend, refuse, told
from gpudoctor.candidates.ground import platform_of
from gpudoctor.candidates.images import is_in_an_image
from gpudoctor.candidates.together import left_open, rule_of
from gpudoctor.derive.requirements import Requirement
from gpudoctor.derive.stacks import stacks_of
from gpudoctor.dockerfiles.bases import PythonImage, end_of_python, python_images
from gpudoctor.dockerfiles.compiler import with_compiler
from gpudoctor.dockerfiles.cuda_base import on_cuda
from gpudoctor.dockerfiles.inside import ENVIRONMENT, System, inside
from gpudoctor.engine import evaluate
from gpudoctor.examine import EXIT_FINDINGS, EXIT_UNDECIDED, Policy, with_wishes
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.model import Candidate, Known, Recommendation, Rejection, RuleDatabase, Scope, Snapshot, Tables

_REQUIREMENT = "requirement-not-met"

BaseName = Literal["tensorflow", "ngc", "cuda", "python-slim"]
_USUAL: BaseName = "python-slim"
_PREFIXES: Mapping[BaseName, str] = {"tensorflow": "tensorflow/tensorflow:", "ngc": "nvcr.io/"}


@frozen
class Wanted:
    """What is asked for: `frameworks` as `recommend` takes them, `requirements` as `check` does."""

    frameworks: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    base: BaseName = "python-slim"
    python: str | None = None
    pre: bool = False
    assumptions: tuple[str, ...] = ()

    @property
    def of_cards(self) -> tuple[str, ...]:
        """Return what is required of the cards, which only a look from inside the container can say."""
        return tuple(one.text for one in self.requirements if one.subject not in FRAMEWORKS)

    @property
    def wishes(self) -> tuple[str, ...]:
        """Return the frameworks with the bounds that are required of them."""
        required = [one.text for one in self.requirements if one.subject in FRAMEWORKS]
        return (*self.frameworks, *required)


@frozen
class Chosen:
    """An image to build on, and what to install there; `python` is its Python where that is known."""

    base: BaseName
    image: str
    python: str | None
    candidate: Candidate
    said: Recommendation


@frozen
class Nothing:
    """Nothing that is known fits: what `recommend` says of it, or the requirement that is not met.

    `other_base` is the base on which it would fit, None where none is known.
    """

    said: Recommendation | None = None
    unmet: tuple[Rejection, ...] = ()
    other_base: BaseName | None = None

    @property
    def exit_code(self) -> int:
        """Return 3 where it could not be judged whether anything fits, else 1."""
        if self.unmet or self.said is None:
            is_open = bool(self.unmet) and all(one.is_open for one in self.unmet)
            return EXIT_UNDECIDED if is_open else EXIT_FINDINGS
        return self.said.exit_code


def checked(wanted: Wanted, database: RuleDatabase) -> None:
    """Raise `WishError` for what nothing known can fulfil, on whatever machine."""
    wishes = refuse(Asked(frameworks=wanted.wishes, pre=wanted.pre), database)
    if wanted.base in _PREFIXES and len(wishes) > 1:
        named = " and ".join(wish.framework for wish in wishes[:2])
        raise WishError(f"--base {wanted.base}: such an image holds one framework, and {named} are two; "
                        "--base python-slim can hold several")
    for wish in wishes if wanted.base in _PREFIXES else ():
        prefix = _PREFIXES[wanted.base]
        if not is_in_an_image(wish, database.tables, prefix):
            raise WishError(f"--base {wanted.base}: these rules know no image {prefix}... with {wish.text}; "
                            "--base python-slim installs it")
    if wanted.base in _PREFIXES and wanted.python is not None:
        raise WishError(f"--base {wanted.base} and --python {wanted.python} contradict one another: such an "
                        "image has its own Python")


def choose(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> Chosen | Nothing:
    """Return what is to be built; raise `WishError`."""
    unmet = (*_of_board(snapshot, database), *_unmet(snapshot, database, wanted))
    if unmet:
        return Nothing(unmet=unmet)
    wanted = replace(wanted, frameworks=wanted.frameworks or _here(snapshot, wanted, database.tables))
    found = _of(wanted)(snapshot, database, wanted)
    if isinstance(found, Nothing):
        return replace(found, other_base=_other_base(snapshot, database, wanted),
                       said=None if found.said is None else _of_image(found.said, wanted.base))
    return found


def _of_image(said: Recommendation, base: BaseName) -> Recommendation:
    """Return what is said of an environment in the image; what to ask next is asked for a Dockerfile, too."""
    asked = "gpudoctor dockerfile" if base == _USUAL else f"gpudoctor dockerfile --base {base}"
    hints = tuple(replace(hint, command=hint.command.replace(" --image", "").replace(
        "gpudoctor recommend", asked, 1)) for hint in said.hints)
    return replace(said, hints=hints, ground=replace(
        said.ground, environment=f"{ENVIRONMENT}, an environment in the image"))


def _here(snapshot: Snapshot, wanted: Wanted, tables: Tables) -> tuple[str, ...]:
    """Return the frameworks that are required, else those here, else the first with a build for here."""
    if wanted.wishes:
        return ()
    listed = snapshot.frameworks if isinstance(snapshot.frameworks, tuple) else ()
    names = [fact.value for one in listed if isinstance(fact := one.get("framework.name"), Known)]
    found = tuple(name for name in FRAMEWORKS if name in names)
    if not found:
        built = (name for name in FRAMEWORKS if stacks_of(name, platform_of(snapshot), tables))
        return (next(built, FRAMEWORKS[0]),)
    return found[:1] if wanted.base in _PREFIXES else found


def _of_board(snapshot: Snapshot, database: RuleDatabase) -> tuple[Rejection, ...]:
    """Return why nothing known is for this machine, where it is a Jetson board."""
    board = snapshot.host.get("system.jetson")
    if not isinstance(board, Known):
        return ()
    host = derive.subjects(snapshot, database)[Scope.HOST][0]
    said, takes = told.board(host, database.tables), host.fact("system.takes_server_wheels")
    why = f"this is a {said}, and no image for it either; next: gpudoctor explain jetson-wrong-wheel"
    if isinstance(takes, Known) and takes.value is True:
        why = (f"this is a {said}; what is written here is started with --gpus, so for a Jetson nothing is "
               "written; next: gpudoctor recommend, which names what to install on it")
    return (Rejection(rule=rule_of("jetson-wrong-wheel", database), message=why),)


def _unmet(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> tuple[Rejection, ...]:
    """Return why the machine itself does not meet what is required of its cards, by the rule of `check`."""
    if not wanted.of_cards:
        return ()
    required = [one for one in wanted.requirements if one.subject not in FRAMEWORKS]
    asked = with_wishes(snapshot, database, Policy(requirements=required))
    rules = tuple(rule for rule in database.rules if rule.cause == _REQUIREMENT)
    found = evaluate(derive.subjects(asked, database), rules, database.tables)
    unmet = [Rejection(rule=one.rule, message=one.message) for one in found.findings]
    unknown = [left_open(one.rule, "; ".join(dict.fromkeys(reason.source for reason in one.reasons)))
               for one in found.undecided if one.asked]
    return tuple(unmet or unknown)


# -- wheels on an image with Python --------------------------------------------------------------------------


def _on_python(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> Chosen | Nothing:
    """Return the newest release for the Python that is wanted; for the one here, else any with an image."""
    first: Recommendation | None = None
    for image in _in_order(snapshot, database, wanted):
        said = recommend(inside(snapshot, image.system, database), database, _asked(wanted))
        offer = next((one for one in said.candidates if one.offered and needs_nothing_else(one)
                      and brings_libraries(one, said.ground.platform, database.tables)), None)
        if offer is not None:
            return Chosen(base="python-slim", image=image.reference, python=image.system.python,
                          candidate=with_compiler(offer, image.system.python_minor, database), said=said)
        first = first or _without_offers(snapshot, image.system, database, wanted)
    return Nothing(said=first)


def _other_base(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> BaseName | None:
    """Return a base on which what does not fit the wanted one would, wheels first; None without one."""
    for base in (*_OF_WHEELS, *_PREFIXES):
        other = replace(wanted, base=base)
        try:
            checked(other, database)
            if base != wanted.base and isinstance(_of(other)(snapshot, database, other), Chosen):
                return base
        except WishError:  # such an image cannot hold it: several frameworks, or another Python
            continue
    return None


def _in_order(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> Iterator[PythonImage]:
    images = python_images(database)
    if not images:
        raise WishError("these rules know no image python:...-slim (table python_images)")
    if wanted.python is not None:
        named = [image for image in images if image.system.python_minor == wanted.python]
        if not named:
            known = ", ".join(image.system.python_minor for image in images)
            end = end_of_python(wanted.python, database)
            why = f" (it gets no updates since {end})" if end else ""
            raise WishError(f"Python {wanted.python}: these rules know no image python:...-slim with "
                            f"it{why}; there are {known}")
        yield from named
        return
    fact = snapshot.host.get("python.version")
    here = versions.minor_of(str(fact.value)) if isinstance(fact, Known) else ""
    yield from sorted(images, key=lambda image: image.system.python_minor != here)


def _asked(wanted: Wanted, *, image: bool = False, may_change: tuple[str, ...] = ()) -> Asked:
    return Asked(frameworks=wanted.wishes, pre=wanted.pre, image=image, may_change=may_change,
                 images=_PREFIXES.get(wanted.base), assumptions=wanted.assumptions)


def _without_offers(snapshot: Snapshot, system: System, database: RuleDatabase,
                    wanted: Wanted) -> Recommendation:
    """Return what is said where nothing can be built, with the change that would help.

    What brings no libraries of its own is no offer for this image: the rule of what it lacks is named.
    """
    said = recommend(inside(snapshot, system, database), database, _asked(wanted, may_change=("driver",)))
    why = "it brings no CUDA libraries, and this base has none: --base cuda has"
    refused = Rejection(rule=rule_of("docker-image-without-cuda", database), message=why)
    candidates = tuple(_rejected(one, refused) if one.offered else one for one in said.candidates)
    return replace(said, candidates=candidates, exit_code=exit_code(candidates))


def _rejected(one: Candidate, why: Rejection) -> Candidate:
    return replace(one, verdict=type(one.verdict).REJECTED, rejected_by=(why,), commands=(), notes=())


def needs_nothing_else(one: Candidate) -> bool:
    """Say whether all folders that it loads libraries from are of its environment, none of a toolkit."""
    folders = one.environment.get("LD_LIBRARY_PATH", "").split(":")
    return all(folder.startswith(f"{ENVIRONMENT}/") for folder in filter(None, folders))


def brings_libraries(one: Candidate, platform: str, tables: Tables) -> bool:
    """Say whether every release of a candidate has its CUDA libraries in packages that pip brings along."""
    if one.toolkit is not None:
        return False
    releases = [(one.framework, one.version), *((m.framework, m.version) for m in one.beside)]
    return not any(
        stack.lacks_libraries for framework, version in releases
        for stack in stacks_of(framework, platform, tables)
        if stack.version == version and (framework != one.framework or stack.cuda == one.cuda))


def _on_cuda(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> Chosen | Nothing:
    image, said = on_cuda(snapshot, database, _asked(wanted), wanted.python)
    if image is None:
        return Nothing(said=said)
    return Chosen(base="cuda", image=image.reference, python=image.system.python,
                  candidate=with_compiler(said.candidates[0], image.system.python_minor, database), said=said)


_Choice = Callable[[Snapshot, RuleDatabase, Wanted], Chosen | Nothing]
_OF_WHEELS: Mapping[BaseName, _Choice] = {"python-slim": _on_python, "cuda": _on_cuda}


def _of(wanted: Wanted) -> _Choice:
    return _OF_WHEELS.get(wanted.base, _published)


# -- images with a framework ---------------------------------------------------------------------------------


def _published(snapshot: Snapshot, database: RuleDatabase, wanted: Wanted) -> Chosen | Nothing:
    """Return the newest image of that publisher that fits."""
    system = next(_in_order(snapshot, database, wanted)).system  # which of them says nothing of the image
    said = recommend(inside(snapshot, system, database), database, _asked(wanted, image=True))
    offer = next((one for one in said.candidates if one.offered), None)
    if offer is None or offer.image is None:
        return Nothing(said=said)
    python = offer.python[0] if offer.python else None
    return Chosen(base=wanted.base, image=offer.image, python=python, candidate=offer, said=said)
