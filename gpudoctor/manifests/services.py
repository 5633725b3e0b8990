"""The containers that compose files and Kubernetes objects start: images, variables, and who gets a GPU.

https://docs.docker.com/reference/compose-file/ and https://kubernetes.io/docs/concepts/workloads/pods/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpudoctor.manifests import (
    composed, container_commands, container_fields, inline, reaching, references, resource_claims, stages,
)
from gpudoctor.manifests.composed import Composed
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.statements import Build, Environment, Image, Setting, Unread, Wish, signs_of
from gpudoctor.manifests.yaml_files import Node, filled, pairs, require_mapping

# https://github.com/moby/moby/blob/master/daemon/nvidia_linux.go: of what a request names, these become
# NVIDIA_DRIVER_CAPABILITIES, over any other value of it; where none of them is named, it stays as it is
_DRIVER_CAPABILITIES = frozenset({"compute", "compat32", "graphics", "utility", "video", "display"})
_TEMPLATE = re.compile(r"\{\{|\$[({A-Za-z_]")  # of Helm, or for envsubst: no image yet
_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-")
_CDI_DEVICES = "nvidia.com/gpu="
_RESOLVED = "lint what `docker compose config` prints"


def of_compose(document: Node, source: Source, reader: Reader, build: Build | None = None
               ) -> Iterator[Environment]:
    """Yield the services of a compose file; one that is built with what its Dockerfile says."""
    project = Composed(source, reader)
    for key, service in project.services(document).values():
        container_fields.checked(service, container_fields.SERVICE, f" of the service {key.text}")
        wishes = tuple(_wishes_of_service(service))
        settings = {name: Setting(value=filled(value), stated=value, place=place)
                    for name, value, place in pairs(service.get("environment"))}
        settings.update(_capabilities(service))
        written, built = service.get("image"), service.get("build")
        unread = tuple(_unread_of_service(service))
        given = _is_given(service, wishes, settings)
        starts = container_commands.of_service(service, project.sources)
        if built is not None:
            found = _built(built, project.sources, reader, replace(build or Build(), started=starts))
        elif written is not None and written.text is not None:
            image = _image(written, written.text, filled(written.text), _RESOLVED)
            found = iter([container_commands.added(_environment("", image, (), settings), starts, source,
                                                   reader)])
        else:
            found = iter([Environment(name="", place=key.place)])
        for one in found:
            name = f"service {key.text}{', ' if one.name else ''}{one.name}"
            yield replace(one, name=name, settings={**one.settings, **settings},
                          wishes=(*one.wishes, *wishes, *signs_of(settings)), unread=(*one.unread, *unread),
                          given=given)
    for absent in project.unread:
        yield Environment(name="include", place=absent.place, unread=(replace(absent, of_framework=True),))


def _image(node: Node, written: str, reference: str | None, told_by: str) -> Image:
    """Return the image that is written; raise `ManifestError` where no engine takes it for one."""
    if reference is not None:
        references.checked(reference, node.place)
    return Image(reference=reference, place=node.place, name=references.name_of(written), told_by=told_by)


def _unread_of_service(service: Node) -> Iterator[Unread]:
    """Yield what says more of a service elsewhere, where it is not read."""
    taken, files = service.get("extends"), service.get("env_file")
    if taken is not None and not taken.is_null:
        is_all = service.get("image") is None and service.get("build") is None
        file = taken.get("file")
        yield Unread(why=composed.absence("extends", file), place=taken.place, of_framework=is_all,
                     ends=composed.is_nowhere(file))
    if files is not None:
        yield Unread(why=f"the variables of env_file are not read: {_RESOLVED}", place=files.place)


def _is_given(service: Node, wishes: Sequence[Wish], settings: Mapping[str, Setting]) -> bool | None:
    """Return whether a service is handed a GPU; None where it may have one in a way that is not read."""
    if wishes:
        return True
    taken = service.get("extends")
    is_open = (taken is not None and not taken.is_null) or [*signs_of(settings)] or any(
        service.get(key) is not None for key in ("devices", "privileged", "env_file", "gpus", "runtime"))
    return None if is_open or service.get("deploy", "resources", "reservations") is not None else False


def _devices(service: Node) -> tuple[Node, ...]:
    """Return the devices that are reserved for a service, in both forms."""
    reserved, given = service.get("deploy", "resources", "reservations", "devices"), service.get("gpus")
    return (*(reserved.items if reserved else ()), *(given.items if given else ()))


def _named(device: Node) -> dict[str, Node]:
    asked = device.get("capabilities")
    return {one.text: one for one in asked.texts() if one.text} if asked else {}


def _capabilities(service: Node) -> Iterator[tuple[str, Setting]]:
    """Yield the variable that Docker makes of a reservation which names capabilities of the driver."""
    for device in _devices(service):
        named = {text: node for text, node in _named(device).items() if text in _DRIVER_CAPABILITIES}
        given = ",".join(sorted(named))
        if named:
            last = [*named.values()][-1]
            yield reaching.CAPABILITIES, Setting(value=given, stated=given, place=last.place,
                                                 is_listed=last.whole)


def _wishes_of_service(service: Node) -> Iterator[Wish]:
    for device in _devices(service):
        names = _named(device)
        driver = device.get("driver")
        if names.keys() & {"gpu", "nvidia", *_DRIVER_CAPABILITIES} or (driver and driver.text == "nvidia"):
            yield Wish(why="the service reserves a GPU", place=device.place)
        yield from _by_cdi(device.get("device_ids"))
    yield from _by_cdi(service.get("devices"))
    counted = service.get("deploy", "resources", "reservations", "generic_resources")
    for one in counted.items if counted else ():  # of Swarm, by the name that the daemon was told
        kind = one.get("discrete_resource_spec", "kind")
        if kind is not None and kind.text and "gpu" in kind.text.lower():
            yield Wish(why=f"the service reserves {kind.text}", place=kind.place)
    runtime, gpus = service.get("runtime"), service.get("gpus")
    if runtime is not None and runtime.text == "nvidia":
        yield Wish(why="the service has NVIDIA's runtime", place=runtime.place)
    if gpus is not None:
        yield Wish(why="the service is given GPUs", place=gpus.place)


def _by_cdi(listed: Node | None) -> Iterator[Wish]:
    for device in listed.texts() if listed else ():
        if device.text and device.text.startswith(_CDI_DEVICES):
            yield Wish(why=f"the service has the device {device.text}", place=device.place)


def _built(built: Node, sources: Mapping[str, Source], reader: Reader, build: Build) -> Iterator[Environment]:
    """Yield what the Dockerfile of a service builds, with the service's arguments, target and folder."""
    context, file, written = (built.get(name) for name in ("context", "dockerfile", "dockerfile_inline"))
    folder, name = (filled(one.text or "") if one else "" for one in (context, file))
    path = posixpath.normpath(posixpath.join(folder or "", name or "Dockerfile"))
    found: Source | None = None
    why = f"{path[:80]} is not there to be read"
    if written is not None and written.text:
        found = inline.inline(written, sources[written.place.file])
        why = "dockerfile_inline in quotes is not read (write | behind it, and the Dockerfile below)"
    elif folder is None or name is None:
        why = f"which Dockerfile it is only the environment says ({_RESOLVED})"
    elif composed.is_remote(folder):
        why = f"{folder[:80]} is not fetched"
    elif path.startswith("../"):
        why = f"{path[:80]} lies outside of the folder: lint is to be called from one above it"
    else:
        found = reader(path)
    if found is None:
        yield Environment(name="", place=built.place, unread=(
            Unread(why=f"{why}, so what the service is built of was not judged",
                   place=(written or file or built).place, of_framework=True),))
        return
    arguments = {name: filled(value) for name, value, _ in pairs(built.get("args"))}
    target = built.get("target")
    for one in stages.environments(found, reader, Build(
            folder=folder, arguments={**arguments, **build.arguments}, started=build.started,
            target=filled(target.text) if target is not None and target.text else None)):
        image = one.image
        if written is not None and image is not None:
            image = replace(image, told_by=inline.TOLD_BY)
        yield replace(one, image=image)


