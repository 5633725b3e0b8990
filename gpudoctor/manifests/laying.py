"""Lay an environment that files describe over a host; the source of each fact is the place that says so."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.assume import AssumptionError, Place, lay
from gpudoctor.candidates.ground import Ground
from gpudoctor.derive import planned
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.frozen import frozen
from gpudoctor.manifests import choosing, images, owners, reaching, releases, together
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.manifests.together import Pin
from gpudoctor.model import Absent, Fact, Known, Snapshot, Tables, Unknown
from gpudoctor.variables import ENVIRONMENT_VARIABLES
from gpudoctor.versions import distribution_name

_SEARCHED = ("loader.cache", "loader.files", "loader.library_path")
_PACKAGES = re.compile(r"(.{1,4000}/(?:site|dist)-packages)/nvidia(?:/|\Z)")
_PINNED = {"numpy": "python.numpy", "protobuf": "python.protobuf"}


@frozen
class Laid:
    """A host with an environment laid over it, and which frameworks are in it by whose word.

    `pins` are those of NVIDIA's packages beside them. `of_image` is the release that the image itself brings
    in a build that no table has, "" where it brings none. `kept_away` is the host without frameworks for each
    thing that keeps it from the driver's own libraries: there nothing else can be judged.
    """

    snapshot: Snapshot
    chosen: tuple[Chosen, ...]
    pins: tuple[Pin, ...] = ()
    of_image: str = ""
    kept_away: tuple[Snapshot, ...] = ()


def lay_over(environment: Environment, base: Base | None, ground: Ground, *, observed: bool,
             suppose: bool = False) -> Laid | None:
    """Return the host with what the environment brings; None where nothing of it can be laid.

    `observed`: it is a machine that was looked at, so that its libraries are known. `suppose` lays the
    releases too that are only what comes nearest to what is asked for.
    """
    chosen = choosing.frameworks(environment, base, ground)
    pins = together.pins(environment, chosen)
    chosen = together.settled(chosen, pins)
    aside = choosing.kept_for_cpu(chosen)
    own_stacks = [one for one in chosen if one.stack is not None and one not in aside
                  and (suppose or not one.supposed)]
    facts: dict[str, Fact] = {}
    in_image = _stack_in_image(base, ground)
    own = list(dict.fromkeys(one.stack.release for one in own_stacks if one.stack is not None))
    place = _stated(environment)
    if in_image is not None and in_image.framework not in {one.framework for one in chosen}:
        own.append(in_image.release)
    if own:
        facts["release"] = Known(value=tuple(own), source=place)
    planned_ones = together.requirements(own_stacks, pins)
    facts["python.planned_distributions"] = (
        _not_said("which of NVIDIA's packages come along") if any(
            one.is_other and not one.by_conda and one.build != "cpu" for one in own_stacks)
        else Known(value=planned_ones, source=place))
    every = (*planned_ones, *(asked.text for asked in environment.asked if asked.tool != "conda"
                              and not releases.is_placeholder(asked, ground.database.tables)
                              and _applies(asked, environment.python)))
    shared = owners.colliding(every, ground.database.tables, {one.distribution for one in chosen})
    own_words = [str(asked.place) for asked in environment.asked
                 if any(distribution_name(one.name) in shared for one in planned.parse((asked.text,)))]
    facts["python.colliding_distributions"] = Known(value=shared, source=[place, *own_words][-1])
    if environment.python is None and not (base and base.python):
        facts["python.version"] = facts["python.abi"] = _not_said("which Python it has")
    if any(one.by_conda for one in own_stacks):
        facts["python.environment"] = Known(value="conda", source=place)
    if environment.in_container and not brings_another(environment, own_stacks):
        facts.update(_system(environment, base, place, ground.database.tables))
    elif not observed and any(one.needs_system for one in own_stacks):
        facts.update(dict.fromkeys(_SEARCHED, _not_said("which CUDA the machine has")))
    facts.update(_variables(environment))
    facts.update(_pins(environment))
    tables = ground.database.tables
    try:
        where = {"python.site_packages": _packages(environment, base, ground)}
        snapshot = lay(ground.snapshot, where, tables, source=place)
        snapshot = lay(snapshot, facts, tables, source=place)
    except AssumptionError:
        return None
    for position, framework in enumerate(_names(snapshot)):
        mine = [one for one in own_stacks if one.framework == framework]
        changes = _of_framework(mine) if mine else _of_image(base, in_image, place)
        snapshot = lay(snapshot, changes, tables, source=place, place=Place(framework=position))
    kept_away = tuple(lay(replace(snapshot, frameworks=()), facts, tables, source=place)
                      for facts in reaching.obstacles(environment, base, ground))
    of_image = "" if in_image is None or in_image.release not in own else _unlisted(base, in_image)
    return Laid(snapshot=snapshot, chosen=chosen, pins=pins, of_image=of_image, kept_away=kept_away)


def _applies(asked: Asked, python: str | None) -> bool:
    """Return whether a requirement counts here, which a marker may deny it."""
    requirement = releases.requirement_of(asked)
    return requirement is not None and releases.applies(requirement, python)


def _stated(environment: Environment) -> str:
    """Return what says of all of an environment what it is: its image, its service, or the file as a whole.

    A list begins where its first requirement does, which says nothing of the others.
    """
    if environment.image is not None:
        return str(environment.image.place)
    return str(environment.place) if environment.place.start else environment.place.file


def brings_another(environment: Environment, own: Sequence[Chosen]) -> bool:
    """Return whether the CUDA that conda brings is no use to any of the frameworks beside it."""
    waiting = {versions.parse(cuda).major for one in own if not one.brings_libraries
               and (cuda := one.cuda or (one.stack.cuda if one.stack else None)) is not None}
    brought = {versions.parse(one.cuda).major for one in environment.brought}
    return environment.image is None and bool(waiting and brought) and not waiting & brought


def _packages(environment: Environment, base: Base | None, ground: Ground) -> Fact:
    """Return where pip installs: what LD_LIBRARY_PATH says of it, for a file seldom does."""
    setting = environment.settings.get(reaching.SEARCHED)
    for folder in setting.stated.split(":") if setting is not None else ():
        if (match := _PACKAGES.match(folder)) is not None and setting is not None:
            return Known(value=(match[1],), source=str(setting.place))
    python = environment.python or (base.python if base else None) or ground.place.python
    return Known(value=(f"$PREFIX/lib/python{_minor(python)}/site-packages",), source="sys.prefix")


def _names(snapshot: Snapshot) -> list[str]:
    listed = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    return [str(fact.value) if isinstance(fact := facts.get("framework.name"), Known) else ""
            for facts in listed]


def _not_said(what: str) -> Unknown:
    return Unknown(reason=f"the files do not say {what}", asked=False)


def _stack_in_image(base: Base | None, ground: Ground) -> Stack | None:
    """Return the release in an image: the build for its CUDA, else another one that is nearest to it."""
    if base is None or base.release is None:
        return None
    name, version = base.release
    every = stacks_of(name, ground.platform, ground.database.tables)
    known = [stack for stack in every if stack.index is None]
    same = [stack for stack in every if stack.version == version]
    built = [stack for stack in same if stack.cuda == base.cuda] if name == "torch" else []
    exact = next(iter((*built, *(stack for stack in same if stack.index is None))), None)
    if exact is None and base.build == "cpu" and known:  # that it is one for the CPU is so of any release
        return max(known, key=lambda stack: versions.parse(stack.version))
    return exact


# -- the system around it ----------------------------------------------------------------------------------


def _system(environment: Environment, base: Base | None, place: str, tables: Tables) -> dict[str, Fact]:
    """Return the libraries of the image, in place of the host's."""
    facts: dict[str, Fact] = {"system.glibc": _not_said("which C library the image has") if base is None
                              else images.glibc(base, tables)}
    if base is None or base.libraries is None or environment.alters_libraries:
        facts.update(dict.fromkeys(_SEARCHED, _not_said("which libraries are in the image")))
        facts["toolkit.installs"] = _not_said("whether a CUDA toolkit is in the image")
        return facts
    listed = tuple({"path": path, "soname": posixpath.basename(path), "machine": "", "error": "",
                    "version": base.versions.get(path, "")} for path in base.libraries)
    cache = tuple({"soname": record["soname"], "path": record["path"]} for record in listed)
    facts.update({"loader.cache": Known(value=cache, source=place),
                  "loader.files": Known(value=_reached(listed, base), source=place),
                  "loader.library_path": Known(value=(), source=place)})
    toolkits = tuple({"path": f"/usr/local/cuda-{_minor(one.cuda)}", "version": _minor(one.cuda)}
                     for one in base.toolkits)
    facts["toolkit.installs"] = Known(value=toolkits, source=place)
    return facts


