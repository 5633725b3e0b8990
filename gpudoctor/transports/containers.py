"""Examine a container image, or a running container: what it says of itself, and the payload run in it.

An image is read before anything of it is run. Then the payload runs in a container of it, with the GPU if the
engine hands one out, else without; what the engine said against it is kept. Nothing is ever pulled here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpudoctor import patient, zipapp
from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Text
from gpudoctor.patient import NoPatient
from gpudoctor.probes import document
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer, RawDocument, ended
from gpudoctor.transports import sandbox
from gpudoctor.transports.engine import PODMAN, Engine, EngineTrouble, Trouble, asked
from gpudoctor.transports.image_files import ContainerFiles
from gpudoctor.variables import ENVIRONMENT_VARIABLES

STARTER = Path(__file__).resolve().parent.parent / "payloads" / "in_memory.py"
_PLACEHOLDER = ("/gpudoctor-never-started",)
_UNTOLD = "the engine took the request for a GPU; whether it heeded it cannot be asked without a Python"
_DROPPED = "the engine took the request for a GPU, and started the container without one"
_RELEASE_FILES = ("/etc/os-release", "/usr/lib/os-release")
_LIBC_FILES = ("/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
               "/usr/lib/libc.so.6")
_LIBC_LIMIT_BYTES = 4 << 20
_GLIBC = re.compile(rb"GNU C Library [^\n]{0,200}?release version (\d+\.\d+)")
_OF_PATIENT = ("toolkit", "loader", "environment", "frameworks", "stages")
_OF_GPU = ("driver", "nvml", "cuda", "smoke")


@frozen
class Wish:
    """What to examine and how: `python` is an interpreter's path inside; limits are in seconds.

    `identity` is the image's id where `reference` is only what it is called in the report.
    """

    reference: str
    depth: str
    timeout_seconds: float
    smoke_seconds: float
    python: str | None = None
    identity: str = ""


@frozen
class Looked:
    """The raw answers, and what the engine said when it was asked for a GPU, or to build, and did not."""

    raw: RawDocument
    refusals: tuple[str, ...] = ()


def unreached(wish: Wish, trouble: Trouble, engine: Engine | None = None, *, running: bool = False,
              said: tuple[str, ...] = ()) -> Looked:
    """Return what is known where the engine or the image could not be reached: why, and nothing else.

    `said` are more of the engine's words, of which the cause may be read.
    """
    why = "no container of it could be looked into"
    silent = {name: ended("not-asked", 0.0, why) for name in ("system", "container", *_OF_PATIENT, *_OF_GPU)}
    return Looked(raw={**silent, "image": _image(wish, engine, {}, trouble=trouble, running=running)},
                  refusals=said)


def image(engine: Engine, wish: Wish) -> Looked:
    """Examine an image; raise `EngineTrouble` where it is not there."""
    limit = wish.timeout_seconds
    sandbox.sweep(engine, limit)
    described = asked(lambda: engine.api.inspect_image(wish.identity or wish.reference), limit)
    variables = _variables(described)
    with sandbox.created(engine, described["Id"], _PLACEHOLDER, request=None,
                         timeout_seconds=limit) as container:
        files = ContainerFiles(api=engine.api, container=container, timeout_seconds=limit)
        chosen = patient.inside(wish.python, variables, _folder(described), files)
        system = {} if isinstance(chosen, patient.Patient) else _system(files)
    if isinstance(chosen, NoPatient):
        return _without_python(engine, wish, described, system, chosen)
    return _run(engine, wish, described, chosen.executable)


def container(engine: Engine, wish: Wish) -> Looked:
    """Examine a running container by a program in it that writes nothing; raise `EngineTrouble`."""
    api, limit = engine.api, wish.timeout_seconds
    described = asked(lambda: api.inspect_container(wish.reference), limit)
    if not described["State"].get("Running"):
        state = described["State"].get("Status", "stopped")
        raise EngineTrouble("not-running", f"the container is {state}; only a running one can be examined")
    files = ContainerFiles(api=api, container=described["Id"], timeout_seconds=limit)
    chosen = patient.inside(wish.python, _variables(described), _folder(described), files)
    about = _image(wish, engine, described, running=True)
    if isinstance(chosen, NoPatient):
        raise EngineTrouble("no-python", f"no Python that can be run was found in it ({chosen.reason})")
    payload = zipapp.build()
    command = _command(chosen.executable, len(payload), wish, has_gpu=True)
    done = sandbox.execute(engine, described["Id"], command, payload, limit_seconds=_limit(wish),
                           timeout_seconds=limit)
    return Looked(raw={**_read(done, chosen.executable), "image": about})


def _run(engine: Engine, wish: Wish, described: Mapping[str, Any], interpreter: str) -> Looked:
    """Run the payload in a container that got a GPU, else in one without."""
    payload = zipapp.build()
    refusals: list[str] = []
    for request in (*_requests(engine), None):
        command = _command(interpreter, len(payload), wish, has_gpu=request is not None)
        try:
            with sandbox.created(engine, described["Id"], command, request=request,
                                 timeout_seconds=wish.timeout_seconds) as started:
                done = sandbox.run(engine, started, payload, limit_seconds=_limit(wish),
                                   timeout_seconds=wish.timeout_seconds)
        except EngineTrouble as error:
            if request is None or error.trouble.kind not in ("refused", "not-found"):
                raise
            refusals.append(error.trouble.said)
            continue
        answers = _read(done, interpreter)
        if request is not None and engine.name == PODMAN and not _has_nodes(answers):
            refusals = [_DROPPED]
            continue
        raw = {**answers, "image": _image(wish, engine, described, request=request)}
        return Looked(raw=raw, refusals=() if request else tuple(refusals))
    raise AssertionError("the last request is none")


def _has_nodes(answers: RawDocument) -> bool:
    """Say whether NVIDIA's nodes are in a container: Podman may take a request and drop it in silence."""
    nodes = mapping(mapping(answers["driver"].data).get("nodes")).get("nodes")
    return isinstance(nodes, list) and bool(nodes)


