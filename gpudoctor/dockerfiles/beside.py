"""What stands beside the Dockerfile: a file for Compose, and a pod for Kubernetes that looks first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from gpudoctor import __version__
from gpudoctor.dockerfiles import lines
from gpudoctor.dockerfiles.choice import Chosen
from gpudoctor.dockerfiles.content import (
    SHARED_MEMORY, SKIP, USER_ID, Options, asked_of_check, has_preflight, image_name, preflight,
    shares_memory,
)
from gpudoctor.model import RuleDatabase

Node: TypeAlias = "str | int | bool | Mapping[str, Node] | Sequence[Node]"
_CARDS = re.compile(r"gpu\s*(?:>=|==|~=)\s*([0-9]{1,4})(?:\.0*)?\Z")
_MORE_THAN = re.compile(r"gpu\s*>\s*([0-9]{1,4})\Z")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._]*(?:/[A-Za-z0-9.]+)*\Z")  # a key; `nvidia.com/gpu` is one
_SHARED_VOLUME = "shared-memory"
_MEMORY: Node = {"name": _SHARED_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}


def number_of_cards(required: Sequence[str]) -> int | None:
    """Return how many cards are required, None where nothing is said of it."""
    least = [int(match[1]) for text in required if (match := _CARDS.match(text))]
    more = [int(match[1]) + 1 for text in required if (match := _MORE_THAN.match(text))]
    return max([*least, *more], default=None)


def compose(chosen: Chosen, cards: Sequence[str], options: Options, database: RuleDatabase) -> str:
    """Return compose.yaml: the image built from the Dockerfile, with the cards handed in."""
    device: dict[str, Node] = {"driver": "nvidia", "count": number_of_cards(cards) or "all",
                               "capabilities": ["gpu"]}
    build = {"context": ".", "dockerfile": options.file.replace("$", "$$")}  # one alone names a variable
    service: dict[str, Node] = {
        "image": image_name(chosen, options), "build": build,
        **({"shm_size": SHARED_MEMORY} if shares_memory(chosen) else {}),
        "deploy": {"resources": {"reservations": {"devices": [device]}}}}
    how = "docker compose run --rm app; the container gets the cards by this reservation"
    head = [_head(chosen), f"{how}{_rule(database, 'docker-no-gpu-flag')}"]
    if shares_memory(chosen):
        head.append(f"shm_size is for workers and NCCL{_rule(database, 'shm-too-small')}")
    return _document(head, {"services": {"app": service}})


def kubernetes(chosen: Chosen, cards: Sequence[str], options: Options, database: RuleDatabase) -> str:
    """Return a pod whose first container looks at the cards; only behind it the program starts."""
    image, count = image_name(chosen, options), number_of_cards(cards) or 1
    limits: dict[str, Node] = {"limits": {"nvidia.com/gpu": count}}
    safe: dict[str, Node] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    own, shares = has_preflight(chosen), shares_memory(chosen) or count > 1
    look = [*preflight(chosen, cards, options), "--depth", "smoke"] if own else [
        "gpudoctor", "check", *asked_of_check(cards, options)]
    both: dict[str, Node] = {"resources": limits, "securityContext": safe}
    if shares:  # the look, too: with several cards it sums over them by NCCL
        both["volumeMounts"] = [{"name": _SHARED_VOLUME, "mountPath": "/dev/shm"}]
    first: dict[str, Node] = {
        "name": "gpu-preflight", "image": image if own else f"gpudoctor:{__version__}", "command": look,
        **both}
    program: dict[str, Node] = {
        "name": "app", "image": image, **({"env": [{"name": SKIP, "value": "off"}]} if own else {}), **both}
    identity: dict[str, Node] = {"runAsNonRoot": True, "runAsUser": USER_ID, "runAsGroup": USER_ID,
                                 "seccompProfile": {"type": "RuntimeDefault"}}
    pod: dict[str, Node] = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"gpu-{chosen.candidate.framework}"},
        "spec": {
            "restartPolicy": "Never", "securityContext": identity, "initContainers": [first],
            "containers": [program], **({"volumes": [_MEMORY]} if shares else {})}}
    cards_of = "Both containers ask for the cards, and the second is given those of the first"
    head = [_head(chosen), f"{cards_of}{_rule(database, 'k8s-device-plugin')}"]
    if shares:
        head.append(f"/dev/shm from memory, for workers and NCCL{_rule(database, 'shm-too-small')}")
    head.append("app runs the CMD of the image: name another program in its args")
    if options.name is None:
        head.append("The nodes must find the image: push it, under a name of your registry (--tag)")
    if not own:
        head.append(f"gpudoctor cannot live in this image: gpudoctor:{__version__} is built from gpudoctor's "
                    "own Dockerfile, and looks at cards and driver alone")
    return _document(head, pod)


def _head(chosen: Chosen) -> str:
    said = chosen.said
    by = f"Written by gpudoctor {said.tool_version} with rules {said.rules_version}"
    return f"{by} for {chosen.candidate.name}"


def _rule(database: RuleDatabase, cause: str) -> str:
    found = [rule.id for rule in database.rules if rule.cause == cause]
    return f" ({', '.join(found)})" if found else ""


# -- YAML ----------------------------------------------------------------------------------------------------


def _document(head: Sequence[str], node: Mapping[str, Node]) -> str:
    """Return YAML; every text stands in double quotes, so that none is read as something else."""
    return "".join(map(lines.comment, head)) + "".join(f"{line}\n" for line in _written(node, ""))


def _written(node: Mapping[str, Node], indent: str) -> Iterator[str]:
    for key, value in node.items():
        name = key if _PLAIN.match(key) else _quoted(key)
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _written(value, f"{indent}  ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{indent}{name}:"
            for item in value:
                yield from _item(item, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _item(item: Node, indent: str) -> Iterator[str]:
    if isinstance(item, Mapping):
        first, *rest = _written(item, f"{indent}  ")
        yield f"{indent}- {first.strip()}"
        yield from rest
    else:
        assert isinstance(item, str | int)  # no list stands in a list here
        yield f"{indent}- {_scalar(item)}"


def _scalar(value: str | int | bool) -> str:
    return json.dumps(value) if isinstance(value, bool | int) else _quoted(value)


def _quoted(text: str) -> str:
    """Return a text as YAML's double quotes hold it: what JSON escapes, YAML reads alike."""
    return json.dumps(lines.sound(text, "the value"), ensure_ascii=False)
