"""The stacks that the tables have: releases of a framework with CUDA, from the default index or another."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive import device_code, integrated, other_builds, ptx_failures, published
from gpudoctor.derive.device_code import Coverage
from gpudoctor.derive.loader_trace import expand
from gpudoctor.derive.remembered import of_same
from gpudoctor.derive.view import as_records, as_texts, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import Record, Row, Table, Tables, rows_of

_CUDNN = re.compile(r"nvidia-cudnn-cu[0-9]+==([0-9.]+)\Z")
HOLDING_CUDA = frozenset({"torch"})  # whose wheels hold the CUDA libraries that they require no packages for
_PLUGIN = re.compile(r"jax-cuda([0-9]+)-pjrt\Z")
# What tells two rows apart and no rule reads: two releases that differ in nothing else fare alike. What they
# require beside NVIDIA's packages is held against what is installed, and nothing is; of device code only what
# it has for the cards counts, and of the glibc whether the one here will do, which `alike` looks up.
_NOT_READ = frozenset({
    "version", "uploaded", "wheel_bytes", "wheel_sha256", "library_sha256", "source", "accessed", "declared",
    "declared_differs", "measured_from", "measured_library_sha256", "record_differs", "cuda_from",
    "build_file", "cudnn_from", "extras", "python", "requires", "fat_binaries", "relocatable",
    "code", "glibc", "loads_optional", "tensorrt_build"})
# Where the loader searches is read of those whose libraries are traced before they are on disk, as far as a
# library may lie there: `alike` looks that up, too.
_OF_TRACE = frozenset({"code_library", "loader", "rpath", "runpath"})
_TRACED = ("tensorflow", "jax")


@frozen
class Machine:
    """What of a machine decides whether two releases are alike there.

    `glibc` is None where it is not known; `location` is the folder that packages are installed into, and
    `files` what lies on disk already.
    """

    capabilities: tuple[str, ...] = ()
    glibc: str | None = None
    location: str = "/site-packages"
    files: tuple[Record, ...] = ()

    def lying_in(self, folder: str) -> Sequence[str]:
        """Return the names of the files that lie in a folder; its own name as well where it is listed."""
        return _names_in(self.files).get(folder, ())


@frozen
class Stack:
    """A release as pip installs it: what `--assume release=` is told, what pip is told, and its table row.

    `version` has no local label; `index` is named where it is not the default one.
    """

    framework: str
    version: str
    release: str
    requirement: str
    row: Row
    extra: str = ""

    @property
    def index(self) -> str | None:
        """Return the index to name, None for the default one."""
        return str(self.row["index"]) if "index" in self.row else None

    @property
    def labelled(self) -> str:
        """Return the requirement with the local label that a build on another index has."""
        return self.release if self.index is not None else self.requirement

    @property
    def cuda(self) -> str | None:
        """Return the CUDA that it was built for, None where no table says."""
        return str(self.row["cuda"]) if "cuda" in self.row else None

    @property
    def pythons(self) -> tuple[str, ...]:
        """Return the Python versions that have its wheel."""
        return as_texts(self.row.get("python"))

    def alike(self, machine: Machine, tables: Tables) -> str:
        """Return what it has in common with the stacks that the engine cannot tell from it on a machine."""
        own = {name: self.row[name] for name in sorted(self.row) if name not in _NOT_READ | _OF_TRACE}
        return (f"{self.framework} {self.extra} {own!r} {self._floor_for(machine.glibc)!r} "
                f"{self._code_for(machine.capabilities, tables)!r} {self._searched_on(machine, tables)!r}")

    def _floor_for(self, glibc: str | None) -> object:
        """Return whether its wheels ask for a newer glibc; the one they ask for where none is known."""
        floor = self.row.get("glibc")
        if glibc is None or floor is None:
            return floor
        return versions.parse(glibc) < versions.parse(str(floor))

    def _searched_on(self, machine: Machine, tables: Tables) -> object:
        """Return what a trace reads of where the loader searches; nothing of what is traced on disk alone."""
        if self.framework not in _TRACED:
            return None
        opening = str(self.row.get("code_library" if self.framework == "jax" else "loader", ""))
        origin = posixpath.dirname(f"{machine.location}/{opening}")
        paths = [expand(as_texts(self.row.get(kind)), origin) for kind in ("rpath", "runpath")]
        loaded = (self._since(name, tables) for name in ("preloads", "jax_libraries"))
        found = (self._found_on(path, machine, tables) for path in paths)
        return opening != "", bool(paths[1]), *found, *loaded

    def _found_on(self, path: Sequence[str], machine: Machine, tables: Tables) -> object:
        """Return by library in which folders of a search path it may lie; else no trace tells them apart.

        There a package of NVIDIA's puts it, or it is there; what may come to lie elsewhere nobody foresees.
        """
        inside = f"{machine.location}/"
        if not all(folder.startswith(inside) for folder in path):
            return path
        platform, found = str(self.row["platform"]), dict[str, list[str]]()
        packages = tables.get(published.nvidia_table(platform))
        brought = {} if packages is None else _by_folder(published.for_platform(packages, platform))
        for folder in path:
            for name in (*brought.get(folder.removeprefix(inside), ()), *machine.lying_in(folder)):
                found.setdefault(name, []).append(folder)
        return sorted(found.items())

    def _since(self, name: str, tables: Tables) -> str:
        """Return since which release that holds which a table has of it: what it loads, or cannot lack."""
        own = {"framework": self.framework, "cuda_major": self.extra.removeprefix("cuda")}
        listed = (str(row["since"]) for row in rows_of(tables, name)
                  if all(row.get(column, mine) == mine for column, mine in own.items()))
        return max((since for since in listed if versions.parse(since) <= versions.parse(self.version)),
                   key=versions.parse, default="")

    def _code_for(self, capabilities: Iterable[str], tables: Tables) -> object:
        """Return what rules read of its device code; all of one that has none for a card here."""
        code = self.row.get("code")
        found = [self._coverage(card, tables) for card in capabilities] if code is not None else ()
        if not found or any(one.kind == "none" for one in found):
            return code
        return [(one.kind, one.ptx_isa, one.ptx_target) for one in found]

    @property
    def is_measured(self) -> bool:
        """Return whether its device code is known."""
        return "code" in self.row

    @property
    def is_told(self) -> bool:
        """Return whether it is told of unasked: its device code is known, or where else it lies."""
        return self.is_measured or self.index is not None

    @property
    def lacks_libraries(self) -> bool:
        """Return whether it brings no CUDA libraries, and no table says which of the system's it opens."""
        return not self.brings_cuda and "loads" not in self.row

    @property
    def brings_cuda(self) -> bool:
        """Return whether pip installs its CUDA libraries, as packages or in the wheel.

        TensorFlow's before 2.14, those for Windows, and Paddle's have neither: they take the system's.
        """
        return bool(self.row.get("requires_nvidia")) or self.framework in HOLDING_CUDA

    def serves(self, capabilities: Iterable[str], tables: Tables) -> bool:
        """Return whether it has code for each card, of any kind that is known to work there.

        So must the cuDNN have that pip brings with it, where that is one release and no other.
        """
        if not self.is_measured:
            return False
        oldest = versions.parse(self._oldest_card(tables))
        return all(versions.parse(card) >= oldest and ptx_failures.is_known_to_work(
            self.framework, self._coverage(card, tables), card, tables) for card in capabilities)

    def _oldest_card(self, tables: Tables) -> str:
        """Return the oldest card of the cuDNN that is asked for by its very release, "0" without one."""
        asked = as_texts(self.row.get("requires_nvidia"))
        exact = next((match[1] for text in asked if (match := _CUDNN.match(text)) is not None), None)
        row = device_code.cudnn_row(tables, exact, lambda: self.cuda) if exact else None
        return str(row["oldest_card"]) if row else "0"

    def _coverage(self, card: str, tables: Tables) -> Coverage:
        return integrated.coverage(as_records(self.row["code"]), card, self.cuda, tables)

    def has_ptx_alone(self, capabilities: Iterable[str], tables: Tables) -> bool:
        """Return whether there is a card that it has PTX for and no machine code."""
        return self.is_measured and any(self._coverage(card, tables).kind == "ptx" for card in capabilities)

    @property
    def is_prerelease(self) -> bool:
        """Return whether pip takes it only when told to."""
        return versions.parse(self.version).is_prerelease

    @property
    def newness(self) -> tuple[object, ...]:
        """Return what to sort by: version, then the default index, then the newer CUDA."""
        return (versions.parse(self.version), self.index is None, versions.parse(self.cuda or "0"))


