"""Examine a container image, or a running container: what it says of itself, and the payload run in it.

An image is read before anything of it is run. Then the payload runs in a container of it, with the GPU if the
engine hands one out, else without; what the engine said against it is kept. An image in which the payload
cannot run is examined by its files. Nothing is ever pulled here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpudoctor import image_needs, patient, zipapp
from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Text
from gpudoctor.patient import NoPatient, Patient
from gpudoctor.probes import document
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer, RawDocument, ended
from gpudoctor.transports import handing_out, image_system, inspected, sandbox
from gpudoctor.transports.engine import Engine, EngineTrouble, Trouble
from gpudoctor.transports.handing_out import PLACEHOLDER, HandedOut, Refusal
from gpudoctor.transports.image_files import ContainerFiles

STARTER = Path(__file__).resolve().parent.parent / "payloads" / "in_memory.py"
_OF_PATIENT = ("toolkit", "loader", "environment", "frameworks", "stages")
_OF_GPU = ("driver", "nvml", "cuda", "smoke")
_ALL = ("system", "container", *_OF_PATIENT, *_OF_GPU)
_FATAL = "Fatal Python error: "
_NONE_ASKED = HandedOut()


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
    """The raw answers, and the engine's lines when it was asked for a GPU, or to build, and did not.

    `by_files`: no program inside was there to be asked.
    """

    raw: RawDocument
    refusals: tuple[str, ...] = ()
    by_files: bool = False


def unreached(wish: Wish, trouble: Trouble, engine: Engine | None = None, *, running: bool = False,
              said: tuple[str, ...] = ()) -> Looked:
    """Return what is known where the engine or the image could not be reached: why, and nothing else.

    `said` are more of the engine's words, of which the cause may be read.
    """
    why = "no container of it could be looked into"
    silent = dict.fromkeys(_ALL, ended("not-asked", 0.0, why))
    about = _image(wish, engine, {}, trouble=trouble, running=running)
    return Looked(raw={**silent, "image": about}, refusals=said)


def image(engine: Engine, wish: Wish) -> Looked:
    """Examine an image; raise `EngineTrouble` where it is not there, or has no such interpreter."""
    limit = wish.timeout_seconds
    sandbox.sweep(engine, limit)
    described = inspected.image(engine, wish.identity or wish.reference, limit)
    with sandbox.created(engine, described["Id"], PLACEHOLDER, request=None,
                         timeout_seconds=limit) as container:
        files = ContainerFiles(api=engine.api, container=container, timeout_seconds=limit)
        chosen = _chosen(wish, described, files)
    if not isinstance(chosen, NoPatient):
        return _run(engine, wish, described, chosen.executable)
    _require_unnamed(wish, chosen)
    handed = handing_out.without_program(engine, described["Id"], limit)
    return _by_files(engine, wish, described, _no_python(chosen, "image"), handed)


def _chosen(wish: Wish, described: inspected.Described, files: ContainerFiles) -> Patient | NoPatient:
    return patient.inside(wish.python, inspected.variables(described), inspected.folder(described), files)


def _require_unnamed(wish: Wish, chosen: NoPatient) -> None:
    """Refuse an interpreter that was named and is not there: without it, another would be judged, or none."""
    if wish.python is not None:
        raise EngineTrouble("no-python", f"no Python that can be run was found in it ({chosen.reason})")


def _no_python(chosen: NoPatient, place: str) -> Answer:
    """Return what every probe answers that needs one: where there is none, nobody wanted to know."""
    is_none = chosen.reason == patient.NONE_ON_PATH
    return ended("not-asked" if is_none else "not-started", 0.0, f"no Python in the {place}: {chosen.reason}")


def container(engine: Engine, wish: Wish) -> Looked:
    """Examine a running container by a program in it that writes nothing, else by its files.

    Raise `EngineTrouble` where it does not run, or has no such interpreter as was named.
    """
    api, limit = engine.api, wish.timeout_seconds
    described = inspected.running(engine, wish.reference, limit)
    files = ContainerFiles(api=api, container=described["Id"], timeout_seconds=limit)
    chosen = _chosen(wish, described, files)
    about = _image(wish, engine, described, handing_out.of_running(engine, described), running=True)
    if isinstance(chosen, NoPatient):
        _require_unnamed(wish, chosen)
        seen = image_system.answers(files, inspected.variables(described))
        why = _no_python(chosen, "container")
        return Looked(raw={**dict.fromkeys(_ALL, why), **seen, "image": about}, by_files=True)
    payload = zipapp.build()
    command = _command(chosen.executable, len(payload), wish, has_gpu=True)
    try:
        done = sandbox.execute(engine, described["Id"], command, payload, limit_seconds=_limit(wish),
                               timeout_seconds=limit)
    except EngineTrouble:
        inspected.running(engine, described["Id"], limit)  # that it has ended tells more than the refusal
        raise
    answers = _read(done, chosen.executable)
    if isinstance(answers, Answer):
        inspected.running(engine, described["Id"], limit)
        seen = image_system.answers(files, inspected.variables(described))
        answers = {**dict.fromkeys(_ALL, answers), **seen}
    return Looked(raw={**answers, "image": about})


def _run(engine: Engine, wish: Wish, described: Mapping[str, Any], interpreter: str) -> Looked:
    """Run the payload in a container that got a GPU, else in one without."""
    payload = zipapp.build()
    refusals: list[Refusal] = []
    for request in (*handing_out.requests(engine), None):
        if request is not None and handing_out.is_known(request, refusals):
            continue
        command = _command(interpreter, len(payload), wish, has_gpu=request is not None)
        try:
            with sandbox.created(engine, described["Id"], command, request=request,
                                 timeout_seconds=wish.timeout_seconds) as started:
                done = sandbox.run(engine, started, payload, limit_seconds=_limit(wish),
                                   timeout_seconds=wish.timeout_seconds)
        except EngineTrouble as error:
            if request is None:
                return _unstartable(engine, wish, described, error)
            refusals.append(handing_out.refusal(request, error))
            continue
        answers = _read(done, interpreter)
        is_believed = request is None or handing_out.is_told(engine, request)
        if isinstance(answers, Answer):
            handed = HandedOut(request=request, refusals=tuple(refusals))
            untold = HandedOut(untold=handing_out.UNTOLD)
            return _by_files(engine, wish, described, answers, handed if is_believed else untold)
        if request is not None and not is_believed and not _has_nodes(answers):
            refusals.append(handing_out.dropped(request))
            continue
        handed = HandedOut(request=request, refusals=tuple(refusals))
        return Looked(raw={**answers, "image": _image(wish, engine, described, handed)},
                      refusals=handed.against)
    raise AssertionError("the last request is none")


def _unstartable(engine: Engine, wish: Wish, described: Mapping[str, Any], error: EngineTrouble) -> Looked:
    """Return what an image shows whose interpreter alone cannot be started (its user may not, for one).

    Where no other program could be either, the trouble is the image's or the engine's: it is raised.
    """
    if not handing_out.is_startable(engine, described["Id"], wish.timeout_seconds):
        raise error
    handed = handing_out.without_program(engine, described["Id"], wish.timeout_seconds)
    return _by_files(engine, wish, described, ended("not-started", 0.0, error.trouble.said), handed)


def _has_nodes(answers: RawDocument) -> bool:
    """Say whether NVIDIA's nodes are in a container whose start does not tell that it has the GPU."""
    nodes = mapping(mapping(answers["driver"].data).get("nodes")).get("nodes")
    return isinstance(nodes, list) and bool(nodes)


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


