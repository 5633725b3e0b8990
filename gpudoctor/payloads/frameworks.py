"""Describe this Python environment and the frameworks in it; nothing of it is imported.

Request: `because` (why this interpreter is the patient, passed through), `folders` (further folders where a
local file could hide a module, beside the current one and PYTHONPATH), `scan_code` (walk the device code).
"""

import os

from . import (
    collisions, device_code, distributions, horovod, interpreter, libraries, packages, requirers, shadowing,
)

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

TOOLKIT = "cuda-toolkit"  # the distribution through which torch asks for NVIDIA's libraries since 2.11
OTHER_LIBRARIES = {
    "torch": ("torch/lib",),
    "tensorflow": ("tensorflow",),
    "paddle": ("paddle/libs", "paddle/base"),
}
COLLISION_FAMILIES = ("nvidia-", "jax-cuda", "jax-rocm")


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Return python, installed, distributions, frameworks, files, collisions, gone and shadowing."""
    python = _guarded(interpreter.describe)
    answer = {
        "because": request.get("because"),
        "python": python,
        "shadowing": _guarded(_shadowing, request, python.get("standard_library", "")),
    }
    installed = _guarded(_installed, python)
    if isinstance(installed, dict):  # what is there cannot be told, and so nothing may be said to be missing
        parts = ("installed", "distributions", "frameworks", "collisions", "gone")
        files = _guarded(_library_files, python.get("path", []), [], [])
        return dict(answer, files=files, **dict.fromkeys(parts, installed))
    return dict(answer, **_examined(request, python["path"], installed))


def _installed(python: "Dict[str, Any]") -> "List[Dict[str, Any]]":
    """List the distributions; raises where it is not known which there are."""
    if "error" in python:
        raise RuntimeError("the interpreter did not say its sys.path: %s" % python["error"])
    if not python["path"]:
        raise RuntimeError("sys.path names no folder that exists: no module can be imported there")
    return distributions.find(python["path"])


def _examined(
    request: "Dict[str, Any]", folders: "List[str]", installed: "List[Dict[str, Any]]"
) -> "Dict[str, Any]":
    """Return what follows from the distributions that are installed."""
    records = packages.Records()
    frameworks = []
    for name in packages.FRAMEWORKS:
        described = _guarded(packages.examine, name, installed, folders, records)
        if described is not None:
            frameworks.append(dict(described, name=name))
    answer = {
        "installed": _by_folder(installed),
        "distributions": _guarded(_describe_family, installed),
        "frameworks": frameworks,
    }
    claims = _claims(installed, records)
    for framework in frameworks:
        framework["shipped"] = _guarded(packages.shipped_libraries, framework, claims)
        framework["required_by"] = _guarded(requirers.examine, framework, frameworks, installed)
        framework["horovod"] = _guarded(horovod.examine, framework["name"], folders)
        if request.get("scan_code"):
            framework["code"] = _guarded(device_code.scan, framework["shipped"])
    claimed = _guarded(collisions.examine, claims)
    answer.update(claimed if "error" not in claimed else {"collisions": claimed, "gone": claimed})
    answer["files"] = _guarded(_library_files, folders, frameworks, claims)
    return answer


def _by_folder(installed: "List[Dict[str, Any]]") -> "List[List[Any]]":
    """Return [folder, {name: version}] in the order of sys.path; there may be thousands of names."""
    found: Dict[str, Dict[str, Any]] = {}
    for distribution in installed:
        found.setdefault(distribution["folder"], {}).setdefault(distribution["name"], distribution["version"])
    return [[folder, versions] for folder, versions in found.items()]


def _guarded(function: "Callable[..., Any]", *arguments: "Any") -> "Any":
    """Return the function's answer, or {"error": why}: a part that fails must not take the others with it."""
    try:
        return function(*arguments)
    except Exception as problem:  # noqa: BLE001 - a payload promises an answer whatever the environment holds
        return {"error": "%s: %s" % (type(problem).__name__, problem)}


def _describe_family(installed: "List[Dict[str, Any]]") -> "List[Dict[str, Any]]":
    """Describe the first distribution of each NVIDIA and JAX name, and cuda-toolkit."""
    first: Dict[str, Dict[str, Any]] = {}
    for distribution in installed:
        name = distribution["name"]
        if name.startswith("nvidia-") or name == TOOLKIT or packages.JAX_FAMILY.match(name):
            first.setdefault(name, distribution)
    return [distributions.describe(distribution) for distribution in first.values()]


def _library_files(
    folders: "List[str]", frameworks: "List[Dict[str, Any]]", claims: "List[Dict[str, Any]]"
) -> "List[Dict[str, Any]]":
    """Describe the library files; `owners` are the distributions whose record lists the file."""
    others = []
    for framework in frameworks:
        if framework.get("folder"):
            others += [
                os.path.join(framework["folder"], f) for f in OTHER_LIBRARIES.get(framework["name"], ())
            ]
        if framework.get("loader"):
            others += libraries.search_folders(framework["loader"])
    owners: Dict[str, List[str]] = {}
    for claim in claims:
        owners.setdefault(claim["path"], []).append(claim["owner"])
    found = libraries.describe_files(libraries.nvidia_folders(folders), others)
    return [dict(record, owners=owners.get(os.path.normpath(record["path"]), [])) for record in found]


def _shadowing(request: "Dict[str, Any]", standard_library: str) -> "List[Dict[str, Any]]":
    try:
        folders = [os.getcwd()]
    except OSError:
        folders = []
    folders += [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders += [str(folder) for folder in request.get("folders") or []]
    return shadowing.find(folders, standard_library)


def _claims(installed: "List[Dict[str, Any]]", records: packages.Records) -> "List[Dict[str, Any]]":
    """Return every shared library that the record of an NVIDIA, JAX or framework distribution lists."""
    claims: List[Dict[str, Any]] = []
    for distribution in installed:
        name = distribution["name"]
        framework = any(layout["known"].match(name) for layout in packages.FRAMEWORKS.values())
        if framework or name == "jaxlib" or name.startswith(COLLISION_FAMILIES):
            claims += collisions.claims_of(
                distribution, distributions.record_libraries(records.of(distribution))
            )
    return claims
