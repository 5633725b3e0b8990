"""Describe the interpreter that runs this: version, kind of environment, package folders, what pip may do."""

import importlib.machinery
import os
import site
import sys

from . import conda_history, files, kernel

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

CONDA_PACKAGES_LIMIT = 1000000
KEPT_IN = ("pipx_metadata.json", "uv-receipt.toml", ".project")
KEPT_BESIDE = ("poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock")
PATH_LIMIT = 100000  # beyond it nothing is said of any folder


def describe() -> "Dict[str, Any]":
    """Return plain facts about this interpreter; nothing of the environment is imported."""
    prefix = sys.prefix
    kept = os.path.join(prefix, "conda-meta")
    conda = files.list_folder(kept, CONDA_PACKAGES_LIMIT)
    library = os.path.dirname(os.path.abspath(os.__file__))
    return {
        "version": "%d.%d.%d" % sys.version_info[:3],
        "release_level": sys.version_info[3],
        "implementation": sys.implementation.name,
        "extension_suffix": (importlib.machinery.EXTENSION_SUFFIXES or [""])[0],
        "executable": sys.executable or None,
        "prefix": prefix,
        "base_prefix": getattr(sys, "base_prefix", prefix),
        "real_prefix": getattr(sys, "real_prefix", None),
        "standard_library": library,
        "conda_packages": [n[:-5] for n in conda["names"] if n.endswith(".json")]
        if "names" in conda
        else None,
        "conda_history": conda_history.describe(os.path.join(kept, "history")),
        "externally_managed": os.path.exists(os.path.join(library, "EXTERNALLY-MANAGED")),
        "user_site_enabled": bool(site.ENABLE_USER_SITE),
        "user_site": getattr(site, "USER_SITE", None),
        "path": folders(),
        "markers": markers(),
        "uv": on_path("uv"),
        "keepers": keepers(prefix),
    }


def on_path(program: str) -> "Optional[str]":
    """Return where a program lies that a shell would find here, None where it would not."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = os.path.join(folder, program)
        if folder and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return None


def keepers(prefix: str) -> "List[str]":
    """Return the files in and beside an environment by which the tool is known that made it."""
    beside = os.path.dirname(prefix)
    places = [os.path.join(prefix, name) for name in KEPT_IN]
    if os.path.basename(prefix) == ".venv":
        places += [os.path.join(beside, name) for name in KEPT_BESIDE]
    if os.path.basename(beside) == "virtualenvs" and "pypoetry" in beside:
        places.append(beside)
    return [place for place in places if os.path.exists(place)]


def folders() -> "List[str]":
    """Return the folders of sys.path in order, without this payload's own and without repetition.

    What is no text is passed over, as Python does.
    """
    if len(sys.path) > PATH_LIMIT:
        raise ValueError("sys.path has %d entries" % len(sys.path))
    entries = dict.fromkeys(entry for entry in sys.path if entry and isinstance(entry, str))
    return [entry for entry in entries if os.path.isdir(entry)]


def markers() -> "Dict[str, str]":
    """Return the variables of requirement markers, by the names that packaging gives them."""
    system = kernel.name()
    version = "%d.%d.%d" % sys.version_info[:3]
    implementation = sys.implementation.name
    return {
        "os_name": os.name,
        "sys_platform": sys.platform,
        "platform_machine": system.machine,
        "platform_system": system.sysname,
        "platform_release": system.release,
        "platform_version": system.version,
        "python_version": "%d.%d" % sys.version_info[:2],
        "python_full_version": version,
        "implementation_name": implementation,
        "implementation_version": "%d.%d.%d" % sys.implementation.version[:3],
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(
            implementation, implementation
        ),
    }
