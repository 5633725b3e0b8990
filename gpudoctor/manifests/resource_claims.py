"""The devices that pods of Kubernetes are given by claims, and which of them are NVIDIA's.

https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.manifests.statements import Unread, Wish
from gpudoctor.manifests.yaml_files import Node

_KINDS = ("ResourceClaim", "ResourceClaimTemplate")
_NAMES = ("resourceClaimName", "resourceClaimTemplateName")
_OF_NVIDIA = ("gpu.nvidia.com", "mig.nvidia.com")  # classes of devices that its driver for claims makes


def signs(container: Node, pod: Node, documents: Sequence[Node]) -> Iterator[Wish | Unread]:
    """Yield the claims of a container: wishes of those on a GPU, and those that the file does not define."""
    listed, asked = pod.get("resourceClaims"), container.get("resources", "claims")
    for claim in asked.items if asked else ():
        name = _text(claim, "name")
        own = next((one for one in (listed.items if listed else ()) if _text(one, "name") == name), None)
        told = next((text for key in _NAMES if own is not None and (text := _text(own, key))), "")
        definition = next((one for one in documents if _text(one, "kind") in _KINDS
                           and _text(one, "metadata", "name") == told), None)
        if definition is None:
            absent = told or "what defines it"
            yield Unread(why=f"what the claim {name} is on was not judged: {absent} is not in this file",
                         place=claim.place, of_framework=True)
        elif any(text in _OF_NVIDIA for text in _classes(definition)):
            yield Wish(why=f"the container has the claim {name}", place=claim.place)


def _text(node: Node, *path: str) -> str:
    found = node.get(*path)
    return (found.text if found is not None else None) or ""


def _classes(node: Node) -> Iterator[str]:
    """Yield every class of devices that is named below."""
    for key, value in node.entries:
        if key.text == "deviceClassName" and value.text:
            yield value.text
        yield from _classes(value)
    for item in node.items:
        yield from _classes(item)
