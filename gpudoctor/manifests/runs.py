"""What the commands of a RUN add to a stage: distributions, a Python, CUDA, and what could not be read."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from gpudoctor.derive import planned
from gpudoctor.manifests import (
    absent_programs, conda, conda_specs, installer_variables, other_commands, placed, projects, releases,
    requirements,
)
from gpudoctor.manifests.context import Context
from gpudoctor.manifests.groups import Groups
from gpudoctor.manifests.installs import UNINSTALL, Install, install_of
from gpudoctor.manifests.nested_scripts import places_about, places_in, script_of
from gpudoctor.manifests.references import told_by
from gpudoctor.manifests.shellwords import Command, commands
from gpudoctor.manifests.spans import Source, Traced, Word
from gpudoctor.manifests.stage import Stage
from gpudoctor.manifests.statements import Asked, Lost, Package, Unread
from gpudoctor.manifests.system_packages import installer_of
from gpudoctor.versions import distribution_name

_CUDA = re.compile(r"cuda|cudnn|libnccl|libcublas", re.IGNORECASE)
_BRINGS = re.compile(r"(?:torch|tensorflow|jax|paddle|nvidia|cuda|pytorch)", re.IGNORECASE)
_STANDARD_INPUT = "/dev/stdin"
_WITH_REQUIREMENTS = re.compile(r"^# /// script\s*$", re.MULTILINE)  # a script with its own
_QUOTED = re.compile(r"""["']([^"'\n]{1,400})["']""")
_DEEPEST = 3  # shells within shells that are read


class Runs:
    """Reads commands for a Dockerfile."""

    def __init__(self, source: Source, context: Context) -> None:
        """Take the Dockerfile and the folder that is built from."""
        self.source, self.context = source, context
        self.lost: list[Lost] = []
        self._numbers = count(1)  # of commands that install something; in a loop one place has several

    def of(self, source: Source) -> Runs:
        """Return what reads commands for the same image that stand in another file."""
        if source is self.source:
            return self
        other = Runs(source, self.context)
        other.lost, other._numbers = self.lost, self._numbers
        return other

    def take(self, listed: Sequence[Command], stage: Stage, *, in_shell: bool, depth: int = 0,
             quotable: bool = True) -> None:
        """Add what commands do to a stage; `quotable`: quotes may be written around their words."""
        for command in listed:
            self._installer(command, stage)
            self._changes(command, stage)
            script = script_of(command) if depth < _DEEPEST else None
            install = install_of(command)
            if script is None:
                absent_programs.look_at(command, install, stage, self.source)
            if script is not None:
                places = places_in(script, self.source)
                nested = [replace(one, conditional=one.conditional or command.conditional)
                          for one in self._nested(script, stage)]
                free = depth == 0 and places is not None and self.source.text[script.start] != "'"
                self.take(nested, stage, in_shell=free, depth=depth + 1, quotable=free)
            elif install is not None and install.tool == UNINSTALL:
                _take_out(install, stage, conditional=command.conditional)
            elif install is not None and install.written:
                if not command.conditional:
                    stage.exported[_named(install.written, stage)] = install
            elif install is not None and command.conditional:  # which branch is taken only the build knows
                self.lost += _losses(install, self.source, quotable=quotable)
                stage.alters_libraries |= any(_BRINGS.match(word.text) for word in install.requirements)
                stage.alters_python |= install.tool == "conda"
                self._open(install, command, stage, "is installed under a condition that is not known here")
            elif install is not None:
                self._install(install, command, stage, in_shell=in_shell, quotable=quotable)
            else:
                other_commands.look_at(command, stage, self.source)
            if install is not None and install.then is not None:
                self.take([replace(install.then, conditional=command.conditional)], stage, in_shell=in_shell,
                          depth=depth, quotable=quotable)
            if install is None or not install.written:
                stage.exported.pop(_STANDARD_INPUT, None)  # nobody reads it any more

    def _nested(self, script: Word, stage: Stage) -> list[Command]:
        """Return the commands of a word that a shell is given as a script."""
        at = places_in(script, self.source) or places_about(script, self.source)
        return commands(Traced(text=script.text, at=at or [script.start] * len(script.text)), stage.variables)

    def _changes(self, command: Command, stage: Stage) -> None:
        """Follow cd and export, and note lists that are no longer what COPY put there."""
        words = command.words
        if words[0].text == "cd" and len(words) > 1 and words[1].known and not command.conditional:
            stage.folder = stage.whole(words[1].text)
        elif words[0].text == "export" and not command.conditional:
            stage.variables.update({word.text.partition("=")[0]: word.text.partition("=")[2] if word.known
                                    else None for word in words[1:] if "=" in word.text})
        stage.changed.update(stage.whole(path) for path in placed.lists_changed(command))

    def _installer(self, command: Command, stage: Stage) -> None:
        """Add NVIDIA's own installer of a driver to what is installed."""
        word = installer_of(command)
        if word is not None and not command.conditional:
            stage.packages.append(Package(text=posixpath.basename(word.text), place=self.source.of(word)))

    def _open(self, install: Install, command: Command, stage: Stage, why: str) -> None:
        """Note what of an installation is left open."""
        named = [word for word in install.requirements if requirements.FRAMEWORK.match(word.text)]
        unknown = [word for word in install.requirements if not word.known]
        for word in named[:1] or unknown[:1] or install.files[:1]:
            written = self.source.text[word.start:word.end]
            stage.unread.append(Unread(why=f"{written} {why}", place=self.source.of(word),
                                       of_framework=bool(named or install.files)))
        if not named and install.project is not None:
            stage.unread.append(Unread(why=f"what the project needs {why}",
                                       place=self.source.of(command.words[0])))

    def _install(self, install: Install, command: Command, stage: Stage, *, in_shell: bool,
                 quotable: bool) -> None:
        place, number = self.source.of(command.words[0]), next(self._numbers)
        self.lost += _losses(install, self.source, quotable=quotable)
        if install.tool == "conda":
            self._conda(install, stage, number)
            return
        script = self._script(install, stage)
        self._layer(install, script, stage)
        if install.python.count(".") == 1:
            stage.python = (install.python, self.source.place(*_ends(install)))
        install = installer_variables.told(install, command, stage.variables)
        stage.tells_installer |= installer_variables.leave_open(command, stage.variables, stage.declared)
        index = self._address(install.index) if install.index else None
        extra = tuple(self._address(word) for word in install.extra_indexes)
        meant = {word.start: text for word, text in install.lost}
        own: list[Asked] = []
        for word in install.requirements:
            text = meant.get(word.start, word.text)
            wheel = requirements.of_wheel(text) if word.known else None
            if not word.known or (wheel is None and not requirements.is_of_index(text)):
                self._elsewhere(word, stage)
                continue
            own.append(Asked(
                text=wheel or text, place=self.source.of(word), index=index, is_file=wheel is not None,
                tool=install.tool, extra_indexes=extra, links=tuple(link.text for link in install.links),
                no_dependencies=install.no_dependencies, in_shell=in_shell,
                rewritable=wheel is None and quotable and (
                    (word.plain and word.start not in meant) or self.source.is_quoted(word))))
        for file in install.files:
            own += [replace(one, index=one.index or index, extra_indexes=one.extra_indexes or extra)
                    for one in self._listed(file, stage, install.groups)]
        if install.project is not None and script is None:
            listed = projects.asked_for(install, place, stage, self.context)
            stage.unread += listed.unread
            own += listed.asked
        counts = bool(releases.of_frameworks(own, None))  # what bounds none of them decides nothing here
        bounds = [one for file in install.constraints for one in self._listed(file, stage, counts=counts)]
        overrides = tuple(one.text for file in install.overrides for one in self._listed(file, stage))
        stage.asked += [replace(one, command=number, overrides=(*one.overrides, *overrides),
                                is_kept=install.is_kept and not stage.hides_packages,
                                into=install.into and f"{install.into} {stage.hides_packages}")
                        for one in requirements.bounded(own, bounds)]

    def _address(self, word: Word) -> str:
        """Return an address; one that only the build knows as it is written, for it is no other's."""
        written = self.source.text[word.start:word.end]
        return word.text if word.known else written.partition("=")[2] or written

    def start(self, listed: Sequence[Command], stage: Stage, *, in_shell: bool, depth: int = 0) -> None:
        """Add what is installed each time a container starts; what else is run then changes no image."""
        for command in listed:
            script = script_of(command) if depth < _DEEPEST else None
            install = install_of(command)
            self._changes(command, stage)
            if script is not None:
                self.start(self._nested(script, stage), stage, in_shell=True, depth=depth + 1)
            elif install is None or install.written or install.tool == UNINSTALL:
                continue
            elif command.conditional:
                self._open(install, command, stage, "is installed under a condition that is not known here")
            else:
                self._install(install, command, stage, in_shell=in_shell, quotable=in_shell and depth == 0)

    def _script(self, install: Install, stage: Stage) -> Source | None:
        """Return the script with requirements of its own that uv runs; they are no part of the image."""
        script = install.then.words[0] if install.then is not None else None
        found = self._copied(script.text, stage) if script and script.text.endswith(".py") else None
        return found if found is not None and _WITH_REQUIREMENTS.search(found.text) else None

    def _layer(self, install: Install, script: Source | None, stage: Stage) -> None:
        """Note the frameworks that uv installs for one command alone, which the image has not."""
        named = [word for word in install.layered if not word.known or any(
            requirements.FRAMEWORK.match(part) for part in word.text.split(","))]
        named += [file for file in install.layered_files if self._lists_framework(file, stage)]
        if script is not None and install.then is not None and _names_framework(script):
            named.append(install.then.words[0])
        stage.unread += [Unread(place=self.source.of(word), of_framework=True, why=(
            f"what uv takes from {word.text or 'a variable'} is installed for this command alone, in an "
            "environment of its own, and was not judged")) for word in named]

    def _lists_framework(self, file: Word, stage: Stage) -> bool:
        """Return whether a list, or a script with requirements of its own, asks for a framework."""
        script = self._copied(file.text, stage) if file.text.endswith(".py") else None
        return _names_framework(script) if script is not None else any(
            requirements.FRAMEWORK.match(one.text) for one in self._listed(file, stage))

    def _elsewhere(self, word: Word, stage: Stage) -> None:
        """Note a requirement that names no release."""
        text = self.source.text[word.start:word.end].strip("'\"")
        why = (f"{text} is no release of an index, so what it is was not judged" if word.known else
               f"{text} was not judged: a variable has no value here ({told_by(text, stage.declared)})")
        stage.unread.append(Unread(why=why, place=self.source.of(word), of_framework=bool(
            requirements.FRAMEWORK.match(posixpath.basename(text)))))

    def _listed(self, file: Word, stage: Stage, groups: Groups | None = None, *,
                counts: bool = True) -> tuple[Asked, ...]:
        """Return what a requirements file that is copied in asks for; one that is not there is left open.

        uv and pip also take a project's file there, with these of its groups, and a lock of their own.
        """
        exported = placed.written(_named(file.text, stage), stage)
        if exported is not None and file.known:
            listed = projects.asked_for(exported.install, self.source.of(file), exported.stage, self.context)
            stage.unread += listed.unread
            return listed.asked
        is_changed = stage.whole(file.text) in stage.changed
        found = self._copied(file.text, stage) if file.known and not is_changed else None
        if found is None:
            absence = "is written by a command before" if is_changed else self.context.absence(file.text)
            absent = f"{file.text or 'a file'} {absence}"
            stage.unread.append(Unread(why=f"{absent}, so what it asks for was not judged",
                                       place=self.source.of(file), of_framework=counts))
            return ()
        listed = projects.listed_in(found, groups or Groups(), stage) or requirements.read(
            found, self.context.read)
        stage.unread += listed.unread
        return listed.asked

    def _copied(self, path: str, stage: Stage) -> Source | None:
        """Return a file of the image that COPY took from beside the Dockerfile, or from within."""
        if (document := placed.document(path, stage)) is not None:
            return document
        names = (one for one in dict.fromkeys(placed.origins(path, stage)) if not one.startswith("/"))
        return next((found for name in names if (found := self.context.find(name)) is not None), None)

    def _conda(self, install: Install, stage: Stage, number: int) -> None:
        """Add conda's packages, and what its files list."""
        stage.alters_python = stage.has_condas = True
        stage.alters_libraries |= any(_CUDA.search(word.text) for word in install.requirements)
        meant = {word.start: text for word, text in install.lost}
        listed = [(meant.get(word.start, word.text), self.source.of(word))
                  for word in install.requirements if word.known]
        for word in install.requirements:
            if not word.known:
                self._elsewhere(word, stage)
        specs, channels = conda_specs.specs_of(listed), [word.text for word in install.extra_indexes]
        stage.unread += conda_specs.unread_of(specs)
        stage.brought += conda_specs.brought_of(specs, channels)
        stage.asked += [replace(one, command=number) for one in conda_specs.asked_of(specs, channels)]
        for file in install.files:
            found = self._copied(file.text, stage) if file.known else None
            for one in conda.read(found, self.context.read) if found is not None else ():
                stage.asked += [replace(asked, command=number) for asked in one.asked]
                stage.alters_libraries |= one.alters_libraries
                stage.unread, stage.brought = [*stage.unread, *one.unread], [*stage.brought, *one.brought]
                if one.python is not None and one.python_place is not None:
                    stage.python = (one.python, one.python_place)
            if found is None:  # it may bring CUDA, too
                name, stage.alters_libraries = file.text or "a file", True
                why = f"{name} {self.context.absence(name)}, so what conda installs was not judged"
                stage.unread.append(Unread(why=why, place=self.source.of(file), of_framework=True))


def _named(path: str, stage: Stage) -> str:
    """Return what a file that is written or read is called: what is put out, the next command takes in."""
    return _STANDARD_INPUT if path == "-" else stage.whole(path)


def _names_framework(script: Source) -> bool:
    """Return whether a script asks for a framework in its own requirements."""
    block = _WITH_REQUIREMENTS.split(script.text, maxsplit=1)[-1].partition("\n# ///")[0]
    return any(requirements.FRAMEWORK.match(text) for text in _QUOTED.findall(block))


def _take_out(install: Install, stage: Stage, *, conditional: bool) -> None:
    gone = {distribution_name(word.text) for word in install.requirements}
    stage.hides_packages, stage.asked = True, [one for one in stage.asked if conditional or not any(
        distribution_name(each.name) in gone for each in planned.parse((one.text,)))]


def _losses(install: Install, source: Source, *, quotable: bool) -> list[Lost]:
    return [Lost(meant=meant, given=word.text, place=source.of(word), rewritable=word.plain and quotable)
            for word, meant in install.lost]


def _ends(install: Install) -> tuple[int, int]:
    words = (*install.requirements, *install.files)
    return (words[0].start, words[0].end) if words else (0, 0)
