"""What stated versions are to one another: computed from the tables, absent where a side is not stated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from gpudoctor import versions
from gpudoctor.derive import published
from gpudoctor.derive.view import as_texts
from gpudoctor.explanation import card_fit, sonames, wheels, xids
from gpudoctor.explanation.processors import lacks_builds
from gpudoctor.explanation.shown import family
from gpudoctor.explanation.stated import FRAMEWORK_TABLES, Stated
from gpudoctor.model import Absent, Fact, Facts, Known, Row, Tables, Value, rows_of, value_of

_WITHOUT_CUDA = ("rocm", "cpu", "xpu")  # how the local part of a build begins that has none
_OF_EACH_BUILD = ("version", "platform", "python", "glibc", "uploaded", "numpy", "source")
_OTHER_CARD = "people-other-graphics"
_CONDAS_TORCH = re.compile(r"\.post[1-9][0-9][0-9]\Z")  # conda-forge's number of a build
_NOT_SAID = Absent(source="the text does not say what it would be computed from")


def relations(facts: Facts, tables: Tables) -> dict[str, Fact]:
    """Return the `text.*` facts that are computed from others; one that the text states is left as it is."""
    found: dict[str, Fact] = dict(facts)
    stated = Stated(facts=found, tables=tables, rows=tuple(_rows(facts, tables)))  # sees what is computed
    for name, compute in _RELATIONS.items():
        if isinstance(found.get(name), Known):
            continue
        try:
            found[name] = compute(stated) or _NOT_SAID
        except versions.Incomparable as error:
            found[name] = Absent(source=str(error))
    return {name: found[name] for name in _RELATIONS}


def _rows(facts: Facts, tables: Tables) -> Iterator[Row]:
    """Yield the rows of the stated release, those with CUDA first; of its minor release where no patch is."""
    framework, version = (facts.get(name) for name in ("text.framework", "text.framework_version"))
    if not isinstance(framework, Known) or not isinstance(version, Known):
        return
    public, _, local = str(version.value).partition("+")
    cuda = versions.cuda_of_label(str(version.value))
    if local and cuda is None and not local.startswith(_WITHOUT_CUDA):
        # NVIDIA's (1.15.5+nv23.3, 2.6.0a0+ecf3bae40a.nv25.01) or built from source (2.5.0a0+git1a2b3c4):
        return  # another CUDA, and other cards, than the release of this number has on an index
    if _CONDAS_TORCH.search(public) and framework.value == "pytorch":
        return  # so it is there; 2.1.2.post101 is for the CPU
    if "." not in public:
        return  # "TensorFlow 2" is not 2.0: any release of it
    minor = versions.minor_of(public)
    table = FRAMEWORK_TABLES.get(str(framework.value), "")
    listed = rows_of(tables, table)
    rows = [*_of_index(table, str(version.value), tables),
            *(_of_cuda(row, cuda) for row in listed if _same(str(row["version"]), public))]
    if not rows:
        near = [row for row in listed if _same(versions.minor_of(str(row["version"])), minor)
                and not versions.parse(str(row["version"])).is_prerelease]
        newest = max((versions.parse(str(row["version"])) for row in near), default=None)
        rows = [row for row in near if versions.parse(str(row["version"])) == newest]
    rows += [row for row in rows_of(tables, "tested_builds")
             if row["framework"] == framework.value and _same(str(row["version"]), minor)]
    places = as_texts(value_of(facts, "text.places"))
    if "macos" in places and "linux" not in places:
        return  # builds for a Mac have no CUDA, whatever the same release has elsewhere
    if "jetson" in places:
        # what runs there is NVIDIA's own build or the index's for its processor, never the one for x86_64
        rows = [row for row in rows if row.get("platform") == "linux_aarch64"]
    yield from sorted(rows, key=lambda row: "cuda" not in row)


def _of_index(table: str, version: str, tables: Tables) -> Iterator[Row]:
    """Yield the rows of a build that another index than the default has (2.4.0+cu118): its platforms'."""
    for platform in sorted({str(row["platform"]) for row in rows_of(tables, "torch_indexes")}):
        for row in published.indexed_rows(table, platform, tables):
            if row["version"] == version:
                yield row


def _of_cuda(row: Row, cuda: str | None) -> Row:
    """Return a row without what its own CUDA decides, where the stated build is for another."""
    if cuda is None or row.get("cuda") == cuda:
        return row
    return {column: row[column] for column in _OF_EACH_BUILD if column in row}


def _same(one: str, other: str) -> bool:
    try:
        return versions.parse(one) == versions.parse(other)
    except versions.Incomparable:
        return False


def _known(value: Value, row: Row) -> Known:
    return Known(value=value, source=f"rule database ({row.get('source', 'its tables')})")


def _computed(value: Value, *names: str) -> Known:
    return Known(value=value, source=f"computed from {' and '.join(names)}")


