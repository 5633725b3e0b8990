"""The environments that a Dockerfile builds: its stages, with what they take over from one another."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from gpudoctor.manifests import absent_programs, instruction_forms, json_form, references, requirements
from gpudoctor.manifests.context import Context
from gpudoctor.manifests.dockerfile import Dockerfile, Instruction, marker_free, parse, trigger
from gpudoctor.manifests.runs import Runs
from gpudoctor.manifests.shell_faults import fault_of
from gpudoctor.manifests.shellwords import Command, Variables, commands, words_of
from gpudoctor.manifests.spans import Source, Traced
from gpudoctor.manifests.stage import Placed, Stage, start_order
from gpudoctor.manifests.statements import Broken, Build, Environment, Image, Setting, Started, Unread, Wish
from gpudoctor.manifests.system_packages import SHELLS

_GPU_OPTION = re.compile(r"--gpus?\b|--runtime[= ]nvidia\b|--device[= ]nvidia\.com/gpu")
_PACKAGES = re.compile(
    r"(?:site|dist)-packages|venv|virtualenv|(?:conda|mamba)[0-9]?(?:/|\Z)|/\.local(?:/|\Z)|"
    r"(?:/usr/local|/install)/?\Z")
_OPTIONS = re.compile(  # of a shell, none of which names a script
    r"(?:(?:-|--\w+|[-+][abefhiklmnprstuvxEBCHPT]*(?:[abefhiklmnprstuvxEBCHPT]|[oO] \w+))(?: |\Z))*\Z")
# what BuildKit gives them where a file is built for the platform that it is judged for
_PLATFORM = {f"{of}{what}": value for of in ("TARGET", "BUILD") for what, value in (
    ("PLATFORM", "linux/amd64"), ("OS", "linux"), ("ARCH", "amd64"), ("VARIANT", ""))}
_THIS_FOLDER, _DOCUMENT = ".", "<<"
_TARGETS = ("target", "dst", "destination")  # three names of one option of a mount


def environments(source: Source, reader: requirements.Reader, build: Build | None = None
                 ) -> list[Environment]:
    """Return what a Dockerfile builds in its end; `reader` gives files of its folder, and of the build's."""
    file = parse(source)
    wishes = [Wish(why=f"the comment {comment.text[:80]!r}", place=source.of(comment))
              for comment in file.comments if _GPU_OPTION.search(comment.text)]
    stages = _Stages(file, source, reader, build or Build())
    for instruction in file.instructions:
        stages.take(instruction)
    return [stages.final().environment(wishes, stages.images)]


