"""What an environment.yml of conda asks for: a Python, packages, and what pip installs beside them.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudoctor.manifests import conda_specs, container_fields, requirements, yaml_files
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.spans import ManifestError, Part, Source, Traced
from gpudoctor.manifests.statements import Asked, Environment, Setting, Unread, signs_of
from gpudoctor.manifests.yaml_files import Node


def of_conda(document: Node, source: Source, reader: Reader) -> Environment:
    """Return the environment: what conda itself would install, and what pip does beside it."""
    listed = document.get("dependencies")
    named, items = document.get("channels"), listed.items if listed else ()
    yaml_files.require_list(listed, "dependencies", "write each package in a line that begins with a dash")
    for item in items:
        yaml_files.require_list(item.get("pip"), "what pip installs", "write each in a line of its own")
        if item.entries and item.get("pip") is None:
            raise ManifestError(item.place, "an entry of dependencies is no text: "
                                            f"{container_fields.CONDA['dependencies.[]'].remedy}")
    container_fields.checked(document, container_fields.CONDA)
    channels = [one.text for one in named.texts() if one.text] if named else []
    packages = [(item.text, item.place) for item in items if item.text is not None]
    specs = conda_specs.specs_of(packages)
    python = conda_specs.python_of(specs)
    wishes = conda_specs.wishes_of(specs)
    pip = [one for item in items if (inner := item.get("pip")) is not None for one in inner.texts()]
    asked, unread = _of_pip(pip, source, reader)
    settings = {name: Setting(value=value, stated=value, place=place)
                for name, value, place in yaml_files.pairs(document.get("variables"))}
    return Environment(
        name="conda environment", place=document.place,
        asked=(*conda_specs.asked_of(specs, channels), *asked), settings=settings,
        wishes=(*wishes, *signs_of(settings)), brought=tuple(conda_specs.brought_of(specs, channels)),
        unread=(*conda_specs.unread_of(specs), *unread), in_container=bool(wishes),
        alters_libraries=any(spec.is_cuda for spec in specs), has_condas=conda_specs.bring_more(specs),
        python=python[0] if python else None, python_place=python[1] if python else None)


def read(source: Source, reader: Reader) -> Iterator[Environment]:
    """Yield what a file describes that a command hands to conda; raise `ManifestError`."""
    for document in yaml_files.documents(source):
        if document.get("dependencies") is not None:
            yield of_conda(document, source, reader)


def _of_pip(listed: Sequence[Node], source: Source, reader: Reader
            ) -> tuple[list[Asked], Sequence[Unread]]:
    """Return what pip installs, which conda gives it as the lines of a list; and what is left open."""
    lines = [Traced(text=one.text or "", at=range(one.place.start, one.place.start + len(one.text or "") + 1))
             for one in listed]
    found = requirements.read(Part(source, lines), reader)
    escaped = {one.place.start for one in listed if not one.whole}
    return [replace(one, rewritable=one.rewritable and one.place.start not in escaped)
            for one in found.asked], found.unread
