"""What a wheel requires: NVIDIA's libraries of the extra that brings them, and bounds on a few others."""

import re
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.table_file import Row
from tools.wheel_cache import WheelCache
from tools.wheel_index import WheelFile, WheelIndex

NVIDIA_PREFIXES = ("nvidia-", "cuda-", "tensorrt")
# What breaks a framework in the field when it is too new or too old, and a framework's own parts.
BOUNDS = re.compile(
    r"numpy|protobuf|keras|tf-keras|typing-extensions|ml-dtypes|jaxlib|jax-cuda\d+-(pjrt|plugin)|tensorflow"
)
# A wheel of 2 kB that only requires another distribution of the same version, which holds the build.
DELEGATES = ("tensorflow-intel", "tensorflow-cpu-aws", "tensorflow-macos")


def wheel_requirements(index: WheelIndex, cache: WheelCache, wheel: WheelFile) -> list[Requirement]:
    """Return a wheel's Requires-Dist lines."""
    text = cache.get("metadata", wheel.sha256, lambda: index.metadata_text(wheel))
    lines = HeaderParser().parsestr(text).get_all("Requires-Dist") or []
    return [Requirement(line) for line in lines]


def required_columns(
    index: WheelIndex, cache: WheelCache, wheel: WheelFile, *, python: str | None, extra: str
) -> Row:
    """Return what is installed with a wheel on its own platform, with the extra that brings the libraries."""
    stated = wheel_requirements(index, cache, wheel)
    applying = list(_applying(stated, wheel, python=python, extra=extra))
    nvidia = _expand_toolkit(index, cache, wheel, [r for r in applying if _is_nvidia(r)], python=python)
    delegate = next((r for r in applying if canonicalize_name(r.name) in DELEGATES), None)
    return {
        "requires_nvidia": sorted({bare(requirement) for requirement in nvidia}),
        "requires": sorted({bare(r) for r in applying if _is_bound(r) and r is not delegate}),
        "delegates_to": bare(delegate) if delegate else None,
    }


def extras_columns(index: WheelIndex, cache: WheelCache, wheel: WheelFile, *, names: re.Pattern[str]) -> Row:
    """Return what each extra with such a name brings: "cuda12: jax-cuda12-plugin[with-cuda]==0.7.2"."""
    stated = wheel_requirements(index, cache, wheel)
    always = {str(r) for r in _applying(stated, wheel, python=None, extra="")}
    markers = " ".join(str(requirement.marker) for requirement in stated)
    mentioned = set(re.findall(r'extra == "([^"]+)"', markers))
    found = []
    for name in sorted(name for name in mentioned if names.fullmatch(name)):
        brought = {bare(r) for r in _applying(stated, wheel, python=None, extra=name) if str(r) not in always}
        found.append(f"{name}: {' '.join(sorted(brought))}")
    return {"extras": found or None}


def lowest_admitted(requirements: Iterable[str], name: re.Pattern[str]) -> str | None:
    """Return the lowest version that the requirement on the distribution admits: its == or its >=."""
    for text in requirements:
        requirement = Requirement(text)
        if name.fullmatch(canonicalize_name(requirement.name)):
            for specifier in requirement.specifier:
                if specifier.operator in ("==", ">=") and not specifier.version.endswith("*"):
                    return specifier.version
    return None


def bare(requirement: Requirement) -> str:
    """Write a requirement without its marker."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{canonicalize_name(requirement.name)}{extras}{requirement.specifier}"


def _is_bound(requirement: Requirement) -> bool:
    return BOUNDS.fullmatch(canonicalize_name(requirement.name)) is not None


def _is_nvidia(requirement: Requirement) -> bool:
    name = canonicalize_name(requirement.name)
    return name.startswith(NVIDIA_PREFIXES) and name != "cuda-pathfinder"


def _applying(
    requirements: Iterable[Requirement], wheel: WheelFile, *, python: str | None, extra: str
) -> Iterator[Requirement]:
    """Yield what is installed with the wheel on its own platform, with that extra; `any` is Linux x86_64."""
    system, _, machine = wheel.platform.partition("_") if wheel.platform != "any" else ("linux", "", "x86_64")
    environment = {key: str(value) for key, value in default_environment().items()} | {
        "extra": extra,
        "platform_machine": "AMD64" if system == "windows" and machine == "x86_64" else machine,
        "platform_system": {"linux": "Linux", "windows": "Windows", "macos": "Darwin"}.get(system, system),
        "sys_platform": {"windows": "win32", "macos": "darwin"}.get(system, system),
        "os_name": "nt" if system == "windows" else "posix",
    }
    if python:
        environment |= {"python_version": python, "python_full_version": f"{python}.0"}
    for requirement in requirements:
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield requirement


def _expand_toolkit(
    index: WheelIndex,
    cache: WheelCache,
    wheel: WheelFile,
    requirements: list[Requirement],
    *,
    python: str | None,
) -> list[Requirement]:
    """Replace the meta package cuda-toolkit[...] by what its extras require."""
    expanded = []
    for requirement in requirements:
        if canonicalize_name(requirement.name) != "cuda-toolkit":
            expanded.append(requirement)
            continue
        toolkits = [file for file in index.wheels("cuda-toolkit") if file.version in requirement.specifier]
        newest = max(toolkits, key=lambda file: Version(file.version))
        inner = wheel_requirements(index, cache, newest)
        for extra in sorted(requirement.extras):
            brought = list(_applying(inner, wheel, python=python, extra=extra))
            expanded += _expand_toolkit(index, cache, wheel, brought, python=python)
    return expanded
