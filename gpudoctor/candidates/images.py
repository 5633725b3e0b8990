"""Images with a framework in them, as overlays: what the tables have of them, nothing installed beside."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.assume import AssumptionError, lay
from gpudoctor.candidates import together
from gpudoctor.candidates.ground import Ground, capabilities
from gpudoctor.candidates.judging import faults, objections
from gpudoctor.candidates.stacks import Row, Stack, stacks_of
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Absent, Candidate, Fact, Fit, Known, Rejection

_SOURCE = "an image"
_PLATFORM = "linux_x86_64"  # of which the table of images speaks
_CUDNN = "libcudnn.so."
_OF_IMAGE = {"pytorch": "torch"}  # what images call a framework, where that is another name
_TAG = re.compile(r"(\d\d\.\d\d)-")
_OWN_BUILD = "nvcr.io/"  # NVIDIA's builds of a framework are not those of the tables


def images_of(wish: Wish, base: Ground) -> list[Candidate]:
    """Return the images for a wish, those with the newest release first."""
    table = base.database.tables.get("container_images")
    found = [_judged(row, wish.framework, base) for row in (table.rows if table else ())
             if _framework(row) == wish.framework and _admits(wish, row)]
    return sorted(found, key=_newness, reverse=True)


def _newness(one: Candidate) -> tuple[bool, object]:
    """Return what to sort by; a tag that stands for a release is a year and a month, and comes after."""
    known = _TAG.match(one.version)
    return known is None, versions.parse(known[1] if known else one.version)


def _framework(row: Row) -> str:
    name = posixpath.basename(str(row["image"]))
    return _OF_IMAGE.get(name, name)


def _version(row: Row) -> str:
    """Return the release in an image, its tag where the tables do not say."""
    return str(row.get("framework", row["tag"])).partition("+")[0]


def _admits(wish: Wish, row: Row) -> bool:
    if not wish.bounds:
        return True
    try:
        return "framework" in row and all(versions.within(_version(row), bound) for bound in wish.bounds)
    except versions.Incomparable:
        return False


def _judged(row: Row, framework: str, base: Ground) -> Candidate:
    name = f"{row['image']}:{row['tag']}"
    is_own_build = str(row["image"]).startswith(_OWN_BUILD)
    said = _stated(row, base) if is_own_build else laid(row, framework, base)
    objections = list(said) if base.platform == _PLATFORM else [
        _unknown(f"the tables do not say whether there is one for {base.platform}", base)]
    notes = () if objections else tuple(_notes(row, is_own_build=is_own_build))
    verdict = Fit.REJECTED if objections else Fit.WITH_NOTES if notes else Fit.FITS
    return Candidate(
        framework=framework, version=_version(row), kind="image", verdict=verdict, image=name, notes=notes,
        cuda=str(row["cuda"]) if "cuda" in row else None, rejected_by=tuple(objections),
        python=(str(row["python"]),) if "python" in row else (),
        commands=() if objections else (f"docker run --rm -it --gpus all {name}",))


def _notes(row: Row, *, is_own_build: bool) -> Iterator[str]:
    if is_own_build:
        yield f"NVIDIA's own build: judged by what its release notes say ({row['source']}), it was not read"
    if "note" in row:
        yield str(row["note"])


# -- a published build in an image ---------------------------------------------------------------------------


def laid(row: Row, framework: str, base: Ground) -> Iterator[Rejection]:
    """Yield what the rules say of a release with the CUDA libraries of its image, and with no package.

    `row` has the release (`framework`) and the cuDNN that is in the image (`cudnn`).
    """
    stack = next((s for s in stacks_of(framework, base.platform, base.database.tables)
                  if s.version == row.get("framework")), None)
    if stack is None:
        yield _unknown("the tables do not have the release that is in it", base)
        return
    tables = base.database.tables
    facts: dict[str, Fact] = {
        "release": _told((stack.release,)), "python.planned_distributions": _told(()),
        "loader.cache": _told(tuple(_library(name) for name in _libraries(stack, row))),
        "loader.files": _told(tuple(_cudnn_files(row))), "loader.library_path": _told(()),
        "toolkit.installs": Absent(source=_SOURCE),
        "system.glibc": Absent(source=_SOURCE)}
    try:
        snapshot = lay(base.snapshot, facts, tables, source=_SOURCE)
    except AssumptionError as error:
        yield _unknown(str(error), base)
        return
    yield from objections(snapshot, base)


def _told(value: str | tuple[str, ...] | tuple[dict[str, str], ...]) -> Fact:
    return Known(value=value, source=_SOURCE)


def _library(soname: str) -> dict[str, str]:
    return {"soname": soname, "path": f"/usr/local/cuda/lib64/{soname}"}


def _libraries(stack: Stack, row: Row) -> Sequence[str]:
    """Return what the image has of the libraries that the release opens: cuDNN in the image's own version."""
    opened = (*as_texts(stack.row.get("loads")), *as_texts(stack.row.get("loads_optional")))
    others = [name for name in opened if not name.startswith(_CUDNN)]
    return [*others, *(file["soname"] for file in _cudnn_files(row))]


def _cudnn_files(row: Row) -> Iterator[dict[str, str]]:
    """Yield the image's cuDNN as a file that tells its version; nothing where the tables do not say."""
    if "cudnn" in row:
        version = str(row["cudnn"])
        yield {**_library(f"{_CUDNN}{version.partition('.')[0]}"), "version": version}


# -- NVIDIA's own builds -------------------------------------------------------------------------------------


def _stated(row: Row, base: Ground) -> Iterator[Rejection]:
    """Yield what NVIDIA's release notes say against an image on this machine, or that they say too little."""
    if unready := [*faults(base)]:
        yield from unready
        return
    driver, here = base.driver, capabilities(base)
    if "driver" not in row or "oldest_card" not in row or "cuda" not in row:
        yield _unknown("the tables do not say which driver and which cards it is for", base)
    elif driver is None or not here:
        yield _unknown("the driver or the cards here are not known", base)
    else:
        yield from _against(row, driver, here, base)


def _against(row: Row, driver: str, here: Sequence[str], base: Ground) -> Iterator[Rejection]:
    if versions.parse(driver) < versions.parse(str(row["driver"])):
        older = f" ({row['driver_data_center']})" if "driver_data_center" in row else ""
        yield Rejection(rule=together.rule_of("driver-too-old", base.database),
                        message=f"it asks for driver {row['driver']} or newer{older}, here is {driver}")
    architectures = base.database.tables.get("architectures")
    first = {str(r["compute_capability"]): r.get("first_cuda", "0") for r in
             (architectures.rows if architectures else ())}
    for capability in here:
        if versions.parse(capability) < versions.parse(str(row["oldest_card"])):
            yield Rejection(rule=together.rule_of("gpu-too-old-for-build", base.database),
                            message=f"it is for compute capability {row['oldest_card']} and newer, here is "
                                    f"{capability}")
        elif versions.parse(str(first.get(capability, "9999"))) > versions.parse(str(row["cuda"])):
            yield Rejection(rule=together.rule_of("gpu-too-new-for-build", base.database),
                            message=f"its CUDA {row['cuda']} does not compile for compute capability "
                                    f"{capability}")


def _unknown(why: str, base: Ground) -> Rejection:
    return Rejection(rule=together.rule_of("driver-too-old", base.database),
                     message=f"could not be judged: {why}")
