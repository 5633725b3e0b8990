"""Read what the files of each installed framework say: version, build, requirements, libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudoctor.facts import promised
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Facts, Known, Record, Scope, Unknown
from gpudoctor.probes import build, horovod, requested, requirements
from gpudoctor.probes.calls import count, mapping, objects
from gpudoctor.probes.python import part_error, text, version_fact
from gpudoctor.probes.raw import Answer
from gpudoctor.probes.shapes import Data, data_of, needs, record, some, texts

_CONDA_NAMES = {"torch": frozenset({"torch", "pytorch"}),
                "tensorflow": frozenset({"tensorflow", "tensorflow-base"})}


@frozen
class _Framework:
    """One framework's part of the answer, and the whole answer."""

    name: str
    own: Data
    data: Data
    required: dict[frozenset[str], tuple[str, ...]]  # by extras, as they are worked out

    @property
    def distribution(self) -> Data:
        """Return what the distribution's own metadata says; empty when no distribution provides it."""
        return mapping(self.own.get("distribution"))

    @property
    def no_distribution(self) -> Absent:
        """Say that the package belongs to no distribution."""
        return Absent(source=f"no distribution lists {text(self.own.get('location')) or self.name}")

    @property
    def path(self) -> str:
        """Return the metadata folder, for sources."""
        return text(self.distribution.get("path")) or "the distribution"

    @property
    def build(self) -> build.Build:
        """Return what the framework was built for."""
        plugins = {name: text(found.get("version")) or "" for found in objects(self.own.get("plugins"))
                   if (name := text(found.get("name")))}
        conda = texts(mapping(self.data.get("python")).get("conda_packages"))
        return build.read(self.name, mapping(self.own.get("build")), plugins, conda)

    @property
    def is_cpu(self) -> bool:
        """Return whether it is known to be built for the CPU alone."""
        return isinstance(self.build.kind, Known) and self.build.kind.value == "cpu"


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts of this probe: there are none, all it says is said of a framework."""
    return dict.fromkeys(promised("frameworks", Scope.HOST), answer.unknown)


def read_frameworks(answer: Answer) -> tuple[Facts, ...] | Unknown:
    """Return the facts of each framework that is installed, or why they could not be listed."""
    data = data_of(answer)
    if isinstance(data, Unknown):
        return data
    failed = part_error(data, "frameworks") or part_error(data, "installed")
    if failed is not None or not isinstance(data.get("frameworks"), list):
        return failed or Unknown(reason="the answer has no list of frameworks")
    return tuple(_facts(found, data) for found in objects(data["frameworks"]) if text(found.get("name")))


def library_files(answer: Answer) -> list[Record]:
    """Return the GPU libraries in the patient as `loader.files` has them: path, soname, machine, size, error.

    `distribution` and its `version` are those whose file it is; left out where that is not known.
    """
    data = mapping(data_of(answer))
    versions = {
        text(found.get("name")): text(found.get("version")) for found in objects(data.get("distributions"))
    }
    matching = {
        text(found.get("file")): text(found.get("matches")) for found in objects(data.get("collisions"))
    }
    records: list[Record] = []
    for found in objects(data.get("files")):
        path = text(found.get("path"))
        owners = texts(found.get("owners"))
        owner = owners[0] if len(owners) == 1 or matching.get(path) == "identical" else matching.get(path)
        if path is not None:
            records.append(
                record(
                    path=path,
                    soname=text(found.get("soname")),
                    machine=text(found.get("machine")),
                    size_bytes=count(found.get("size_bytes")),
                    error=text(found.get("error")),
                    distribution=owner if owner in versions else None,
                    version=versions.get(owner),
                    **needs(found),
                )
            )
    return records


def _facts(found: Data, data: Data) -> Facts:
    framework = _Framework(name=text(found["name"]) or "", own=found, data=data, required={})
    failed = text(found.get("error"))
    facts: dict[str, Fact] = {}
    for name in promised("frameworks", Scope.FRAMEWORK):
        known_at_all = name == "framework.name" or not failed
        facts[name] = _READERS[name](framework) if known_at_all else Unknown(reason=str(failed))
    return facts


def _distribution(framework: _Framework) -> Fact:
    name = text(framework.distribution.get("name"))
    return Known(value=name, source=framework.path) if name else framework.no_distribution


def _version(framework: _Framework) -> Fact:
    if framework.distribution:
        found = version_fact(framework.distribution.get("version"), framework.path)
        return Unknown(reason=f"{framework.path} states no version") if isinstance(found, Absent) else found
    return framework.build.version


def _location(framework: _Framework) -> Fact:
    folder = text(framework.own.get("folder"))
    if folder is None:
        return Absent(source=f"no package {framework.name} on sys.path, although {framework.path} is there")
    return Known(value=folder, source=text(framework.own.get("location")) or folder)


def _installer(framework: _Framework) -> Fact:
    if not framework.distribution:
        return framework.no_distribution
    said = text(framework.distribution.get("installer"))
    if said:
        return Known(value=said, source=f"{framework.path}/INSTALLER")
    wanted = _CONDA_NAMES.get(framework.name, frozenset()) | {text(framework.distribution.get("name"))}
    for package in texts(mapping(framework.data.get("python")).get("conda_packages")):
        if package.rsplit("-", 2)[0].replace("_", "-") in wanted:
            return Known(value="conda", source=f"conda-meta/{package}.json")
    return Absent(source=f"{framework.path}/INSTALLER")


def _tags(framework: _Framework) -> Fact:
    tags = texts(framework.distribution.get("tags"))
    return some(tags, f"{framework.path}/WHEEL") if framework.distribution else framework.no_distribution


def _code_sha256(framework: _Framework) -> Fact:
    """Return the hash of the largest library that may hold device code, as the record lists it."""
    if framework.is_cpu:
        return Absent(source="a CPU build has no device code")
    listed = [lib for lib in objects(framework.own.get("code_libraries")) if text(lib.get("sha256"))]
    if not listed:
        return Absent(source=f"{framework.path}/RECORD lists no hash of such a library")
    largest = max(listed, key=lambda lib: (count(lib.get("size_bytes")) or 0, text(lib.get("path")) or ""))
    path = f"{text(largest.get('folder'))}/{text(largest.get('path'))}"
    expected = (largest.get("owner"), "identical")
    for collision in objects(framework.data.get("collisions")):
        if collision.get("file") == path and collision.get("matches") not in expected:
            return Unknown(reason=f"{path} is not the file that {framework.path}/RECORD lists")
    return Known(value=str(largest["sha256"]), source=f"RECORD of {text(largest.get('owner'))}: {path}")


def _code(framework: _Framework) -> Fact:
    if framework.is_cpu:
        return Absent(source="a CPU build has no device code")
    scans = framework.own.get("code")
    if not isinstance(scans, list):
        error = text(mapping(scans).get("error"))
        not_walked = "device code is walked from depth import on, where no table has it"
        return Unknown(reason=f"device code: {error}" if error else not_walked, asked=error is not None)
    failed = [text(scan.get("error")) for scan in objects(scans) if text(scan.get("error"))]
    counts: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    for entry in (entry for scan in objects(scans) for entry in objects(scan.get("code"))):
        signature = texts(entry.get("sass")), texts(entry.get("ptx"))
        counts[signature] = counts.get(signature, 0) + (count(entry.get("fat_binaries")) or 0)
    if failed:
        return Unknown(reason=f"device code: {failed[0]}")
    if not objects(scans):  # nothing follows from not finding it
        return Unknown(reason="no library with device code was found", asked=False)
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    paths = ", ".join(path for scan in objects(scans) if (path := text(scan.get("path"))))
    records: tuple[Record, ...] = tuple({"sass": sass, "ptx": ptx, "fat_binaries": number}
                                        for (sass, ptx), number in ordered)
    return Known(value=records, source=f"fat binaries in {paths}")


def _requirements(framework: _Framework, extras: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return what it requires of NVIDIA; asked several times, worked out once."""
    known = framework.required
    return known[extras] if extras in known else known.setdefault(extras, _required(framework, extras))


