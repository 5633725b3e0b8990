"""What files alone show, as facts of one statement each: no machine is needed to see it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground
from gpudoctor.derive import planned
from gpudoctor.derive.stacks import known_versions
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.manifests import (
    drivers, images, names, other_packages, releases, starting, tags, together, torch_indexes,
)
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.later_breaks import Break
from gpudoctor.manifests.laying import Laid
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.model import Rule, Tables, Value
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_OF_CUDA = re.compile(r"-cu(?:da)?(1[0-9])[0-9]?x?\Z")  # nvidia-cublas-cu11, cupy-cuda12x, cupy-cuda111
_MOST_TOGETHER = 12  # requirements on one framework among which the fewest that clash are looked for
_MOST_BOUNDS = 200  # in all of them: each is held against every version that one of them names


@frozen
class Said:
    """Facts that one statement shows, to be judged by themselves."""

    place: Place
    facts: Mapping[str, Value]


def of_statements(environment: Environment, tables: Tables) -> Iterator[Said]:
    """Yield what the statements of an environment show, whether it is for a GPU or not."""
    for lost in environment.lost:
        yield Said(place=lost.place, facts={
            "file.requirement_meant": lost.meant, "file.requirement_given": lost.given})
    for broken in environment.broken:
        yield Said(place=broken.place, facts={
            "file.json_fault" if broken.is_list else "file.shell_fault": broken.why})
    for lacking in environment.lacking:
        yield Said(place=lacking.place, facts={
            "file.program_absent": lacking.program, "file.program_image": lacking.image})
    for image in environment.images:
        if image.reference is not None:
            base = images.base_of(image.reference, tables)
            yield from (Said(place=image.place, facts=facts) for facts in _of_image(base, tables))
    yield from _placeholders(environment, tables)
    yield from _misnamed(environment, tables)
    asked = releases.frameworks_asked(environment.asked, environment.python)
    for framework, some in asked.items():
        yield from _missing(framework, some, tables)
        yield from _unlabelled(framework, some, environment, tables)
        yield from _refused(framework, some, environment, tables)
        for own in _by_command(some):
            yield from _contradiction(framework, own, tables)


def _by_command(some: Sequence[Asked]) -> Iterable[list[Asked]]:
    found: dict[int, list[Asked]] = {}
    for one in some:
        found.setdefault(one.command, []).append(one)
    return found.values()


def without_refused(environment: Environment, tables: Tables) -> Environment:
    """Return an environment without what contradicts itself, which is told once: pip takes nothing of it."""
    asked = releases.frameworks_asked(environment.asked, environment.python)
    refused = {id(one) for framework, some in asked.items() for own in _by_command(some)
               if all(one.tool != "conda" for one in own) and any(_contradiction(framework, own, tables))
               for one in own}
    return environment if not refused else replace(
        environment, asked=tuple(one for one in environment.asked if id(one) not in refused))


def is_told_all(environment: Environment) -> bool:
    """Return whether all that an installer is told stands in the file, as far as its commands go."""
    return environment.in_container and not environment.tells_installer and (
        environment.image is not None and images.is_plain(environment.image.reference))


def of_constraints(environment: Environment, tables: Tables) -> Iterator[Said]:
    """Yield what no installation can meet, of constraints alone: what they name need never be installed."""
    for framework, some in releases.frameworks_asked(environment.asked, environment.python).items():
        yield from _missing(framework, some, tables)
        yield from _contradiction(framework, some, tables)


def _of_image(base: Base, tables: Tables) -> Iterator[dict[str, Value]]:
    nearest = tags.judged(base, tables).nearest
    if nearest:
        yield {"file.image": base.reference, "file.image_nearest": nearest}
    for what, since in tags.ends(base, tables):
        yield {"file.image": base.reference, "file.image_ended": what, "file.image_end": since}


def _placeholders(environment: Environment, tables: Tables) -> Iterator[Said]:
    """Yield the requirements that a release meets which is there only to say that the package has ended."""
    for one in environment.asked:
        requirement = releases.requirement_of(one)
        if requirement is not None and releases.applies(requirement, environment.python) and (
                releases.is_placeholder(one, tables)):
            yield Said(place=one.place, facts={"file.placeholder_requirement": one.text.strip()})


def _misnamed(environment: Environment, tables: Tables) -> Iterator[Said]:
    """Yield the requirements on packages that are not what their name sounds like."""
    every = {distribution_name(requirement.name) for one in environment.asked
             if (requirement := releases.requirement_of(one)) is not None}
    for one in environment.asked:
        requirement = releases.requirement_of(one)
        if requirement is None or one.tool == "conda" or one.index or one.extra_indexes or one.links:
            continue  # another index may have a package of that name
        if releases.applies(requirement, environment.python):
            found = names.misnamed(requirement.name, every, tables)
            if found is not None:
                yield Said(place=one.place, facts={
                    "file.misnamed": requirement.name, "file.misnamed_is": found.what,
                    "file.misnamed_nearest": found.nearest})


def _missing(framework: str, some: Sequence[Asked], tables: Tables) -> Iterator[Said]:
    for one in some:
        nearest = releases.missing(framework, one, tables)
        requirement = releases.requirement_of(one)
        if nearest is not None and requirement is not None:
            written = f"{requirement.name}{requirement.specifier}" if one.bounds else one.text.strip()
            pin = next((bound.place for bound in one.bounds
                        if "==" in bound.specifier and "==" not in one.text), one.place)
            yield Said(place=pin, facts={
                "file.release_missing": written, "file.release_nearest": nearest})


def _unlabelled(framework: str, some: Sequence[Asked], environment: Environment, tables: Tables
                ) -> Iterator[Said]:
    """Yield the builds with a label that a command asks of the default index; a list may be given another."""
    for one in some:
        index = torch_indexes.index_of_label(framework, one, tables)
        if index is not None and one.command and is_told_all(environment):
            yield Said(place=one.place, facts={
                "file.release_missing": one.text.strip(), "file.release_elsewhere": index})


def _refused(framework: str, some: Sequence[Asked], environment: Environment, tables: Tables
             ) -> Iterator[Said]:
    """Yield the releases whose extra asks for packages that the default index does not have."""
    for one in some:
        requirement = releases.requirement_of(one)
        if (requirement is None or not requirement.extras or one.locked or one.tool == "conda"
                or one.extra_indexes or one.links):
            continue
        found = releases.refused(framework, requirement, environment.python, tables)
        if found is not None:
            instead: dict[str, Value] = {"file.extra_instead": found.instead} if found.instead else {}
            yield Said(place=one.place, facts={
                "file.extra_refused": one.text.strip(), "file.extra_refusal": found.why, **instead})


def _contradiction(framework: str, some: Sequence[Asked], tables: Tables) -> Iterator[Said]:
    """Yield the fewest requirements on a framework that no known release meets together."""
    bounds = [(place, text, requirement) for place, text in _bounds(some)
              if (requirement := next(planned.parse((text,)), None)) is not None and requirement.specifier]
    bounds = bounds[:_MOST_TOGETHER]
    if not 2 <= sum(len(requirement.specifier) for *_, requirement in bounds) <= _MOST_BOUNDS:
        return
    pinned = [bound.version.partition("+")[0] for *_, requirement in bounds for bound in requirement.specifier
              if bound.operator == "==" and not bound.version.endswith("*")]
    every = {*known_versions(framework, tables), *pinned,  # one that is not known excludes others too
             *_not_listed(framework, [requirement for *_, requirement in bounds], tables)}
    meeting = [{version for version in every if releases.admits(requirement, version)}
               for *_, requirement in bounds]
    for count in (1, 2, 3):
        for chosen in itertools.combinations(range(len(bounds)), count):
            sets = [meeting[number] for number in chosen]
            is_met = all(sets) if count > 1 else _is_each_met(bounds[chosen[0]][2], every)
            if is_met and not set.intersection(*sets):
                texts = tuple(f"{bounds[n][1]} ({bounds[n][0]})" for n in chosen)
                yield Said(place=bounds[chosen[-1]][0], facts={"file.contradiction": texts})
                return


def _not_listed(framework: str, asked: Iterable[Requirement], tables: Tables) -> Iterator[str]:
    """Yield releases that there may be, though no table has them: at the bounds and just above."""
    named = {bound.version.partition("+")[0].removesuffix(".*") for one in asked for bound in one.specifier}
    for number in filter(versions.is_version, {"0", *named}):
        above = f"{versions.parse(number).base_version}.0.0.1"
        yield from (one for one in (number, above) if releases.nearest(framework, one, tables) is None)


def _is_each_met(requirement: Requirement, known: Iterable[str]) -> bool:
    """Return whether each bound of a requirement is met by itself; nightly builds are not known."""
    bounds = [str(bound).partition("+")[0] for bound in requirement.specifier]
    return not requirement.specifier.prereleases and all(
        any(versions.meets(version, [bound]) for version in known) for bound in bounds)


def _bounds(some: Sequence[Asked]) -> dict[tuple[Place, str], None]:
    """Return what bounds a framework, with its place: constraints first, for a requirement is what yields."""
    bounds = [(bound.place, bound.text) for one in some for bound in one.bounds]
    return dict.fromkeys([*bounds, *((one.place, one.text.strip()) for one in some)])


def is_about_files(rule: Rule) -> bool:
    """Return whether a rule reads what files alone show."""
    conditions = [condition for block in rule.detect for condition in block.when]
    read = [condition.fact for condition in conditions]
    read += [one.right.other for one in conditions if one.right is not None and one.right.other is not None]
    return any(name.startswith("file.") for name in read)


def of_break(found: Break) -> Said:
    """Return what a framework shows that a package beside it breaks."""
    return Said(place=found.asked.place, facts={
        "file.broken_requirement": found.one.asked.text.strip(), "file.broken_by": found.taken,
        "file.broken_pin": str(found.row["pin"]), "file.broken_why": str(found.row["reason"])})


def of_build(environment: Environment, base: Base | None, laid: Laid, ground: Ground) -> Iterator[Said]:
    """Yield what the image and the frameworks of an environment for a GPU show on a host's driver."""
    place = environment.image.place if environment.image else environment.place
    tables = ground.database.tables
    if base is not None and ground.driver is not None:
        least: dict[str, Value] = {
            name: value for name, value in (("file.image_least_cuda", base.least_cuda),
                                            ("file.image_least_driver", base.least_driver)) if value}
        if least and starting.is_excused(base, ground) is False:
            yield Said(place=place, facts={"file.image": base.reference, **least})
    yield from _of_driver(environment, tables)
    for own in other_packages.for_cuda(environment, ground):
        other: dict[str, Value] = {"file.package_instead": own.instead} if own.instead else {}
        yield Said(place=own.asked.place, facts={
            "file.package": own.asked.text.strip(), "file.package_least_cuda": own.least_cuda, **other})
    for where, why in together.contradictions(laid.chosen, laid.pins, environment):
        yield Said(place=where, facts={"file.contradiction": why})
    brought = [(f"CUDA {cuda} ({one.asked.text.strip()})", cuda, one.asked.place) for one in laid.chosen
               if one.build != "cpu" and (one.brings_libraries or environment.brought)
               and (one.cuda or not one.supposed)
               and (cuda := one.cuda or (one.stack.cuda if one.stack else None)) is not None]
    by_conda = ((f"CUDA {one.cuda} ({one.text})", one.cuda, one.place) for one in environment.brought)
    brought = [*_of_system(base, place, tables), *by_conda, *brought, *_by_name(environment)]
    majors = {versions.parse(cuda).major for _, cuda, _ in brought}
    if len(majors) > 1:
        yield Said(place=brought[-1][2], facts={
            "file.cuda_versions": tuple(text for text, _, _ in brought)})


