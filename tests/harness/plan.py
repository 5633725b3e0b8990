"""What a machine looks like, as plain data that travels from the test's process into the namespace."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    """A file of the machine: its bytes, or the host's file that it is a copy of."""

    path: str
    content: str = ""  # base64
    source: str | None = None
    mode: int = 0o644

    def data(self) -> bytes:
        """Return the bytes of the file."""
        return Path(self.source).read_bytes() if self.source else base64.b64decode(self.content)


@dataclass(frozen=True, kw_only=True)
class PlannedNode:
    """A character device. The default is the device number of /dev/null, which does no harm when it is
    opened."""

    path: str
    major: int = 1
    minor: int = 3
    mode: int = 0o666


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole machine and the one command that is run in it."""

    folder: str
    argv: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    working_folder: str = "/"
    files: tuple[PlannedFile, ...] = ()
    directories: tuple[tuple[str, int], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    nodes: tuple[PlannedNode, ...] = ()
    hidden: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()
    read_only: bool = False
    network: bool = True
    user: int | None = None
    host_name: str = "machine"
    loader_cache: bool = False
    status_descriptor: int = -1

    def to_json(self) -> str:
        """Return the plan as one JSON text."""
        return json.dumps(asdict(self))


def plan_from_json(text: str) -> Plan:
    """Read a plan back."""
    values = json.loads(text)
    values["files"] = tuple(PlannedFile(**one) for one in values["files"])
    values["nodes"] = tuple(PlannedNode(**one) for one in values["nodes"])
    values["directories"] = tuple((path, mode) for path, mode in values["directories"])
    values["links"] = tuple((path, target) for path, target in values["links"])
    for name in ("argv", "hidden", "shared", "collected"):
        values[name] = tuple(values[name])
    return Plan(**values)
