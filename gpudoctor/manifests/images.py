"""What is known of an image by its name and tag: what is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from gpudoctor import versions
from gpudoctor.assume.systems import glibc_of
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.frozen import frozen
from gpudoctor.image_ends import system_row
from gpudoctor.image_notes import noted
from gpudoctor.manifests.spans import Place
from gpudoctor.model import Fact, Row, Tables, Unknown, row_of, rows_of

_DEFAULT_HOSTS = ("docker.io/", "index.docker.io/", "registry-1.docker.io/")
CUDA_IMAGE = "nvidia/cuda"
_OF_NVIDIA = "nvcr.io/nvidia/"
CUDA_TAG = re.compile(
    r"([0-9]+(?:\.[0-9]+){1,2})-(?:(cudnn[0-9]*|tensorrt)-)?(base|runtime|devel)-([a-z]+)([0-9.]*)\Z")
_TORCH_TAG = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)-cuda([0-9]+\.[0-9]+)-cudnn([0-9]+)-(?:runtime|devel)\Z")
_TENSORFLOW_TAG = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+(?:rc[0-9]+)?)(-gpu)?(?:-jupyter)?\Z")
_BRANCH = re.compile(r"\b[0-9]{3}\b")
_PYTHON_TAG = re.compile(r"([0-9]+\.[0-9]+)(?:\.[0-9]+)?(?:-|\Z)")
_WITHOUT_CUDA = frozenset({"ubuntu", "debian", "python",
                           # https://github.com/anaconda/docker-images and conda-forge/miniforge-images
                           "continuumio/miniconda3", "condaforge/miniforge3", "condaforge/mambaforge"})
_MOVING = ("", "latest", "nightly")
OPEN_TAG = "?"  # stands for a tag that only the build knows
UNREAD_BRANCH = "driver=?"  # a condition of which nobody can tell whether it holds


@frozen
class Toolkit:
    """A CUDA with its compiler in an image, and who says so; `place` is None for the image itself."""

    cuda: str
    told_by: str
    place: Place | None = None


@frozen
class Base:
    """What an image brings; None and empty where nothing is known.

    `why_gpu` says why it is one for a GPU. `libraries` are those of CUDA by their paths, None where nobody
    knows which there are, with the `versions` of those that tell them; `build` is "cuda" or "cpu" where
    `release` is in it: a framework with its version, which is "" where the tag moves. `requirement` is what
    it asks of driver and card, in the words of NVIDIA's container toolkit (`image_needs`): a least CUDA or
    driver, or an older branch. `compat` is the CUDA of the compatibility package in it, which has another
    libcuda.
    """

    reference: str
    name: str
    tag: str
    python: str | None = None
    why_gpu: str = ""
    cuda: str | None = None
    libraries: tuple[str, ...] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    toolkits: tuple[Toolkit, ...] = ()
    release: tuple[str, str] | None = None
    build: str = ""
    least_driver: str | None = None
    least_cuda: str | None = None
    requirement: str = ""
    compat: str | None = None

    @property
    def compat_folders(self) -> tuple[str, ...]:
        """Return the folders in which the compatibility package has its libcuda, by every path to them."""
        minor = self.compat or ""
        short = (minor, minor.partition(".")[0])
        return ("/usr/local/cuda/compat", *(f"/usr/local/cuda-{one}/compat" for one in short)
                ) if minor else ()


def base_of(reference: str, tables: Tables) -> Base:
    """Return what is known of an image."""
    name, tag = split(reference)
    plain = Base(reference=reference, name=name, tag=tag)
    if name == CUDA_IMAGE:
        return _cuda(plain, tables)
    if name.startswith(_OF_NVIDIA):
        return _of_nvidia(plain, tables)
    if name == "pytorch/pytorch" and (match := _TORCH_TAG.match(tag)) is not None:
        return replace(plain, why_gpu=f"{reference} is built for CUDA", cuda=match[2], build="cuda",
                    release=("torch", match[1]))
    if name == "tensorflow/tensorflow":
        return _tensorflow(plain, tables)
    if name in _WITHOUT_CUDA:
        python = _PYTHON_TAG.match(tag) if name == "python" else None
        return replace(plain, libraries=(), python=python[1] if python else _system_python(name, tag, tables))
    words = re.split(r"[/:._-]+", f"{name}:{tag}".lower())
    gpu = any(word.startswith("cuda") for word in words) or "gpu" in words
    return replace(plain, why_gpu=f"{reference} is named after CUDA or a GPU" if gpu else "")


def split(reference: str) -> tuple[str, str]:
    """Return name and tag of a reference; the tag is "" where none is written, or a digest besides."""
    bare, _, digest = reference.partition("@")
    head, slash, last = bare.rpartition("/")
    last, _, tag = last.partition(":")
    name = f"{head}{slash}{last}"
    for host in _DEFAULT_HOSTS:
        name = name.removeprefix(host)
    name = name.removeprefix("library/")
    name = CUDA_IMAGE if name == f"{_OF_NVIDIA}cuda" else name
    return name, "@" if digest and not tag else tag


def is_plain(reference: str | None) -> bool:
    """Return whether an image is one of those that bring no package of Python but pip, if that."""
    return reference is not None and split(reference)[0] in {CUDA_IMAGE, *_WITHOUT_CUDA}


def _system_python(name: str, tag: str, tables: Tables) -> str | None:
    row = system_row(name, re.split(r"-", tag)[0], tables)
    return str(row["python"]) if row and "python" in row else None


def _cuda(plain: Base, tables: Tables) -> Base:
    why = f"{plain.reference} is an image of CUDA"
    match = CUDA_TAG.match(plain.tag)
    if match is None:
        return replace(plain, why_gpu=why)
    cuda, extra, flavour, system, number = match.groups()
    listed = row_of(tables, "cuda_images", cuda=cuda)
    needs = _needs(cuda, tables)
    cudnn = _cudnn(extra or "", as_texts(listed.get("cudnn")) if listed else ())
    system_of = system_row(system, number, tables)
    is_told = cudnn is not None or not (extra or "").startswith("cudnn")
    paths = tuple(_libraries(cuda, flavour, cudnn, tables)) if is_told else None
    toolkit = (Toolkit(cuda=cuda, told_by=plain.reference),) if flavour == "devel" else ()
    return replace(plain, why_gpu=why, cuda=cuda, requirement=_requirement(needs or {}), toolkits=toolkit,
        libraries=paths, versions=_of_cudnn(paths or (), cudnn),
        python=str(system_of["python"]) if system_of and "python" in system_of else None,
        least_cuda=str(needs["least_cuda"]) if needs else None, compat=_compat(needs))


def _needs(cuda: str, tables: Tables) -> Row | None:
    """Return what an image asks for; of a patch that is in no table what the last one asks."""
    table = tables.get("cuda_image_requirements")
    found = [row for row in (table.rows if table else ()) if _minor(str(row["cuda"])) == _minor(cuda)]
    exact = next((row for row in found if row["cuda"] == cuda), None)
    return exact or (found[-1] if found else None)


def _minor(cuda: str) -> list[str]:
    return cuda.split(".")[:2]


def _requirement(needs: Row) -> str:
    """Return what an image asks of driver and card, as its NVIDIA_REQUIRE_CUDA says it."""
    older = [f"brand={brand},{_branch(driver)}" for one in as_records(needs.get("branches", ()))
             for brand in as_texts(one.get("brands")) for driver in as_texts(one.get("drivers"))]
    return " ".join([f"cuda>={needs['least_cuda']}", *older]) if needs else ""


def _branch(driver: str) -> str:
    return f"driver>={driver},driver<{int(driver) + 1}" if driver.isdecimal() else UNREAD_BRANCH


def _compat(needs: Row | None) -> str | None:
    packages = as_texts(needs.get("compatibility_packages")) if needs else ()
    return packages[0].removeprefix("cuda-compat-").replace("-", ".") if packages else None


def _cudnn(extra: str, listed: Sequence[str]) -> str | None:
    """Return the cuDNN of a tag that says cudnn, cudnn8 or cudnn9: the newest that it may be."""
    major = extra.removeprefix("cudnn")
    fitting = [version for version in listed if version.startswith(f"{major}." if major else "")]
    return max(fitting, key=versions.parse, default=None) if extra.startswith("cudnn") else None


def _of_cudnn(paths: Sequence[str], cudnn: str | None) -> dict[str, str]:
    return {path: cudnn for path in paths if cudnn is not None and "libcudnn" in path}


def _libraries(cuda: str, flavour: str, cudnn: str | None, tables: Tables) -> Iterator[str]:
    """Yield the CUDA libraries of an image by their paths; `base` has little more than the runtime."""
    names = cuda_libraries(cuda, tables)
    if flavour == "base":
        names = [name for name in names if name.startswith("libcudart.")]
    yield from (f"/usr/local/cuda/lib64/{name}" for name in names)
    if cudnn is not None:
        yield f"/usr/lib/x86_64-linux-gnu/libcudnn.so.{cudnn.partition('.')[0]}"


def cuda_libraries(cuda: str, tables: Tables) -> list[str]:
    """Return the files of a CUDA's libraries, without cuDNN; none where the tables do not have them."""
    major = versions.parse(cuda).major
    return sorted({name for row in rows_of(tables, "nvidia_libraries") if row.get("cuda_major") == major
                   and "cudnn" not in str(row["distribution"]) for name in as_texts(row["libraries"])})