def _required(framework: _Framework, extras: frozenset[str]) -> tuple[str, ...]:
    python = mapping(framework.data.get("python"))
    markers = {str(k): v for k, v in mapping(python.get("markers")).items() if isinstance(v, str)}
    others = {name: d for d in objects(framework.data.get("distributions")) if (name := text(d.get("name")))}
    return requirements.required(framework.distribution, extras, markers, others)


def _unreadable(framework: _Framework) -> Fact | None:
    """Return why the requirements cannot be told, None when they can."""
    if not framework.distribution:
        return framework.no_distribution
    failed = text(framework.distribution.get("metadata"))
    return Unknown(reason=f"{framework.path}/METADATA: {failed}") if failed else None


def _requires(framework: _Framework) -> Fact:
    failed = _unreadable(framework)
    return failed or Known(value=_requirements(framework), source=f"{framework.path}/METADATA")


def _extra_requires(framework: _Framework) -> Fact:
    failed = _unreadable(framework)
    always = _requirements(framework)
    extras = requirements.cuda_extras(framework.distribution)
    added = tuple(r for r in _requirements(framework, extras) if r not in always)
    return failed or some(added, f"{framework.path}/METADATA, extras {', '.join(sorted(extras)) or 'none'}")


def _others(framework: _Framework) -> Fact:
    others = (text(other.get("name")) for other in objects(framework.own.get("others")))
    return Known(value=tuple(filter(None, others)), source="RECORD files")


