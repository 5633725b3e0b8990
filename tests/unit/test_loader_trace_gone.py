"""The loader passes over a file that it cannot open; one that it can open and not use ends its search."""

from __future__ import annotations

import pytest

from gpudoctor.derive.loader_trace import Inputs, trace

CACHED = "/usr/local/cuda-13.0/lib64/libcudart.so.13"
DEFAULT = "/usr/lib/libcudart.so.13"


@pytest.mark.parametrize(("error", "winner"), [
    ("No such file or directory", DEFAULT),
    ("Permission denied", DEFAULT),
    ("file too short", CACHED),
])
def test_a_cache_entry_whose_file_is_gone(error: str, winner: str) -> None:
    """ldconfig was not run since the toolkit was removed: the search goes on in the default folders."""
    inputs = Inputs(
        files={CACHED: {"path": CACHED, "error": error}, DEFAULT: {"path": DEFAULT, "machine": "x86_64"}},
        rpath=(), runpath=(), library_path=(), cache=({"soname": "libcudart.so.13", "path": CACHED},),
        default_folders=("/usr/lib",), machine="x86_64")
    assert trace("libcudart.so.13", inputs).path == winner