def _build_cuda(stated: Stated) -> Fact | None:
    version = stated.text("text.framework_version") or ""
    post = versions.cuda_of_post(version) if stated.text("text.framework") == "paddle" else None
    if (cuda := versions.cuda_of_label(version) or post) is not None:
        return _computed(cuda, "text.framework_version")
    return None if _instead_of_cuda(stated) else _named(stated, "cuda")


def _local(stated: Stated) -> str:
    return (stated.text("text.framework_version") or "").partition("+")[2]


def _instead_of_cuda(stated: Stated) -> str | None:
    """Return what the stated build is for that has no CUDA, whatever other builds of its release have."""
    return next((kind for kind in _WITHOUT_CUDA if _local(stated).startswith(kind)), None)


def _without_cuda(stated: Stated) -> Fact | None:
    """Return what rules CUDA out: for what the build is instead, or that the one card is another maker's."""
    if (kind := _instead_of_cuda(stated)) is not None:
        return _computed(kind, "text.framework_version")
    is_nvidia = stated.facts.get("text.nvidia_card")
    if isinstance(is_nvidia, Known):
        return None if is_nvidia.value else _computed("card", "text.nvidia_card")
    return _computed("card", "text.symptoms") if _OTHER_CARD in stated.texts("text.symptoms") else None


def _named(stated: Stated, column: str) -> Fact | None:
    """Return what the first row says that says anything, as exactly as any other: of "10", "10.1"."""
    named = [row for row in stated.rows if column in row]
    exact = (row for row in named if str(row[column]).startswith(f"{named[0][column]}."))
    return next((_known(row[column], row) for row in (*exact, *named)), None)


def _build_cudnn(stated: Stated) -> Fact | None:
    said = _cudnn(stated, "text.cudnn_compiled")
    return said if said or _instead_of_cuda(stated) else _named(stated, "cudnn")


def _cudnn(stated: Stated, name: str) -> Known | None:
    """Return a cuDNN that a message names, as a version: 7605 is 7.6.5."""
    said = stated.text(name) or ""
    is_number = said.isdecimal() and len(said) in (4, 5)
    return _computed(versions.of_cudnn_number(int(said)) if is_number else said, name) if said else None


def _cuda_fits(stated: Stated) -> Fact | None:
    cuda, build = stated.text("text.cuda"), stated.text("text.build_cuda")
    if cuda is None or build is None:
        return None
    left, right = versions.parse(cuda), versions.parse(build)
    fits = left.major == right.major and (left.minor == right.minor or _is_flexible(left.major, stated))
    return _computed(fits, "text.cuda", "text.build_cuda")


def _is_flexible(major: int, stated: Stated) -> bool:
    """Say whether minor releases of a CUDA stand in for one another: from the first listed floor on."""
    floors = [versions.parse(str(row["floor_cuda"])).major
              for row in stated.rows_of("minor_version_compatibility") if "floor_cuda" in row]
    return major >= min(floors, default=major + 1)


def _cudnn_fits(stated: Stated) -> Fact | None:
    loaded, build = _cudnn(stated, "text.cudnn_loaded"), stated.text("text.build_cudnn")
    cudnn = str(loaded.value) if loaded else stated.text("text.cudnn")
    if cudnn is None or build is None:
        return None
    fits = versions.parse(cudnn).major == versions.parse(build).major
    return _computed(fits, "the cuDNN", "text.build_cudnn")


def _asked_cudnn_fits(stated: Stated) -> Fact | None:
    """Say whether the number in the name of a missing cuDNN is the major version of the build."""
    build = stated.text("text.build_cudnn")
    asked = [name for name in stated.texts("text.libraries") if family(name, stated.tables) == "cudnn"]
    if build is None or not asked or stated.text("text.cudnn_compiled") is not None:
        return None
    fits = [sonames.is_of(library, build, stated.tables, of_cudnn=True) for library in asked]
    known = [one for one in fits if one is not None]
    return _computed(all(known), "text.libraries", "text.build_cudnn") if known else None


def _labelled_cuda(stated: Stated) -> Fact | None:
    cuda = versions.cuda_of_label(stated.text("text.framework_version") or "")
    return _computed(cuda, "text.framework_version") if cuda else None


def _other_version(stated: Stated, *, of_cudnn: bool = False) -> Fact | None:
    """Say whether a version of a missing library's family is stated that is not the missing one.

    With `of_cudnn` only cuDNN counts: another CUDA beside a missing cuDNN is no other cuDNN.
    """
    compared: list[bool] = []
    for library in stated.texts("text.libraries"):
        kind = family(library, stated.tables)
        if of_cudnn and kind != "cudnn":
            continue
        own = stated.text("text.cudnn" if kind == "cudnn" else "text.cuda")
        if own is None or kind in (None, "cuda", "nvml", "nvinfer", "zlib", "msvc", "nccl"):
            continue
        fits = sonames.is_of(library, own, stated.tables, of_cudnn=kind == "cudnn")
        if fits is not None:
            compared.append(not fits)
    return _computed(any(compared), "text.libraries", "the stated versions") if compared else None


