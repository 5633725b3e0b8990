"""Which kind of file one is, by its name and what stands in it; each kind becomes environments."""

from __future__ import annotations

import posixpath
import re

from gpudoctor.manifests import requirements, stages
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.statements import Environment

__all__ = ["Reader", "environments"]

_DOCKERFILE = re.compile(r"(?:.*[._-])?(?:dockerfile|containerfile)(?:[._-].*)?\Z", re.IGNORECASE)
_LISTS = (".txt", ".in")
_KNOWN = "a Dockerfile, requirements*.txt"


def environments(source: Source, reader: Reader) -> list[Environment]:
    """Return what a file describes; raise `ManifestError` where it is of no known kind, or is broken."""
    name = posixpath.basename(source.file)
    if _DOCKERFILE.match(name):
        return stages.environments(source, reader)
    if name.endswith(_LISTS):
        return [Environment(name=name, place=source.place(0), in_container=False,
                            asked=requirements.read(source, reader))]
    raise ManifestError(f"{source.file}: which kind of file is it? Its name says none of these: {_KNOWN}")
