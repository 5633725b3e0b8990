"""What the value of a field says: one function for each kind, all of them total."""

from __future__ import annotations

import re

from gpudoctor import versions
from gpudoctor.lazily import Pattern
from gpudoctor.sources.cards import capability_in, stated_cards
from gpudoctor.sources.found import Found
from gpudoctor.sources.frameworks import CATALOGUED, SPELLINGS, cuda_suffix, framework_in, version_of
from gpudoctor.sources.stated import Rank
from gpudoctor.sources.values import distribution_in, dotted_version_in, says_nothing, series_in, version_in

SPELLED = dict(SPELLINGS)
_WITHOUT = ("without a gpu", "without gpu", "no gpu", "no nvidia gpu", "has no gpu")
OS_CHARACTERS = 100
_PLACES = {  # what `platform:` may say
    "linux": "linux", "windows": "windows", "macos": "macos", "mac": "macos", "darwin": "macos",
    "wsl": "wsl2", "wsl1": "wsl1", "wsl2": "wsl2", "docker": "docker", "podman": "podman", "lxc": "lxc",
    "singularity": "singularity", "apptainer": "singularity", "kubernetes": "kubernetes", "k8s": "kubernetes",
    "slurm": "slurm", "hpc": "hpc", "conda": "conda", "colab": "colab", "google colab": "colab",
    "kaggle": "kaggle", "jetson": "jetson", "cloud-vm": "cloud-vm", "cloud vm": "cloud-vm",
    "datacenter": "datacenter", "hyper-v": "hyper-v", "jupyter": "jupyter", "nixos": "nixos",
}
_WITHOUT_DOT = Pattern(r"([2-9]|1[0-9])([0-9])(?![0-9.])")  # 12 is no 1.2
_OF_NVIDIA = "nvidia-tensorflow"
_DRIVER = Pattern(r"(?<![0-9.])([0-9]{3})(\.[0-9]{1,3}){0,2}(?![0-9.]*[0-9])")
OFFERS = (" - distro ", " - third-party ")  # ubuntu-drivers, of packages that could be installed
_WINDOWS_DRIVER = Pattern(r"\b[0-9]{2}\.[0-9]{1,2}\.([0-9]{1,2})\.([0-9]{4})\b")
_PLATFORM = Pattern(r"Linux-([0-9][0-9A-Za-z._+-]{2,80}?)-(x86_64|aarch64|ppc64le|arm64)\b")
_KERNEL = Pattern(r"(?<![0-9.])[2-9]\.[0-9]{1,3}[.-][0-9A-Za-z][0-9A-Za-z._+-]{0,40}")
_CLOUDS = ("-aws", "-azure", "-gcp", "-oracle", "-gke")
_KERNEL_NAMES = frozenset({"linux", "linux2", "posix", "nt"})
_TUPLE = str.maketrans("(),'", "    ")
_GLIBC = Pattern(r"(?:glibc|libc)[ -]?([0-9]\.[0-9]{1,2})")
_PYTHON_OWN_GLIBC = 12
_FOLDERS = Pattern(r"[A-Za-z]:\\|/(?:usr|opt|home)/")
_FLAVOUR = Pattern(r"\b(?:open|proprietary)\b")  # of the driver's kernel modules
_LIBRARY = Pattern(
    r"libcudnn[a-z_]{0,30}\.so\.([0-9]{1,2}(?:\.[0-9]{1,3}){0,3})|cudnn[a-z_]{0,30}64_([0-9]{1,2})\.dll")


