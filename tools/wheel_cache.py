"""Keep what was read of a wheel, so that a second run asks only for what is new.

A wheel never changes: its hash is the key.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def default_cache_folder() -> Path:
    """Return the folder in the user's cache directory (XDG rules)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gpudoctor" / "tables"


def write_atomically(path: Path, text: str) -> None:
    """Put a file in place whole, or leave what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


class WheelCache:
    """JSON documents, one for each kind of question and wheel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, kind: str, sha256: str) -> Any:
        """Return the stored answer, None if there is none."""
        path = self._path(kind, sha256)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def get(self, kind: str, sha256: str, ask: Callable[[], Any], *, anew: bool = False) -> Any:
        """Return the stored answer, else (or `anew`) ask for it and store it."""
        path = self._path(kind, sha256)
        if anew or not path.exists():
            write_atomically(path, json.dumps(ask()))
        return json.loads(path.read_text(encoding="utf-8"))

    def _path(self, kind: str, sha256: str) -> Path:
        return self.folder / kind / f"{sha256}.json"
