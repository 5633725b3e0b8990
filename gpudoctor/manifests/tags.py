"""Whether the tag of an image was ever published, as far as lists and the spelling of tags tell."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from gpudoctor import image_ends, versions
from gpudoctor.derive.stacks import known_versions, stacks_of
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.image_ends import HOLE, pattern
from gpudoctor.manifests import images, releases
from gpudoctor.manifests.images import Base
from gpudoctor.model import Row, Tables, row_of, rows_of

# from here on NVIDIA's images of CUDA are listed completely: of older ones the tags are gone
_LISTED_SINCE = "11.0"
_STILL_OPEN = 3  # minors of it of which a patch may have come since: 12.8.2 and 12.9.2 came after 13.0.0
_NEAREST = 3
_LISTED = 400  # tags that are looked through for the nearest ones
_MONTHS = 12
_PYTHON = re.compile(r"([0-9]+\.[0-9]+)(?:\.([0-9]+))?(-slim|-alpine)?(?:-|[0-9]|\Z)")
PLATFORM = "linux_x86_64"


@frozen
class Verdict:
    """What is known of a tag: `nearest` to one that was never published, or why nobody here knows it.

    `is_newer`: it names something newer than these rules know, so what is in it is not known either.
    """

    nearest: tuple[str, ...] = ()
    unknown: str = ""
    is_newer: bool = False


_UNLISTED = Verdict(unknown="is in no list that these rules have")
_NEWER = Verdict(unknown="is newer than these rules", is_newer=True)


def judged(base: Base, tables: Tables) -> Verdict:
    """Return whether the tag of an image was published; of the images of others nothing is said."""
    if base.tag in ("@", images.OPEN_TAG):
        return Verdict()
    if base.name == images.CUDA_IMAGE:
        return _of_cuda(base, tables) if "cuda_images" in tables else Verdict()
    if base.name == "python":
        return _of_python(base.tag, rows_of(tables, "python_releases"))
    forms = _forms(base, tables)
    listed = [str(row["tag"]) for row in rows_of(tables, "container_images") if row["image"] == base.name]
    if not forms or base.tag in listed or (not base.tag and any(row["form"] == "latest" for row in forms)):
        return Verdict()
    for row in forms:
        match = pattern(str(row["form"])).match(base.tag)
        if match is not None:
            return _of_form(base, row, match, listed, tables)
    return Verdict(unknown=f"is spelled in no way that these rules know ({', '.join(_some(forms))})")


def ended(base: Base, tables: Tables) -> Row | None:
    """Return the form of an image's tag of which no more are published."""
    return image_ends.series(base.name, base.tag, tables)


def ends(base: Base, tables: Tables) -> Iterator[tuple[str, str]]:
    """Yield what in an image gets no updates any more, and since when: whose build it is, its system."""
    is_there = not judged(base, tables).nearest
    yield from image_ends.of_series(base.name, base.tag, tables) if is_there else ()
    yield from image_ends.of_system(images.ended(base, tables))


def moves(base: Base, tables: Tables) -> bool:
    """Return whether a tag of a framework's image names no release: it is another image after each one."""
    written = base.tag or "latest"
    return any(row["form"] == written and not HOLE.search(written) for row in _forms(base, tables))


def _of_form(base: Base, row: Row, match: re.Match[str], listed: Sequence[str], tables: Tables) -> Verdict:
    holes = match.groupdict()
    if "month" in holes:
        return _of_month(base, row, holes["month"], listed, tables)
    if "version" in holes:
        return _of_release(base, row, holes, tables)
    return Verdict()


def _of_month(base: Base, row: Row, month: str, listed: Sequence[str], tables: Tables) -> Verdict:
    form = str(row["form"])
    is_of_all = row_of(tables, "ngc_images", image=base.name, shares_release=True) is not None
    months = [str(one["release"]) for one in rows_of(tables, "ngc_releases")] if is_of_all else []
    last = str(row["last"]) if "last" in row else None
    in_time = [one for one in months if last is None or one <= last]
    if not 1 <= int(month.partition(".")[2]) <= _MONTHS or (last is not None and month > last):
        known = [tag for tag in listed if pattern(form).match(tag)]
        return _near(base.tag, [*dict.fromkeys((*known, *(form.format(month=one) for one in in_time[-1:])))])
    own = [found["month"] for tag in listed if (found := pattern(form).match(tag))]
    if month in in_time and ("-tf" not in form or month >= min(own, default=month)):  # one each month
        return Verdict()
    return _NEWER if (own or months) and month > max(own + months) else _UNLISTED


