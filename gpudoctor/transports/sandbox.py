"""A container of an image that is examined: shut in, labelled, and taken away however the look ends.

The engine's own "remove when done" leaves a container behind whose start failed, so it is removed here. What
is left of a gpudoctor that was killed is swept away by the next one.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.child import framed
from gpudoctor.child.strays import start_ticks
from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Text
from gpudoctor.transports import limits
from gpudoctor.transports.engine import HANGS, SILENT, Engine, EngineTrouble, asked, waiting

LABEL = "io.github.gpudoctor.examination"
OUTPUT_LIMIT_BYTES, ERRORS_LIMIT_BYTES = 64 << 20, 1 << 16
_ID_CHARACTERS = 12  # as many as the engine's own lists show
# of the limit: an engine that was told to take a container away does so as soon as it can, and holds the
# answer back as long as the container's start hangs
_TELLING, _TELLING_SECONDS = 0.1, 0.5
_OLD_SECONDS = 24 * 3600  # longer than any look takes: what is left of another machine's gpudoctor
# where programs compile: it must be writable, and what lies there be loadable; it is gone with the container
_SCRATCH = {"/tmp": "rw,exec,nosuid,nodev,mode=1777,size=2g"}
_CACHES = {"TRITON_CACHE_DIR": "/tmp/.triton"}  # else in the home folder, which is closed like the rest
_RUNTIME = "nvidia"
# what the engine adds of itself for --gpus; the runtime hands out nothing without it
_ALL_CARDS = {"NVIDIA_VISIBLE_DEVICES": "all"}


@frozen
class Ended:
    """How the program in the container ended."""

    said: framed.Said
    status: int | None


@contextlib.contextmanager
def created(engine: Engine, image: str, command: Sequence[str], *, request: str | None,
            timeout_seconds: float) -> Iterator[str]:
    """Yield a container that was created and not started; it is removed at the end, whatever happens."""
    api = engine.api
    options = _options(engine, request)
    identity: list[str] = []
    is_stuck = False

    def create() -> None:
        found = api.create_container(
            image, entrypoint=list(command[:1]), command=list(command[1:]), stdin_open=True,
            network_disabled=True, labels={LABEL: owner()}, use_config_proxy=False,
            environment={**_CACHES, **_ALL_CARDS} if request == "runtime" else _CACHES,
            host_config=api.create_host_config(**options))
        identity.append(found["Id"])

    try:
        asked(create, timeout_seconds)
        yield identity[0]
    except EngineTrouble as error:
        is_stuck = error.trouble.kind in (HANGS, SILENT)
        raise
    finally:
        if identity:
            (tell_to_remove if is_stuck else remove)(engine, identity[0], timeout_seconds)


def _options(engine: Engine, request: str | None) -> dict[str, Any]:
    from docker.types import DeviceRequest, LogConfig

    gpus: dict[str, dict[str, Any]] = {
        "nvidia": {"count": -1, "capabilities": [["gpu"]]},
        "cdi": {"driver": "cdi", "device_ids": ["nvidia.com/gpu=all"]}}
    return {
        "network_mode": "none", "read_only": True, "tmpfs": _SCRATCH, "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"], "log_config": LogConfig(type="none"),
        **limits.options(engine.limits_missing, engine.processors),
        "device_requests": [DeviceRequest(**gpus[request])] if request in gpus else None,
        "runtime": _RUNTIME if request == "runtime" else None}


def run(engine: Engine, container: str, given: bytes, *, limit_seconds: float,
        timeout_seconds: float) -> Ended:
    """Start it, hand in its input, and return what it said; at the limit it is killed."""
    api = engine.api
    stream = asked(lambda: api.attach_socket(
        container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}), timeout_seconds)
    with _closing(stream):
        start(engine, container, timeout_seconds)
        said = framed.talk(stream.fileno(), given, limit_seconds=limit_seconds,
                           output_limit_bytes=OUTPUT_LIMIT_BYTES, errors_limit_bytes=ERRORS_LIMIT_BYTES)
    if said.late:
        return Ended(said=said, status=None)
    answer = asked(lambda: api.wait(container, timeout=timeout_seconds), timeout_seconds)
    return Ended(said=said, status=int(answer["StatusCode"]))


def start(engine: Engine, container: str, timeout_seconds: float) -> None:
    """Start a container; raise `EngineTrouble` with the engine's words.

    An engine that answers other questions meanwhile does not hang: what it runs before the container's first
    program does.
    """
    try:
        asked(lambda: engine.api.start(container), timeout_seconds)
    except EngineTrouble as error:
        if error.trouble.kind == SILENT and _answers(engine, timeout_seconds):
            raise EngineTrouble(HANGS, f"starting the container had not ended after {timeout_seconds:g} s, "
                                       "and the engine answers all else") from None
        raise


def _answers(engine: Engine, timeout_seconds: float) -> bool:
    try:
        asked(engine.api.ping, timeout_seconds)
    except EngineTrouble:
        return False
    return True


@contextlib.contextmanager
def _closing(stream: Any) -> Iterator[None]:
    """Close the stream, and the connection that it is a part of."""
    try:
        yield
    finally:
        for one in (getattr(stream, "_sock", None), stream, getattr(stream, "_response", None)):
            with contextlib.suppress(OSError, ValueError):  # each closes a part of the other
                if one is not None:
                    one.close()


def execute(engine: Engine, container: str, command: Sequence[str], given: bytes, *, limit_seconds: float,
            timeout_seconds: float) -> Ended:
    """Run a program in a container that runs anyway, which stays as it is; past the limit nobody listens."""
    api = engine.api
    identity = asked(lambda: api.exec_create(container, list(command), stdin=True), timeout_seconds)["Id"]
    stream = asked(lambda: api.exec_start(identity, socket=True), timeout_seconds)
    with _closing(stream):
        said = framed.talk(stream.fileno(), given, limit_seconds=limit_seconds,
                           output_limit_bytes=OUTPUT_LIMIT_BYTES, errors_limit_bytes=ERRORS_LIMIT_BYTES)
    status = None if said.late else asked(lambda: api.exec_inspect(identity), timeout_seconds)["ExitCode"]
    return Ended(said=said, status=status)


def remove(engine: Engine, container: str, timeout_seconds: float) -> None:
    """Kill and remove it; one that is gone already is fine, and what is left the next look sweeps away."""
    with contextlib.suppress(EngineTrouble):
        asked(lambda: engine.api.remove_container(container, force=True, v=True), timeout_seconds)


def tell_to_remove(engine: Engine, container: str, timeout_seconds: float) -> None:
    """Have the engine remove it when it can, and do not wait for that."""
    with waiting(engine, max(_TELLING_SECONDS, _TELLING * timeout_seconds)):
        remove(engine, container, timeout_seconds)


def left(engine: Engine, timeout_seconds: float) -> tuple[str, ...]:
    """Return the containers of this look that are still there after another try to remove them.

    The engine keeps one whose start hangs until that has ended.
    """
    def mine() -> tuple[str, ...]:
        found = asked(lambda: engine.api.containers(all=True, filters={"label": f"{LABEL}={owner()}"}),
                      timeout_seconds)
        return tuple(str(one["Id"])[:_ID_CHARACTERS] for one in found)

    try:
        for container in mine():
            tell_to_remove(engine, container, timeout_seconds)
        return mine()
    except EngineTrouble:
        return ()  # an engine that says nothing is told of as such


def owner(files: Host | None = None) -> str:
    """Return who examines: this boot of the machine, the namespace of processes, this one and its start."""
    return " ".join((*_place(files or Host()), str(os.getpid()), str(start_ticks(os.getpid()))))


def _place(files: Host) -> tuple[str, str]:
    boot = files.read_text("/proc/sys/kernel/random/boot_id")
    space = files.link_target("/proc/self/ns/pid")
    return tuple(answer.text.strip() if isinstance(answer, Text) else "-"  # type: ignore[return-value]
                 for answer in (boot, space))


def sweep(engine: Engine, timeout_seconds: float, files: Host | None = None) -> None:
    """Remove containers of looks whose gpudoctor has ended without it, and those older than any look."""
    with contextlib.suppress(EngineTrouble):
        is_left = left_behind(engine, LABEL, timeout_seconds, files)
        for one in asked(lambda: engine.api.containers(all=True, filters={"label": LABEL}), timeout_seconds):
            if is_left(one):
                tell_to_remove(engine, one["Id"], timeout_seconds)


def left_behind(engine: Engine, label: str, timeout_seconds: float,
                files: Host | None = None) -> Callable[[Mapping[str, Any]], bool]:
    """Return what says of a labelled container or image whether its gpudoctor has ended without it."""
    here = _place(files or Host())
    now = _engine_time(asked(engine.api.info, timeout_seconds))

    def is_left(one: Mapping[str, Any]) -> bool:
        words = str((one.get("Labels") or {}).get(label, "")).split()
        if len(words) == 4 and (words[0], words[1]) == here and words[2].isdecimal():
            return str(start_ticks(int(words[2]))) != words[3]
        return now is not None and now - float(one.get("Created", now)) > _OLD_SECONDS

    return is_left


def _engine_time(info: Mapping[str, Any]) -> float | None:
    """Return the engine's own clock, to which the times of its containers belong."""
    try:
        return dt.datetime.fromisoformat(f"{str(info.get('SystemTime'))[:19]}+00:00").timestamp()
    except ValueError:
        return None