def _requests(engine: Engine) -> tuple[str, ...]:
    return ("nvidia", "cdi") if engine.knows_cdi else ("nvidia",)


def _command(interpreter: str, size: int, wish: Wish, *, has_gpu: bool) -> list[str]:
    depth = wish.depth if has_gpu or wish.depth == "static" else "import"
    return [interpreter, "-c", _starter(), str(size),
            "--timeout", f"{wish.timeout_seconds:g}", "--depth", depth,
            "--smoke-timeout", f"{wish.smoke_seconds:g}"]


def _starter() -> str:
    answer = Host().read_text(str(STARTER))
    if not isinstance(answer, Text):
        raise zipapp.ZipappError(f"{STARTER}: cannot be read; reinstall gpudoctor-cli")
    return answer.text


def _limit(wish: Wish) -> float:
    """Return how long all may take: each wave of the payload its limit, four frameworks each stage's."""
    stages = 0 if wish.depth == "static" else 4 * (wish.smoke_seconds + 10)
    return 4 * (wish.timeout_seconds + 5) + stages * (6 if wish.depth == "smoke" else 1)


def _read(done: sandbox.Ended, interpreter: str) -> RawDocument:
    """Return the payload's answers; where it gave none, why."""
    try:
        return document.decode(json.loads(done.said.output.decode("utf-8")), "the payload's answer")
    except (ValueError, RecursionError, AttributeError):
        pass
    lines = done.said.errors.decode("utf-8", "replace").strip().splitlines()
    said = lines[-1][:300] if lines else f"{interpreter} ended with exit status {done.status}"
    outcome = "timeout" if done.said.late else "exit"
    return {name: ended(outcome, 0.0, said) for name in ("system", "container", *_OF_PATIENT, *_OF_GPU)}