def _in_wheels(stated: Stated) -> Fact | None:
    """Say whether NVIDIA's wheels bring every missing library: none has those of CUDA 10 and before."""
    found = [sonames.in_wheels(library, stated.tables) for library in stated.texts("text.libraries")]
    known = [one for one in found if one is not None]
    return _computed(all(known), "text.libraries", "the table of NVIDIA's wheels") if known else None


def _driver_runs(stated: Stated) -> Fact | None:
    cuda = stated.text("text.build_cuda") or stated.text("text.cuda")
    ceiling, driver = stated.text("text.driver_ceiling"), stated.text("text.driver")
    if cuda is None:
        return None
    wanted = versions.parse(cuda)
    newest = versions.parse(ceiling or "0")
    if newest.major:  # a driver that runs CUDA 0.0 is none
        enough = newest >= wanted or (newest.major == wanted.major and _is_flexible(wanted.major, stated))
        return _computed(enough, "text.driver_ceiling", "the CUDA it has to run")
    minimum = _minimum_driver(cuda, stated)
    if driver is None or minimum is None:
        return None
    enough = versions.parse(driver) >= versions.parse(minimum)
    return _computed(enough, "text.driver", "the CUDA it has to run")


def _driver_library_fits(stated: Stated) -> Fact | None:
    """Compare as far as both are stated: "535" says nothing against 535.104.05, and TensorFlow adds a .0."""
    library, driver = stated.text("text.driver_library"), stated.text("text.driver")
    if library is None or driver is None:
        return None
    both = zip(versions.parse(library).release, versions.parse(driver).release, strict=False)
    return _computed(all(one == other for one, other in both), "text.driver_library", "text.driver")


def _minimum_driver(cuda: str, stated: Stated) -> str | None:
    """Return the oldest driver that runs a CUDA, minor-version compatibility counted in."""
    windows = {"windows", "wsl1", "wsl2", "hyper-v"} & set(stated.texts("text.places"))
    column = "minimum_driver_windows" if windows else "minimum_driver"
    major = str(versions.parse(cuda).major)
    for row in stated.rows_of("minor_version_compatibility"):
        if row["cuda_major"] == major and column in row:
            return str(row[column])
    for row in stated.rows_of("cuda_toolkits"):
        if _same_minor(str(row["cuda"]), cuda) and column in row:
            return str(row[column])
    return None


def _same_minor(one: str, other: str) -> bool:
    left, right = versions.parse(one), versions.parse(other)
    return (left.major, left.minor) == (right.major, right.minor)


def _python_has_wheel(stated: Stated) -> Fact | None:
    python = stated.text("text.python")
    if python is None or not any("python" in row for row in stated.rows):
        return None
    minor = versions.minor_of(python)
    has = any(minor in as_texts(row.get("python")) for row in stated.rows)
    return _computed(has, "text.python", "text.framework_version")


def _wheel_fit(stated: Stated) -> Fact | None:
    wheel = stated.text("text.wheel")
    if wheel is None:
        return None
    words = " ".join(filter(None, (stated.text("text.os"), stated.text("system.architecture"))))
    found = wheels.fit(wheel, python=stated.text("text.python"), words=words,
                       places=stated.texts("text.places"))
    return _computed(found, "text.wheel", "what is stated of the machine") if found else None


_RELATIONS: Mapping[str, Callable[[Stated], Fact | None]] = {
    "text.without_cuda": _without_cuda,
    "text.xid_meanings": xids.meanings, "text.xid_advice": xids.advice,
    "text.build_cuda": _build_cuda, "text.build_cudnn": _build_cudnn, "text.cuda_fits_build": _cuda_fits,
    "text.labelled_cuda": _labelled_cuda, "text.asked_cudnn_fits_build": _asked_cudnn_fits,
    "text.cudnn_fits_build": _cudnn_fits, "text.library_other_version_stated": _other_version,
    "text.cudnn_other_version_stated": lambda stated: _other_version(stated, of_cudnn=True),
    "text.driver_runs_cuda": _driver_runs, "text.driver_library_fits": _driver_library_fits,
    "text.python_has_wheel": _python_has_wheel,
    "text.wheel_fit": _wheel_fit, "text.card_fit": card_fit.by_build, "text.card_left_out": card_fit.left_out,
    "text.driver_fit": card_fit.by_driver,
    "text.asked_driver_fit": lambda stated: card_fit.by_driver(stated, "text.asked_driver"),
    "text.cudnn_serves_card": card_fit.by_cudnn, "text.flavour_serves_cards": card_fit.by_flavour,
    "text.libraries_in_wheels": _in_wheels, "text.processor_lacks_builds": lacks_builds,
}