def _read(done: sandbox.Ended, interpreter: str) -> RawDocument | Answer:
    """Return the payload's answers; where it gave none, why, as what every probe answers then.

    They are the last line: what starts with the interpreter (sitecustomize) may print before it. One that
    cannot start says why before it says where it was.
    """
    try:
        answer = done.said.output.strip().rpartition(b"\n")[2].decode("utf-8")
        return document.decode(json.loads(answer), "the payload's answer")
    except (ValueError, RecursionError, AttributeError):
        pass
    lines = done.said.errors.decode("utf-8", "replace").strip().splitlines()
    lines += [line for line in lines if line.startswith(_FATAL)]
    said = lines[-1][:300] if lines else f"{interpreter} ended with exit status {done.status}"
    return ended("timeout" if done.said.late else "exit", 0.0, said)


def _by_files(engine: Engine, wish: Wish, described: Mapping[str, Any], why: Answer,
              handed: HandedOut) -> Looked:
    """Return what an image shows in which the payload cannot run; `why` is what all other probes answer."""
    with sandbox.created(engine, described["Id"], PLACEHOLDER, request=None,
                         timeout_seconds=wish.timeout_seconds) as container:
        files = ContainerFiles(api=engine.api, container=container, timeout_seconds=wish.timeout_seconds)
        seen = image_system.answers(files, inspected.variables(described))
    return Looked(refusals=handed.against, raw={
        **dict.fromkeys(_ALL, why), **seen, "image": _image(wish, engine, described, handed)})


