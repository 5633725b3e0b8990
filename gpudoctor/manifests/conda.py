"""What an environment.yml of conda asks for: a Python, packages, and what pip installs beside them.

https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import re

from gpudoctor.derive import planned
from gpudoctor.manifests.requirements import is_elsewhere
from gpudoctor.manifests.spans import Place, Source
from gpudoctor.manifests.statements import Asked, Environment, Wish
from gpudoctor.manifests.yaml_files import Node

_PYTHON = re.compile(r"python\s*={1,2}\s*(3\.\d+)(?:\.[\d*]+)?\Z")
_GPU = re.compile(
    r"(?:[\w.-]+::)?(?:cudatoolkit|pytorch-cuda|cuda(?:-[\w-]+)?|cudnn|[\w-]+-gpu)\b|[^=]*=[^=]*=\*?cuda")
_CUDA = re.compile(r"(?:[\w.-]+::)?(?:cudatoolkit|pytorch-cuda|cuda(?:-[\w-]+)?|cudnn)\b")
_INDEX = re.compile(r"--(?:index-url|extra-index-url)[= ]")


def of_conda(document: Node, source: Source) -> Environment:
    """Return the environment; the frameworks that conda itself would install are in no table."""
    listed = document.get("dependencies")
    python: tuple[str, Place] | None = None
    wishes: list[Wish] = []
    asked: list[Asked] = []
    has_cuda = False
    indexed = False
    for item in listed.items if listed else ():
        if item.text is not None:
            match = _PYTHON.match(item.text)
            python = (match[1], item.place) if match else python
            has_cuda |= _CUDA.match(item.text) is not None
            if _GPU.match(item.text):
                wishes.append(Wish(why=f"{item.text} is for GPUs", place=item.place))
        for one in (inner.texts() if (inner := item.get("pip")) is not None else ()):
            indexed |= bool(_INDEX.match(one.text or ""))
            if one.text and not one.text.startswith("-") and not is_elsewhere(one.text):
                if not any(True for _ in planned.parse((one.text,))):
                    raise source.error(one.place.start, f"{one.text[:60]!r} is no requirement of pip")
                asked.append(Asked(text=one.text, place=one.place, rewritable=one.whole))
    own = () if indexed else tuple(asked)
    return Environment(
        name="conda environment", place=document.place, asked=own, wishes=tuple(wishes),
        in_container=bool(wishes), alters_libraries=has_cuda,
        python=python[0] if python else None, python_place=python[1] if python else None)
