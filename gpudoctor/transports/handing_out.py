"""How an engine is asked for the GPU, and what it says when it hands none out.

An engine has one way for each kind of request; the first that starts a container counts. Where none does,
every refusal is kept in the engine's own words: they are all that tells why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.frozen import frozen
from gpudoctor.transports import sandbox
from gpudoctor.transports.engine import HANGS, PODMAN, Engine, EngineTrouble

AS_ASKED = {"nvidia": "--gpus all", "cdi": "--device nvidia.com/gpu=all",
            "runtime": "--runtime=nvidia"}  # as a person asks
PLACEHOLDER = ("/gpudoctor-never-started",)
DROPPED = "the engine took the request for a GPU, and started the container without one"
UNTOLD = "the engine took the request for a GPU; whether it heeded it cannot be asked without a Python"
KEPT_NOTHING = "the engine does not keep how a running container was asked for"
_OF_NVIDIA, _CHOOSES = "nvidia.com/gpu=", "NVIDIA_VISIBLE_DEVICES="
_NO_DEVICES = ("", "none", "void")  # as NVIDIA's runtime understands its variable
_REFUSING = ("refused", "not-found", HANGS)


@frozen
class Refusal:
    """What an engine said to one request (`nvidia`, `cdi`, `runtime`).

    `hangs`: it never said a word; `dropped`: the container started, without a GPU, and without a word.
    """

    request: str
    said: str
    hangs: bool = False
    dropped: bool = False

    @property
    def line(self) -> str:
        """Return it as a line of text, with what was asked."""
        return f"{AS_ASKED[self.request]}: {self.said}"


@frozen
class HandedOut:
    """The request with which a container got the GPU, each refusal before that, or why it cannot be told."""

    request: str | None = None
    refusals: tuple[Refusal, ...] = ()
    untold: str | None = None

    @property
    def against(self) -> tuple[str, ...]:
        """Return what was said against the GPU, where a container got none."""
        return () if self.request else tuple(one.line for one in self.refusals)

    @property
    def dropped(self) -> str:
        """Return of how many requests nothing was said and nothing came: none, some or all."""
        silent = [one.dropped for one in self.refusals]
        return "none" if not any(silent) else "all" if all(silent) and not self.request else "some"


def requests(engine: Engine) -> tuple[str, ...]:
    """Return the requests that an engine may heed, in their order.

    Podman takes a runtime that is asked for by Docker's API and heeds it as little as --gpus
    (https://github.com/lablup/backend.ai/issues/13820): it is not asked for one.
    """
    return ("nvidia", *(["cdi"] if engine.knows_cdi else []), *(["runtime"] if engine.has_runtime else []))


def dropped(request: str) -> Refusal:
    """Return what it says of a request that the container started without a GPU."""
    return Refusal(request=request, said=DROPPED, dropped=True)


def is_known(request: str, refusals: Sequence[Refusal]) -> bool:
    """Say whether a request need not be made: the hook that hangs is also the one that the runtime calls."""
    return request == "runtime" and any(one.hangs for one in refusals if one.request == "nvidia")


def is_told(engine: Engine, request: str) -> bool:
    """Say whether a container that starts has the GPU: some take the request and drop it in silence.

    NVIDIA's runtime does where its settings let no variable of an unprivileged container choose devices.
    """
    return engine.name != PODMAN and request != "runtime"


def refusal(request: str, error: EngineTrouble) -> Refusal:
    """Return a trouble as the refusal of a request; raise it where it is more than that."""
    if error.trouble.kind not in _REFUSING:
        raise error
    return Refusal(request=request, said=error.trouble.said, hangs=error.trouble.kind == HANGS)


def of_running(engine: Engine, described: Mapping[str, Any]) -> HandedOut:
    """Return how a running container was asked for the GPU, by what its engine keeps of its start.

    Podman keeps nothing of a request, only what became of it.
    """
    settings = described.get("HostConfig") or {}
    variables = (described.get("Config") or {}).get("Env") or ()
    for one in settings.get("DeviceRequests") or ():
        if str(one.get("Driver")) == "cdi":
            if any(str(device).startswith(_OF_NVIDIA) for device in one.get("DeviceIDs") or ()):
                return HandedOut(request="cdi")
        elif any("gpu" in words for words in one.get("Capabilities") or ()):
            return HandedOut(request="nvidia")
    chosen = [line.removeprefix(_CHOOSES) for line in variables if line.startswith(_CHOOSES)]
    if settings.get("Runtime") == "nvidia" and chosen and chosen[-1] not in _NO_DEVICES:
        return HandedOut(request="runtime")
    return HandedOut(untold=KEPT_NOTHING) if engine.name == PODMAN else HandedOut()


def is_startable(engine: Engine, image: str, timeout_seconds: float) -> bool:
    """Say whether an engine starts containers of an image, as far as a program that it lacks can show."""
    try:
        _start(engine, image, None, timeout_seconds)
    except EngineTrouble as error:
        return PLACEHOLDER[0] in error.trouble.said
    return True


def _start(engine: Engine, image: str, request: str | None, timeout_seconds: float) -> None:
    """Start a program that the image does not have; the engine looks for it last."""
    with sandbox.created(engine, image, PLACEHOLDER, request=request,
                         timeout_seconds=timeout_seconds) as container:
        sandbox.start(engine, container, timeout_seconds)


def without_program(engine: Engine, image: str, timeout_seconds: float) -> HandedOut:
    """Return how the engine hands the GPU out, by a program that the image does not have.

    Only an engine that is content with all else misses it.
    """
    refusals: list[Refusal] = []
    for request in requests(engine):
        if is_known(request, refusals):
            continue
        try:
            _start(engine, image, request, timeout_seconds)
        except EngineTrouble as error:
            if PLACEHOLDER[0] not in error.trouble.said:
                refusals.append(refusal(request, error))
            elif not is_told(engine, request):
                return HandedOut(untold=UNTOLD)
            else:
                return HandedOut(request=request, refusals=tuple(refusals))
    return HandedOut(refusals=tuple(refusals))