def framework(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read what a text is about; a field for just that outranks every other mention."""
    named = framework_in(value)
    if named is None:
        word = re.match(r"[A-Za-z][A-Za-z0-9_.+-]{1,30}", value)
        if word and not says_nothing(word[0]):
            found.say("text.framework", word[0].lower(), source, Rank.REPORTED)
        elif value[:1].isdecimal():  # a version alone: of the framework whose lines the text shows
            found.say("text.framework_version", version_of(value), source, Rank.REPORTED)
        return
    name, rest = named
    version = version_of(rest)
    if value.lower().startswith(_OF_NVIDIA) and version is not None and "+" not in version:
        rest = f"{version}+nv"  # its own label: it is not TensorFlow's release of that number
    found.say("text.framework", name, source, Rank.REPORTED)
    _version(found, name, rest, source, rank)


def framework_version(found: Found, name: str, value: str, source: str, rank: Rank) -> None:
    """Read the version of a framework that the key names."""
    version = version_of(value)
    if version is None and cuda_suffix(value) is None:
        return
    found.say("text.framework", name, source, rank)
    _version(found, name, value, source, rank)


def _version(found: Found, name: str, words: str, source: str, rank: Rank) -> None:
    found.mention("text.frameworks", name, source)
    version, suffix = version_of(words), cuda_suffix(words)
    found.say(f"text.framework_version:{name}", version or series_in(words), source, rank)
    own = CATALOGUED.get(name)
    if own is not None:
        if version is not None:
            found.framework_version(own, version, source, rank)
        found.framework(own, "framework.cuda", suffix, source, rank)


def cuda(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read the installed CUDA; "11.0 (driver)" is what a driver runs."""
    if re.match(r"\D{0,8}[0-9]{1,2} ?/ ?[0-9]{1,2}\b(?!\.)", value):
        return  # "11/12": nobody knows which
    version = _plausible(dotted_version_in(value) or version_in(value), 5, 19) or cuda_suffix(value)
    if "driver" in value.lower() and "(" in value:
        found.say("driver.cuda_ceiling", version, source, rank)
    else:
        found.say("text.cuda", version, source, rank)


def ceiling(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read the newest CUDA that a driver runs."""
    found.say("driver.cuda_ceiling", _plausible(dotted_version_in(value), 5, 19), source, rank)


def cudnn(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read a cuDNN: a version, the number that its own function returns, or the path of its library."""
    library = _LIBRARY.search(value[:400])
    number = re.fullmatch(r"[0-9]{4,6}", value.strip())
    if library:
        found.say("text.cudnn", library[1] or library[2], source, rank)
    elif number:
        found.say("text.cudnn", versions.of_cudnn_number(int(number[0])), source, rank)
    elif not _FOLDERS.search(value[:400]):  # those name CUDA's version, and a path may be cut off
        found.say("text.cudnn", _plausible(version_in(value), 1, 15), source, rank)


def cuda_and_cudnn(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read a field for both: "10.2 / 8.0.2", "CUDA 10.1 cuDNN 7.6.5"."""
    folded = value[:200].lower()
    position = folded.find("cudnn")
    if position >= 0:
        own = re.match(r"cudnn\D{0,14}", folded[position:])
        after = value[position + (own.end() if own else 5):]
        before = value[:position].strip(" ,/&")
        if dotted_version_in(before) or version_in(before):
            cuda(found, before, source, rank)
            cudnn(found, after, source, rank)
        else:  # "cuDNN 8.1, CUDA 11.2"
            cudnn(found, after, source, rank)
            cuda(found, after.lower().partition("cuda")[2], source, rank)
        return
    first, _, second = re.sub(r"\s+(?:and|&|with)\s+|[,;+]\s*|\s-\s", "/", value[:200]).partition("/")
    cuda(found, first, source, rank)
    cudnn(found, second, source, rank)


def driver(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read a driver's version; kernel and user halves apart where both are stated."""
    windows = _WINDOWS_DRIVER.search(value[:200])
    if windows:
        digits = f"{windows[1]}{windows[2]}"[-5:]
        found.say("driver.version", f"{digits[:3]}.{digits[3:]}", source, rank)
        return
    versions = list(_DRIVER.finditer(value[:200]))
    if not versions or any(offer in value for offer in OFFERS):
        return
    folded = value[:200].lower()
    halves = {"kernel": "driver.kernel_version", "user": "driver.libcuda_file_version"}
    for position, version in enumerate(versions):
        end = versions[position + 1].start() if position + 1 < len(versions) else len(folded)
        for word, fact in halves.items():
            if word in folded[version.end():end]:
                found.say(fact, version[0], source, rank)
    found.say("driver.version", versions[0][0], source, rank)
    flavours = set(_FLAVOUR.findall(folded))
    if len(flavours) == 1:
        found.say("driver.kernel_flavour", flavours.pop(), source, rank)


def python(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read a Python version."""
    if ".final." in value:
        return  # conda info, of the Python that conda itself runs on
    version = version_in(value.replace("python", " ").replace("Python", " "))
    if version is not None and version.partition(".")[0] in ("2", "3"):
        found.say("python.version", version, source, rank)


def python_platform(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read what Python's platform module calls the machine: Linux-5.15.0-76-generic-x86_64-with-glibc2.35."""
    like = _PLATFORM.search(value[:300])
    if like:
        found.say("system.os", "Linux", source, rank)
        found.say("system.kernel", like[1], source, rank)
        found.say("system.architecture", like[2], source, rank)
        kernel(found, like[1], source, rank)
        glibc(found, value, source, rank)
    elif value.startswith("Windows"):
        found.say("system.os", "Windows", source, rank)


def os(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read the name of an operating system."""
    if says_nothing(value) or len(value) < 2:
        return
    if _PLATFORM.search(value[:300]):
        python_platform(found, value, source, rank)
        return
    if value.lower() not in _KERNEL_NAMES:  # "Linux" alone says less than any other line
        words = " ".join(value[:OS_CHARACTERS].translate(_TUPLE).split()) if value[:1] == "(" else value
        found.say("text.os", words[:OS_CHARACTERS].strip(" `*_,"), source, rank)
    named = distribution_in(value)
    if named is not None:
        found.say("system.distribution", named[0], source, rank)
        found.say("system.distribution_version", _version_id(*named), source, rank)
    folded = value[:200].lower()
    if any(words in folded for words in _WITHOUT):
        found.no_cards = found.no_cards or source
    if named is not None or "linux" in folded:
        found.say("system.os", "Linux", source, rank)
    elif "windows" in folded and "wsl" not in folded:
        found.say("system.os", "Windows", source, rank)
    for architecture in ("x86_64", "aarch64", "ppc64le"):
        if architecture in folded:
            found.say("system.architecture", architecture, source, rank)


def _version_id(distribution: str, version: str | None) -> str | None:
    """Return VERSION_ID of os-release: Ubuntu's and Debian's have fewer parts than what people write."""
    parts = {"ubuntu": 2, "debian": 1}.get(distribution)
    return ".".join(version.split(".")[:parts]) if version is not None else None


def platform(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read where it happened, or what Python's platform module prints."""
    for said in re.split(r"[,/;+]", value[:200].lower()):
        word = said.strip(" .`*_")
        parts = (word,) if word in _PLACES else tuple(word.split("-"))  # "linux-hpc" says both
        if all(part in _PLACES for part in parts):
            for part in parts:
                found.mention("text.places", _PLACES[part], source)
    python_platform(found, value, source, rank)


def cards(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read the names of cards, or that there is none."""
    named = stated_cards(value, found.known)
    if named == ():
        found.no_cards = found.no_cards or source
    elif named is None and capability_in(value) is not None:
        capability(found, value, source, rank)
    elif named is not None:
        found.list_cards([
            found.card({"gpu.name": card.name, "gpu.compute_capability": card.capability,
                        "gpu.mig_mode": True if card.mig else None}, source) for card in named], rank)


def kernel(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read a kernel's release: WSL, Jetson and clouds have their own."""
    release = _KERNEL.search(value[:60])
    if release is None:  # a line of the kernel's log has its time there
        return
    found.say("system.kernel", release[0], source, rank)
    folded = release[0].lower()
    if folded.endswith(_CLOUDS):
        found.mention("text.places", "cloud-vm", source)
    if "wsl2" in folded or "microsoft-standard" in folded:
        found.say("system.wsl", 2, source, rank)
    elif "microsoft" in folded:
        found.say("system.wsl", 1, source, rank)
    else:
        found.deny("system.wsl", source)


def glibc(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read the version of the GNU C library; before 3.8 Python gave the oldest that it itself runs on."""
    version = _GLIBC.search(value[:200])
    number = version[1] if version else (re.match(r"[0-9]\.[0-9]{2}\b", value) or [None])[0]
    if number is not None and int(number.partition(".")[2]) >= _PYTHON_OWN_GLIBC:
        found.say("system.glibc", number, source, rank)


def torch_cuda(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read the CUDA that PyTorch was built for."""
    version = dotted_version_in(value)
    found.framework("torch", "framework.cuda", version, source, rank)
    if version is not None:
        found.framework("torch", "framework.build", "cuda", source, rank)


def torch_rocm(found: Found, value: str, source: str, rank: Rank) -> None:
    """Note a build for ROCm."""
    if version_in(value) is not None:
        found.framework("torch", "framework.build", "rocm", source, rank)


def jax_versions(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read "jax v0.3.1, jaxlib v0.3.0"."""
    framework_version(found, "jax", value, source, rank)


def capability(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read a compute capability; PaddlePaddle writes 8.6 and 86."""
    pair = _WITHOUT_DOT.match(value.strip())
    stated = f"{pair[1]}.{pair[2]}" if pair else capability_in(f"cc {value.strip()}") or capability_in(value)
    if stated is not None:
        found.mention("text.capabilities", stated, source)
    del rank  # a list has none


def container(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read that there is a container; `no` says that there is none."""
    if version_in(value) is not None or "/" in value or value.lower().startswith(("yes", "docker")):
        found.mention("text.places", "docker", source)
    del rank


def conda(found: Found, value: str, source: str, rank: Rank) -> None:
    """Read that conda is in use."""
    if version_in(value) is not None or "conda" in value.lower():
        found.mention("text.places", "conda", source)
    del rank


def _plausible(version: str | None, lowest: int, highest: int) -> str | None:
    """Return a version whose major number can be one of this product's."""
    return version if version and lowest <= int(version.partition(".")[0]) <= highest else None