def _of_driver(environment: Environment, tables: Tables) -> Iterator[Said]:
    """Yield what lays a driver into an image: each is to be taken out or changed by itself."""
    for found in drivers.laid(environment.packages, tables):
        known: dict[str, Value] = {"file.driver_laid": found.least} if found.least is not None else {}
        instead: dict[str, Value] = {"file.driver_instead": found.instead} if found.instead else {}
        yield Said(place=found.place, facts={"file.driver_by": found.text, **known, **instead})


def _of_system(base: Base | None, place: Place, tables: Tables) -> Iterator[tuple[str, str, Place]]:
    """Yield the CUDA of an image, and the toolkits that are installed in it."""
    toolkits = base.toolkits if base is not None else ()
    own = images.base_of(base.reference, tables).cuda if base is not None else None
    if base is not None and own is not None:
        yield f"CUDA {own} ({base.reference})", own, place
        toolkits = tuple(one for one in toolkits if one.place is not None)
    yield from ((f"CUDA {one.cuda} ({one.told_by})", one.cuda, one.place or place) for one in toolkits)


def _by_name(environment: Environment) -> Iterator[tuple[str, str, Place]]:
    """Yield the distributions whose own name says the CUDA that they are for."""
    for one in environment.asked:
        requirement = releases.requirement_of(one)
        if requirement is None or not releases.applies(requirement, environment.python):
            continue
        match = _OF_CUDA.search(distribution_name(requirement.name))
        if match is not None:
            yield f"CUDA {match[1]} ({one.text.strip()})", match[1], one.place


def wanted(environment: Environment, tables: Tables) -> Iterator[tuple[Asked, str]]:
    """Yield the requirements that need a wheel for the environment's Python, each as `--require` has it."""
    asked = releases.frameworks_asked(environment.asked, environment.python)
    for framework, some in asked.items():
        for one in some:
            requirement = releases.requirement_of(one)
            is_published = framework in FRAMEWORKS and (framework in tables or framework == "jax")
            if requirement is not None and is_published and releases.is_listed_everywhere(one):
                bound = ",".join(str(part).partition("+")[0] for part in requirement.specifier)
                yield one, f"{framework}{bound}"