def _reached(listed: Sequence[Mapping[str, str]], base: Base) -> tuple[Mapping[str, str], ...]:
    """Return the libraries by every path that leads to them: /usr/local/cuda is a link."""
    other = f"/usr/local/cuda-{_minor(base.cuda)}/lib64"
    linked = [{**record, "path": f"{other}/{record['soname']}"} for record in listed
              if record["path"].startswith("/usr/local/cuda/")]
    return (*listed, *linked)


def _minor(version: str | None) -> str:
    return ".".join(str(part) for part in versions.parse(version or "0").release[:2])


# -- variables, pins ---------------------------------------------------------------------------------------


def _variables(environment: Environment) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for name, setting in environment.settings.items():
        source = str(setting.place)
        if name in ENVIRONMENT_VARIABLES and setting.value is not None:
            facts[f"environment.{name}"] = Known(value=setting.value, source=source)
        if name == reaching.SEARCHED:
            folders = tuple(folder for folder in setting.stated.split(":") if folder)
            facts["loader.library_path"] = Known(value=folders, source=source)
    return facts


def _pins(environment: Environment) -> dict[str, Fact]:
    """Return the versions of what frameworks were built against, where one is asked for."""
    facts: dict[str, Fact] = {}
    for asked in environment.asked:
        requirement = releases.requirement_of(asked)
        name = _PINNED.get(requirement.name.lower()) if requirement else None
        exact = [one.version for one in requirement.specifier if one.operator == "=="] if requirement else []
        if name and _applies(asked, environment.python) and len(exact) == 1 and not exact[0].endswith("*"):
            facts[name] = Known(value=exact[0], source=str(asked.place))
    return facts