class _Stages:
    """Reads instructions in their order."""

    def __init__(self, file: Dockerfile, source: Source, reader: requirements.Reader, build: Build) -> None:
        self.escape, self.source, self.build = file.escape, source, build
        self.globals: dict[str, str | None] = dict(_PLATFORM)
        self.stages: list[Stage] = []
        self._by_name: dict[str, Stage] = {}  # also by their numbers
        self.images: list[Image] = []
        self.broken: list[Broken] = []
        self.runs = Runs(source, Context(source, build, reader))
        self._take: dict[str, Callable[[Instruction], None]] = {
            "FROM": self._from, "ARG": self._argument, "ENV": self._variable, "RUN": self._run,
            "COPY": self._copy, "ADD": self._copy, "SHELL": self._shell, "WORKDIR": self._folder,
            "CMD": self._start, "ENTRYPOINT": self._start, "ONBUILD": self._later}

    def take(self, instruction: Instruction) -> None:
        """Take one instruction in."""
        instruction_forms.require(instruction, self.source, self.escape)
        take = self._take.get(instruction.name)
        if take is not None:
            take(instruction)

    def final(self) -> Stage:
        """Return the stage that is built, the last unless another is named, with what every stage loses."""
        last = self.stages[-1]
        if self.build.target is not None:
            named = self._named(self.build.target)
            if named is None:
                last.unread.append(Unread(why=f"there is no stage {self.build.target}, which is to be built",
                                          place=last.place, of_framework=True))
            last = named or last
        last.mounted = []
        for started in start_order({**last.started, **self.build.started}):
            self.runs.of(started.source).start(started.commands, last, in_shell=started.in_shell)
        last.lost, last.broken = self.runs.lost, self.broken
        last.lacking = [one for stage in self.stages for one in stage.lacking]
        return last

    def _named(self, name: str) -> Stage | None:
        return self._by_name.get(name.lower())

    def _from(self, instruction: Instruction) -> None:
        words = words_of(instruction.arguments, self.globals, self.escape)
        if not words:
            raise self.source.error(instruction.keyword.start, "FROM without an image")
        base, place = words[0], self.source.of(words[0])
        named = len(words) == 3 and words[1].text.lower() == "as"
        if len(words) > 1 and not named:
            raise self.source.error(words[1].start, "FROM takes one image: write FROM IMAGE, or "
                                                    "FROM IMAGE AS NAME")
        parent = self._named(base.text) if base.known else None
        if base.known and parent is None:
            references.checked(base.text, place)
        image = Image(reference=base.text if base.known else None, place=place,
                      name=references.name_of(self.source.text[base.start:base.end]),
                      platform=instruction.flag("platform") or "")
        if parent is None:
            self.images.append(image)
        name = words[2].text if named else f"stage {len(self.stages)}"
        stage = Stage(name, image, place, parent)
        stage.lacks_pip = parent.lacks_pip if parent else absent_programs.has_none(image.reference)
        for called in (stage.name.lower(), str(len(self.stages))):
            self._by_name.setdefault(called, stage)
        self.stages.append(stage)
        for note, held_back in parent.held_back if parent else ():
            stage.unread.remove(note)
            self.take(trigger(held_back, self.source))

    def _argument(self, instruction: Instruction) -> None:
        for word in words_of(instruction.arguments, self._variables(), self.escape):
            name, equals, value = word.text.partition("=")
            variables = self.stages[-1].variables if self.stages else self.globals
            if name in self.build.arguments:
                variables[name] = self.build.arguments[name]
            elif equals:
                variables[name] = value if word.known else None
            elif name in self.globals:
                variables[name] = self.globals[name]
            if self.stages:
                self.stages[-1].declared.add(name)

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
        words = json_form.words(instruction, self.source)
        if not words:
            raise self.source.error(instruction.keyword.start, (
                'SHELL without a list in JSON: write SHELL ["/bin/bash", "-c"]'))
        name = posixpath.basename(words[0].text)
        self.stages[-1].has_shell = name in SHELLS

    def _copy(self, instruction: Instruction) -> None:
        stage, origin = self.stages[-1], instruction.flag("from")
        written = json_form.words(instruction, self.source)
        words = [word.text for word in words_of(instruction.arguments, stage.variables, self.escape)
                 ] if written is None else [word.text for word in written]
        if written is None:
            self._has_broken_list(instruction.arguments)
        if len(words) < 2:
            raise self.source.error(instruction.keyword.start,
                                    f"{instruction.name} without a target: write {instruction.name} FROM TO")
        stage.lacks_pip &= instruction.name == "COPY" and origin is None and not absent_programs.copies(
            stage.whole(words[-1]))
        other = self._named(origin) if origin is not None else None
        other = None if other is stage else other  # no builder takes from the stage that is being built
        stage.copied += [_placed(path, words[-1], stage, other, is_elsewhere=origin is not None)
                         for path in words[:-1] if not path.startswith(_DOCUMENT)]
        stage.copied += [Placed(origin=one.name, target=stage.whole(words[-1]), written=words[-1],
                                is_elsewhere=True, document=one.whole(self.source))
                         for one in instruction.documents]
        if other is not None:
            stage.feeding += [one for one in other.feeding if one not in stage.feeding]
            if any(_PACKAGES.search(word) for word in words):
                stage.asked += [one for one in other.asked if one not in stage.asked]
                stage.unread += [one for one in other.unread if one not in stage.unread]

    def _folder(self, instruction: Instruction) -> None:
        stage = self.stages[-1]
        for word in words_of(instruction.arguments, stage.variables, self.escape)[:1]:
            stage.folder = stage.whole(word.text)

    def _run(self, instruction: Instruction) -> None:
        in_shell = json_form.words(instruction, self.source) is None
        stage = self.stages[-1]
        stage.tells_installer |= any("type=secret" in flag.text for flag in instruction.flags)
        stage.lacks_pip &= all("from=" not in flag.text for flag in instruction.flags)
        stage.mounted, folder, variables = [*self._mounts(instruction)], stage.folder, dict(stage.variables)
        self.runs.take(self._commands(instruction, stage), stage, in_shell=in_shell)
        stage.folder, stage.variables = folder, variables  # cd and export end with their shell

    def _mounts(self, instruction: Instruction) -> Iterator[Placed]:
        """Yield what a RUN has mounted, with the place where it has it."""
        for flag in instruction.flags:
            name, _, value = flag.text.partition("=")
            options = dict(part.partition("=")[::2] for part in value.split(","))
            if name == "--mount" and options.get("type", "bind") == "bind" and "from" not in options:
                origin = options.get("source") or options.get("src") or _THIS_FOLDER
                target = next((options[key] for key in _TARGETS if key in options), "")
                yield _placed(origin, target, self.stages[-1], None, is_elsewhere=False)

    def _start(self, instruction: Instruction) -> None:
        """Keep what a container starts, in either form."""
        stage, words = self.stages[-1], json_form.words(instruction, self.source)
        listed = self._of_shell(instruction.arguments, stage) if words is None and stage.has_shell else []
        if words:
            listed = [Command(words=tuple(words))]
        stage.started[instruction.name] = Started(
            commands=tuple(listed), source=self.source, in_shell=words is None)

    def _later(self, instruction: Instruction) -> None:
        """Note what an image does when another is built from it; only that one has it.

        That may be a later stage of the same file, which then does it first:
        https://github.com/moby/buildkit/blob/master/frontend/dockerfile/dockerfile2llb/convert.go
        """
        words = words_of(instruction.arguments, self.stages[-1].variables, self.escape)
        note = Unread(
            why="what ONBUILD says is done where another image is built from this one, and was not judged",
            place=self.source.of(instruction.keyword),
            of_framework=any(requirements.FRAMEWORK.match(word.text) for word in words))
        self.stages[-1].unread.append(note)
        self.stages[-1].held_back.append((note, instruction))

    def _commands(self, instruction: Instruction, stage: Stage) -> list[Command]:
        words = json_form.words(instruction, self.source)
        if words is not None:
            return [Command(words=tuple(words))] if words else []
        if not stage.has_shell:
            return []
        found = []
        program = [*marker_free(instruction.arguments)]
        is_script = bool(instruction.documents) and (not program or _is_shell(*program))
        if not is_script:
            found += self._of_shell(instruction.arguments, stage)
        for document in instruction.documents if is_script else ():
            begin = document.text.text.partition("\n")[0]
            if not begin.startswith("#!") or "sh" in begin:
                found += self._of_shell(_joined_lines(document.text), stage)
        return found

    def _has_broken_list(self, text: Traced) -> bool:
        """Keep what is wrong with a text that looks like a list in JSON and is none; say whether it is so."""
        fault = json_form.fault_of(text) if self.escape == "\\" else None
        if fault is not None:
            self.broken.append(Broken(why=fault.said, place=self.source.place(fault.start, fault.end),
                                      is_list=True))
        return fault is not None

    def _of_shell(self, text: Traced, stage: Stage) -> list[Command]:
        """Return the commands of a script; where it does not parse, that is kept, and the rest is read on."""
        fault = fault_of(text) if self.escape == "\\" and not self._has_broken_list(text) else None
        if fault is not None:
            self.broken.append(Broken(why=fault.said, place=self.source.place(fault.start, fault.end)))
        return commands(text, stage.variables, self.escape)


def _is_shell(program: str, *options: str) -> bool:
    """Say whether a command is a shell that reads its script from the document behind it."""
    return posixpath.basename(program) in SHELLS and _OPTIONS.match(" ".join(options)) is not None


def _placed(origin: str, target: str, stage: Stage, other: Stage | None, *, is_elsewhere: bool) -> Placed:
    """Return what is put into a stage; a path of the build's folder is seen from there."""
    is_away = is_elsewhere or "://" in origin
    return Placed(origin=origin if is_away else origin.lstrip("/"), target=stage.whole(target),
                  written=target, stage=other, is_elsewhere=is_away)


def _joined_lines(text: Traced) -> Traced:
    """Return a script with the line ends that a backslash stands before taken out."""
    kept = [number for number, _ in enumerate(text.text)]
    for match in re.finditer(r"\\\n", text.text):
        kept[match.start()] = kept[match.start() + 1] = -1
    left = [number for number in kept if number >= 0]
    return Traced(text="".join(text.text[number] for number in left), at=[text.at[number] for number in left])
