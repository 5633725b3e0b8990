"""Images with a framework in them, as overlays: what the tables have of them, nothing installed beside."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from gpudoctor import image_ends, versions
from gpudoctor.assume import AssumptionError, lay
from gpudoctor.candidates import pip_images, together, told
from gpudoctor.candidates.ground import Ground, usable_capabilities
from gpudoctor.candidates.index import NO_WHEEL
from gpudoctor.candidates.judging import Judge, Judged, faults, judged_over
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.image_notes import noted
from gpudoctor.model import Absent, Candidate, Fact, Fit, Known, Rejection, Row, Tables, Unknown, rows_of

Newness = tuple[object, ...]  # of two, the greater comes first

_SOURCE = "an image"
_CUDNN = "libcudnn.so."
_OF_IMAGE = {"pytorch": "torch", "paddlepaddle": "paddle"}  # what images call a framework, if otherwise
_MONTH = re.compile(r":([0-9][0-9]\.[0-9][0-9])-")
_ENDED = "image-at-its-end"
_DRIVER, _TOO_OLD, _TOO_NEW = "driver-too-old", "gpu-too-old-for-build", "gpu-too-new-for-build"
# What release notes have to say of an image, so that it can be judged, and the rule that judges it.
_STATED = {"driver": ("which driver it asks for", _DRIVER),
           "oldest_card": ("which cards it is for", _TOO_OLD), "cuda": ("which CUDA it has", _TOO_NEW)}
_HELD = {"framework": "release", "python": "Python", "cuda": "CUDA", "cudnn": "cuDNN"}
_OWN_BUILD = "nvcr.io/"  # NVIDIA's builds of a framework are not those of the tables


@frozen
class Images:
    """Which images would do: for a wish, with names that begin so, and with one Python if that is named."""

    wish: Wish
    begins: str = ""
    python: str | None = None

    def rows(self, tables: Tables) -> list[Row]:
        """Return what is known of each, the newest release first."""
        listed = [row for row in rows_of(tables, "container_images") if _framework(row) == self.wish.framework
                  and _name(row).startswith(self.begins) and _admits(self.wish, row)]
        built = [row for row in pip_images.rows(self.wish.framework, tables)
                 if _name(row).startswith(self.begins) and _admits(self.wish, row)]
        return sorted((*built, *(noted(str(row["image"]), str(row["tag"]), tables) for row in listed)),
                      key=_newness, reverse=True)


def images_of(images: Images, judge: Judge, whys: Sequence[Wish] = ()) -> list[Candidate]:
    """Return the images that would do, the newest release first, whether they fit or not.

    Those of `whys` come with the chain of reasons: all that are named exactly, else the newest, and the
    newest that is offered.
    """
    rows, framework = images.rows(judge.base.database.tables), images.wish.framework
    inside = pip_images.Inside(judge)
    found = [_told(row, framework, inside, images.python) for row in rows]
    explained = {place for why in whys if why.framework == framework
                 for place in _explained(why, rows, found)}
    return [_told(row, framework, inside, images.python, why=True) if place in explained else one
            for place, (row, one) in enumerate(zip(rows, found, strict=True))]


def newest_that_fits(images: Images, judge: Judge, above: Newness) -> tuple[str, Newness] | None:
    """Return the newest image that fits and is newer than `above`, with its newness; None without one."""
    inside = pip_images.Inside(judge)
    for row in images.rows(judge.base.database.tables):
        if not _newness(row) > above:
            return None
        if not _judged(row, images.wish.framework, inside, images.python).objections:
            return _name(row), _newness(row)
    return None


def pythons_of(images: Images, tables: Tables) -> set[str]:
    """Return the Pythons that the images have, as far as that is known."""
    return {str(row["python"]) for row in images.rows(tables) if "python" in row}


def is_in_an_image(wish: Wish, tables: Tables, begins: str = "") -> bool:
    """Say whether an image whose name begins like this is known to hold what is wished for."""
    return bool(Images(wish=wish, begins=begins).rows(tables))


def _explained(why: Wish, rows: Sequence[Row], found: Sequence[Candidate]) -> list[int]:
    """Return which of the images are to be explained."""
    some = [place for place, row in enumerate(rows) if _admits(why, row)]
    return some if why.is_exact else [*some[:1], *[place for place in some if found[place].offered][:1]]


def _name(row: Row) -> str:
    return f"{row['image']}:{row['tag']}"


def _newness(row: Row) -> Newness:
    """Return what to sort by: releases before NVIDIA's own builds, of which the tag says year and month.

    Of one month the tag with TensorFlow 2 is the greater.
    """
    known = _MONTH.search(f":{row['tag']}")
    return (known is None, versions.parse(known[1] if known else _version(row)),
            str(row["tag"]) if known else "")


def _framework(row: Row) -> str:
    name = posixpath.basename(str(row["image"]))
    return _OF_IMAGE.get(name, name)


def _version(row: Row) -> str:
    """Return the release in an image, its tag where the tables do not say."""
    return str(row.get("framework", row["tag"])).partition("+")[0]


def _admits(wish: Wish, row: Row) -> bool:
    return not wish.bounds or ("framework" in row and versions.meets(_version(row), wish.bounds))


def _told(row: Row, framework: str, inside: pip_images.Inside, python: str | None, *,
          why: bool = False) -> Candidate:
    name, base, judged = _name(row), inside.base, _judged(row, framework, inside, python)
    objections = judged.objections
    notes = () if objections else (*_notes(row, base), *told.at_first_start(judged))
    verdict = Fit.REJECTED if objections else Fit.WITH_NOTES if notes else Fit.FITS
    return Candidate(
        framework=framework, version=_version(row), kind="image", verdict=verdict, image=name, notes=notes,
        cuda=str(row["cuda"]) if "cuda" in row else None, rejected_by=objections,
        python=(str(row["python"]),) if "python" in row else (),
        why=(_holds(name, row), *told.reasons(judged, base, notes)) if why else (),
        commands=() if objections else (f"docker run --rm -it --gpus all {name}",))


def _judged(row: Row, framework: str, inside: pip_images.Inside, python: str | None) -> Judged:
    """Return what speaks against an image: the rules, of NVIDIA's own build what NVIDIA says of it."""
    base = inside.base
    unfit = (*_of_other_platforms(base), *_python(row, python, base))
    if unfit or _is_own_build(row):
        return Judged(stacks=(), objections=unfit or tuple(_stated(row, base)))
    return inside.judged(row) if "release" in row else laid(row, framework, base)


