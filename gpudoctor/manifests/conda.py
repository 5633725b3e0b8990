"""What an environment.yml of conda asks for: a Python, packages, and what pip installs beside them.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudoctor.derive import planned
from gpudoctor.manifests import requirements, yaml_files
from gpudoctor.manifests.requirements import Reader, is_elsewhere
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.manifests.statements import Asked, Environment, Unread, Wish
from gpudoctor.manifests.yaml_files import Node

_PYTHON = re.compile(r"python\s*={1,2}\s*(3\.\d+)(?:\.[\d*]+)?(?:=\S*)?\Z")
_GPU = re.compile(
    r"(?:[\w.-]+::)?(?:cudatoolkit|pytorch-cuda|cuda(?:-[\w-]+)?|cudnn|[\w-]+-gpu)\b|[^=]*=[^=]*=\*?cuda")
_CUDA = re.compile(r"(?:[\w.-]+::)?(?:cudatoolkit|pytorch-cuda|cuda(?:-[\w-]+)?|cudnn)\b")
_INDEX = re.compile(r"--(index-url|extra-index-url|find-links)[= ]\s*(\S+)")
# a package of conda: channel, name, bounds, build
_SPEC = re.compile(r"(?:(?P<channel>[\w./:-]{1,200})::)?(?P<name>[A-Za-z0-9_.-]+?)"
                   r"(?:\s*(?P<bounds>(?:[=<>!~]=?|\s(?=\d))[^=\s]*(?:,[^=\s]*)?))?(?:=(?P<build>[^=]*))?\Z")
_FRAMEWORKS = {"pytorch": "torch", "pytorch-gpu": "torch", "torch": "torch", "tensorflow": "tensorflow",
               "tensorflow-gpu": "tensorflow", "jax": "jax"}
_LONGEST = 300  # characters of one package
_OF_CUDA = frozenset({"pytorch-cuda", "cuda-version", "cudatoolkit"})
_CPU_BUILD, _CUDA_BUILD = re.compile(r"\*?(?:cpu|mkl|eigen)|.*_cpu"), re.compile(r"\*?(?:cuda|gpu)|.*_?cuda")


def of_conda(document: Node, source: Source, reader: Reader) -> Environment:
    """Return the environment: what conda itself would install, and what pip does beside it."""
    listed = document.get("dependencies")
    named, items = document.get("channels"), listed.items if listed else ()
    channels = [one.text for one in named.texts() if one.text] if named else []
    packages = [(item.text, item.place) for item in items if item.text is not None]
    python: tuple[str, Place] | None = None
    for text, place in packages:
        match = _PYTHON.match(text)
        python = (match[1], place) if match else python
    wishes = [Wish(why=f"{text} is for GPUs", place=place) for text, place in packages if _GPU.match(text)]
    pip = [one for item in items if (inner := item.get("pip")) is not None for one in inner.texts()]
    asked, unread = _of_pip(pip, source, reader)
    return Environment(
        name="conda environment", place=document.place, asked=(*asked_of(packages, channels), *asked),
        wishes=tuple(wishes), unread=tuple(unread), in_container=bool(wishes),
        alters_libraries=any(_CUDA.match(text) for text, _ in packages),
        python=python[0] if python else None, python_place=python[1] if python else None)


def read(source: Source, reader: Reader) -> Iterator[Environment]:
    """Yield what a file describes that a command hands to conda; raise `ManifestError`."""
    for document in yaml_files.documents(source):
        if document.get("dependencies") is not None:
            yield of_conda(document, source, reader)


def asked_of(packages: Sequence[tuple[str, Place]], channels: Sequence[str]) -> Iterator[Asked]:
    """Yield the frameworks among conda's packages, with what these say of their build and their CUDA."""
    specs = [(match, place) for text, place in packages
             if len(text) < _LONGEST and (match := _SPEC.match(text.strip())) is not None]
    cuda = next((version[0] for match, _ in specs if match["name"] in _OF_CUDA
                 and (version := re.search(r"\d+\.\d+", match["bounds"] or "")) is not None), None)
    only_cpu = any(match["name"] == "cpuonly" for match, _ in specs)
    for match, place in specs:
        framework = _FRAMEWORKS.get(match["name"])
        if framework is None:
            continue
        build = match["build"] or ""
        kind = "cpu" if only_cpu or _CPU_BUILD.match(build) else ""
        if not kind and (cuda or _CUDA_BUILD.match(build) or match["name"].endswith("-gpu")):
            kind = "cuda"
        text = f"{framework}{_bounds(match['bounds'] or '')}"
        if any(True for _ in planned.parse((text,))):
            yield Asked(text=text, place=place, tool="conda", rewritable=False, build=kind, cuda=cuda,
                        extra_indexes=tuple(channels))


def _bounds(written: str) -> str:
    """Return conda's bounds as pip has them: =2.5 is 2.5 and its patches."""
    bare = written.strip()
    if not bare:
        return ""
    if bare[0] == "=" and bare[:2] != "==":
        return f"=={bare[1:].rstrip('.*')}.*"
    return bare if bare[0] in "<>=!~" else f"=={bare}"


def _of_pip(listed: Sequence[Node], source: Source, reader: Reader
            ) -> tuple[list[Asked], list[Unread]]:
    """Return what pip installs beside conda, and what of it was not read."""
    options = [match for one in listed if (match := _INDEX.match(one.text or ""))]
    asked: list[Asked] = []
    unread: list[Unread] = []
    for one in listed:
        text = one.text or ""
        if text.startswith(("-r", "--requirement")):
            name = text.split(maxsplit=1)[-1].removeprefix("-r")
            found = reader(posixpath.normpath(posixpath.join(posixpath.dirname(source.file), name)))
            more = requirements.read(found, reader) if found is not None else None
            asked += more.asked if more else ()
            why = f"{name[:80]} is not there to be read, so what it asks for was not judged"
            unread += more.unread if more else (Unread(why=why, place=one.place, of_framework=True),)
        elif text and not text.startswith("-") and not is_elsewhere(text):
            if not any(True for _ in planned.parse((text,))):
                raise source.error(one.place.start, f"{text[:60]!r} is no requirement of pip")
            asked.append(Asked(text=text, place=one.place, rewritable=one.whole))
    index = next((match[2] for match in options if match[1] == "index-url"), None)
    extra = tuple(match[2] for match in options if match[1] == "extra-index-url")
    links = tuple(match[2] for match in options if match[1] == "find-links")
    return [replace(one, index=one.index or index, extra_indexes=(*one.extra_indexes, *extra), links=links)
            for one in asked], unread
