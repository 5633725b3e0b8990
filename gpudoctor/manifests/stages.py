"""The environments that a Dockerfile builds: its stages, with what they take over from one another."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpudoctor.manifests import requirements
from gpudoctor.manifests.dockerfile import Dockerfile, Instruction, marker_free, parse
from gpudoctor.manifests.installs import Install, install_of
from gpudoctor.manifests.shellwords import Command, Variables, commands, words_of
from gpudoctor.manifests.spans import Place, Source, Traced, Word
from gpudoctor.manifests.statements import Asked, Environment, Image, Lost, Setting, Wish

_GPU_OPTION = re.compile(r"--gpus?\b|--runtime[= ]nvidia\b|--device[= ]nvidia\.com/gpu")
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "ksh", "zsh"})
_CUDA = re.compile(r"cuda|cudnn|libnccl|libcublas", re.IGNORECASE)
_PYTHONS = re.compile(r"pyenv|deadsnakes|(?:^|/)conda|mamba|uv\Z|update-alternatives|Python-\d")
_PACKAGES = re.compile(r"site-packages|dist-packages|venv|virtualenv")
_NO_GPU = {"CUDA_VISIBLE_DEVICES": ("", "-1"), "NVIDIA_VISIBLE_DEVICES": ("void", "none", "")}
_INDEXES = ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")
_EXTRA_INDEXES = ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX")
_OF_THE_DRIVER = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_REQUIRE_CUDA")


def environments(source: Source, reader: requirements.Reader) -> list[Environment]:
    """Return what a Dockerfile builds in its end; `reader` gives files of its folder."""
    file = parse(source)
    wishes = [Wish(why=f"the comment {comment.text[:80]!r}", place=source.of(comment))
              for comment in file.comments if _GPU_OPTION.search(comment.text)]
    stages = _Stages(file, source, reader)
    for instruction in file.instructions:
        stages.take(instruction)
    return [stages.final().environment(wishes, stages.images)]


class _Stage:
    """A stage while it is read."""

    def __init__(self, name: str, image: Image | None, place: Place, parent: _Stage | None) -> None:
        self.name, self.place, self.parent = name, place, parent
        self.image: Image | None = parent.image if parent else image
        self.variables: dict[str, str | None] = dict(parent.variables) if parent else {}
        self.settings: dict[str, Setting] = dict(parent.settings) if parent else {}
        self.asked: list[Asked] = list(parent.asked) if parent else []
        self.copied: list[tuple[str, str]] = list(parent.copied) if parent else []
        self.lost: list[Lost] = []
        self.feeding: list[Image] = list(parent.feeding) if parent else [image] if image else []
        self.python: tuple[str, Place] | None = parent.python if parent else None
        self.alters_libraries: bool = parent.alters_libraries if parent else False
        self.alters_python: bool = parent.alters_python if parent else False
        self.has_shell: bool = parent.has_shell if parent else True

    def environment(self, wishes: Sequence[Wish], images: Sequence[Image]) -> Environment:
        """Return what the stage amounts to."""
        own = [Wish(why=f"{name} is set", place=self.settings[name].place) for name in _OF_THE_DRIVER
               if name in self.settings]
        refuses = any(name in self.settings and self.settings[name].value in values
                      for name, values in _NO_GPU.items())
        return Environment(
            name=self.name, place=self.place, image=self.image, images=tuple(images),
            feeding=tuple(self.feeding), asked=tuple(self.asked),
            settings=self.settings, wishes=(*wishes, *own), lost=tuple(self.lost),
            python=self.python[0] if self.python else None,
            python_place=self.python[1] if self.python else None, alters_libraries=self.alters_libraries,
            alters_python=self.alters_python, refuses_gpu=refuses)


class _Stages:
    """Reads instructions in their order."""

    def __init__(self, file: Dockerfile, source: Source, reader: requirements.Reader) -> None:
        self.escape, self.source, self.reader = file.escape, source, reader
        self.globals: dict[str, str | None] = {}
        self.stages: list[_Stage] = []
        self.lost: list[Lost] = []
        self.images: list[Image] = []
        self._take: dict[str, Callable[[Instruction], None]] = {
            "FROM": self._from, "ARG": self._argument, "ENV": self._variable, "RUN": self._run,
            "COPY": self._copy, "SHELL": self._shell}

    def take(self, instruction: Instruction) -> None:
        """Take one instruction in."""
        take = self._take.get(instruction.name)
        if take is not None:
            take(instruction)

    def final(self) -> _Stage:
        """Return the last stage, which `docker build` builds, with what every stage loses."""
        last = self.stages[-1]
        last.lost = self.lost
        return last

    def _named(self, name: str) -> _Stage | None:
        for number, stage in enumerate(self.stages):
            if stage.name.lower() == name.lower() or str(number) == name:
                return stage
        return None

    def _from(self, instruction: Instruction) -> None:
        words = words_of(instruction.arguments, self.globals, self.escape)
        if not words:
            raise self.source.error(instruction.keyword.start, "FROM without an image")
        base, place = words[0], self.source.of(words[0])
        named = len(words) > 2 and words[1].text.lower() == "as"
        parent = self._named(base.text) if base.known else None
        image = Image(reference=base.text if base.known else None, place=place,
                      platform=instruction.flag("platform") or "")
        if parent is None:
            self.images.append(image)
        name = words[2].text if named else f"stage {len(self.stages)}"
        self.stages.append(_Stage(name, image, place, parent))

    def _argument(self, instruction: Instruction) -> None:
        for word in words_of(instruction.arguments, self._variables(), self.escape):
            name, equals, value = word.text.partition("=")
            variables = self.stages[-1].variables if self.stages else self.globals
            if equals:
                variables[name] = value if word.known else None
            elif name in self.globals:
                variables[name] = self.globals[name]

    def _variables(self) -> Variables:
        return self.stages[-1].variables if self.stages else self.globals

    def _variable(self, instruction: Instruction) -> None:
        stage = self.stages[-1]
        words = words_of(instruction.arguments, dict(stage.variables), self.escape)
        if words and "=" not in words[0].text:  # the old form: a name, and the rest of the line
            rest = words[1:]
            value = " ".join(word.text for word in rest)
            pairs = [(words[0], words[0].text, value, all(word.known for word in rest))]
        else:
            pairs = [(word, word.text.partition("=")[0], word.text.partition("=")[2], word.known)
                     for word in words]
        for word, name, given, known in pairs:
            stage.variables[name] = given if known else None
            end = words[-1].end if len(pairs) == 1 else word.end
            stage.settings[name] = Setting(value=given if known else None, stated=given,
                                           place=self.source.place(word.start, end))

    def _shell(self, instruction: Instruction) -> None:
        words = json_words(instruction)
        name = posixpath.basename(words[0].text) if words else ""
        self.stages[-1].has_shell = name in _SHELLS

    def _copy(self, instruction: Instruction) -> None:
        stage, origin = self.stages[-1], instruction.flag("from")
        words = [word.text for word in words_of(instruction.arguments, stage.variables, self.escape)]
        if origin is None:
            stage.copied += [(path, words[-1]) for path in words[:-1]]
        elif (other := self._named(origin)) is not None:
            stage.feeding += [one for one in other.feeding if one not in stage.feeding]
            if any(_PACKAGES.search(word) for word in words):
                stage.asked += [one for one in other.asked if one not in stage.asked]

    def _run(self, instruction: Instruction) -> None:
        stage = self.stages[-1]
        in_shell = json_words(instruction) is None
        for command in self._commands(instruction, stage):
            install = install_of(command)
            if install is not None and command.conditional:  # which branch is taken only the build knows
                self.lost += self._losses(install)
                stage.alters_libraries = stage.alters_python = True
            elif install is None:
                texts = [word.text for word in command.words]
                stage.alters_libraries |= any(_CUDA.search(text) for text in texts)
                stage.alters_python |= any(_PYTHONS.search(text) for text in texts[:1]) or _installs(texts)
            else:
                self._install(install, stage, in_shell=in_shell)

    def _commands(self, instruction: Instruction, stage: _Stage) -> Iterator[Command]:
        words = json_words(instruction)
        if words is not None:
            yield Command(words=tuple(words))
            return
        if not stage.has_shell:
            return
        if not instruction.documents:
            yield from commands(instruction.arguments, stage.variables, self.escape)
            return
        program = [*marker_free(instruction.arguments)]
        is_script = len(program) < 2 and not set(program) - _SHELLS
        if not is_script:
            yield from commands(instruction.arguments, stage.variables, self.escape)
        for document in instruction.documents:
            begin = document.text.text.partition("\n")[0]
            if is_script and (not begin.startswith("#!") or "sh" in begin):
                yield from commands(_joined_lines(document.text), stage.variables, self.escape)

    def _install(self, install: Install, stage: _Stage, *, in_shell: bool) -> None:
        if install.tool == "conda":
            stage.alters_python = True
            stage.alters_libraries |= any(_CUDA.search(word.text) for word in install.requirements)
            return
        if install.python.count(".") == 1:
            stage.python = (install.python, self.source.place(*_ends(install)))
        self.lost += self._losses(install)
        index, extra = _indexes(install, stage.variables)
        meant = {word.start: text for word, text in install.lost}
        number = _ends(install)[0]
        for word in install.requirements:
            if word.known and not requirements.is_elsewhere(word.text):
                stage.asked.append(Asked(
                    text=meant.get(word.start, word.text), place=self.source.of(word), index=index,
                    extra_indexes=extra, no_dependencies=install.no_dependencies, in_shell=in_shell,
                    command=number,
                    rewritable=(word.plain and word.start not in meant) or _is_quoted(word, self.source)))
        for file in install.files:
            if file.known:
                stage.asked += [replace(one, command=number) for one in self._listed(file.text, stage)]

    def _losses(self, install: Install) -> list[Lost]:
        return [Lost(meant=meant, given=word.text, place=self.source.of(word), rewritable=word.plain)
                for word, meant in install.lost]

    def _listed(self, path: str, stage: _Stage) -> tuple[Asked, ...]:
        """Return what a requirements file that is copied in asks for; nothing where it is not there."""
        name = posixpath.basename(path)
        copied = [origin for origin, _ in stage.copied if posixpath.basename(origin) == name]
        folder = posixpath.dirname(self.source.file)
        for candidate in dict.fromkeys((*copied, path, name)):
            if not candidate.startswith("/"):
                found = self.reader(posixpath.normpath(posixpath.join(folder, candidate)))
                if found is not None:
                    return requirements.read(found, self.reader)
        return ()


def _installs(texts: Sequence[str]) -> bool:
    """Return whether a system's package manager brings a Python of its own choice."""
    return "install" in texts and any(re.match(r"python3\.\d+\Z", text) for text in texts)


