"""CUDA, cuDNN and drivers that apt, dnf or zypper install in an image, by what the tables say of names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from gpudoctor.derive.view import as_texts
from gpudoctor.manifests import images
from gpudoctor.manifests.images import Base, Toolkit
from gpudoctor.manifests.installs import behind_wrappers
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Word
from gpudoctor.manifests.statements import Package
from gpudoctor.model import Row, Tables, rows_of

_MANAGERS = frozenset({"apt-get", "apt", "aptitude", "dnf", "microdnf", "tdnf", "yum", "zypper"})
_VERBS = frozenset({"install", "in"})
_VALUED = frozenset({"-o", "--option", "-t", "--target-release", "-c", "--config-file", "--repo"})
_OF_CUDA = re.compile(
    r"cuda|cudnn|libnccl|libcublas|libcu(?:fft|rand|solver|sparse)|libnvjitlink", re.IGNORECASE)
_OF_DRIVER = re.compile(
    r"nvidia-(?:driver|utils|compute-utils|headless|open)\b|libnvidia-compute\b|cuda-drivers\b|libcuda1\b")
SHELLS = frozenset({"sh", "bash", "ash", "dash", "ksh", "zsh"})
# of libraries of Python all but these may bring NumPy
_LIBRARY = re.compile(
    r"python[0-9.]*-"
    r"(?!(?:all|apt|dev|devel|distutils|doc|full|libs|minimal|pip|setuptools|tk|venv|wheel)\b)\w")
_INSTALLER = re.compile(r"NVIDIA-Linux-[\w.-]*\.run\Z")
_INSTALLS_NOTHING = frozenset({"-x", "--extract-only", "--check", "--info", "--help", "-h"})
# only names a repository, or makes it trusted: nothing is installed by it
_REPOSITORY = re.compile(
    r"keyring|/repos/|(?:cuda|cudnn)(?:-local)?-repo-|/sources\.list\.d/|/yum\.repos\.d/", re.IGNORECASE)
_HOLES = {"cuda": r"[0-9]+-[0-9]+", "cuda_major": r"[0-9]+", "cudnn": r"[0-9]+", "branch": r"[0-9]{3}",
          "driver": r"(?:[0-9]{3}(?:\.[0-9]+){1,2})?", "flavour": r"(?:-server)?(?:-open)?",
          "rest": r"(?:[:-][a-z][\w-]*)?", "machine": r"x86_64|aarch64"}
_HOLE = re.compile(r"\{([a-z_]+)\}")
# behind a name: the architecture, and the version as apt (=8.9.7.29-1+cuda12.2) or dnf (-8.9.7.29-1) have it
_BEHIND = r"(?::amd64|\.x86_64)?(?:(?:=|-)(?P<pin>[0-9]+\.[\w.+*~-]*))?\Z"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+){2,3}(?=[-+~]|\Z)")


def packages_of(command: Command) -> tuple[Word, ...] | None:
    """Return the packages with CUDA or a driver that the system is to install; None for any other command."""
    installed = _installed(command)
    return None if installed is None else tuple(
        word for word in installed
        if _OF_CUDA.search(word.text) or _OF_DRIVER.match(word.text) or not word.known)


def python_library(command: Command) -> str:
    """Return the first package with a library of Python that the system is to install, "" without one."""
    return next((word.text for word in _installed(command) or () if _LIBRARY.match(word.text)), "")


def installer_of(command: Command) -> Word | None:
    """Return NVIDIA's own installer of a driver, by its file, where a command runs it."""
    words = command.words[behind_wrappers(command.words):]
    if words and posixpath.basename(words[0].text) in SHELLS:
        words = words[1:]
    named = next((word for word in words if not word.text.startswith("-")), None)
    if named is None or not _INSTALLER.match(posixpath.basename(named.text)):
        return None
    return None if any(word.text in _INSTALLS_NOTHING for word in words) else named


