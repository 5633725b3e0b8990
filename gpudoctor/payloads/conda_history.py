"""Read conda-meta/history, in which conda, mamba and micromamba note each change of an environment."""

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict

LIMIT_BYTES = 1 << 24


def describe(path: "str") -> "Dict[str, Any]":
    """Return how many states the file notes, how many of them changed packages, and who wrote the last."""
    data, failure = files.read_bytes(path, LIMIT_BYTES)
    if data is None:
        return failure
    if len(data) == LIMIT_BYTES:
        return {"error": "larger than %d bytes" % LIMIT_BYTES}
    states = changes = 0
    has_changed = False
    last = {}  # type: Dict[str, str]
    for written in data.decode("utf-8", "replace").splitlines():
        line = written.strip()
        if line.startswith("==>") and line.endswith("<=="):
            states += 1
            has_changed, last = False, {}
        elif line.startswith("#"):
            name, _, value = line[1:].partition(":")
            last[name.strip()] = value.strip()[:1000]
        elif line.startswith(("+", "-")) and not has_changed:
            changes += 1
            has_changed = True
    return {"states": states, "changes": changes, "command": last.get("cmd"),
            "conda_version": last.get("conda version")}
