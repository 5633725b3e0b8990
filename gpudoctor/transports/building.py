"""Build an image on an engine from a Dockerfile in memory, and take it away again unless it is to be kept.

What is built to be looked at bears a label from its first layer on, so that all of it is found and removed,
however the build ends; what a killed gpudoctor left, the next one sweeps away. An image that is to be kept
has no label: it is built as `docker build -t` builds it, and its layers stay as those do.
"""

from __future__ import annotations

import contextlib
import io
import re
import tarfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpudoctor.child.deadline import Deadline
from gpudoctor.frozen import frozen
from gpudoctor.transports import engine_words, sandbox
from gpudoctor.transports.engine import Engine, EngineTrouble, asked

LABEL = "io.github.gpudoctor.build"
FILE = "Dockerfile"
_STEP = re.compile(r"step ([0-9]{1,4}/[0-9]{1,4}) ?: ?(.+)", re.IGNORECASE)
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")  # an engine paints red what a program said on its standard error
_OF_THE_ENGINE = ("--->", "Removing intermediate container ")
_INSTALLS = ("-m pip install ", "apt-get ")
_STEP_CHARACTERS, _LINE_CHARACTERS, _KEPT_LINES = 120, 300, 40
_TOLD_LINES = 4  # of those, in the finding's own words
_CLEARING_SECONDS = 15.0
_AUXILIARY, _IDENTITY = "aux", "ID"


@frozen
class Recipe:
    """What is built: the Dockerfile, the files beside it, its arguments, and the name to keep it under."""

    text: str
    files: Mapping[str, bytes]
    arguments: Mapping[str, str]
    tag: str | None = None


class NotBuilt(EngineTrouble):
    """The build ended without an image; `lines` are the last that were said."""

    def __init__(self, kind: str, said: str, lines: tuple[str, ...]) -> None:
        super().__init__(kind, said)
        self.lines = lines


@contextlib.contextmanager
def built(engine: Engine, recipe: Recipe, told: Callable[[str, bool], None], *, limit_seconds: float,
          timeout_seconds: float) -> Iterator[str]:
    """Yield the id of the image; `told` hears each line and whether it begins a step.

    Raise `NotBuilt`, or `EngineTrouble` where the engine does not even begin.
    """
    _sweep(engine, timeout_seconds)
    try:
        with _hung_up(engine.api) as begun:
            yield _build(engine, recipe, told, limit_seconds, begun)
    finally:
        if recipe.tag is None:
            _clear(engine, timeout_seconds)


@contextlib.contextmanager
def _hung_up(api: Any) -> Iterator[Callable[[], None]]:
    """Yield how to hang up on what is being answered, which ends a build; it is done at the end, too."""
    answers: list[Any] = []

    def remember(answer: Any, *_: Any, **__: Any) -> None:
        answers.append(answer)

    def hang_up() -> None:
        api.hooks["response"] = [hook for hook in api.hooks["response"] if hook is not remember]
        while answers:
            answers.pop().close()

    api.hooks["response"].append(remember)
    try:
        yield hang_up
    finally:
        hang_up()


def _build(engine: Engine, recipe: Recipe, told: Callable[[str, bool], None], limit_seconds: float,
           hang_up: Callable[[], None]) -> str:
    hearing = _Hearing(told, limit_seconds, recipe.arguments)

    def build() -> str:
        for line in engine.api.build(
                fileobj=io.BytesIO(_context(recipe)), custom_context=True, dockerfile=FILE, tag=recipe.tag,
                buildargs=dict(recipe.arguments), rm=True, forcerm=True, decode=True, timeout=limit_seconds,
                network_mode=None if _needs_network(recipe.text) else "none"):
            hearing.hear(line)
        return hearing.identity()

    try:
        return asked(build, limit_seconds)
    except NotBuilt:
        raise
    except EngineTrouble as error:
        if error.trouble.kind == "silent" or hearing.step:
            raise hearing.failed(error.trouble.said) from None
        raise
    finally:
        hang_up()


