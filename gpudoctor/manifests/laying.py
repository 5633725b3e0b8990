"""Lay an environment that files describe over a host; the source of each fact is the place that says so."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.assume import AssumptionError, Place, lay
from gpudoctor.candidates.ground import Ground
from gpudoctor.candidates.stacks import stacks_of
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.manifests import releases
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.releases import Chosen
from gpudoctor.manifests.statements import Environment
from gpudoctor.model import Absent, Fact, Known, Snapshot, Unknown, Value
from gpudoctor.variables import ENVIRONMENT_VARIABLES

_SEARCHED = ("loader.cache", "loader.files", "loader.library_path")
_PATH = "LD_LIBRARY_PATH"
_CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
# what the container runtime mounts for a capability; without it nothing of this is there
_MOUNTED = {
    "compute": ("cuda.library", "cuda.library_version", "cuda.init_code", "cuda.ceiling", "cuda.device_count",
                "driver.libcuda_files", "driver.libcuda_file_version"),
    "utility": ("nvml.library", "nvml.init_code", "nvml.driver_version", "nvml.gpu_count",
                "driver.libnvidia_ml_files", "driver.libnvidia_ml_file_version")}
_PINNED = {"numpy": "python.numpy", "protobuf": "python.protobuf"}


@frozen
class Laid:
    """A host with an environment laid over it, and which frameworks are in it by whose word.

    `withheld` is the same without the driver's files that NVIDIA_DRIVER_CAPABILITIES keeps away: there nothing
    else can be judged.
    """

    snapshot: Snapshot
    chosen: tuple[Chosen, ...]
    withheld: Snapshot | None = None


def lay_over(environment: Environment, base: Base | None, ground: Ground) -> Laid | None:
    """Return the host with what the environment brings; None where nothing of it can be laid."""
    chosen = tuple(_frameworks(environment, ground))
    facts: dict[str, Fact] = {}
    in_image = _release_in_image(base, ground)
    own = [one.stack.release for one in chosen if one.stack is not None]
    place = str(environment.image.place if environment.image else environment.place)
    if in_image is not None and in_image.partition("==")[0] not in {one.framework for one in chosen}:
        own.append(in_image)
    if own:
        facts["release"] = Known(value=tuple(own), source=place)
    facts["python.planned_distributions"] = Known(value=_planned(environment, chosen), source=place)
    if environment.python is None and not (base and base.python):
        facts["python.version"] = facts["python.abi"] = _not_said("which Python it has")
    if environment.in_container:
        facts.update(_system(environment, base, place))
    facts.update(_variables(environment))
    facts.update(_pins(environment))
    tables = ground.database.tables
    try:
        snapshot = lay(ground.snapshot, facts, tables, source=place)
    except AssumptionError:
        return None
    for position, framework in enumerate(_names(snapshot)):
        one = next((c for c in chosen if c.framework == framework), None)
        changes = _of_framework(one) if one is not None else _of_image(base, place)
        snapshot = lay(snapshot, changes, tables, source=place, place=Place(framework=position))
    gone = _withheld(environment)
    return Laid(snapshot=snapshot, chosen=chosen,
                withheld=lay(snapshot, gone, tables, source=place) if gone else None)


def _frameworks(environment: Environment, ground: Ground) -> Iterator[Chosen]:
    """Yield the frameworks that pip would install, each once: the last word counts."""
    python = environment.python
    found = {one.distribution: one for asked in environment.asked if (one := releases.chosen_of(
        asked, python, ground.platform, ground.database.tables)) is not None}
    by_name = {one.framework: one for one in found.values()}
    yield from by_name.values()


def _names(snapshot: Snapshot) -> list[str]:
    listed = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    return [str(fact.value) if isinstance(fact := facts.get("framework.name"), Known) else ""
            for facts in listed]


def _not_said(what: str) -> Unknown:
    return Unknown(reason=f"the files do not say {what}", asked=False)


def _planned(environment: Environment, chosen: Sequence[Chosen]) -> tuple[str, ...]:
    """Return what pip installs beside the frameworks: what these ask for, and NVIDIA's packages by name."""
    found: list[str] = []
    for one in chosen:
        if one.stack is not None:
            found += as_texts(one.stack.row.get("requires"))
            found += as_texts(one.stack.row.get("requires_nvidia")) if one.brings_libraries else ()
    found += [asked.text for asked in environment.asked if asked.text.lower().startswith("nvidia-")]
    return tuple(dict.fromkeys(found))


