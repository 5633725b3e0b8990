"""The containers that compose files and Kubernetes objects start: images, variables, and who gets a GPU.

https://docs.docker.com/reference/compose-file/ and https://kubernetes.io/docs/concepts/workloads/pods/
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace

from gpudoctor.manifests import stages
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.statements import Environment, Image, Setting, Wish
from gpudoctor.manifests.yaml_files import Node, filled, pairs

_NO_GPU = {"CUDA_VISIBLE_DEVICES": ("", "-1"), "NVIDIA_VISIBLE_DEVICES": ("void", "none", "")}
_KINDS = {
    "Pod": ("spec",), "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(("Deployment", "DaemonSet", "Job", "ReplicaSet", "StatefulSet"),
                    ("spec", "template", "spec"))}
_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-")


def of_compose(document: Node, source: Source, reader: Reader) -> Iterator[Environment]:
    """Yield the services of a compose file; one that is built with what its Dockerfile says."""
    services = document.get("services")
    for key, service in services.entries if services else ():
        wishes = tuple(_wishes_of_service(service))
        settings = {name: Setting(value=filled(value), stated=value, place=place)
                    for name, value, place in pairs(service.get("environment"))}
        written = service.get("image")
        name = f"service {key.text}"
        built = service.get("build")
        if built is not None:
            yield from _built(built, source, reader, name, wishes, settings)
        elif written is not None and written.text is not None:
            image = Image(reference=filled(written.text), place=written.place)
            yield _environment(name, image, wishes, settings)


def _wishes_of_service(service: Node) -> Iterator[Wish]:
    devices = service.get("deploy", "resources", "reservations", "devices")
    for device in devices.items if devices else ():
        asked = device.get("capabilities")
        names = [one.text for one in asked.texts()] if asked else []
        driver = device.get("driver")
        if "gpu" in names or "nvidia" in names or (driver is not None and driver.text == "nvidia"):
            yield Wish(why="the service reserves a GPU", place=device.place)
    runtime, gpus = service.get("runtime"), service.get("gpus")
    if runtime is not None and runtime.text == "nvidia":
        yield Wish(why="the service has NVIDIA's runtime", place=runtime.place)
    if gpus is not None:
        yield Wish(why="the service is given GPUs", place=gpus.place)


def _built(built: Node, source: Source, reader: Reader, name: str, wishes: tuple[Wish, ...],
           settings: dict[str, Setting]) -> Iterator[Environment]:
    context = built if built.text is not None else built.get("context")
    file = built.get("dockerfile")
    folder = context.text if context is not None and context.text else "."
    name_in_it = (file.text if file else None) or "Dockerfile"
    path = posixpath.join(posixpath.dirname(source.file), folder, name_in_it)
    found = reader(posixpath.normpath(path))
    if found is None or built.get("target") is not None:
        return
    for one in stages.environments(found, reader):
        merged = {**one.settings, **settings}
        yield replace(one, name=f"{name}, {one.name}", wishes=(*one.wishes, *wishes), settings=merged,
                      refuses_gpu=refuses(merged))


def _environment(name: str, image: Image, wishes: tuple[Wish, ...], settings: dict[str, Setting]
                 ) -> Environment:
    return Environment(name=name, place=image.place, image=image, images=(image,), feeding=(image,),
                       wishes=wishes, settings=settings, refuses_gpu=refuses(settings))


def refuses(settings: dict[str, Setting]) -> bool:
    """Return whether variables keep every GPU from a container."""
    return any(name in settings and settings[name].value in values for name, values in _NO_GPU.items())


def of_kubernetes(document: Node) -> Iterator[Environment]:
    """Yield the containers of a pod, or of what makes pods."""
    kind = document.get("kind")
    spec = document.get(*_KINDS.get(kind.text or "", ("",))) if kind else None
    if spec is None:
        return
    runtime = spec.get("runtimeClassName")
    for group in ("initContainers", "containers"):
        listed = spec.get(group)
        for container in listed.items if listed else ():
            image, name = container.get("image"), container.get("name")
            if image is None or image.text is None:
                continue
            wishes = [Wish(why=f"the container asks for {key.text}", place=key.place)
                      for part in ("limits", "requests")
                      if (asked := container.get("resources", part)) is not None
                      for key, value in asked.entries
                      if key.text and key.text.startswith(_GPU_RESOURCES) and value.text != "0"]
            if runtime is not None and runtime.text == "nvidia":
                wishes.append(Wish(why="the pod has NVIDIA's runtime class", place=runtime.place))
            yield _environment(f"container {name.text if name else ''}",
                               Image(reference=image.text, place=image.place), tuple(wishes),
                               dict(_variables(container)))


def _variables(container: Node) -> Iterator[tuple[str, Setting]]:
    listed = container.get("env")
    for item in listed.items if listed else ():
        name, value = item.get("name"), item.get("value")
        if name is not None and name.text and value is not None and value.text is not None:
            yield name.text, Setting(value=value.text, stated=value.text, place=value.place)
