"""Which keys of `key: value` lines are known, and who reads the value of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor.sources import fields
from gpudoctor.sources.found import Found
from gpudoctor.sources.stated import Rank
from gpudoctor.variables import ENVIRONMENT_VARIABLES

Reader = Callable[[Found, str, str, Rank], None]  # value, source, rank

# Who reads the values, then how the keys may be written: lower case, no decoration, no words in brackets.
_TABLE = """
framework:
    framework; framework version; dl framework; deep learning framework
cuda:
    cuda; cuda version; cuda toolkit; cuda toolkit version; cuda runtime; installed cuda
    cuda release; cuda installed; cuda sdk; cuda ver; cudatoolkit; cuda_version; cuda-version
    cuda-toolkit; cuda tools; nvcc
cudnn:
    cudnn; cudnn version; cudnn_version; cudnn ver; cudnn-version; cudnn library
    torch.backends.cudnn.version()
cuda_and_cudnn:
    cuda/cudnn version; cuda/cudnn; cuda / cudnn version; cuda / cudnn; cuda & cudnn version
    cuda and cudnn version; cuda and cudnn; cuda cudnn version; cuda/cudnn versions; cuda&cudnn
    installed version of cuda and cudnn; cuda, cudnn version; cuda/cudnn version used; cuda-cudnn
driver:
    driver; driver version; nvidia driver; gpu driver; graphics driver; nvidia-driver; video driver
    gpu driver version; nvidia drivers; drivers; cuda driver; nvidia driver versions; nvidia_driver
    kmd version; display driver; driver_version
python:
    python; python version; python_version; version of python; python ver; python3; interpreter
    sys.version
os:
    os; os platform and distribution; os platform; operating system; os version; os/platform
    distro; linux distribution; distribution; operating system/platform; os platform & distribution
    os and version; host os; operating system version; os distribution; os & version
platform:
    platform; environment type
cards:
    gpu; gpus; gpu model; gpu model and memory; graphics card; video card; gpu type; gpu info
    gpu name; graphics; gpu models; device name; cuda device; gpu model & memory; gpu hardware
    nvidia gpu; nvidia gpu info; vga; gpu model/memory; videocard; gpu card; gpu device
kernel:
    kernel; kernel version; linux kernel; linux kernel version
jax_versions:
    jax/jaxlib version; what jax/jaxlib version are you using?; jax and jaxlib version
glibc:
    libc version; glibc; glibc version; libc
capability:
    compute capability; cuda compute capability; gpu compute capability; cuda capability
container:
    docker; docker version; container; docker image; container image; base image
conda:
    conda; conda version; conda environment; active environment; virtual environment
"""
_READERS: dict[str, Reader] = {
    reader.__name__: reader for reader in (
        fields.framework, fields.cuda, fields.cudnn, fields.cuda_and_cudnn, fields.driver,
        fields.python, fields.os, fields.platform, fields.cards, fields.kernel, fields.jax_versions,
        fields.glibc, fields.capability, fields.container, fields.conda)}


def _keys() -> Iterator[tuple[str, Reader]]:
    name = ""
    for line in _TABLE.strip().splitlines():
        if line[:1].isspace():
            yield from ((key.strip(), _READERS[name]) for key in line.split(";"))
        else:
            name = line.rstrip(":")


KEYS: dict[str, Reader] = dict(_keys())

# Only these programs print these keys.
REPORTED: dict[str, Reader] = {
    "cuda runtime version": fields.cuda, "nvidia driver version": fields.driver,
    "nvidia gpu models": fields.cards, "cuda driver version": fields.ceiling,
    "cuda used to build pytorch": fields.torch_cuda, "rocm used to build pytorch": fields.torch_rocm,
    "torch.version.cuda": fields.torch_cuda, "python platform": fields.python_platform,
    "cuda compiled version": fields.torch_cuda, "pytorch cuda version": fields.torch_cuda,
    "torch cuda version": fields.torch_cuda,
}
_VERSIONED = (
    ".__version__", ".__version", " version", ".version.version", ".version", "_version", " release", "")
# "tensorflow version", "torch.__version__" -> what text.frameworks calls the framework
VERSION_KEYS = {f"{written}{ending}": name
                for written, name in fields.SPELLED.items() for ending in _VERSIONED}
VARIABLES = {name.lower(): name for name in ENVIRONMENT_VARIABLES}