def _plugins(framework: _Framework) -> Fact:
    if framework.name != "jax":
        return Absent(source="only JAX has plugins")
    records: tuple[Record, ...] = tuple(
        {"name": name, "version": text(found.get("version")) or ""}
        for found in objects(framework.own.get("plugins")) if (name := text(found.get("name"))))
    return Known(value=records, source="dist-info folders")


def _of_loader(read_value: Callable[[Data, Data], Fact]) -> Callable[[_Framework], Fact]:
    """Return a reader that is only asked when the loading library is there."""

    def reader(framework: _Framework) -> Fact:
        loader = mapping(framework.own.get("loader"))
        if framework.is_cpu:
            return Absent(source="a CPU build opens no CUDA library")
        if text(loader.get("path")) is None:
            return Absent(source=f"no such library in {text(framework.own.get('location')) or 'the package'}")
        return read_value(framework.own, loader)

    return reader


def _loader(own: Data, loader: Data) -> Fact:
    return Known(value=text(loader.get("path")) or "", source=text(own.get("location")) or "the package")


def _search_path(kind: str) -> Callable[[_Framework], Fact]:
    def read_value(_: Data, loader: Data) -> Fact:
        path = text(loader.get("path")) or ""
        if isinstance(loader.get(kind), list):
            return Known(value=texts(loader[kind]), source=path)
        error = text(loader.get("error"))
        return Unknown(reason=f"{path}: {error}") if error else Absent(source=path)

    return _of_loader(read_value)


def _needed(own: Data, loader: Data) -> Fact:
    """Return what it needs, itself or through libraries beside it; not what it opens by name later."""
    source = f"DT_NEEDED of {text(loader.get('path'))} and beside it"
    return Known(value=texts(own.get("needed")), source=source)


_READERS: Mapping[str, Callable[[_Framework], Fact]] = {
    "framework.name": lambda framework: Known(value=framework.name, source=framework.path),
    "framework.distribution": _distribution,
    "framework.version": _version,
    "framework.location": _location,
    "framework.installer": _installer,
    "framework.build": lambda framework: framework.build.kind,
    "framework.cuda": lambda framework: framework.build.cuda,
    "framework.cudnn": lambda framework: build.cudnn(framework.build, _requirements(framework)),
    "framework.tags": _tags,
    "framework.code_library_sha256": _code_sha256,
    "framework.code": _code,
    "framework.requires_nvidia": _requires,
    "framework.extra_requires_nvidia": _extra_requires,
    "framework.other_distributions": _others,
    "framework.plugins": _plugins,
    "framework.horovod": lambda framework: horovod.read(framework.own),
    "framework.requested": lambda framework: requested.requested(framework.own),
    "framework.required_by": lambda framework: requested.required_by(framework.own, framework.data),
    "framework.loader": _of_loader(_loader),
    "framework.loader_runpath": _search_path("runpath"),
    "framework.loader_rpath": _search_path("rpath"),
    "framework.loader_needed": _of_loader(_needed),
}
