"""What commands change that pip, conda and tools for projects have no part in: system packages, links."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from gpudoctor.manifests.installs import install_of
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.stage import CONFIGURATIONS, Stage
from gpudoctor.manifests.statements import Package, Unread
from gpudoctor.manifests.system_packages import is_of_driver, is_of_repository, packages_of, python_library

_CUDA = re.compile(r"cuda|cudnn|libnccl|libcublas", re.IGNORECASE)
_OF_PIXI = ("install", "i", "add", "a", "run", "r", "shell", "s", "shell-hook", "global", "reinstall")
_INSTALLERS = re.compile(r"(?:\S*/)?(?:pip|uv|python|conda|mamba)")
_PYTHONS = re.compile(r"pyenv|deadsnakes|(?:^|/)conda|mamba|uv\Z|update-alternatives|Python-[0-9]")
_OTHER_PYTHON = re.compile(r"python3\.?[0-9]+(?:-(?:pip|dev|devel|venv))?\Z")  # RHEL 8 calls 3.9 python39
_ENVIRONMENTS = ("venv", "virtualenv")  # python -m venv, uv venv, virtualenv
_LIBCUDA = "/libcuda.so.1"
_STUB = re.compile(r"(?:\A|/stubs/)libcuda\.so\Z")  # in the folder of the link, or by its whole path


def look_at(command: Command, stage: Stage, source: Source) -> None:
    """Add to a stage what a command brings, as far as that is known, and what of it was not judged."""
    words, first = packages_of(command), source.of(command.words[0])
    stage.tells_installer |= _tells_installer(command)
    stage.systems_library = stage.systems_library or python_library(command)
    if words and not command.conditional and all(word.known for word in words):
        stage.packages += [Package(text=word.text, place=source.of(word)) for word in words]
        _look_at(command, stage, at_libraries=False)
        return
    _look_at(command, stage)
    stage.unread += [Unread(why=f"whether {word.text} lays a driver into the image was not judged",
                            place=source.of(word)) for word in words or () if is_of_driver(word.text)]
    if _has_pixi_install(command):
        stage.unread.append(Unread(why="what pixi installs was not judged here: lint pixi.lock", place=first,
                                   of_framework=True))
    if command.words[0].text == "xargs" and install_of(_behind_xargs(command)) is not None:
        stage.unread.append(Unread(why="what xargs gives to an installer was not judged", place=first,
                                   of_framework=True))


def _tells_installer(command: Command) -> bool:
    """Return whether a command may write a configuration of pip or uv."""
    texts = [word.text for word in command.words]
    named = [*texts, *(one.target.text for one in command.redirections if one.target is not None)]
    return "config" in texts or any(posixpath.basename(text) in CONFIGURATIONS for text in named)


def _behind_xargs(command: Command) -> Command:
    """Return the command that xargs runs."""
    first = next((at for at, word in enumerate(command.words) if _INSTALLERS.match(word.text)), 1)
    return Command(words=command.words[first:])


def _look_at(command: Command, stage: Stage, *, at_libraries: bool = True) -> None:
    """Note what a command that pip and conda have no part in may change."""
    texts = [word.text for word in command.words]
    stage.alters_libraries |= at_libraries and any(
        _CUDA.search(text) and not is_of_repository(text) for text in texts)
    stage.alters_python |= any(_PYTHONS.search(text) for text in texts[:1]) or _installs(texts)
    stage.hides_packages |= any(text in _ENVIRONMENTS for text in texts[:3])
    if not command.conditional:
        _look_at_stubs(texts, stage)


def _look_at_stubs(texts: Sequence[str], stage: Stage) -> None:
    """Note a link called libcuda.so.1 to the toolkit's placeholder, and that one is taken away."""
    name, target = posixpath.basename(texts[0]), texts[-1]
    if name == "rm":
        stage.stubs = [path for path in stage.stubs if path not in texts]
    elif name == "ln" and target.endswith(_LIBCUDA) and any(_STUB.search(text) for text in texts[1:-1]):
        stage.stubs.append(target)


def _has_pixi_install(command: Command) -> bool:
    """Return whether a command has pixi install an environment."""
    name, *words = (word.text for word in command.words)
    verb = next((word for word in words if not word.startswith("-")), "")
    return posixpath.basename(name) == "pixi" and verb in _OF_PIXI


def _installs(texts: Sequence[str]) -> bool:
    """Return whether a system's package manager brings a Python of its own choice."""
    return "install" in texts and any(_OTHER_PYTHON.match(text) for text in texts)