@of_same
def _by_folder(packages: Table) -> Mapping[str, Sequence[str]]:
    """Return by folder, below that of the packages, the names of the libraries that packages put there."""
    found: dict[str, dict[str, None]] = {}
    for row in packages.rows:
        found.setdefault(str(row.get("folder", "")), {}).update(dict.fromkeys(as_texts(row["libraries"])))
    return {folder: tuple(names) for folder, names in found.items()}


@of_same
def _names_in(files: tuple[Record, ...]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for record in files:
        path = posixpath.normpath(text_in(record, "path"))
        found.setdefault(posixpath.dirname(path), []).append(posixpath.basename(path))
        found.setdefault(path, []).append("")  # a folder that could not be listed is a record, too
    return found


def stacks_of(framework: str, platform: str, tables: Tables) -> list[Stack]:
    """Return the stacks of a framework for a platform, the newest first."""
    listed = _jax(platform, tables) if framework == "jax" else _wheels(framework, platform, tables)
    return sorted(listed, key=lambda stack: stack.newness, reverse=True)


def known_versions(framework: str, tables: Tables) -> list[str]:
    """Return every version of a framework that the tables know, for whatever platform, the newest first."""
    table = tables.get("jax_distributions") if framework == "jax" else None
    listed = (published.rows(framework, tables) if table is None else
              [row for row in table.rows if row["distribution"] == "jax"])
    own = {str(row["version"]) for row in (*listed, *other_builds.on_own_index(framework, tables))}
    return sorted(own, key=versions.parse, reverse=True)


def _wheels(framework: str, platform: str, tables: Tables) -> Iterator[Stack]:
    name = published.distribution(framework)
    own = [row for row in published.rows(framework, tables)
           if row["platform"] == platform and row.get("build", "cuda") == "cuda"]
    others = [row for row in other_builds.on_own_index(framework, tables) if row["platform"] == platform]
    for row in (*own, *published.indexed_rows(framework, platform, tables), *others):
        labelled = str(row["version"])
        version = labelled.partition("+")[0]
        extra = "and-cuda" if framework == "tensorflow" and row.get("requires_nvidia") else ""
        yield Stack(framework=framework, version=version, release=f"{framework}=={labelled}", row=row,
                    requirement=f"{name}{f'[{extra}]' if extra else ''}=={version}", extra=extra)


def _jax(platform: str, tables: Tables) -> Iterator[Stack]:
    """Yield JAX with the plugin of each CUDA, where JAX of that version has the extra that brings it."""
    for row in published.jax_rows(platform, tables):
        match, version = _PLUGIN.match(str(row["distribution"])), str(row["version"])
        whole = published.jax_whole(match[1], version, platform, tables) if match else None
        if match and whole and published.jax_extra(match[1], version, tables) is not None:
            name = f"jax[cuda{match[1]}]=={version}"
            yield Stack(framework="jax", version=version, release=name, requirement=name,
                        extra=f"cuda{match[1]}",
                        row={**whole, "requires": _asked_by_jax(version, platform, tables)})


def _asked_by_jax(version: str, platform: str, tables: Tables) -> tuple[str, ...]:
    """Return what jax and jaxlib ask for, which the plugin's wheel does not repeat."""
    rows = (published.jax_part("jax", version, "any", tables),
            published.jax_part("jaxlib", version, platform, tables))
    return tuple(dict.fromkeys(text for row in rows if row for text in as_texts(row.get("requires"))))
