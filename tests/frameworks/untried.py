"""What `recommend` offers on the machines of the real installs and nobody installs, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PROPERTY = "offered and not tried: "
_OWN_INDEX, _IMAGE = "on PyTorch's and Paddle's own indexes", "images"
_OTHER = "other releases of pip's index"


def offered_besides(said: Mapping[str, Any], typed: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield of a recommendation what is offered beside the candidate that was `typed`: its kind, its name."""
    for one in said["candidates"]:
        if one["verdict"] == "rejected" or one == typed:
            continue
        names = [f"{one['framework']} {one['version']}",
                 *(f"{member['framework']} {member['version']}" for member in one["beside"])]
        if one["kind"] == "image":
            yield PROPERTY + _IMAGE, one["image"]
        elif "--index-url" in one["commands"][0]:
            yield PROPERTY + _OWN_INDEX, f"{' with '.join(names)} (CUDA {one['cuda']})"
        else:
            yield PROPERTY + _OTHER, " with ".join(names)


def lines(properties: Iterable[tuple[str, object]]) -> Iterator[str]:
    """Yield a line for each kind of what the tests recorded as not tried, each name once."""
    found: dict[str, dict[str, None]] = {}
    for kind, name in properties:
        if kind.startswith(PROPERTY):
            found.setdefault(kind, {})[str(name)] = None
    for kind, names in sorted(found.items()):
        yield f"recommendations {kind} ({len(names)}): {', '.join(names)}"
