"""Small wheels of our own for pip to install without an index: stand-ins under published names."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.harness.elf import standin


def build(folder: Path, name: str, version: str, libraries: Mapping[str, str], *,
          texts: Mapping[str, str] | None = None, requires: Sequence[str] = ()) -> Path:
    """Write a wheel with these libraries, path -> SONAME, and texts; return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    information = f"{stem}.dist-info"
    files = {path: standin(soname).read_bytes() for path, soname in libraries.items()}
    files.update({path: text.encode() for path, text in (texts or {}).items()})
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}",
             *(f"Requires-Dist: {requirement}" for requirement in requires), ""]
    files[f"{information}/METADATA"] = "\n".join(lines).encode()
    files[f"{information}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
