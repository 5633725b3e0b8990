"""`gpudoctor check --image` and `--container`: what a container of an image would see here, and why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from io import BytesIO
from typing import Any

from gpudoctor import explanation, host, texts
from gpudoctor.child.crew import ending_signals_raised
from gpudoctor.cli import sources
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.judging import Judge
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.examine import Policy
from gpudoctor.explanation import Told
from gpudoctor.model import Finding, Report, Severity
from gpudoctor.probes import snapshot as snapshots
from gpudoctor.probes.calls import mapping
from gpudoctor.references import is_reference
from gpudoctor.render.plain import printable
from gpudoctor.sources.scan import Input
from gpudoctor.transports import containers, engine, local, sandbox
from gpudoctor.transports.building import NotBuilt
from gpudoctor.transports.containers import Looked, Wish
from gpudoctor.transports.engine import Engine, EngineTrouble

_LINE_CHARACTERS = 100
_SAID = "text.symptoms"
# what a refusal is, whatever its words
_REFUSED = ("gpu-not-handed-out", "gpu-start-hangs", "container-not-started")
_ELSEWHERE = "the engine runs on another machine, and {}"
_UNSEEN = ("a container gets the GPU, but nothing in it could look at it, and on the machine of "
           "gpudoctor itself no NVIDIA card is seen")
_UNASKED = "its engine tells of no request for a GPU with which it was started, and nothing in it could look"


Made = Callable[[Engine], AbstractContextManager[str]]


def look(asked: Asked, watch: Stopwatch, made: Made | None = None) -> tuple[Judge, Report]:
    """Return the report on an image or a running container, and who judged it.

    `made` makes the image first: it is given the engine, and its context yields the image's id.
    """
    if not str(asked.container if asked.image is None else asked.image).strip():
        raise UsageError("--image and --container take the name of one; this one is empty")
    if made is None and asked.image is not None and not is_reference(asked.image):
        raise UsageError(f"--image '{printable(asked.image, 80)}' is no reference to an image: write "
                         "NAME:TAG in small letters, for example registry.example/team/training:1")
    watch.begin("reading the rules")
    judge = Judge(asked, watch)
    judge.database = sources.database(asked.rules, "told")  # what an engine says is read as a text is
    watch.begin("asking the engine")
    with ending_signals_raised():
        looked = _looked(asked, made)
    report = judge.examined(snapshots.read(looked.raw))
    return judge, _with_refusals(report, looked.refusals, judge, asked)


def _looked(asked: Asked, made: Made | None) -> Looked:
    wish = Wish(reference=str(asked.container or asked.image), depth=asked.depth, python=asked.python,
                timeout_seconds=asked.timeout, smoke_seconds=asked.smoke_timeout)
    running = asked.container is not None
    if running and "--depth" not in asked.given:
        wish = replace(wish, depth="static")  # it is somebody's: an import may write caches
    try:
        reached = engine.connect(host.environment(), asked.timeout)
    except engine.NoLibrary:
        raise InputError("asking a container engine takes the Python package docker, which is not installed "
                         "here: pip install 'gpudoctor-cli[docker]' (with pipx: pipx inject gpudoctor-cli "
                         "docker)") from None
    except EngineTrouble as error:
        return containers.unreached(wish, error.trouble, running=running)
    looked = _looked_by(reached, wish, asked, made)
    return looked if running else containers.noted(looked, left=list(sandbox.left(reached, asked.timeout)))


def _looked_by(reached: Engine, wish: Wish, asked: Asked, made: Made | None) -> Looked:
    """Return what an engine that answers shows."""
    running = asked.container is not None
    try:
        if asked.pull:
            _pull(reached, wish)
        with made(reached) if made is not None else nullcontext("") as identity:
            wish = replace(wish, identity=identity)
            looked = (containers.container if running else containers.image)(reached, wish)
    except EngineTrouble as error:
        said = error.lines if isinstance(error, NotBuilt) else ()
        if error.trouble.kind == "refused":
            said = (error.trouble.said,)
        return containers.unreached(wish, error.trouble, reached, running=running, said=said)
    is_handed_out = mapping(looked.raw["image"].data).get("request") is not None
    if (running and not looked.by_files) or (is_handed_out and looked.raw["driver"].outcome == "ok"):
        return looked
    if not reached.is_here:
        why = "nothing in it could look at its GPU" if is_handed_out else "handed out no GPU"
        return containers.without_host(looked, _UNASKED if running else _ELSEWHERE.format(why))
    own = local.of_machine(host.environment(), asked.timeout)
    kernel = mapping(own["system"].data).get("uname")
    if running and not is_handed_out:
        return containers.without_host(looked, _UNASKED, kernel)
    if is_handed_out and snapshots.read(own).gpus == ():
        return containers.without_host(looked, _UNSEEN, kernel)
    return containers.with_host(looked, own)


def _pull(reached: Engine, wish: Wish) -> None:
    """Fetch the image, telling a person who watches how far it is."""
    told = _progress() if sys.stderr.isatty() else None
    engine.pull(reached, wish.reference, told)
    if told is not None:
        sys.stderr.write("\r" + " " * _LINE_CHARACTERS + "\r")


def _progress() -> Callable[[Mapping[str, Any]], None]:
    def tell(line: Mapping[str, Any]) -> None:
        said = " ".join(str(line.get(key, "")) for key in ("status", "id", "progress"))
        sys.stderr.write(f"\rgpudoctor: {printable(said, _LINE_CHARACTERS - 11):<{_LINE_CHARACTERS - 11}}")
        sys.stderr.flush()

    return tell


def _with_refusals(report: Report, refusals: tuple[str, ...], judge: Judge, asked: Asked) -> Report:
    """Return the report with the causes of what the engine said when it refused a GPU, or every container.

    That it was refused follows from these causes. Where its words tell none, it stands for itself: it quotes
    them, and what they may mean besides is no question of anybody's.
    """
    if not refusals:
        return report
    said = BytesIO("\n".join(refusals).encode("utf-8", "replace"))
    reading = texts.read([Input(name="what the engine says", stream=said)], judge.database)
    refused = tuple(one for one in report.findings if one.cause in _REFUSED)
    others = tuple(one for one in report.findings if one.cause not in _REFUSED)
    told = explanation.explain(reading, judge.database, replace(report, findings=others))
    if not any(map(_is_of_words, told.findings)):
        return replace(report, findings=(*refused, *others))
    policy = Policy(fail_on=Severity(asked.fail_on), allow_undecided=asked.allow_undecided)
    return replace(explanation.report(_because(told, refused), judge.database, policy),
                   assumptions=report.assumptions)


def _is_of_words(finding: Finding) -> bool:
    """Say whether it is a cause to which the engine's words lead."""
    return finding.severity.is_fault and any(
        evidence.fact == _SAID for evidence in finding.evidence)


def _because(told: Told, refused: tuple[Finding, ...]) -> Told:
    """Return what was told, the refusal behind the first cause that its words lead to."""
    first = next(finding for finding in told.findings if _is_of_words(finding))
    cause = replace(first, consequences=(*first.consequences, *refused))
    return replace(told, findings=tuple(cause if one is first else one for one in told.findings))