def _ends(install: Install) -> tuple[int, int]:
    words = (*install.requirements, *install.files)
    return (words[0].start, words[0].end) if words else (0, 0)


def _is_quoted(word: Word, source: Source) -> bool:
    """Return whether a word stands there in one pair of quotes and nothing else."""
    return source.text[word.start:word.end] in (f"'{word.text}'", f'"{word.text}"')


def _indexes(install: Install, variables: Variables) -> tuple[str | None, tuple[str, ...]]:
    """Return the index in place of the default one, and those beside it: of the command, else variables."""
    index = install.index.text if install.index else next(
        (value for name in _INDEXES if (value := variables.get(name))), None)
    extra = tuple(word.text for word in install.extra_indexes) or tuple(
        part for name in _EXTRA_INDEXES for part in (variables.get(name) or "").split())
    return index, extra


def json_words(instruction: Instruction) -> list[Word] | None:
    """Return the words of the JSON form, None where it is none."""
    text = instruction.arguments.text
    if not text.lstrip().startswith("["):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return None
    at = instruction.arguments.at
    found = []
    for match, value in zip(re.finditer(r'"(?:[^"\\]|\\.)*"', text), values, strict=True):
        found.append(Word(text=value, start=at[match.start()] + 1, end=at[match.end() - 1]))
    return found


def _joined_lines(text: Traced) -> Traced:
    """Return a script with the line ends that a backslash stands before taken out."""
    kept = [number for number, _ in enumerate(text.text)]
    for match in re.finditer(r"\\\n", text.text):
        kept[match.start()] = kept[match.start() + 1] = -1
    left = [number for number in kept if number >= 0]
    return Traced(text="".join(text.text[number] for number in left), at=[text.at[number] for number in left])