def _without_python(engine: Engine, wish: Wish, described: Mapping[str, Any],
                    system: Mapping[str, Any], chosen: NoPatient) -> Looked:
    """Return what an image shows in which nothing can be run: its system's files and its environment."""
    variables = _variables(described)
    found = {name: {"value": variables[name], "bytes": len(variables[name].encode())} if name in variables
             else {"missing": True} for name in ENVIRONMENT_VARIABLES}
    is_none = chosen.reason == patient.NONE_ON_PATH and wish.python is None
    why = ended("not-asked" if is_none else "not-started", 0.0, f"no Python in the image: {chosen.reason}")
    request, refusals = _handed_out(engine, wish, described)
    return Looked(refusals=refusals, raw={
        **dict.fromkeys(("container", *_OF_PATIENT, *_OF_GPU), why),
        "system": ended("ok", 0.0, data=dict(system)),
        "environment": ended("ok", 0.0, data={"variables": found}),
        "image": _image(wish, engine, described, request=request)})


def _handed_out(engine: Engine, wish: Wish,
                described: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """Return how the engine hands the GPU out, or why it does not, by a program that the image does not have.

    The engine looks for it last: only an engine that is content with all else misses it.
    """
    refusals = []
    for request in _requests(engine):
        with sandbox.created(engine, described["Id"], _PLACEHOLDER, request=request,
                             timeout_seconds=wish.timeout_seconds) as container:
            try:
                sandbox.start(engine, container, wish.timeout_seconds)
            except EngineTrouble as error:
                if _PLACEHOLDER[0] in error.trouble.said and engine.name == PODMAN:
                    return None, (_UNTOLD,)
                if _PLACEHOLDER[0] in error.trouble.said:
                    return request, ()
                refusals.append(error.trouble.said)
    return None, tuple(refusals)


def _system(files: Host) -> dict[str, Any]:
    """Return what the payload would answer of the distribution and its C library, by their files."""
    return {"os_release": _release(files), "libc": {"text": _libc(files), "musl_loaders": []}}


def _release(files: Host) -> dict[str, Any]:
    for path in _RELEASE_FILES:
        answer = files.read_text(path)
        if isinstance(answer, Text):
            return {"text": answer.text, "path": path}
    return {"missing": True, "path": _RELEASE_FILES[0]}


def _libc(files: Host) -> str | None:
    for path in _LIBC_FILES:
        answer = files.read_bytes(path, limit_bytes=_LIBC_LIMIT_BYTES)
        found = _GLIBC.search(getattr(answer, "data", b""))
        if found:
            return f"glibc {found[1].decode()}"
    return None


def _folder(described: Mapping[str, Any]) -> str:
    return str(described["Config"].get("WorkingDir") or "/")


def _variables(described: Mapping[str, Any]) -> dict[str, str]:
    entries: Sequence[str] = described["Config"].get("Env") or ()
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _image(wish: Wish, engine: Engine | None, described: Mapping[str, Any], *, request: str | None = None,
           trouble: Trouble | None = None, running: bool = False) -> Answer:
    """Return what is known of the image and the engine, as a collector's answer."""
    variables = _variables(described) if described else {}
    about = {
        "reference": wish.reference, "running": running, "engine": engine and engine.name,
        "engine_version": engine and engine.version, "request": request,
        "trouble": trouble and {"kind": trouble.kind, "said": trouble.said},
        "require_cuda": variables.get("NVIDIA_REQUIRE_CUDA"), "id": described.get("Id")}
    return ended("ok", 0.0, data=about)


def without_host(looked: Looked) -> Looked:
    """Return the answers without what a container that got no GPU says of driver and cards.

    Its engine runs on another machine, whose driver nobody can ask; that none is seen inside tells nothing.
    """
    silent = ended("not-asked", 0.0, "the engine runs on another machine, and handed out no GPU")
    return replace(looked, raw={**looked.raw, **dict.fromkeys((*_OF_GPU, "container"), silent)})


def with_host(looked: Looked, host: RawDocument) -> Looked:
    """Return the answers with those of the host in place of what a container without a GPU cannot see.

    So it is told what a container would see here if the engine handed the GPU out.
    """
    taken = {name: host[name] for name in (*_OF_GPU, "container") if name in host}
    system = looked.raw["system"]
    if "uname" not in (system.data if isinstance(system.data, dict) else {}):
        own = host["system"].data if isinstance(host["system"].data, dict) else {}
        taken["system"] = replace(system, data={**own, **(system.data or {})})
    return replace(looked, raw={**looked.raw, **taken})
