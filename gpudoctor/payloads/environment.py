"""Read the environment variables that matter, as this process was started with them."""

import os

from . import loader

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict

VALUE_LIMIT_BYTES = 128 << 10


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with the variables of `request["names"]`: {"value", "bytes"} or {"missing": True} for each."""
    names = request.get("names")
    wanted = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    folders = loader.default_folders()["folders"]
    library_path = os.environ.get("LD_LIBRARY_PATH")
    return {
        "variables": {name: _variable(name) for name in wanted},
        "library_path": loader.expand_library_path(library_path, folders, loader.program_of(request)),
    }


def _variable(name: str) -> "Dict[str, Any]":
    value = os.environ.get(name)
    if value is None:
        return {"missing": True}
    data = os.fsencode(value)
    return {"value": data[:VALUE_LIMIT_BYTES].decode("utf-8", "backslashreplace"), "bytes": len(data)}