def _release_in_image(base: Base | None, ground: Ground) -> str | None:
    if base is None or base.release is None:
        return None
    name, version = base.release
    return next((stack.release for stack in stacks_of(name, ground.platform, ground.database.tables)
                 if stack.version == version and stack.index is None), None)


# -- the system around it ----------------------------------------------------------------------------------


def _system(environment: Environment, base: Base | None, place: str) -> dict[str, Fact]:
    """Return the libraries of the image, in place of the host's."""
    facts: dict[str, Fact] = {"system.glibc": _not_said("which C library the image has")}
    if base is None or base.libraries is None or environment.alters_libraries:
        facts.update(dict.fromkeys(_SEARCHED, _not_said("which libraries are in the image")))
        facts["toolkit.installs"] = _not_said("whether a CUDA toolkit is in the image")
        return facts
    listed = tuple({"path": path, "soname": posixpath.basename(path), "machine": "", "error": "",
                    "version": (base.cudnn or "") if "libcudnn" in path else ""} for path in base.libraries)
    cache = tuple({"soname": record["soname"], "path": record["path"]} for record in listed)
    facts.update({"loader.cache": Known(value=cache, source=place),
                  "loader.files": Known(value=_reached(listed, base), source=place),
                  "loader.library_path": Known(value=(), source=place)})
    toolkit = ({"path": f"/usr/local/cuda-{_minor(base.cuda)}", "version": _minor(base.cuda)},)
    facts["toolkit.installs"] = (Known(value=toolkit, source=place) if base.cuda and base.flavour == "devel"
                                 else Known(value=(), source=place))
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
        if name == _PATH:
            folders = tuple(folder for folder in setting.stated.split(":") if folder)
            facts["loader.library_path"] = Known(value=folders, source=source)
    return facts


def _withheld(environment: Environment) -> dict[str, Fact]:
    """Return what is not there where the container gets the GPU without a capability that it needs."""
    setting = environment.settings.get(_CAPABILITIES)
    if setting is None or setting.value is None or not environment.in_container:
        return {}
    given = {part.strip() for part in setting.value.split(",")}
    gone: dict[str, Fact] = {name: Absent(source=str(setting.place)) for capability, mounted in _MOUNTED.items()
                             if not given & {capability, "all"} for name in mounted}
    return {"container.runtime": Known(value="docker", source=str(setting.place)), **gone} if gone else {}


def _pins(environment: Environment) -> dict[str, Fact]:
    """Return the versions of what frameworks were built against, where one is asked for."""
    facts: dict[str, Fact] = {}
    for asked in environment.asked:
        requirement = releases.requirement_of(asked)
        name = _PINNED.get(requirement.name.lower()) if requirement else None
        exact = [one.version for one in requirement.specifier if one.operator == "=="] if requirement else []
        if name and len(exact) == 1 and not exact[0].endswith("*"):
            facts[name] = Known(value=exact[0], source=str(asked.place))
    return facts


# -- what is said of a framework ---------------------------------------------------------------------------


def _of_framework(one: Chosen) -> dict[str, Fact]:
    source = str(one.asked.place)
    facts: dict[str, Fact] = {"framework.name": Known(value=one.framework, source=source)}
    if one.build == "cpu":
        facts.update(_cpu(source))
        facts["framework.distribution"] = Known(value=one.distribution, source=source)
        if one.framework == "jax":
            facts["framework.plugins"] = Known(value=(), source=source)
    return facts


def _of_image(base: Base | None, place: str) -> dict[str, Fact]:
    if base is None or base.build == "cpu":
        return _cpu(place)
    cuda: dict[str, Value] = {"framework.cuda": base.cuda} if base.cuda else {}
    return {**{name: Known(value=value, source=place) for name, value in cuda.items()},
            "framework.code": _not_said("which device code the image's own build has")}


def _cpu(source: str) -> dict[str, Fact]:
    absent = Absent(source=source)
    return {"framework.build": Known(value="cpu", source=source), "framework.cuda": absent,
            "framework.cudnn": absent, "framework.code": absent}
