"""Which packages pip is to install by what messages say, where a text states too little for a release.

A missing libcudart.so.12 is in one package of NVIDIA's. A cuDNN is in one for each CUDA: which, say the other
missing libraries, the stated CUDA, or the releases that were built with the cuDNN that the message names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.requirements import installing
from gpudoctor.derive.view import as_texts
from gpudoctor.explanation.shown import family
from gpudoctor.explanation.stated import FRAMEWORK_TABLES, Stated
from gpudoctor.model import Fact, Facts, Known, Table, Tables

_PACKAGES = "nvidia_libraries"  # of Linux on x86-64
_PLATFORM = "linux_x86_64"
_TOLD = "told_requirements"
_ASKED = frozenset({"framework.numpy_unmet", "framework.protobuf_unmet", "framework.cuda_requirement",
                    "framework.cudnn_requirement", "require.newest_python", "require.wheel_requirement"})
_OF_CUDNN = "cudnn"
_OF_THE_DRIVER = ("cuda", "nvml")


class WithAsked(Mapping[str, Fact]):
    """Facts, in which what pip is to be told is looked up where a fix asks for it and nothing else says it.

    Few fixes do, and it takes the tables of packages and releases.
    """

    def __init__(self, facts: Facts, tables: Tables) -> None:
        self._facts, self._tables = facts, tables

    @cached_property
    def _asked(self) -> dict[str, Fact]:
        return asked_packages(self._facts, self._tables)

    def __getitem__(self, name: str) -> Fact:
        fact = self._facts.get(name)
        if name in _ASKED and not isinstance(fact, Known):
            fact = self._asked.get(name, fact)
        if fact is None:
            raise KeyError(name)
        return fact

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)


def asked_packages(facts: Facts, tables: Tables) -> dict[str, Fact]:
    """Return by the names of derived facts what pip is to be told."""
    said = Stated(facts=facts, tables=tables, rows=())
    shown = said.texts("text.symptoms")
    found: dict[str, Fact] = {
        str(row["fact"]): Known(value=str(row["requirement"]), source=str(row["source"]))
        for row in said.rows_of(_TOLD) if row["symptom"] in shown}
    if _PACKAGES not in tables or said.text("system.os") != "Linux" or (
            said.text("system.architecture") != "x86_64"):
        return found
    found |= _python(said)
    packages = tables[_PACKAGES]
    names = {library: family(library, tables) for library in said.texts("text.libraries")}
    names = {library: kind for library, kind in names.items() if kind not in _OF_THE_DRIVER}
    major = _cuda_major([name for name, kind in names.items() if kind != _OF_CUDNN], said, packages)
    if major is None:
        return found
    brought = [planned.bringing(library, major, packages) for library in names]
    if brought and all(brought):
        wanted = tuple(dict.fromkeys(text for text in brought if text))
        found["framework.cuda_requirement"] = Known(value=wanted, source=f"rules/tables/{packages.name}.toml")
    if cudnn := tuple(_cudnn(names, major, said, packages)):
        found["framework.cudnn_requirement"] = Known(value=cudnn, source=f"rules/tables/{packages.name}.toml")
    return found


def _python(said: Stated) -> dict[str, Fact]:
    """Return the newest Python with a wheel of the stated release, else of the newest, and that release.

    Nothing where the stated Python has one: another Python would not help. "Python 3" may be any of it.
    """
    name, version = said.text("framework.name"), said.text("framework.version")
    rows = [row for row in said.rows_of(name or "") if row.get("platform") == _PLATFORM and row.get("python")
            and not versions.parse(str(row["version"])).is_prerelease
            and (version is None or f"{row['version']}.".startswith(f"{version.partition('+')[0]}."))]
    row = max(rows, key=lambda one: versions.parse(str(one["version"])), default=None)
    stated = said.text("text.python") or ""
    if row is None or "." not in stated or versions.minor_of(stated) in as_texts(row["python"]):
        return {}
    newest, source = max(as_texts(row["python"]), key=versions.parse), str(row["source"])
    return {"require.newest_python": Known(value=newest, source=source),
            "require.wheel_requirement": Known(value=installing(str(name), row), source=source)}


def _cuda_major(libraries: list[str], said: Stated, packages: Table) -> int | None:
    """Return the one CUDA that the text leaves: by its missing libraries, or by what it was built for."""
    majors = {row["cuda_major"] for row in packages.rows if isinstance(row.get("cuda_major"), int)}
    fitting = {major for major in majors if isinstance(major, int)
               and all(planned.bringing(name, major, packages) for name in libraries)}
    if not libraries:
        stated = said.text("text.build_cuda") or said.text("text.cuda")
        fitting &= {versions.parse(one).major for one in ((stated,) if stated else _built_with(said))}
    return fitting.pop() if len(fitting) == 1 else None


def _built_with(said: Stated) -> Iterator[str]:
    """Yield the CUDA of each release that was built with the cuDNN which the message names."""
    cudnn = said.text("text.cudnn_compiled") and said.text("text.build_cudnn")
    if not cudnn:
        return
    wanted, framework = versions.minor_of(cudnn), said.text("text.framework")
    for row in said.rows_of("tested_builds"):
        if row["framework"] == framework and versions.minor_of(str(row["cudnn"])) == wanted:
            yield str(row["cuda"])
    for row in said.rows_of(FRAMEWORK_TABLES.get(str(framework), "")):
        own = (bound.version for one in planned.parse(as_texts(row.get("requires_nvidia")))
               if one.name.startswith("nvidia-cudnn-") for bound in one.specifier if bound.operator != "<")
        if "cuda" in row and wanted in map(versions.minor_of, own):
            yield str(row["cuda"])


def _cudnn(names: dict[str, str | None], major: int, said: Stated, packages: Table) -> Iterator[str]:
    """Yield the package with the missing cuDNN, or with one that is not older than the one compiled with."""
    compiled = said.text("text.cudnn_compiled") and said.text("text.build_cudnn")
    if compiled:
        main = f"libcudnn.so.{versions.parse(compiled).major}"
        if text := planned.bringing(main, major, packages):
            yield planned.bounded(text, f">={versions.minor_of(compiled)}")
        return
    missing = (planned.bringing(name, major, packages) for name, kind in names.items() if kind == _OF_CUDNN)
    yield from dict.fromkeys(text for text in missing if text)