def _of_release(base: Base, row: Row, holes: dict[str, str], tables: Tables) -> Verdict:
    """Judge a tag that names a release: where that was never published, there is no image of it."""
    framework, form = str(row["framework"]), str(row["form"])
    version, known = holes["version"], known_versions(framework, tables)
    cuda = holes.get("cuda")
    nearest = releases.nearest(framework, version, tables)
    if nearest is not None:
        made = [form.format(**{**holes, "version": one, "cudnn": cudnn}) for one in nearest
                if cuda is None or cuda in _cudas(framework, one, tables)
                for cudnn in _cudnns(framework, one, cuda, tables) or ("",)]
        return Verdict(nearest=tuple(made)) if made else Verdict(unknown=(
            f"names a release that there is not; the nearest are {', '.join(nearest)}"))
    if version not in known:
        is_newer = _is_newer(version, known)
        return Verdict(is_newer=is_newer, unknown=f"names a release of {framework} that " + (
            "is newer than these rules" if is_newer else "these rules do not know"))
    if cuda is not None and cuda not in _cudas(framework, version, tables):
        return Verdict(unknown=(
            f"names CUDA {cuda}, for which these rules know no build of {framework} {version}"))
    cudnns = _cudnns(framework, version, cuda, tables) if "cudnn" in holes else ()
    if not cudnns or holes["cudnn"] in cudnns:
        return Verdict()
    since = [str(one["each_cuda_since"]) for one in _forms(base, tables) if "each_cuda_since" in one]
    if any(versions.parse(version) >= versions.parse(one) for one in since):  # nothing but the build is in it
        return Verdict(nearest=tuple(form.format(**{**holes, "cudnn": one}) for one in cudnns))
    return Verdict(unknown=(f"names cuDNN {holes['cudnn']}, and these rules know builds of "
                            f"{framework} {version} for cuDNN {' and '.join(cudnns)} alone"))


def _is_newer(version: str, known: Sequence[str]) -> bool:
    """Return whether a release is newer than all that are known of its minor, or at all."""
    wanted, every = versions.parse(version), [versions.parse(one) for one in known]
    own = [one for one in every if one.release[:2] == wanted.release[:2]] or every
    return bool(own) and wanted > max(own)


def _cudas(framework: str, version: str, tables: Tables) -> set[str]:
    return {versions.minor_of(stack.cuda) for stack in stacks_of(framework, PLATFORM, tables)
            if stack.version == version and stack.cuda is not None}


def _cudnns(framework: str, version: str, cuda: str | None, tables: Tables) -> Sequence[str]:
    """Return the major versions of cuDNN that the builds of a release for a CUDA have."""
    return sorted({str(versions.parse(str(stack.row["cudnn"])).major)
                   for stack in stacks_of(framework, PLATFORM, tables) if stack.version == version
                   and "cudnn" in stack.row and versions.minor_of(stack.cuda or "") == (cuda or "")})


def _forms(base: Base, tables: Tables) -> list[Row]:
    return [row for row in rows_of(tables, "image_tags") if row["image"] == base.name]


def forms_of(base: Base, tables: Tables) -> Iterator[tuple[Row, dict[str, str]]]:
    """Yield the forms that a tag has, with what stands in their holes."""
    for row in _forms(base, tables):
        match = pattern(str(row["form"])).match(base.tag)
        if match is not None:
            yield row, match.groupdict()


def _some(forms: Sequence[Row]) -> list[str]:
    """Return the forms that have a hole, as people write them."""
    written = [HOLE.sub(lambda hole: hole[1].upper(), str(row["form"])) for row in forms]
    return [form for form, row in zip(written, forms, strict=True) if form != row["form"]][:_NEAREST]


def _near(tag: str, known: Sequence[str]) -> Verdict:
    return Verdict(nearest=tuple(difflib.get_close_matches(tag, known, n=_NEAREST, cutoff=0.0)))