# -- what is said of a framework ---------------------------------------------------------------------------


def _of_framework(mine: Sequence[Chosen]) -> dict[str, Fact]:
    """Return what is said of a framework; of several packages of it the last lies over the others."""
    one = mine[-1]
    source = str(one.asked.place)
    facts: dict[str, Fact] = {"framework.name": Known(value=one.framework, source=source)}
    if one.build == "cpu":
        facts.update(_cpu(source))
        if not one.by_conda:
            facts["framework.distribution"] = Known(value=one.distribution, source=source)
        if one.framework == "jax":
            facts["framework.plugins"] = Known(value=(), source=source)
    elif not one.is_measured:  # of which a note is left, once
        facts["framework.code"] = _not_said("which device code it has")
    if one.build != "cpu" and one.is_other:
        facts.update(_of_other_build(one.stack.version if one.stack else "", one.cuda, source))
    if one.by_conda:
        facts["framework.installer"] = Known(value="conda", source=source)
    if len(mine) > 1:
        others = tuple(other.distribution for other in mine[:-1])
        facts["framework.distribution"] = Known(value=one.distribution, source=source)
        facts["framework.other_distributions"] = Known(value=others, source=source)
    return facts


def _unlisted(base: Base | None, stack: Stack) -> str:
    """Return the release in an image that is built for another CUDA than the tables have it for, or ""."""
    is_other = base is not None and stack.framework == "torch" and base.cuda not in (None, stack.cuda)
    return f"{stack.framework} {stack.version}" if is_other else ""


def _of_other_build(version: str, cuda: str | None, source: str) -> dict[str, Fact]:
    """Return what is said of a release for another CUDA than the tables have: no row has its label."""
    cudnn = _not_said("which build it becomes")
    if cuda is None:
        return {"framework.cudnn": cudnn, "framework.cuda": _not_said("which CUDA it is built for")}
    labelled = f"{version}+cu{cuda.replace('.', '')}"
    return {"framework.cudnn": cudnn, "framework.cuda": Known(value=cuda, source=source),
            "framework.version": Known(value=labelled, source=source)}


def _of_image(base: Base | None, stack: Stack | None, place: str) -> dict[str, Fact]:
    if base is not None and base.build == "cpu" and base.release is not None:
        version: Fact = (Known(value=base.release[1], source=place) if base.release[1]
                         else _not_said("which release the image has"))
        return {**_cpu(place), "framework.version": version}
    if base is None:
        return _cpu(place)
    code: dict[str, Fact] = {"framework.code": _not_said("which device code the image's own build has")}
    if base.cuda is None or stack is None:
        return code
    if _unlisted(base, stack):
        return {**code, **_of_other_build(stack.version, base.cuda, place)}
    return {**code, "framework.cuda": Known(value=base.cuda, source=place)}


def _cpu(source: str) -> dict[str, Fact]:
    absent = Absent(source=source)
    return {"framework.build": Known(value="cpu", source=source), "framework.cuda": absent,
            "framework.cudnn": absent, "framework.code": absent}
