"""What compiled code tells of the CUDA and the cuDNN that it was made with."""

from __future__ import annotations

import platform
import struct
import subprocess
from pathlib import Path

import pytest

from gpudoctor.payloads.fatbin import ENTRY, HEADER, MAGIC, PTX, SASS
from tools.compiled_code import COMPRESSED, compiled_with, linked_cudnn, unpacked

# The beginnings of machine code in torch 1.12.1 (compressed) and PaddlePaddle 2.0.2, both for CUDA 10.2.
PACKED = bytes.fromhex("a27f454c460201013307000100660200be006600010023c00f0800110c0700f50e00250525004000")
PLAIN = bytes.fromhex("7f454c46020101330700000000000000 0200be00 66000000")


def fat_binary(*entries: tuple[int, int, bytes]) -> bytes:
    """Return a fat binary of entries (kind, flags, code)."""
    body = b"".join(
        ENTRY.pack(kind, 1, ENTRY.size, len(code), 0, 0, 0, 7, 70, 0, flags) + code
        for kind, flags, code in entries)
    return HEADER.pack(MAGIC, 1, HEADER.size, len(body)) + body


def test_a_compressed_header_is_unpacked_as_far_as_it_is_needed() -> None:
    """Literals, and what repeats: sixteen bytes of identification end in zeros."""
    assert unpacked(PACKED)[:24] == bytes.fromhex("7f454c46020101330700000000000000 0200be00 66000000")


@pytest.mark.parametrize("block", [b"", b"\x00", b"\x0f\x00", b"\xf0", b"\x10A\xff\xff", bytes(64)])
def test_what_is_no_compressed_block_ends(block: bytes) -> None:
    """It is cut off behind 64 bytes, and another method of compression may come."""
    assert len(unpacked(block)) <= len(block)


def test_most_of_the_machine_code_decides(tmp_path: Path) -> None:
    """A library of another CUDA may be linked in; PTX is not asked, nor what is no ELF file."""
    other = PLAIN[:20] + (118).to_bytes(4, "little")
    library = tmp_path / "core.so"
    most = fat_binary((SASS, 0, PLAIN), (SASS, COMPRESSED, PACKED), (SASS, 0, other))
    rest = fat_binary((PTX, 0, other), (SASS, 0, b"\0" * 40))
    library.write_bytes(b"x" * 100 + most + MAGIC + b"no fat binary" + rest)
    assert compiled_with(library) == "10.2"


def test_cuda_13_does_not_write_its_version_there(tmp_path: Path) -> None:
    """1 is the number that ELF itself has there."""
    library = tmp_path / "core.so"
    library.write_bytes(fat_binary((SASS, 0, PLAIN[:20] + struct.pack("<I", 1))))
    assert compiled_with(library) is None


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads instructions of x86_64")
@pytest.mark.parametrize(
    ("body", "version"),
    [("return 7605;", "7.6.5"), ("return 8302;", "8.3.2"), ("extern int asked(void); return asked();", None)])
def test_a_linked_cudnn_answers_with_its_version(tmp_path: Path, body: str, version: str | None) -> None:
    """By a compiler of today, as a function of the file's own, which the loader does not see."""
    source, library = tmp_path / "cudnn.c", tmp_path / "libtorch_cuda.so"
    hidden = '__attribute__((visibility("hidden")))'
    source.write_text(f"{hidden} int cudnnGetVersion(void) {{ {body} }}\nint other(void) {{ return 1; }}\n")
    options = ("-O2", "-fcf-protection=none", "-shared", "-fPIC")
    subprocess.run(["gcc", *options, "-o", library, source], check=True)
    assert linked_cudnn(library) == version


def test_a_library_without_cudnn_has_none(tmp_path: Path) -> None:
    """Nor a file that is no ELF file."""
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("int cudnnGetVersionOf(void) { return 7605; }\n")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    assert linked_cudnn(library) is None
    assert linked_cudnn(source) is None