# -- images of CUDA ----------------------------------------------------------------------------------------


def _of_cuda(base: Base, tables: Tables) -> Verdict:
    """Judge a tag of NVIDIA's images of CUDA: all are known of those read from the recipes for them."""
    rows = [row for row in tables["cuda_images"].rows
            if versions.parse(str(row["cuda"])) >= versions.parse(_LISTED_SINCE)]
    whole = [row for row in rows if not row.get("partial")]
    if base.tag in ("", "latest"):
        wanted = f"{whole[-1]['cuda']}-runtime-ubuntu"
        return _near(wanted, [*listed(whole[-1])])
    known = [tag for row in rows for tag in listed(row)]
    match = images.CUDA_TAG.match(base.tag)
    if base.tag in known:
        return Verdict()
    if match is not None and versions.parse(match[1]) > max(versions.parse(str(row["cuda"])) for row in rows):
        return _NEWER
    if match is None or not _is_listed(match[1], whole) or _has_left(base, match, known, tables):
        return _UNLISTED
    minor = versions.minor_of(match[1])
    alike = [tag for tag in known if tag.startswith(minor)][:_LISTED] or known[-_LISTED:]
    return _near(base.tag, alike)


def _is_listed(cuda: str, rows: Sequence[Row]) -> bool:
    """Return whether the rows have every image of that CUDA: nothing newer of it can have come since."""
    known = sorted(versions.parse(str(row["cuda"])) for row in rows)
    wanted = versions.parse(cuda)
    if wanted < versions.parse(_LISTED_SINCE) or not known or wanted > known[-1]:
        return False
    minor = [version for version in known if version.release[:2] == wanted.release[:2]]
    open_ = sorted({version.release[:2] for version in known})[-_STILL_OPEN:]
    return not minor or wanted <= minor[-1] or wanted.release[:2] not in open_


def _has_left(base: Base, match: re.Match[str], known: Sequence[str], tables: Tables) -> bool:
    """Return whether a recipe may have been taken away with its distribution, whose images stayed."""
    system = f"-{match[4]}{match[5]}"
    return images.ended(base, tables) is not None and any(
        tag.endswith(system) and versions.parse(tag.partition("-")[0]) >= versions.parse(match[1])
        for tag in known)


def listed(row: Row) -> Iterator[str]:
    """Yield the tags of the images of one CUDA."""
    for line in as_texts(row["distributions"]):
        systems, _, flavours = line.partition(": ")
        for system in systems.split(","):
            for flavour in flavours.split():
                kind, _, extra = flavour.partition("/")
                yield f"{row['cuda']}-{f'{extra}-' if extra else ''}{kind}-{_dotted(system)}"


def _dotted(system: str) -> str:
    """Return a distribution as tags spell it: ubuntu2204 is ubuntu22.04."""
    match = re.match(r"ubuntu([0-9][0-9])([0-9][0-9])\Z", system)
    return f"ubuntu{match[1]}.{match[2]}" if match else system


# -- images of Python --------------------------------------------------------------------------------------


def _of_python(tag: str, rows: Sequence[Row]) -> Verdict:
    """Judge a tag that names a patch of Python: after its end none comes, before it one a month at most."""
    match, known = _PYTHON.match(tag), {str(row["minor"]): row for row in rows}
    if match is None or not known:
        return Verdict()
    minor, patch, flavour = match[1], match[2], match[3] or ""
    row = known.get(minor)
    if row is None:
        is_newer = versions.parse(minor) > max(map(versions.parse, known))
        return Verdict(unknown=_NEWER.unknown) if is_newer else Verdict()
    ahead = int(patch or 0) - versions.parse(str(row["newest"])).micro
    if ahead <= 0:
        return Verdict()
    if ahead <= _month(row["end"]) - _month(row["seen"]):
        return Verdict(unknown=_NEWER.unknown)  # what a Python is for is known without its patch
    return Verdict(nearest=(f"{row['newest']}{flavour}", f"{minor}{flavour}"))


def _month(written: object) -> int:
    """Return a month as a number that grows by one each month."""
    year, month = str(written).split("-")
    return int(year) * _MONTHS + int(month)
