"""What a file could ask for in place of what does not fit the host: another build, release or image, tried.

A rule says that another release would do; which one the file's own bounds, indexes and image decide. Each is
judged in place of what is written, as the file would be, and the first that only takes findings away is told.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground, usable_capabilities, version_of
from gpudoctor.derive import planned, published
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.frozen import frozen
from gpudoctor.manifests import alike_images, images, pythons, releases
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.pointing import EACH
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.model import Finding, Remedy, Rule, Severity
from gpudoctor.versions import distribution_name

Key = tuple[str, str]  # a rule, and what it speaks of
_MOST_TRIED = 25
_RELEASE, _IMAGE, _DRIVER = "release", "image", "driver"
_ANYWHERE = Place(file="", line=0, column=0, start=0, end=0)
_OF_JAX = re.compile(r"jax-cuda[0-9]+-")
_OF_RELEASE = frozenset({"torchvision", "torchaudio", "jaxlib", "tensorflow-text", "tf-keras", "keras"})


@frozen
class Tried:
    """An environment with something else in it: what is wrong there, and what pip would take."""

    findings: tuple[Finding, ...]
    chosen: tuple[Chosen, ...] = ()


@frozen
class Offer:
    """What can be asked for instead, and how that is said; `stack` is None for an image.

    `is_same`: it is the release that was asked for, in another build. `image` is "" for a release. `at` is
    the place, among what the environment asks for, of what it replaces: alike environments share an offer.
    `instead` is what it puts there, and `left` the rules that then warn; `meanwhile` are those that do so
    until other offers are followed as well.
    """

    remedy: Remedy
    image: str = ""
    stack: Stack | None = None
    is_same: bool = False
    at: int | None = None
    instead: Asked | None = None
    left: frozenset[str] = frozenset()
    meanwhile: frozenset[str] = frozenset()


@frozen
class Asking:
    """A finding of a rule in an environment, and what else was found there `before`.

    `python` is that of the environment, which its image may have brought; `chosen` is what pip takes.
    """

    rule: Rule
    finding: Finding
    environment: Environment
    before: Sequence[Finding]
    python: str | None
    chosen: Sequence[Chosen]

    @property
    def key(self) -> object:
        """Return what it has in common with those that have the same answer."""
        of = self.environment
        return (self.rule.id, self.finding.subject, self.python, of.in_container, of.alters_libraries,
                of.image and of.image.reference, tuple(_key(one) for one in self.before),
                tuple((name, setting.value) for name, setting in of.settings.items()),
                of.python_bounds, tuple(map(_wherever, of.asked)), tuple(one.text for one in of.packages))

    def is_better(self, tried: Tried) -> bool:
        """Return whether the finding is gone, and no other error has come: what followed from it counts."""
        others = [one for one in self.before if one is not self.finding]
        had = {_key(each) for one in others for each in (one, *one.consequences)}
        return all(_key(one) != _key(self.finding)
                   and (one.severity is not Severity.ERROR or _key(one) in had) for one in tried.findings)

    def is_refused_again(self, tried: Tried) -> bool:
        """Return whether the finding is of no card, and is there again: what it reads is the CUDA."""
        return EACH not in self.finding.subject and _key(self.finding) in map(_key, tried.findings)

    def left(self, tried: Tried) -> str:
        """Return in words what comes in its place, though it is no error."""
        new = dict.fromkeys(one.cause for one in self.new(tried))
        return f" (leaves a warning: {', '.join(new)})" if new else ""

    def new(self, tried: Tried) -> list[Finding]:
        """Return what comes in its place."""
        had = set(map(_key, self.before))
        return [one for one in tried.findings if _key(one) not in had]


def _key(finding: Finding) -> Key:
    return finding.rule, finding.subject


def _wherever(asked: Asked) -> Asked:
    """Return what is asked for without the places where that, and what bounds it, is written."""
    bounds, along = ([replace(one, place=_ANYWHERE) for one in some] for some in (asked.bounds, asked.along))
    return replace(asked, place=_ANYWHERE, bounds=tuple(bounds), along=tuple(along))


Trial = Callable[[Environment], Tried | None]


def offered(asking: Asking, ground: Ground, trial: Trial) -> Offer | None:
    """Return what would do in place of what a finding is about; None where nothing is known to."""
    first = next((fix for fix in asking.rule.fix if fix.kind != _DRIVER), None)
    own = [one for one in asking.chosen if one.framework == asking.finding.subject.rpartition(EACH)[2]]
    if first is None or (first.kind != _IMAGE and all(one.fact != _RELEASE for one in first.effect)):
        if own and any(fix.env for fix in asking.finding.fixes[:1]):
            return _of_release(own[-1], asking, ground, trial, needs_variable=True)
        return None  # something smaller cures it
    if own and first.kind != _IMAGE:
        return _of_release(own[-1], asking, ground, trial)
    return _of_image(asking, ground, trial)


def with_offer(finding: Finding, offer: Offer) -> Finding:
    """Return a finding with what can be asked for first, in place of what its rule said of releases."""
    kept = [fix for fix in finding.fixes if fix.kind != offer.remedy.kind and _RELEASE not in fix.effect]
    return replace(finding, fixes=(offer.remedy, *kept))


def with_asked(environment: Environment, at: int, instead: Asked) -> Environment:
    """Return an environment in which something else is asked for at a place."""
    return replace(environment, asked=(*environment.asked[:at], instead, *environment.asked[at + 1:]))


def _remedy(kind: str, title: str, command: str, effect: str) -> Remedy:
    return Remedy(kind="pip" if kind == _RELEASE else "image", title=title, commands=(command,), env={},
                  image=effect if kind == _IMAGE else None, effect={kind: effect}, risk="reinstall",
                  undo=None, proven="model", by_hand=True)


# -- releases ----------------------------------------------------------------------------------------------


def _of_release(one: Chosen, asking: Asking, ground: Ground, trial: Trial, *,
                needs_variable: bool = False) -> Offer | None:
    """Return another build; of a release that `needs_variable`, one that is asked for and needs none."""
    if one.stack is None or one.by_conda or one.asked.is_brought:
        return None
    beside = [each for each in asking.chosen  # of these, what is asked for instead is to stand alone
              if each.framework == one.framework and each.distribution != one.distribution]
    environment = replace(asking.environment, python=asking.python, asked=tuple(
        asked for asked in asking.environment.asked if all(asked is not each.asked for each in beside)))
    at = next(at for at, asked in enumerate(environment.asked) if asked is one.asked)
    refused: set[str | None] = set()
    tried = 0
    for stack in _in_order(one, None if beside else one.stack, environment, ground):
        if stack.cuda in refused or (needs_variable and not releases.admits(one.requirement, stack.version)):
            continue
        text = _written(one, stack, with_extra=needs_variable or bool(beside))
        instead = replace(one.asked, text=text, index=stack.index, extra_indexes=(), links=())
        found = trial(with_asked(environment, at, instead))
        tried += 1
        if found is None or tried > _MOST_TRIED:
            return None
        if asking.is_refused_again(found):
            refused.add(stack.cuda)
        is_taken = any(each.stack is not None and each.stack.release == stack.release
                       for each in found.chosen)
        if is_taken and asking.is_better(found):
            title = _leaving(beside, one, text) + _title(text, stack, one, environment) + asking.left(found)
            return Offer(stack=stack, is_same=stack.version == one.stack.version, instead=instead,
                         at=None if beside else at, left=frozenset(each.rule for each in asking.new(found)),
                         remedy=_remedy(_RELEASE, title, _command(text, stack), stack.release))
    return None


def _in_order(one: Chosen, own: Stack | None, environment: Environment, ground: Ground) -> Iterator[Stack]:
    """Yield other builds: of the same release, of those that are asked for, of any; the newest first."""
    tables, cards = ground.database.tables, usable_capabilities(ground)
    admitted = {environment.python} if environment.python else set(pythons.admitted(
        environment.python_bounds, ground.platform, tables) if environment.python_bounds else ())
    listed = [stack for stack in stacks_of(one.framework, ground.platform, tables)
              if not stack.is_prerelease and stack.is_told and (not own or stack.release != own.release)
              and not (stack.extra and published.refused_extra(
                  stack.framework, stack.version, environment.python, tables))
              and (not admitted or admitted & {*stack.pythons})
              and (not cards or stack.serves(cards, tables))]
    asked = [stack for stack in listed if releases.admits(one.requirement, stack.version)]
    is_indexed = bool(one.asked.index or one.asked.extra_indexes)  # then another of its kind comes first
    same = sorted((stack for stack in listed if one.stack and stack.version == one.stack.version),
                  key=lambda stack: (stack.index is not None) != is_indexed)
    once = {stack.release: stack for stack in (*same, *asked, *listed)}
    yield from once.values()


def _leaving(beside: Sequence[Chosen], one: Chosen, text: str) -> str:
    others = {each.distribution for each in (*beside, one)} - {*re.findall(r"\A[\w-]+", text)}
    return f"Leave out {' and '.join(sorted(others))}. " if beside else ""


def _written(one: Chosen, stack: Stack, *, with_extra: bool = False) -> str:
    """Return the requirement on a build, with the extras that were asked for, as far as it has them."""
    own = next(planned.parse((stack.labelled,)))
    kept = {extra for extra in one.requirement.extras if not extra.startswith(("cuda", "and-cuda"))}
    has_cuda = stack.extra and (
        with_extra or one.framework == "jax" or stack.extra in one.requirement.extras)
    extras = ",".join(sorted({*kept, *((stack.extra,) if has_cuda else ())}))
    return f"{own.name}{f'[{extras}]' if extras else ''}{own.specifier}"


def _command(text: str, stack: Stack) -> str:
    return f"pip install {shlex.join((text, *(('--index-url', stack.index) if stack.index else ())))}"


def _title(text: str, stack: Stack, one: Chosen, environment: Environment) -> str:
    cuda = f", built for CUDA {stack.cuda}" if stack.cuda else ""
    was_indexed = one.asked.index or one.asked.extra_indexes
    cuda += ", of the default index" if was_indexed and not stack.index else ""
    cuda += ", which it needs from the machine" if _needs_more(one, stack, environment) else ""
    if one.stack is not None and stack.version == one.stack.version:
        parts = sorted({name for asked in environment.asked if _OF_JAX.match(name := _name(asked))})
        instead = f" in place of {' and '.join(parts)}" if parts and one.framework == "jax" else ""
        return f"Ask for {text}{instead}: the same release{cuda}"
    is_within = releases.admits(one.requirement, stack.version)
    which = "the newest of those that are asked for that fits here" if is_within and (
        one.requirement.specifier) else "the newest release that fits here"
    ends = sorted(stack.pythons, key=versions.parse)
    wheels = f"; it has wheels for Python {ends[0]} to {ends[-1]}" if ends and not environment.python else ""
    others = sorted({name for asked in environment.asked if (name := _name(asked)) in _OF_RELEASE})
    along = f", and for {' and '.join(others)} of the same time" if others else ""
    return f"Ask for {text}{along}: {which}{cuda}{wheels}"


def _needs_more(one: Chosen, stack: Stack, environment: Environment) -> bool:
    """Say whether a release brings no CUDA, in place of one that does or for a machine that has its own."""
    return one.framework == "tensorflow" and not stack.extra and (
        bool(one.requirement.extras) or not environment.in_container)


def _name(asked: Asked) -> str:
    requirement = releases.requirement_of(asked)
    return "" if requirement is None else distribution_name(requirement.name)


# -- images ------------------------------------------------------------------------------------------------


def _of_image(asking: Asking, ground: Ground, trial: Trial) -> Offer | None:
    image, tables = asking.environment.image, ground.database.tables
    if image is None or image.reference is None:
        return None
    refused: set[str | None] = set()
    served = (one for one in alike_images.others(image.reference, tables)
              if one.cuda not in refused and _is_served(one, ground))
    for other in itertools.islice(served, _MOST_TRIED):
        found = trial(with_image(asking.environment, other.reference))
        if found is not None and other.release is not None and asking.is_refused_again(found):
            refused.add(other.cuda)
        elif found is not None and asking.is_better(found):
            row = images.ended(other, tables)
            ended = f" (though {row['system']} {row['version']} has ended)" if row is not None else ""
            title = f"Take {other.reference}, {alike_images.likeness(image.reference, other, tables)}{ended}"
            return Offer(image=other.reference, remedy=_remedy(
                _IMAGE, f"{title}{asking.left(found)}", f"docker pull {other.reference}", other.reference))
    return None


def with_image(environment: Environment, reference: str) -> Environment:
    """Return an environment on another image."""
    image = environment.image
    other = replace(image, reference=reference) if image is not None else None
    if image is None or other is None:
        return environment
    return replace(environment, image=other,
                   images=tuple(other if one == image else one for one in environment.images),
                   feeding=tuple(other if one == image else one for one in environment.feeding))


def _is_served(base: Base, ground: Ground) -> bool:
    """Return whether a driver runs the CUDA of an image, not only starts it: by its number, for any card."""
    ceiling, driver = version_of(ground.fact("driver.cuda_ceiling")), ground.driver
    cuda = base.cuda or base.least_cuda
    return not (
        (cuda is not None and ceiling is not None and base.release is None
         and versions.parse(versions.minor_of(cuda)) > versions.parse(ceiling))
        or (base.least_driver is not None and driver is not None
            and versions.parse(base.least_driver) > versions.parse(driver)))
