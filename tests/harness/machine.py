"""A machine that a test can run any command on: described by its files, built from real parts.

    machine = Machine(files={"/proc/modules": "nvidia 1 0 - Live 0x0\\n"}, shim="count=0")
    result = machine.run(["cat", "/proc/modules"])

The command sees the machine's files in their real places, and the host's own below them (its Python, its
compiler), but nothing of the host's NVIDIA driver, toolkits, containers and PCI devices. What it writes is
gone with the machine.
"""

from __future__ import annotations

import base64
import functools
import glob
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import pytest

from tests.harness import namespace
from tests.harness.namespace import Completed, Running
from tests.harness.plan import Plan, PlannedFile, PlannedNode

SHIM_SCRIPT = "/run/gpudoctor-shim.cfg"
SHIM_CALL_LOG = "/run/gpudoctor-shim.log"
BASE_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
# What the host may have of its own and a described machine must not inherit.
HOST_TRACES = (
    "/.dockerenv",
    "/run/.containerenv",
    "/run/systemd/container",
    "/run/nvidia*",
    "/run/gpudoctor-shim.*",
    "/etc/cdi",
    "/run/cdi",
    "/var/run/cdi",
    "/etc/nv_tegra_release",
    "/etc/nvidia*",
    "/etc/ld.so.conf.d/*cuda*",
    "/etc/ld.so.conf.d/*nvidia*",
    "/usr/local/cuda*",
    "/opt/nvidia",
    "/usr/bin/nvidia-*",
    "/usr/lib/nvidia*",
    "/usr/lib/wsl",
    "/usr/lib/x86_64-linux-gnu/libcuda.so*",
    "/usr/lib/x86_64-linux-gnu/libcuda*.so*",
    "/usr/lib/x86_64-linux-gnu/libnvidia-*",
    "/usr/lib/x86_64-linux-gnu/nvidia",
    "/usr/lib64/libcuda.so*",
    "/usr/lib64/libnvidia-*",
)


@dataclass(frozen=True, kw_only=True)
class File:
    """A file with a mode of its own, such as a program."""

    content: str | bytes
    mode: int = 0o644


@dataclass(frozen=True, kw_only=True)
class Node:
    """A device node. Its default number is that of /dev/null, so that opening it works and does no harm."""

    path: str
    major: int = 1
    minor: int = 3
    mode: int = 0o666


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine, described.

    files: path -> text, bytes or File. links: path -> target. directories: path -> mode (for empty ones).
    libraries: path in the machine -> built library on the host (see tests/shim/build.py).
    shim: the script of the scripted driver. hide: host paths to hide beside HOST_TRACES; keep: those not to
    hide. shared: host folders that the command may write to for good. user: a user id to run as.
    loader_cache: run ldconfig in the machine first, so that /etc/ld.so.cache lists its libraries.
    """

    files: Mapping[str, str | bytes | File] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    directories: Mapping[str, int] = field(default_factory=dict)
    nodes: Sequence[Node] = ()
    libraries: Mapping[str, Path] = field(default_factory=dict)
    shim: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    hide: Sequence[str] = ()
    keep: Sequence[str] = ()
    shared: Sequence[Path] = ()
    read_only: bool = False
    network: bool = True
    user: int | None = None
    host_name: str = "machine"
    loader_cache: bool = False

    def adding(
        self,
        *,
        files: Mapping[str, str | bytes | File] | None = None,
        links: Mapping[str, str] | None = None,
        nodes: Iterable[Node] = (),
        libraries: Mapping[str, Path] | None = None,
        environment: Mapping[str, str] | None = None,
        shim: str = "",
    ) -> Machine:
        """Return the same machine with more in it; a later file, library or script line outranks an earlier
        one.

        A script line is read where it stands first, so the added lines go in front.
        """
        return replace(
            self,
            files={**self.files, **(files or {})},
            links={**self.links, **(links or {})},
            nodes=(*self.nodes, *nodes),
            libraries={**self.libraries, **(libraries or {})},
            environment={**self.environment, **(environment or {})},
            shim=self.shim if not shim else f"{shim.rstrip()}\n{self.shim or ''}",
        )

    def without(self, *paths: str) -> Machine:
        """Return the same machine without these paths and all that is below them."""

        def remains(path: str) -> bool:
            return not any(path == gone or path.startswith(gone + "/") for gone in paths)

        return replace(
            self,
            files={path: content for path, content in self.files.items() if remains(path)},
            links={path: target for path, target in self.links.items() if remains(path)},
            directories={path: mode for path, mode in self.directories.items() if remains(path)},
            nodes=tuple(node for node in self.nodes if remains(node.path)),
            libraries={path: library for path, library in self.libraries.items() if remains(path)},
        )

    def plan(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/",
        environment: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
    ) -> Plan:
        """Return the plan of one run."""
        return Plan(
            folder="",
            argv=tuple(str(word) for word in argv),
            environment={**BASE_ENVIRONMENT, **self.environment, **(environment or {})},
            working_folder=cwd,
            files=tuple(self._planned_files()),
            directories=tuple(self.directories.items()),
            links=tuple(self.links.items()),
            nodes=tuple(
                PlannedNode(path=node.path, major=node.major, minor=node.minor, mode=node.mode)
                for node in self.nodes
            ),
            hidden=self._hidden(),
            shared=tuple(str(path) for path in self.shared),
            collected=tuple(collect),
            read_only=self.read_only,
            network=self.network,
            user=self.user,
            host_name=self.host_name,
            loader_cache=self.loader_cache,
        )

    def _planned_files(self) -> Iterable[PlannedFile]:
        for path, content in self.files.items():
            file = content if isinstance(content, File) else File(content=content)
            data = file.content.encode() if isinstance(file.content, str) else file.content
            yield PlannedFile(path=path, content=base64.b64encode(data).decode(), mode=file.mode)
        for path, library in self.libraries.items():
            yield PlannedFile(path=path, source=str(library), mode=0o755)
        if self.shim is not None:
            script = f"log={SHIM_CALL_LOG}\n{self.shim}".encode()
            yield PlannedFile(path=SHIM_SCRIPT, content=base64.b64encode(script).decode())

    def _hidden(self) -> tuple[str, ...]:
        kept = {path for pattern in self.keep for path in glob.glob(pattern)}
        return tuple(path for path in (*host_traces(), *self.hide) if path not in kept)

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/",
        environment: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
        stdin: int | IO[bytes] = subprocess.DEVNULL,
    ) -> Running:
        """Start a command and return at once, for tests that interrupt it."""
        reason = namespace.unavailable()
        if reason:
            pytest.skip(f"no machine can be built here: {reason}")
        return Running(self.plan(argv, cwd=cwd, environment=environment, collect=collect), stdin)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = 60,
        cwd: str = "/",
        environment: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
    ) -> Completed:
        """Run a command to its end; `collect` names files of the machine to read afterwards."""
        return self.start(argv, cwd=cwd, environment=environment, collect=collect).wait(timeout)


@functools.cache
def host_traces() -> tuple[str, ...]:
    """List what the host has of HOST_TRACES, once per test run."""
    return tuple(sorted({path for pattern in HOST_TRACES for path in glob.glob(pattern)}))