def _environment(name: str, image: Image, wishes: tuple[Wish, ...], settings: dict[str, Setting]
                 ) -> Environment:
    return Environment(name=name, place=image.place, image=image, images=(image,), feeding=(image,),
                       wishes=wishes, settings=settings)


def of_kubernetes(document: Node, beside: Sequence[Node], source: Source) -> Iterator[Environment]:
    """Yield the containers of pods: those of objects that nobody here has heard of hold them as well.

    `beside` are the documents of the same file, which may define what a pod claims.
    """
    require_mapping(document.get("spec"), "spec", "write what the object is below it")
    kind = document.get("kind")
    if kind is not None and kind.text in ("Pod", *container_fields.WORKLOADS):
        container_fields.checked(document, container_fields.POD if kind.text == "Pod" else
                                 container_fields.WORKLOAD)
    for spec in _pods(document):
        yield from _of_pod(spec, beside, source)


def _pods(node: Node) -> Iterator[Node]:
    """Yield what describes a pod, wherever it stands: it lists containers with their images."""
    listed = node.get("containers")
    if listed is not None and any(item.get("image") is not None for item in listed.items):
        yield node
    for inner in (*(value for _, value in node.entries), *node.items):
        yield from _pods(inner)


def _of_pod(spec: Node, beside: Sequence[Node], source: Source) -> Iterator[Environment]:
    runtime = spec.get("runtimeClassName")
    for group in ("initContainers", "containers"):
        listed = spec.get(group)
        for container in listed.items if listed else ():
            image, name = container.get("image"), container.get("name")
            container_fields.checked(container, container_fields.CONTAINER, " of a container")
            if image is None or image.text is None:
                continue
            gpus = [(key, value) for key, value in _resources(container)
                    if key.text and key.text.startswith(_GPU_RESOURCES)]
            for key, value in gpus:
                container_fields.require(value, container_fields.GPUS, f"{key.text}")
            wishes = [Wish(why=f"the container asks for {key.text}", place=key.place)
                      for key, value in gpus if value.text != "0"]
            if runtime is not None and runtime.text == "nvidia":
                wishes.append(Wish(why="the pod has NVIDIA's runtime class", place=runtime.place))
            claims = [*resource_claims.signs(container, spec, beside)]
            wishes += [one for one in claims if isinstance(one, Wish)]
            settings = dict(_variables(container))
            given = _is_given_in_pod(container, wishes, settings, is_open=bool(claims) or runtime is not None)
            told = None if _TEMPLATE.search(image.text) else image.text
            found = replace(
                _environment(f"container {name.text if name else ''}",
                             _image(image, image.text, told, "lint what the template makes of it"),
                             (*wishes, *signs_of(settings)), settings),
                given=given, unread=() if wishes else tuple(one for one in claims if isinstance(one, Unread)))
            yield container_commands.added(found, container_commands.of_container(container, source), source,
                                           _nothing)


def _is_given_in_pod(container: Node, wishes: Sequence[Wish], settings: Mapping[str, Setting], *,
                     is_open: bool) -> bool | None:
    """Return whether a container is handed a GPU; None where it may have one in a way that is not read.

    `is_open` says that of its pod.
    """
    if wishes:
        return True
    has_other = any("gpu" in (key.text or "") and value.text != "0" for key, value in _resources(container))
    is_privileged = container.get("securityContext", "privileged") is not None
    return None if is_open or has_other or is_privileged or [*signs_of(settings)] else False


def _resources(container: Node) -> Iterator[tuple[Node, Node]]:
    for part in ("limits", "requests"):
        asked = container.get("resources", part)
        yield from asked.entries if asked is not None else ()


def _nothing(name: str) -> Source | None:
    """Return no file: what a pod reads lies in its image, or is mounted where it runs."""


def _variables(container: Node) -> Iterator[tuple[str, Setting]]:
    listed = container.get("env")
    for item in listed.items if listed else ():
        name, value = item.get("name"), item.get("value")
        if name is not None and name.text and value is not None and value.text is not None:
            yield name.text, Setting(value=value.text, stated=value.text, place=value.place)
