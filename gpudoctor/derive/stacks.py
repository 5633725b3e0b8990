"""The stacks that the tables have: releases of a framework with CUDA, from the default index or another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive import integrated, ptx_failures, published
from gpudoctor.derive.device_code import Coverage
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Tables, Value

Row = Mapping[str, Value]
FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle")
_PLUGIN = re.compile(r"jax-cuda(\d+)-pjrt\Z")
# What tells two rows apart and no rule reads: two releases that differ in nothing else fare alike. What they
# require beside NVIDIA's packages is held against what is installed, and nothing is; of device code only what
# it has for the cards counts, and of the glibc whether the one here will do, which `alike` looks up.
_NOT_READ = frozenset({
    "version", "uploaded", "wheel_bytes", "wheel_sha256", "library_sha256", "source", "accessed", "declared",
    "declared_differs", "measured_from", "measured_library_sha256", "record_differs", "cuda_from",
    "build_file", "cudnn_from", "extras", "python", "requires", "fat_binaries", "relocatable",
    "code", "glibc", "loads_optional", "tensorrt_build"})
# Where the loader searches from is read of those whose libraries are traced before they are on disk.
_OF_TRACE = frozenset({"code_library", "loader", "rpath", "runpath"})
_TRACED = ("tensorflow", "jax")


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

    def alike(self, capabilities: Iterable[str], glibc: str | None, tables: Tables) -> str:
        """Return what it has in common with the stacks that the engine cannot tell from it on such a machine.

        `glibc` is the machine's, None where that is not known.
        """
        not_read = _NOT_READ if self.framework in _TRACED else _NOT_READ | _OF_TRACE
        own = {name: self.row[name] for name in sorted(self.row) if name not in not_read}
        return (f"{self.framework} {self.extra} {own!r} {self._floor_for(glibc)!r} "
                f"{self._code_for(capabilities, tables)!r}")

    def _floor_for(self, glibc: str | None) -> object:
        """Return whether its wheels ask for a newer glibc; the one they ask for where none is known."""
        floor = self.row.get("glibc")
        if glibc is None or floor is None:
            return floor
        return versions.parse(glibc) < versions.parse(str(floor))

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
        return not self.row.get("requires_nvidia") and "loads" not in self.row

    def serves(self, capabilities: Iterable[str], tables: Tables) -> bool:
        """Return whether it has code for each card, of any kind that is known to work there."""
        return self.is_measured and all(
            ptx_failures.is_known_to_work(self.framework, self._coverage(card, tables), card, tables)
            for card in capabilities)

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


def stacks_of(framework: str, platform: str, tables: Tables) -> list[Stack]:
    """Return the stacks of a framework for a platform, the newest first."""
    listed = _jax(platform, tables) if framework == "jax" else _wheels(framework, platform, tables)
    return sorted(listed, key=lambda stack: stack.newness, reverse=True)


def known_versions(framework: str, tables: Tables) -> list[str]:
    """Return every version of a framework that the tables know, for whatever platform, the newest first."""
    table = tables.get("jax_distributions") if framework == "jax" else None
    listed = (published.rows(framework, tables) if table is None else
              [row for row in table.rows if row["distribution"] == "jax"])
    own = {str(row["version"]) for row in (*listed, *_of_paddle(framework, tables))}
    return sorted(own, key=versions.parse, reverse=True)


def _wheels(framework: str, platform: str, tables: Tables) -> Iterator[Stack]:
    name = published.distribution(framework)
    own = [row for row in published.rows(framework, tables)
           if row["platform"] == platform and row.get("build", "cuda") == "cuda"]
    others = [row for row in _of_paddle(framework, tables) if row["platform"] == platform and "index" in row]
    for row in (*own, *published.indexed_rows(framework, platform, tables), *others):
        labelled = str(row["version"])
        version = labelled.partition("+")[0]
        extra = "and-cuda" if framework == "tensorflow" and row.get("requires_nvidia") else ""
        yield Stack(framework=framework, version=version, release=f"{framework}=={labelled}", row=row,
                    requirement=f"{name}{f'[{extra}]' if extra else ''}=={version}", extra=extra)


def _of_paddle(framework: str, tables: Tables) -> Sequence[Row]:
    """Return Paddle's builds on its own index; neither their device code nor their Pythons are known."""
    table = tables.get("paddle_builds") if framework == "paddle" else None
    kept = ("version", "platform", "cuda", "cudnn", "index", "source")
    return [{name: row[name] for name in kept if name in row} for row in (table.rows if table else ())]


def _jax(platform: str, tables: Tables) -> Iterator[Stack]:
    """Yield JAX with the plugin of each CUDA, where JAX of that version has the extra that brings it."""
    if "jax_distributions" not in tables:
        return
    extras = {str(row["version"]): {text.partition(":")[0] for text in as_texts(row.get("extras"))}
              for row in tables["jax_distributions"].rows if row["distribution"] == "jax"}
    for row in published.jax_rows(platform, tables):
        match, version = _PLUGIN.match(str(row["distribution"])), str(row["version"])
        extra = f"cuda{match[1]}" if match else ""
        if match is None or extra not in extras.get(version, ()):
            continue
        plugin = published.jax_part(f"jax-cuda{match[1]}-plugin", version, platform, tables)
        if plugin is not None:
            own = {name: plugin[name] for name in ("python", "requires_nvidia") if name in plugin}
            own["requires"] = _asked_by_jax(version, platform, tables)
            whole = f"jax[{extra}]=={version}"
            yield Stack(framework="jax", version=version, release=whole, requirement=whole, extra=extra,
                        row={**row, **own})


def _asked_by_jax(version: str, platform: str, tables: Tables) -> tuple[str, ...]:
    """Return what jax and jaxlib ask for, which the plugin's wheel does not repeat."""
    rows = (published.jax_part("jax", version, "any", tables),
            published.jax_part("jaxlib", version, platform, tables))
    return tuple(dict.fromkeys(text for row in rows if row for text in as_texts(row.get("requires"))))
