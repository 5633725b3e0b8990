"""The stand-alone probe is one small archive, the same each time, of code that old Pythons can read."""

from __future__ import annotations

import ast
import io
import zipfile

from gpudoctor.zipapp import PAYLOADS, build


def test_same_bytes_each_time() -> None:
    """Two people who build it can compare what they carry."""
    assert build() == build()


def test_what_is_in_it() -> None:
    """Every payload, the single-file pynvml and a start, behind a line that names the interpreter."""
    data = build()
    assert data.startswith(b"#!/usr/bin/env python3\n")
    names = set(zipfile.ZipFile(io.BytesIO(data)).namelist())
    payloads = {
        f"gpudoctor_payloads/{path.name}" for path in PAYLOADS.glob("*.py") if path.name != "__main__.py"
    }
    assert names == {"__main__.py", "pynvml.py", "gpudoctor_payloads/names.py", *payloads}
    assert len(data) < 500_000


def test_old_pythons_can_read_it() -> None:
    """The grammar of Python 3.6 is enough for every file."""
    archive = zipfile.ZipFile(io.BytesIO(build()))
    for name in archive.namelist():
        ast.parse(archive.read(name), name, feature_version=(3, 6))