def _image(wish: Wish, engine: Engine | None, described: Mapping[str, Any],
           handed: HandedOut = _NONE_ASKED, *, trouble: Trouble | None = None,
           running: bool = False) -> Answer:
    """Return what is known of the image and the engine, as a collector's answer."""
    variables = inspected.variables(described) if described else {}
    about = {
        "reference": wish.reference, "running": running, "engine": engine and engine.name,
        "engine_version": engine and engine.version, "request": handed.request,
        "architecture": described.get("Architecture"), "engine_architecture": engine and engine.architecture,
        "refusals": list(handed.against), "dropped": handed.dropped, "untold": handed.untold,
        "hangs": handed.request is None and any(one.hangs for one in handed.refusals),
        "limits_missing": [] if engine is None or running or trouble else list(engine.limits_missing),
        "trouble": trouble and {"kind": trouble.kind, "said": trouble.said},
        "variables": {name: value for name, value in variables.items() if image_needs.is_asking(name)},
        "labels": {name: value for name, value in inspected.labels(described).items()
                   if name.startswith(image_needs.LABELS)},
        "id": described.get("Id")}
    return ended("ok", 0.0, data=about)


def noted(looked: Looked, **more: object) -> Looked:
    """Return the answers with more that is known of the image."""
    about = looked.raw["image"]
    return replace(looked, raw={
        **looked.raw, "image": replace(about, data={**(about.data or {}), **more})})


def without_host(looked: Looked, why: str, kernel: object = None) -> Looked:
    """Return the answers without what is said of driver and cards where nobody could look at them.

    A container runs on the machine's own kernel (`uname`), where that is this one.
    """
    silent = ended("not-asked", 0.0, why)
    raw = {**looked.raw, **dict.fromkeys((*_OF_GPU, "container"), silent)}
    system = raw["system"]
    if kernel is not None and isinstance(system.data, dict):
        raw["system"] = replace(system, data={"uname": kernel, **system.data})
    return replace(looked, raw=raw)


def with_host(looked: Looked, host: RawDocument) -> Looked:
    """Return the answers with those of the host in place of what could not be asked in a container.

    So it is told what a container would see here if the engine handed the GPU out, or did so and nothing in
    the image could look at it.
    """
    taken = {name: host[name] for name in (*_OF_GPU, "container") if name in host}
    system = looked.raw["system"]
    if "uname" not in (system.data if isinstance(system.data, dict) else {}):
        own = host["system"].data if isinstance(host["system"].data, dict) else {}
        taken["system"] = replace(system, data={**own, **(system.data or {})})
    return noted(replace(looked, raw={**looked.raw, **taken}), shows_host=True)
