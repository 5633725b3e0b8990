"""Images that differ from one in their version or month alone: what a file could be built from instead."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from gpudoctor import versions
from gpudoctor.derive.stacks import stacks_of
from gpudoctor.manifests import images, tags
from gpudoctor.manifests.images import Base
from gpudoctor.model import Tables, rows_of


def others(reference: str, tables: Tables) -> Iterator[Base]:
    """Yield them, the nearest first, then the newest: of PyTorch's, those of the same release come before.

    Only what was published is named, and of which it is known what it asks of a driver.
    """
    base = images.base_of(reference, tables)
    made = [*_cudas(base, tables)] if base.name == images.CUDA_IMAGE else [*_of_form(base, tables)]
    written = reference.removesuffix(f":{base.tag}")
    for tag in dict.fromkeys(made):
        other = images.base_of(f"{written}:{tag}", tables)
        is_known = other.least_cuda or other.least_driver or (other.cuda and other.build)
        if tag != base.tag and is_known and tags.judged(other, tables) == tags.Verdict() and (
                tags.ended(other, tables) is None):
            yield other


def likeness(reference: str, other: Base, tables: Tables) -> str:
    """Return in words why an image is the one to take."""
    is_same = images.base_of(reference, tables).build == "cpu" != other.build
    return "the same release with CUDA" if is_same else "the newest like it that this driver runs"


def _cudas(base: Base, tables: Tables) -> Iterator[str]:
    """Yield the tags of NVIDIA's images of CUDA with as much in them, those on the same system first."""
    own = images.CUDA_TAG.match(base.tag)
    if own is None:
        return
    every = [(tag, match) for row in reversed(rows_of(tables, "cuda_images")) for tag in tags.listed(row)
             if (match := images.CUDA_TAG.match(tag)) is not None and _holds(match) == _holds(own)]
    yield from (tag for tag, match in every if match.groups()[3:] == own.groups()[3:])
    older = [(tag, match) for tag, match in every if match[4] == own[4] and _system(match) < _system(own)]
    yield from (tag for tag, match in sorted(
        older, key=lambda pair: (versions.parse(pair[1][1]), _system(pair[1])), reverse=True))


def _system(tag: re.Match[str]) -> Version:
    return versions.parse(tag[5] or "0")


def _holds(tag: re.Match[str]) -> tuple[str, str]:
    """Return whether cuDNN is in an image, and the flavour."""
    return (tag[2] or "").rstrip("0123456789"), tag[3]


def _of_form(base: Base, tables: Tables) -> Iterator[str]:
    """Yield the tags of one form, each with other words in its holes."""
    for row, holes in tags.forms_of(base, tables):
        form = str(row["form"])
        if base.build == "cpu" and "version" in holes:  # what was not published is left out by its judge
            yield form.replace("{version}", "{version}-gpu").format(**holes)
        if "month" in holes:
            months = {str(one["release"]) for one in rows_of(tables, "ngc_releases")}
            yield from (form.format(month=month) for month in sorted(months, reverse=True))
        elif "cuda" in holes:
            stacks = [stack for stack in stacks_of(str(row["framework"]), tags.PLATFORM, tables)
                      if stack.cuda is not None and "cudnn" in stack.row and not stack.is_prerelease]
            same = [stack for stack in stacks if stack.version == holes["version"]]
            yield from (form.format(version=stack.version, cuda=versions.minor_of(stack.cuda or ""),
                                    cudnn=str(stack.row["cudnn"]).partition(".")[0])
                        for stack in (*same, *stacks))