def _is_own_build(row: Row) -> bool:
    return str(row["image"]).startswith(_OWN_BUILD)


def _holds(name: str, row: Row) -> str:
    """Return what the tables have of an image."""
    known = ", ".join(f"{word} {row[column]}" for column, word in _HELD.items() if column in row)
    return f"image {name} holds {known or 'what no table says'} ({row['source']})"


def _of_other_platforms(base: Ground) -> Iterator[Rejection]:
    if base.platform != pip_images.PLATFORM:
        yield _unknown(f"whether there is one for {base.platform}", "wheel-arch-linux-aarch64", base)


def _python(row: Row, wanted: str | None, base: Ground) -> Iterator[Rejection]:
    """Yield that its Python is not the one that was asked for: an image brings its own."""
    if wanted is None:
        return
    if "python" not in row:
        yield _unknown("which Python it has", NO_WHEEL, base)
    elif row["python"] != wanted:
        yield Rejection(rule=together.rule_of(NO_WHEEL, base.database),
                        message=f"its Python is {row['python']}, not {wanted}")


def _notes(row: Row, base: Ground) -> Iterator[str]:
    if _is_own_build(row):
        yield f"NVIDIA's own build: judged by what NVIDIA says of it ({row['source']}), it was not read"
    if "read_from" in row:
        yield (f"what that leaves out is said of {row['read_from']} of the same month "
               f"({row['read_from_source']})")
    if "note" in row:
        yield str(row["note"])
    tables, (system, _, version) = base.database.tables, str(row.get("os", "")).lower().partition(" ")
    for what, since in (*image_ends.of_series(str(row["image"]), str(row["tag"]), tables),
                        *image_ends.of_system(image_ends.system_row(system, version, tables))):
        yield f"{what} in it gets no updates since {since} ({together.rule_of(_ENDED, base.database)})"


