"""Say which GPU libraries a running process has mapped, and whether their files are still there.

Request: `process`: {"numbers": the numbers that it goes by, "started": in clock ticks}. Which of them /proc
knows it by depends on whose /proc is mounted here.
"""

import re

from . import elf, files, loader

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

MAPS_LIMIT_BYTES = 64 << 20
LIBRARIES_LIMIT = 1000
_DELETED = " (deleted)"
_OCTAL = re.compile(r"\\([0-7]{3})")


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with `libraries`: [{"path", "soname", "deleted"}], or {"error"} where maps cannot be read."""
    folder = folder_of(request)
    maps = {"missing": True}  # type: Dict[str, Any]
    if folder is not None:
        maps = files.read_text(folder + "/maps", MAPS_LIMIT_BYTES)
    return {"libraries": mapped(maps["text"]) if "text" in maps else maps}


def folder_of(request: "Dict[str, Any]") -> "Optional[str]":
    """Return the process's folder below /proc; None where it is not to be seen there, or none was named."""
    named = request.get("process")
    named = named if isinstance(named, dict) else {}
    for number in named.get("numbers") or []:
        folder = "/proc/%s" % number
        fields = files.read_text(folder + "/stat").get("text", "").rpartition(")")[2].split()
        if len(fields) > 19 and fields[19] == str(named.get("started")):
            return folder
    return None


def mapped(text: str) -> "List[Dict[str, Any]]":
    """Return the GPU libraries in the text of a maps file, each once, in the order of their addresses."""
    paths: Dict[str, bool] = {}
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) < 6 or not fields[5].startswith("/"):
            continue
        deleted = fields[5].endswith(_DELETED)
        path = _OCTAL.sub(lambda found: chr(int(found.group(1), 8)), fields[5])
        path = path[:-len(_DELETED)] if deleted else path
        if loader.GPU_LIBRARY.match(path.rpartition("/")[2]):
            paths[path] = deleted
    return [{"path": path, "soname": None if deleted else elf.read_elf(path)["soname"], "deleted": deleted}
            for path, deleted in list(paths.items())[:LIBRARIES_LIMIT]]