def _of_nvidia(plain: Base, tables: Tables) -> Base:
    row = noted(plain.name, plain.tag, tables)
    older = [_branch(driver) for driver in _BRANCH.findall(str(row.get("driver_data_center", "")))]
    return replace(plain, why_gpu=f"{plain.reference} is NVIDIA's own image",
        requirement=" ".join([f"driver>={row['driver']}", *older]) if "driver" in row else "",
        python=str(row["python"]) if "python" in row else None,
        cuda=str(row["cuda"]) if "cuda" in row else None,
        least_driver=str(row["driver"]) if "driver" in row else None)


def _tensorflow(plain: Base, tables: Tables) -> Base:
    is_gpu = "gpu" in plain.tag.split("-")
    why = f"{plain.reference} is the image for GPUs" if is_gpu else ""
    match = _TENSORFLOW_TAG.match(plain.tag)
    if match is None and plain.tag.removesuffix("-jupyter") in _MOVING:
        return replace(plain, release=("tensorflow", ""), build="cpu", libraries=())
    if match is None:
        return replace(plain, why_gpu=why)
    row = row_of(tables, "container_images", image=plain.name, tag=f"{match[1]}-gpu") if is_gpu else None
    cudnn = str(row["cudnn"]) if row and "cudnn" in row else None
    cuda = str(row["cuda"]) if row and "cuda" in row else None
    libraries = tuple(_libraries(cuda, "runtime", cudnn, tables)) if cuda and cudnn else None
    libraries = libraries if is_gpu else ()  # the image for CPUs is Ubuntu's with Python alone
    return replace(plain, why_gpu=why, release=("tensorflow", match[1]), build="cuda" if is_gpu else "cpu",
                cuda=cuda, libraries=libraries, versions=_of_cudnn(libraries or (), cudnn))


