"""Wheels without CUDA libraries, on an image of nvidia/cuda that has those that they were built for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.candidates import Asked, WishError, exactly, exit_code, recommend, refuse
from gpudoctor.candidates.commands import install
from gpudoctor.candidates.ground import Ground, ground_of, version_of
from gpudoctor.candidates.images import laid
from gpudoctor.candidates.index import later_breaks, unpublished
from gpudoctor.candidates.together import left_open, rule_of
from gpudoctor.candidates.told import at_first_start
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.derive.view import as_texts
from gpudoctor.dockerfiles.bases import compact, system_of
from gpudoctor.dockerfiles.compiler import COMPILER
from gpudoctor.dockerfiles.inside import System, inside
from gpudoctor.frozen import frozen
from gpudoctor.model import Candidate, Fit, Recommendation, Rejection, RuleDatabase, Snapshot, rows_of

_KINDS = re.compile(r"runtime/(cudnn([0-9]*))\Z")
_SYSTEM = "ubuntu"  # the others have no apt-get, by which the lines add a Python
_OPTIONAL = "tensorflow"  # the framework whose CUDA packages are an extra, so that it can be had without


@frozen
class CudaImage:
    """An image nvidia/cuda:...-runtime-... with cuDNN; of several cuDNN under one tag, the oldest."""

    reference: str
    cuda: str
    cudnn: str
    system: System


def cuda_images(database: RuleDatabase) -> list[CudaImage]:
    """Return the images with cuDNN on an Ubuntu that is maintained, the oldest CUDA first."""
    tags = {compact(row): f"{row['system']}{row['version']}"
            for row in rows_of(database.tables, "image_systems")
            if row["system"] == _SYSTEM and "ended" not in row}
    found = []
    for row in rows_of(database.tables, "cuda_images"):
        for text in as_texts(row.get("distributions")):
            systems, _, kinds = text.partition(": ")
            for match in filter(None, map(_KINDS.match, kinds.split())):
                held = [one for one in as_texts(row.get("cudnn"))
                        if match[2] in ("", one.partition(".")[0])]
                for name in systems.split(","):
                    system = system_of(name, database) if name in tags else None
                    if held and system is not None:
                        tag = f"{row['cuda']}-{match[1]}-runtime-{tags[name]}"
                        found.append(CudaImage(
                            reference=f"nvidia/cuda:{tag}", cuda=str(row["cuda"]), system=system,
                            cudnn=min(held, key=versions.parse)))
    return sorted(found, key=lambda image: versions.parse(image.cuda))


def on_cuda(snapshot: Snapshot, database: RuleDatabase, asked: Asked,
            python: str | None) -> tuple[CudaImage | None, Recommendation]:
    """Return the image for the newest release that fits one, and what is said; None where none does."""
    images = [image for image in cuda_images(database) if python in (None, image.system.python)]
    if not images:
        raise WishError(f"Python {python}: no image of nvidia/cuda that these rules know has it")
    wish, *others = refuse(asked, database)
    if others:
        raise WishError(f"--base cuda: {wish.framework} and {others[0].framework} need different libraries; "
                        "--base python-slim can hold several")
    grounds = {image.system: ground_of(inside(snapshot, image.system, database), database)
               for image in images}
    said = recommend(inside(snapshot, images[-1].system, database), database, asked)
    rejected: list[Candidate] = []
    for stack in stacks_of(wish.framework, said.ground.platform, database.tables):
        if not wish.admits(stack) or (stack.is_prerelease and not asked.pre):
            continue
        refusals: list[Rejection] = []
        for image in _for_stack(stack, images):
            ground = grounds[image.system]
            judged = laid({"framework": stack.version, "cudnn": image.cudnn}, stack.framework, ground)
            against = [*_against(stack, image, ground, database), *judged.objections]
            if not against:
                offer = _offered(_plain(stack), image, ground, database, tuple(at_first_start(judged)))
                return image, replace(said, candidates=(offer, *rejected))
            refusals += against
        reason = refusals[:1] or [_no_image(stack, database)]
        rejected.append(Candidate(framework=stack.framework, version=stack.version, cuda=stack.cuda,
                                  kind="pip", verdict=Fit.REJECTED, rejected_by=tuple(reason)))
    refused = tuple(rejected) or tuple(one for one in said.candidates if not one.offered)
    # what a change would buy, and what conflicts, was asked of another base
    return None, replace(said, candidates=refused, exit_code=exit_code(refused), changes=(), conflict=())


def _does_without(stack: Stack) -> bool:
    """Say whether pip can install it without CUDA libraries of its own."""
    return stack.lacks_libraries or (stack.framework == _OPTIONAL and "loads" in stack.row)


def _for_stack(stack: Stack, images: list[CudaImage]) -> Iterator[CudaImage]:
    """Yield the images with the libraries that a release was built for: the major release, not older."""
    if not _does_without(stack) or stack.cuda is None or "cudnn" not in stack.row:
        return
    cuda, cudnn = versions.parse(stack.cuda), versions.parse(str(stack.row["cudnn"]))
    for image in images:
        has_cuda, has_cudnn = versions.parse(image.cuda), versions.parse(image.cudnn)
        if ((has_cuda.major, has_cudnn.major) == (cuda.major, cudnn.major)
                and (has_cuda.major, has_cuda.minor) >= (cuda.major, cuda.minor)
                and (has_cudnn.major, has_cudnn.minor) >= (cudnn.major, cudnn.minor)):
            yield image


def _against(stack: Stack, image: CudaImage, ground: Ground,
             database: RuleDatabase) -> Iterator[Rejection]:
    """Yield what the index and the image's own requirement say against a release in an image."""
    yield from unpublished(_plain(stack), ground)
    yield from _refused_by_toolkit(image, ground, database)


