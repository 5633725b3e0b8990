"""Find shared libraries that two installed distributions both claim, and say whose file lies there now.

pip lets the second distribution overwrite the first one's file without a word, and lets the removal of either
take the file away. The records of both still list it, each with the size and hash of its own.
"""

import os

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

HASH_BYTES_LIMIT = 64 << 20
COLLISIONS_LIMIT = 1000


def claims_of(distribution: "Dict[str, Any]", libraries: "Dict[str, Any]") -> "List[Dict[str, Any]]":
    """Return one claim for each shared library a distribution's record lists: path, owner, size, hash."""
    folder, owner = distribution["folder"], distribution["name"]
    return [
        dict(entry, owner=owner, path=os.path.normpath(os.path.join(folder, member)))
        for member, entry in libraries.items()
    ]


def examine(claims: "List[Dict[str, Any]]") -> "Dict[str, List[Dict[str, Any]]]":
    """Return `collisions` (files of several owners) and `gone` (claimed files that are not there)."""
    by_path: Dict[str, List[Dict[str, Any]]] = {}
    for claim in claims:
        by_path.setdefault(claim["path"], []).append(claim)
    collisions, gone = [], []
    budget_bytes = HASH_BYTES_LIMIT
    for path in sorted(by_path):
        owners = by_path[path]
        size = _size_of(path)
        if size is None:
            gone.append({"file": path, "owners": [claim["owner"] for claim in owners]})
        if len(owners) < 2:
            continue
        matches, decided_by = _whose(path, size, owners, budget_bytes)
        budget_bytes -= (size or 0) if decided_by == "hash" else 0
        collisions.append(
            {
                "file": path,
                "owners": [claim["owner"] for claim in owners],
                "recorded_bytes": [claim["size_bytes"] for claim in owners],
                "size_bytes": size,
                "matches": matches,
                "decided_by": decided_by,
            }
        )
    return {"collisions": collisions[:COLLISIONS_LIMIT], "gone": gone[:COLLISIONS_LIMIT]}


def _size_of(path: str) -> "Optional[int]":
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _whose(path: str, size: "Optional[int]", owners: "List[Dict[str, Any]]", budget_bytes: int) -> "Any":
    """Return (matches, decided_by): an owner, "identical", "neither", "undecided", or "" when it is gone."""
    if size is None:
        return "", ""
    if len({claim["sha256"] for claim in owners}) == 1 and owners[0]["sha256"]:
        return "identical", "record"
    fitting = [claim for claim in owners if claim["size_bytes"] in (size, None)]
    if not fitting:
        return "neither", "size"
    if len(fitting) == 1 and fitting[0]["size_bytes"] is not None:
        return fitting[0]["owner"], "size"
    digest = sha256_of(path, budget_bytes) if size <= budget_bytes else None
    if digest is None:
        return "undecided", ""
    return next((claim["owner"] for claim in fitting if claim["sha256"] == digest), "neither"), "hash"


def sha256_of(path: str, limit_bytes: int) -> "Optional[str]":
    """Return the hash of a regular file of at most `limit_bytes`, None if it cannot be read."""
    import hashlib  # costs milliseconds, and hardly any environment needs it

    data = files.read_bytes(path, limit_bytes + 1)[0]
    if data is None or len(data) > limit_bytes:
        return None
    return hashlib.sha256(data).hexdigest()
