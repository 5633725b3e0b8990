"""Packages as conda, mamba and pixi are told of them: channel, name, bounds, build.

https://docs.conda.io/projects/conda-build/en/stable/resources/package-spec.html and
https://pixi.prefix.dev/latest/concepts/package_specifications/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.derive import planned
from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked, Brought, Unread, Wish

_LONGEST = 300  # characters of one package
_SPEC = re.compile(r"(?:(?P<channel>\S{1,200})::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(?P<rest>[^\[]*)"
                   r"(?:\[(?P<more>[^\]]*)\])?\Z")
_KEYED = re.compile(r"(version|build)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([^,\s'\"]+))")
_SPACED = re.compile(r"\s*([<>=!~,|]+)\s*")
_WITH_BUILD = re.compile(r"(={0,2}[^=<>!~,|\s]+)=([^=\s]*)\Z")
_EXACT = re.compile(r"={0,2}([0-9]+\.[0-9]+)(?:\.[0-9*]+)*\*?\Z")
_FRAMEWORKS = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch", "torch": "torch",
               "tensorflow": "tensorflow", "tensorflow-gpu": "tensorflow", "tensorflow-cpu": "tensorflow",
               "jax": "jax"}
_JAXLIB = "jaxlib"  # conda's has the CUDA inside: its build is that of JAX
_GPU = re.compile(r"(?:cudatoolkit|pytorch-cuda|cuda(?:-[\w-]+)?|cudnn|[\w-]+-gpu)\Z")
_CUDA = re.compile(r"(?:cudatoolkit|pytorch-cuda|cuda(?:-[\w-]+)?|cudnn)\Z")
# what brings libraries or a compiler and has the version of its CUDA; cuda-version brings nothing
_BRINGING = re.compile(r"(?:cudatoolkit(?:-dev)?|pytorch-cuda|cuda(?:-(?:toolkit|libraries|runtime|cudart|"
                       r"nvcc|nvrtc|compiler)(?:-[\w-]+)?)?)\Z")
_RELEASE = re.compile(r"={0,2}([0-9]+(?:\.[0-9]+)?)(?:\.[0-9*]+)*\*?\Z")
_LABEL = re.compile(r"nvidia/label/cuda-([0-9]+\.[0-9]+)")  # a channel with the packages of one CUDA
_OF_CUDA = frozenset({"pytorch-cuda", "cuda-version", "cudatoolkit"})
_CPU_BUILD = re.compile(r"\*?(?:cpu|mkl|eigen)|.*_cpu")
_CUDA_BUILD = re.compile(r"\*?(?:cuda|gpu)|.*_?cuda")
# cuda126_py312h..., cuda_126_generic..., py3.12_cuda12.4_cudnn9...
_CUDA_OF_BUILD = re.compile(r"cuda_?(?:([0-9]{2})([0-9])(?![0-9])|([0-9]{2})\.([0-9]))")
_PYTHON = re.compile(r"={0,2}(3\.[0-9]+)(?:\.[0-9*]+)*\Z|~=(3\.[0-9]+)\.[0-9]+\Z")
_BETWEEN = re.compile(r">=3\.([0-9]+)(?:\.[0-9*]+)*,<3\.([0-9]+)(?:\.0)*(?:a0|\.0a0)?\Z")  # as pixi writes it


@frozen
class Spec:
    """A package: its bounds and the pattern of its build as written, "" where nothing is."""

    name: str
    place: Place
    bounds: str = ""
    build: str = ""
    channel: str = ""

    @property
    def is_for_gpu(self) -> bool:
        """Return whether it shows that a GPU is meant to be used."""
        return _GPU.match(self.name) is not None or self.build.lstrip("*").startswith("cuda")

    @property
    def is_cuda(self) -> bool:
        """Return whether it installs libraries of CUDA."""
        return _CUDA.match(self.name) is not None

    @property
    def cuda(self) -> str | None:
        """Return the CUDA that its build names, or that it is; None where that is no single release."""
        named = _CUDA_OF_BUILD.search(self.build)
        if named is not None:
            return f"{named[1] or named[3]}.{named[2] or named[4]}"
        exact = _EXACT.match(self.bounds) if self.name in _OF_CUDA else None
        return exact[1] if exact else None

    def __str__(self) -> str:
        """Return it as conda is told."""
        apart = " " if self.bounds[:1].isdecimal() else ""
        bounds = f"{apart}{self.bounds}" if self.bounds else "=*" if self.build else ""
        return f"{self.name}{bounds}={self.build}" if self.build else f"{self.name}{bounds}"


def spec_of(text: str, place: Place) -> Spec | None:
    """Return the package that a text names, None for what names none."""
    match = _SPEC.match(text.strip()) if len(text) < _LONGEST else None
    if match is None:
        return None
    keyed = {found[1]: found[2] or found[3] or found[4] or ""
             for found in _KEYED.finditer(match["more"] or "")}
    bounds, _, build = _SPACED.sub(r"\1", match["rest"].strip()).partition(" ")
    with_build = _WITH_BUILD.match(bounds) if not build else None
    if with_build is not None:
        bounds, build = with_build[1], with_build[2]
    return Spec(name=match["name"].lower(), place=place, bounds=_stated(keyed.get("version", bounds)),
                build=keyed.get("build", build).strip(), channel=match["channel"] or "")


def specs_of(packages: Sequence[tuple[str, Place]]) -> list[Spec]:
    """Return the packages that texts name."""
    return [spec for text, place in packages if (spec := spec_of(text, place)) is not None]


def wishes_of(specs: Sequence[Spec]) -> tuple[Wish, ...]:
    """Return what shows that a GPU is meant to be used."""
    return tuple(Wish(why=f"{spec} is for GPUs", place=spec.place) for spec in specs if spec.is_for_gpu)


def brought_of(specs: Sequence[Spec], channels: Sequence[str]) -> Iterator[Brought]:
    """Yield what brings CUDA, once for each: of the release that it names, another package or its channel."""
    held, found = _held(specs), set[str]()
    for spec in specs:
        own = _RELEASE.match(spec.bounds)
        label = _LABEL.search(" ".join((spec.channel, *channels)))
        cuda = own[1] if own is not None else held or (label[1] if label is not None else None)
        if _BRINGING.match(spec.name) and cuda is not None and cuda not in found:
            found.add(cuda)
            yield Brought(text=str(spec), cuda=cuda, place=spec.place)


def _held(specs: Sequence[Spec]) -> str | None:
    """Return the CUDA that a package holds all others to."""
    return next((spec.cuda for spec in specs if spec.name in _OF_CUDA and spec.cuda), None)


def bring_more(specs: Sequence[Spec]) -> bool:
    """Return whether conda installs more than a Python and pip, with packages that pip then finds there."""
    return any(spec.name not in ("python", "pip") for spec in specs)


def asked_of(specs: Sequence[Spec], channels: Sequence[str], *, has_driver: bool = False) -> Iterator[Asked]:
    """Yield the frameworks among conda's packages, with what these say of their build and their CUDA.

    `has_driver`: the packages are chosen for a machine with a driver, wherever they are chosen.
    """
    cuda = _held(specs)
    only_cpu = any(spec.name == "cpuonly" for spec in specs)
    library = next((spec for spec in specs if spec.name == _JAXLIB), None)
    for spec, framework in _frameworks(specs):
        beside = library if framework == "jax" else None
        build = (beside.build if beside else "") or spec.build
        kind = "cpu" if only_cpu or _CPU_BUILD.match(build) or spec.name.endswith("-cpu") else ""
        if not kind and (cuda or has_driver or _CUDA_BUILD.match(build) or spec.name.endswith("-gpu")):
            kind = "cuda"
        bounds = _for_pip(spec.bounds or (beside.bounds if beside else ""))
        if bounds is not None:
            named = spec.cuda or (beside.cuda if beside else None)
            yield Asked(text=f"{framework}{bounds}", place=spec.place, tool="conda", rewritable=False,
                        build=kind, cuda=cuda or named, extra_indexes=tuple(channels))


def python_of(specs: Sequence[Spec]) -> tuple[str, Place] | None:
    """Return the one minor release of Python that the packages ask for, None where there is none."""
    for spec in reversed(specs):
        exact, between = _PYTHON.match(spec.bounds), _BETWEEN.match(spec.bounds)
        if spec.name == "python" and exact is not None:
            return exact[1] or exact[2], spec.place
        if spec.name == "python" and between is not None and int(between[2]) == int(between[1]) + 1:
            return f"3.{between[1]}", spec.place
    return None


def unread_of(specs: Sequence[Spec]) -> Iterator[Unread]:
    """Yield the frameworks whose bounds pip has no words for."""
    for spec, _ in _frameworks(specs):
        if _for_pip(spec.bounds) is None:
            yield Unread(why=f"{str(spec)[:80]} is a choice among releases, which was not judged",
                         place=spec.place, of_framework=True)


def _frameworks(specs: Sequence[Spec]) -> Iterator[tuple[Spec, str]]:
    """Yield the frameworks; JAX's library stands for JAX where that only comes along with another package."""
    has_jax = any(spec.name == "jax" for spec in specs)
    for spec in specs:
        framework = "jax" if spec.name == _JAXLIB and not has_jax else _FRAMEWORKS.get(spec.name)
        if framework is not None:
            yield spec, framework


def _stated(bounds: str) -> str:
    """Return bounds without those that any release meets."""
    return "" if bounds.strip() in ("", "*", "=*", "==*", ">=0") else bounds.strip()


def _for_pip(bounds: str) -> str | None:
    """Return conda's bounds as pip has them (=2.5 is 2.5 and its patches), None for what pip cannot say."""
    parts = [_part(part) for part in bounds.split(",") if part.strip() not in ("", "*")]
    text = ",".join(parts)
    return text if any(True for _ in planned.parse((f"x{text}",))) else None


def _part(written: str) -> str:
    bare = written.strip()
    if bare[0] == "=" and bare[:2] != "==":
        return f"=={bare[1:].rstrip('.*')}.*"
    if bare[0] in "<>":
        return bare.rstrip(".*")  # >=2.5.* is >=2.5
    starred = re.sub(r"(?<=[0-9])\*\Z", ".*", bare)
    return starred if starred[0] in "=!~" else f"=={starred}"
