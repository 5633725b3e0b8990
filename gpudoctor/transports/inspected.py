"""What an engine keeps of an image, or of a container that runs, under its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.transports.engine import Engine, EngineTrouble, asked

Described = Mapping[str, Any]

_HALTED = ("paused", "restarting")


def image(engine: Engine, name: str, limit: float) -> Described:
    """Return what an image is; raise `EngineTrouble` where it is not there."""
    described: Described = asked(lambda: engine.api.inspect_image(name), limit)
    return described


def running(engine: Engine, name: str, limit: float) -> Described:
    """Return what a container is; refuse one in which no program can be started.

    Engines call a paused one running, too, and one that is between two of its starts.
    """
    if _is_path(name):
        raise EngineTrouble("not-found", f"{name} is a path, and the name of no container")
    described: Described = asked(lambda: engine.api.inspect_container(name), limit)
    said = str(described["State"].get("Status") or "stopped")
    if not described["State"].get("Running") or said in _HALTED:
        raise EngineTrouble(said if said in _HALTED else "not-running",
                            f"the container is {said}; only a running one can be examined")
    return described


def _is_path(name: str) -> bool:
    """Say whether a name leads elsewhere in the engine's own addresses, which it becomes a part of."""
    return not {".", ".."}.isdisjoint(name.split("/"))


def folder(described: Described) -> str:
    """Return the folder in which its programs start."""
    return str(described["Config"].get("WorkingDir") or "/")


def variables(described: Described) -> dict[str, str]:
    """Return the environment of its programs."""
    entries: Sequence[str] = described["Config"].get("Env") or ()
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def labels(described: Described) -> Mapping[str, str]:
    """Return its labels."""
    return (described.get("Config") or {}).get("Labels") or {}
