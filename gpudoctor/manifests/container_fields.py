"""What the fields of services, containers and environments of conda may hold: anything else is refused.

https://github.com/compose-spec/compose-spec/blob/main/schema/compose-spec.json,
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ and
https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import ManifestError
from gpudoctor.manifests.yaml_files import Node, Shape, shape_of

_EACH = "[]"  # stands for the items of a list


@frozen
class Kind:
    """The shapes that a field may have, what it is called, and what to write.

    `words` are single values that it may have beside them, `counts` says that whole numbers are.
    """

    called: str
    shapes: tuple[Shape, ...]
    remedy: str
    words: tuple[str, ...] = ()
    counts: bool = False


_LIST = Kind(called="list", shapes=("list",), remedy="write each in a line that begins with a dash")
_MAPPING = Kind(called="mapping", shapes=("mapping",), remedy="write NAME: VALUE below it")
_PAIRS = Kind(called="mapping", shapes=("mapping", "list"), remedy="write NAME: VALUE below it")
_TEXT = Kind(called="text", shapes=("text",), remedy="write it in quotes")
_COMMAND = Kind(called="command", shapes=("text", "list"), remedy="write it in quotes, or as a list")
_WORDS = Kind(called="list of texts", shapes=("list",), remedy='write ["sh", "-c", "..."] or the like')
_NAMES = Kind(called="list of names", shapes=("text", "list"), remedy=_LIST.remedy)
_COUNT = Kind(called="whole number", shapes=(), remedy="write one, or all", counts=True,
              words=("all", "-1"))
_DEVICES = "deploy.resources.reservations.devices"
SERVICE: Mapping[str, Kind] = {
    "image": Kind(called="text", shapes=("text",), remedy="write NAME:TAG"),
    "build": Kind(called="folder or mapping", shapes=("text", "mapping"), remedy=_TEXT.remedy),
    "build.context": _TEXT, "build.dockerfile": _TEXT, "build.target": _TEXT, "build.args": _PAIRS,
    "environment": _PAIRS, "command": _COMMAND, "entrypoint": _COMMAND, "runtime": _TEXT,
    "devices": _LIST, "gpus": Kind(called="list of devices", shapes=("list",), remedy="write all",
                                   words=("all",)),
    "gpus.[].count": _COUNT, "gpus.[].capabilities": _LIST,
    "deploy": Kind(called="mapping", shapes=("mapping",), remedy="write resources: below it"),
    "deploy.resources": _MAPPING, "deploy.resources.reservations": _MAPPING, _DEVICES: _LIST,
    f"{_DEVICES}.[].count": _COUNT, f"{_DEVICES}.[].capabilities": _LIST,
}
CONTAINER: Mapping[str, Kind] = {
    "image": SERVICE["image"], "env": _LIST, "env.[].value": _TEXT, "command": _WORDS, "args": _WORDS,
    "resources": _MAPPING, "resources.limits": _MAPPING, "resources.requests": _MAPPING}
_POD = {"containers": _LIST, "initContainers": _LIST}
POD: Mapping[str, Kind] = {f"spec.{name}": kind for name, kind in _POD.items()}
WORKLOAD: Mapping[str, Kind] = {f"spec.template.spec.{name}": kind for name, kind in _POD.items()}
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
CONDA: Mapping[str, Kind] = {
    "channels": _NAMES, "variables": _MAPPING, "dependencies.[].pip.[]": _TEXT,
    "dependencies.[]": Kind(called="text", shapes=("text", "mapping"),
                            remedy="write NAME, or NAME=VERSION; what pip installs stands below pip:")}
GPUS = Kind(called="whole number", shapes=(), counts=True,
            remedy="Kubernetes gives whole GPUs: write 1 or more")


def checked(node: Node, kinds: Mapping[str, Kind], of: str = "") -> None:
    """Raise `ManifestError` for the first field that holds what it cannot; `of` says whose it is."""
    for pattern, kind in kinds.items():
        for value in _found(node, pattern.split(".")):
            item = "an entry of " if pattern.endswith(_EACH) else ""
            require(value, kind, f"{item}{pattern.replace('.[]', '')}{of}")


def require(value: Node, kind: Kind, what: str) -> None:
    """Raise `ManifestError` where a value is not of a kind; what is filled in later may be of any."""
    shape, text = shape_of(value), value.text or ""
    is_open = shape == "nothing" or "{{" in text or "$" in text
    is_count = kind.counts and re.fullmatch("[0-9]{1,18}", text) is not None
    if not (is_open or is_count or shape in kind.shapes or value.text in kind.words):
        raise ManifestError(value.place, f"{what} is no {kind.called}: {kind.remedy}")


def _found(node: Node, pattern: Sequence[str]) -> Iterator[Node]:
    """Yield the values that a pattern names."""
    if not pattern:
        yield node
    elif pattern[0] == _EACH:
        for item in node.items:
            yield from _found(item, pattern[1:])
    elif (inner := node.get(pattern[0])) is not None:
        yield from _found(inner, pattern[1:])
