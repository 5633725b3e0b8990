"""Walk the device code of libraries: their fat binaries are counted and told apart, nothing is loaded.

Request: `libraries`, for each framework the paths of those that it brought along.
"""


from . import fatbin

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Return for each framework what `scan` finds, or {"error": why}."""
    answer = {}  # type: Dict[str, Any]
    for name, paths in request["libraries"].items():
        try:
            answer[name] = scan(paths)
        except Exception as problem:  # noqa: BLE001 - one framework's files must not cost the others'
            answer[name] = {"error": "%s: %s" % (type(problem).__name__, problem)}
    return answer


def scan(paths: "List[str]") -> "List[Dict[str, Any]]":
    """Return what each library holds; one that holds nothing is left out, one that failed is not."""
    scans = [dict(fatbin.scan_file(path), path=path) for path in paths]
    return [found for found in scans if found["error"] or found["fat_binaries"] or found["unreadable"]]