def _refused_by_toolkit(image: CudaImage, ground: Ground, database: RuleDatabase) -> Iterator[Rejection]:
    """Yield that the image asks for a driver that runs a newer CUDA; older ones it takes by brand alone."""
    row: Mapping[str, object] = next(
        (row for row in rows_of(database.tables, "cuda_image_requirements") if row["cuda"] == image.cuda), {})
    ceiling, least = version_of(ground.fact("driver.cuda_ceiling")), str(row.get("least_cuda", image.cuda))
    rule = rule_of("docker-require-cuda-unsatisfied", database)
    if ceiling is None:
        yield left_open(rule, "which CUDA the driver runs is not known")
    elif versions.parse(ceiling) < versions.parse(least):
        yield Rejection(rule=rule, message=f"{image.reference} asks for a driver that runs CUDA {least}, "
                                           f"this one runs {ceiling}")


def _no_image(stack: Stack, database: RuleDatabase) -> Rejection:
    rule = rule_of("docker-image-without-cuda", database)
    if not _does_without(stack):
        return Rejection(rule=rule, message="its wheels bring their CUDA libraries, and nvidia/cuda below "
                                            "them would be a second CUDA: --base python-slim")
    return Rejection(rule=rule, message=f"no image of nvidia/cuda that these rules know has CUDA "
                                        f"{stack.cuda or '(not known)'} and cuDNN "
                                        f"{stack.row.get('cudnn', '(not known)')} for it")


def _plain(stack: Stack) -> Stack:
    """Return the release as pip installs it without its extra."""
    return replace(stack, requirement=stack.requirement.replace(f"[{stack.extra}]", ""), extra="")


def _offered(stack: Stack, image: CudaImage, ground: Ground, database: RuleDatabase,
             warned: tuple[str, ...]) -> Candidate:
    breaks = dict(later_breaks((stack,), ground))
    compiler = [exactly.release(text, (), ground) or text for text in _compiler(stack)]
    pins = (*breaks, *compiler)
    why = f"which runtime images lack ({rule_of('libdevice-not-found', database)})"
    notes = [*breaks.values(), *warned,
             *(f"{text}: XLA compiles with its ptxas and libdevice, {why}" for text in compiler)]
    if stack.lacks_libraries:
        notes.append(f"which CUDA libraries {stack.framework} {stack.version} opens is in no table: that the "
                     "image has them all was not judged")
    return Candidate(
        framework=stack.framework, version=stack.version, kind="pip", cuda=stack.cuda, python=stack.pythons,
        verdict=Fit.WITH_NOTES if notes else Fit.FITS, notes=tuple(notes), pins=pins,
        image=image.reference, commands=install((stack,), pins, ground.place))


def _compiler(stack: Stack) -> list[str]:
    """Return the package with CUDA's compiler that the release's extra would bring, where it has one."""
    asked = as_texts(stack.row.get("requires_nvidia"))
    return [text for text in asked if text.startswith(COMPILER)]