class _Hearing:
    """What a build has said so far: its step, its last lines, and the image in the end."""

    def __init__(self, told: Callable[[str, bool], None], limit_seconds: float,
                 arguments: Mapping[str, str]) -> None:
        self._told = told
        self._arguments = arguments
        self._limit_seconds = limit_seconds
        self._deadline = Deadline(limit_seconds)
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._identity = ""
        self.step = ""
        self.instruction = ""

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take one of the engine's messages; raise `NotBuilt` where it says that all is over."""
        if "error" in line:
            detail = line.get("errorDetail")
            status = detail.get("code") if isinstance(detail, dict) else None
            raise self.failed(f"ended with exit status {status}" if status else str(line["error"]))
        about = line.get(_AUXILIARY)
        if isinstance(about, dict) and about.get(_IDENTITY):
            self._identity = str(about[_IDENTITY])
        said = str(line.get("stream") or line.get("status") or "")
        for text in (text.strip() for text in _COLOUR.sub("", said).splitlines()):
            if text:
                self._take(text[:_LINE_CHARACTERS])
        if self._deadline.is_past:
            raise self.failed(f"not done within {self._limit_seconds:g} s")

    def _take(self, text: str) -> None:
        match = _STEP.match(text)
        if match is None:
            if not text.startswith(_OF_THE_ENGINE):
                self._lines.append(text)
        else:
            self._lines.clear()
            self.step, self.instruction = match[1], self._filled(match[2].strip())[:_STEP_CHARACTERS]
        self._told(text, match is not None)

    def _filled(self, instruction: str) -> str:
        """Return an instruction with the arguments in it: an image is told by its name."""
        for name, value in self._arguments.items():
            instruction = instruction.replace(f"${{{name}}}", value)
        return instruction

    def failed(self, said: str) -> NotBuilt:
        """Return the failure of the step, with the last that was said in it."""
        lines = tuple(self._lines)
        last = "".join(f" | {line}" for line in lines[-_TOLD_LINES:] if line not in said)
        where = f"step {self.step} ({self.instruction}): " if self.step else ""
        return NotBuilt(self._kind(f"{said}{last}"), f"{where}{said}{last}", (*lines, said))

    def _kind(self, said: str) -> str:
        if engine_words.is_no_space(said):
            return "no-space"
        return "base-absent" if self.instruction.upper().startswith("FROM") else "not-built"

    def identity(self) -> str:
        """Return the image's id; raise where the engine fell silent without one."""
        if not self._identity:
            raise self.failed("the engine ended the build without an image")
        return self._identity


def _context(recipe: Recipe) -> bytes:
    """Return the archive that the engine gets: the Dockerfile and the files that it copies, nothing else."""
    text = recipe.text if recipe.tag is not None else _labelled(recipe.text)
    packed = io.BytesIO()
    with tarfile.TarFile(fileobj=packed, mode="w") as archive:
        for name, data in {**recipe.files, FILE: text.encode("utf-8")}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _labelled(text: str) -> str:
    """Return a Dockerfile whose every layer bears the label: it stands behind each FROM."""
    label = f'LABEL {LABEL}="{sandbox.owner()}"\n'
    lines = text.splitlines(keepends=True)
    return "".join(line + label if line.startswith("FROM ") else line for line in lines)


def _needs_network(text: str) -> bool:
    return any(word in text for word in _INSTALLS)


def _clear(engine: Engine, timeout_seconds: float) -> None:
    """Remove what this build made; the engine may still be ending a container that was hung up on."""
    api, mine = engine.api, {"label": f"{LABEL}={sandbox.owner()}"}
    deadline = Deadline(_CLEARING_SECONDS)
    with contextlib.suppress(EngineTrouble):
        while not deadline.is_past:
            containers = asked(lambda: api.containers(all=True, filters=mine), timeout_seconds)
            images = asked(lambda: api.images(filters=mine), timeout_seconds)
            if not (containers or images):
                return
            for one in containers:
                sandbox.remove(engine, one["Id"], timeout_seconds)
            for one in images:
                _remove_image(engine, one["Id"], timeout_seconds)
            deadline.wait(0.1)


def _sweep(engine: Engine, timeout_seconds: float) -> None:
    """Remove what builds left whose gpudoctor has ended without it."""
    api, labelled = engine.api, {"label": LABEL}
    with contextlib.suppress(EngineTrouble):
        is_left = sandbox.left_behind(engine, LABEL, timeout_seconds)
        for one in asked(lambda: api.containers(all=True, filters=labelled), timeout_seconds):
            if is_left(one):
                sandbox.remove(engine, one["Id"], timeout_seconds)
        for one in asked(lambda: api.images(filters=labelled), timeout_seconds):
            if is_left(one):
                _remove_image(engine, one["Id"], timeout_seconds)


def _remove_image(engine: Engine, identity: str, timeout_seconds: float) -> None:
    """Remove an image with its layers without a name; one that is used or gone is left to the next look."""
    with contextlib.suppress(EngineTrouble):
        asked(lambda: engine.api.remove_image(identity, force=True), timeout_seconds)