def _installed(command: Command) -> tuple[Word, ...] | None:
    """Return the packages that a package manager is to install; None for any other command."""
    first = behind_wrappers(command.words)
    rest = command.words[first + 1:]
    if not rest or posixpath.basename(command.words[first].text) not in _MANAGERS:
        return None
    verb = next((at for at, word in enumerate(rest) if word.text in _VERBS), None)
    if verb is None:
        return None
    valued = {at + 1 for at, word in enumerate(rest) if word.text in _VALUED}
    return tuple(word for at, word in enumerate(rest) if at > verb and at not in valued
                 and not word.text.startswith("-"))


def is_of_driver(text: str) -> bool:
    """Return whether a package has the name of one with a driver."""
    return _OF_DRIVER.match(text) is not None


def is_of_repository(text: str) -> bool:
    """Return whether a word that speaks of CUDA only says where its packages come from."""
    return _REPOSITORY.search(text) is not None


def added(base: Base | None, packages: Sequence[Package], tables: Tables) -> tuple[Base | None, bool]:
    """Return the image with what packages bring, and whether all libraries in it are known then."""
    if not packages or base is None:
        return base, not packages
    is_read = base.libraries is not None
    for package in packages:
        base, is_whole = _with_one(base, package, tables)
        is_read = is_read and is_whole
    return base, is_read


def _with_one(base: Base, package: Package, tables: Tables) -> tuple[Base, bool]:
    """Return an image with what is known of one package more, and whether that is all that it brings."""
    found = row_of(package.text, tables)
    brings = str(found[0].get("brings", "")) if found is not None else ""
    if found is None or not brings:
        return base, False
    if brings == "driver":
        return base, True
    row, named = found
    if brings == "cudnn":
        return _with_cudnn(base, named), True
    is_own = row.get("own") is True
    cuda = images.own_cuda(base, tables) if is_own else (named["cuda"] or "").replace("-", ".")
    if cuda is None:
        return base, False
    names = tuple(images.cuda_libraries(cuda, tables))  # none of a CUDA that the tables do not reach back to
    if brings == "compat":
        return (replace(base, compat=cuda) if names else base), bool(names)
    beginnings = as_texts(row.get("libraries"))
    if beginnings:
        names = tuple(name for name in names if name.startswith(beginnings))
    folder = ("/usr/lib/x86_64-linux-gnu" if is_own else
              "/usr/local/cuda/lib64" if base.cuda in (None, cuda) else f"/usr/local/cuda-{cuda}/lib64")
    paths = () if brings == "compiler" else tuple(f"{folder}/{name}" for name in names)
    made = (Toolkit(cuda=cuda, told_by=package.text, place=package.place),)
    return replace(base, cuda=base.cuda or cuda, libraries=_joined(base, paths),
                   toolkits=base.toolkits + (made if brings in ("toolkit", "compiler") else ())), bool(names)


def _with_cudnn(base: Base, named: dict[str, str | None]) -> Base:
    path = f"/usr/lib/x86_64-linux-gnu/libcudnn.so.{named['cudnn']}"
    pinned = _NUMBER.match(named["pin"] or "")
    known = {path: pinned[0]} if pinned else {}
    versions_of = {name: version for name, version in base.versions.items() if name != path}
    return replace(base, libraries=_joined(base, (path,)), versions={**versions_of, **known})


def _joined(base: Base, paths: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the libraries of an image with some more; None where its own are not known."""
    return None if base.libraries is None else tuple(dict.fromkeys((*base.libraries, *paths)))


def row_of(text: str, tables: Tables) -> tuple[Row, dict[str, str | None]] | None:
    """Return the row that says what a package is, with what its name says; None where there is none."""
    for row in rows_of(tables, "system_cuda_packages"):
        match = _pattern(str(row["name"])).match(text)
        if match is not None:
            return row, {name: match.groupdict().get(name) for name in (*_HOLES, "pin")}
    return None


def _pattern(name: str) -> re.Pattern[str]:
    parts = _HOLE.split(name)
    written = [f"(?P<{part}>{_HOLES[part]})" if number % 2 else re.escape(part)
               for number, part in enumerate(parts)]
    return re.compile("".join(written) + _BEHIND)