# -- a published build in an image ---------------------------------------------------------------------------


def laid(row: Row, framework: str, base: Ground) -> Judged:
    """Return what the rules say of a release with the CUDA libraries of its image, and with no package.

    `row` has the release (`framework`) and the cuDNN that is in the image (`cudnn`).
    """
    stack = next((s for s in stacks_of(framework, base.platform, base.database.tables)
                  if s.version == row.get("framework")), None)
    if stack is None:
        return Judged(stacks=(), objections=(_unknown("which release is in it", _TOO_OLD, base),))
    tables = base.database.tables
    facts: dict[str, Fact] = {
        "release": _as_told((stack.release,)), "python.planned_distributions": _as_told(()),
        "loader.cache": _as_told(tuple(_library(name) for name in _libraries(stack, row))),
        "loader.files": _as_told(tuple(_cudnn_files(row))), "loader.library_path": _as_told(()),
        "toolkit.installs": Absent(source=_SOURCE),
        "system.glibc": Unknown(reason="the image has the one that its release was built for", asked=False)}
    try:
        snapshot = lay(base.snapshot, facts, tables, source=_SOURCE)
    except AssumptionError as error:
        return Judged(stacks=(), objections=(_not_judged(str(error), _TOO_OLD, base),))
    return judged_over(snapshot, base)


def _as_told(value: str | tuple[str, ...] | tuple[dict[str, str], ...]) -> Fact:
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
    unsaid = [_unknown(what, cause, base) for column, (what, cause) in _STATED.items() if column not in row]
    driver, here = base.driver, usable_capabilities(base)
    if driver is None:
        unsaid.append(_not_judged("the driver here is not known", _DRIVER, base))
    if not here:
        unsaid.append(_not_judged("the cards here are not known", _TOO_OLD, base))
    against = [] if driver is None else [*_against(row, driver, here, base)]
    yield from against or unsaid  # what speaks against it counts, whatever else is not said


def _against(row: Row, driver: str, here: Sequence[str], base: Ground) -> Iterator[Rejection]:
    if "driver" in row and versions.parse(driver) < versions.parse(str(row["driver"])):
        older = f" ({row['driver_data_center']})" if "driver_data_center" in row else ""
        yield Rejection(rule=together.rule_of(_DRIVER, base.database),
                        message=f"it asks for driver {row['driver']} or newer{older}, here is {driver}")
    first = {str(one["compute_capability"]): one.get("first_cuda", "0")
             for one in rows_of(base.database.tables, "architectures")}
    for capability in here:
        if "oldest_card" in row and (
                versions.parse(capability) < versions.parse(str(row["oldest_card"]))):
            yield Rejection(rule=together.rule_of(_TOO_OLD, base.database),
                            message=f"it is for compute capability {row['oldest_card']} and newer, here is "
                                    f"{capability}")
        elif "cuda" in row and (
                versions.parse(str(first.get(capability, "9999"))) > versions.parse(str(row["cuda"]))):
            yield Rejection(rule=together.rule_of(_TOO_NEW, base.database),
                            message=f"its CUDA {row['cuda']} does not compile for compute capability "
                                    f"{capability}")


def _unknown(what: str, cause: str, base: Ground) -> Rejection:
    return _not_judged(f"the tables do not say {what}", cause, base)


def _not_judged(why: str, cause: str, base: Ground) -> Rejection:
    """Return that it was not judged, by the rule that would have judged it."""
    return together.left_open(together.rule_of(cause, base.database), why)