# -- the system in it ------------------------------------------------------------------------------------


def ended(base: Base, tables: Tables) -> Row | None:
    """Return the row of the distribution or the Python in an image that gets no updates any more."""
    rows = (system_row(system, version, tables) for system, version in _systems(base, tables))
    return next((row for row in rows if row and "ended" in row), None)


def glibc(base: Base, tables: Tables) -> Fact:
    """Return the GNU C library in an image, as far as its name and tag say which system it is of."""
    words = re.findall(r"[a-z]+", f"{base.name}:{base.tag}")
    pairs = [*_systems(base, tables), *((word, "") for word in words)]
    facts = (glibc_of(system, version, tables, base.reference) for system, version in pairs)
    return next((fact for fact in facts if not isinstance(fact, Unknown)),
                Unknown(reason="the files do not say which C library the image has", asked=False))


def own_cuda(base: Base, tables: Tables) -> str | None:
    """Return the CUDA of the packages that the distribution in an image has itself."""
    rows = (system_row(system, version, tables) for system, version in _systems(base, tables))
    return next((str(row["cuda"]) for row in rows if row and "cuda" in row), None)


def _systems(base: Base, tables: Tables) -> list[tuple[str, str]]:
    """Return what the tag may name: distributions, and a Python, each with its version."""
    match = CUDA_TAG.match(base.tag) if base.name == CUDA_IMAGE else None
    pairs = [(match[4], match[5])] if match else []
    if base.name in _WITHOUT_CUDA:
        pairs += [(base.name, part) for part in base.tag.split("-")[:1]]
        pairs += [("debian", part) for part in base.tag.split("-")[1:]]
    if base.name == "python" and base.python:
        pairs.append(("python", base.python))
    if base.name.startswith(_OF_NVIDIA):
        system, _, version = str(noted(base.name, base.tag, tables).get("os", "")).partition(" ")
        pairs.append((system.lower(), version))
    return pairs
