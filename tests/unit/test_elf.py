"""Reading ELF headers: files built byte by byte, hostile ones, and a library that a real linker made."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.payloads.elf import read_elf

STRINGS_ADDRESS = 0x1000


def elf_file(
    *,
    dynamic: list[tuple[int, int]],
    strings: bytes,
    machine: int = 62,
    strings_address: int = STRINGS_ADDRESS,
    program_headers: int = 2,
) -> bytes:
    """Return an ELF64 file without section headers: one segment with the strings, one dynamic section."""
    dynamic_bytes = b"".join(struct.pack("<QQ", *entry) for entry in [*dynamic, (5, strings_address), (0, 0)])
    dynamic_offset = 64 + 2 * 56
    strings_offset = dynamic_offset + len(dynamic_bytes)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, program_headers, 0, 0, 0
    )
    load = struct.pack("<IIQQQQQQ", 1, 4, strings_offset, STRINGS_ADDRESS, 0, len(strings), len(strings), 1)
    described = struct.pack("<IIQQQQQQ", 2, 4, dynamic_offset, 0, 0, len(dynamic_bytes), 0, 8)
    return header + load + described + dynamic_bytes + strings


def read_bytes(folder: Path, content: bytes) -> dict[str, object]:
    path = folder / "file"
    path.write_bytes(content)
    return read_elf(str(path))


def test_everything_is_read_without_section_headers(tmp_path: Path) -> None:
    """A stripped file has only program headers: names, search paths and the machine are in their reach."""
    strings = b"\0libme.so.1\0libc.so.6\0$ORIGIN/../nvidia/cudnn/lib:$ORIGIN\0/old\0"
    offsets = {text: strings.index(text) for text in (b"libme", b"libc", b"$ORIGIN/..", b"/old")}
    dynamic = [
        (1, offsets[b"libc"]),
        (14, offsets[b"libme"]),
        (29, offsets[b"$ORIGIN/.."]),
        (15, offsets[b"/old"]),
    ]
    assert read_bytes(tmp_path, elf_file(dynamic=dynamic, strings=strings)) == {
        "machine": "x86_64",
        "elf_class": 64,
        "soname": "libme.so.1",
        "needed": ["libc.so.6"],
        "runpath": ["$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN"],
        "rpath": ["/old"],
        "error": None,
    }


@pytest.mark.parametrize(("machine", "name"), [(62, "x86_64"), (183, "aarch64"), (9999, "other (9999)")])
def test_machine_is_named(tmp_path: Path, machine: int, name: str) -> None:
    """The two machines that have GPU wheels have names, an unknown one keeps its number."""
    assert read_bytes(tmp_path, elf_file(dynamic=[], strings=b"\0", machine=machine))["machine"] == name


def test_search_path_of_tens_of_kilobytes_is_read_whole(tmp_path: Path) -> None:
    """Regression: TensorFlow 2.21.0 repeats its RUNPATH over 20 kB, more than a string was allowed."""
    entries = ["$ORIGIN/../nvidia/cublas/lib"] * 1000
    strings = b"\0" + ":".join(entries).encode() + b"\0"
    assert read_bytes(tmp_path, elf_file(dynamic=[(29, 1)], strings=strings))["runpath"] == entries


GOOD = elf_file(dynamic=[(1, 1), (14, 1)], strings=b"\0libc.so.6\0")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "empty file"),
        (b"/* GNU ld script */ INPUT(libcudart.so.12)", "not an ELF file"),
        (b"\x7fELF", "truncated ELF header"),
        (GOOD[:40], "truncated ELF header"),
        (GOOD[:100], "truncated: 36 of 112 bytes at offset 64"),
        (GOOD[:5] + b"\x02" + GOOD[6:], "not a little-endian ELF file"),
        (GOOD[:4] + b"\x01" + GOOD[5:], "not a 64-bit ELF file"),
        (GOOD[:-1], "the string at offset 241 has no end"),
        (
            elf_file(dynamic=[], strings=b"\0", strings_address=1 << 40),
            "address 0x10000000000 lies in no segment",
        ),
        (
            elf_file(dynamic=[], strings=b"\0", program_headers=65535),
            "unusable program headers (65535 of 56 bytes)",
        ),
        (elf_file(dynamic=[(1, 1)] * 2000, strings=b"\0x\0"), "2000 needed libraries"),
    ],
)
def test_unusable_file_is_an_answer_with_its_reason(tmp_path: Path, content: bytes, error: str) -> None:
    """No file makes the reader raise or read without bound."""
    assert read_bytes(tmp_path, content)["error"] == error


def test_missing_file_and_folder_are_answers(tmp_path: Path) -> None:
    """What the system says is the reason."""
    assert read_elf(str(tmp_path / "absent"))["error"] == "No such file or directory"
    assert read_elf(str(tmp_path))["error"] == "Is a directory"


@given(position=st.integers(0, len(GOOD) - 1), value=st.integers(0, 255), cut=st.integers(0, len(GOOD)))
def test_damaged_files_never_raise(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int, cut: int
) -> None:
    """Any byte changed and any end cut off still gives every name of the answer."""
    damaged = bytearray(GOOD)
    damaged[position] = value
    answer = read_bytes(tmp_path_factory.getbasetemp(), bytes(damaged[:cut]))
    assert set(answer) == {"machine", "elf_class", "soname", "needed", "rpath", "runpath", "error"}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler on this machine")
@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--enable-new-dtags", {"runpath": ["$ORIGIN/../lib", "/opt/x"], "rpath": None}),
        ("--disable-new-dtags", {"rpath": ["$ORIGIN/../lib", "/opt/x"], "runpath": None}),
    ],
)
def test_library_of_a_real_linker(tmp_path: Path, option: str, expected: dict[str, object]) -> None:
    """RUNPATH and RPATH, which search differently, are told apart; stripping the file changes nothing."""
    source, library = tmp_path / "a.c", tmp_path / "liba.so"
    source.write_text("int a(void) { return 1; }\n")
    linker = f"-Wl,--no-as-needed,-soname,liba.so.1,{option},-rpath,$ORIGIN/../lib:/opt/x"
    subprocess.run(["gcc", "-shared", "-s", "-o", str(library), str(source), linker], check=True)
    answer = read_elf(str(library))
    assert (answer["soname"], answer["needed"], answer["error"]) == ("liba.so.1", ["libc.so.6"], None)
    assert {name: answer[name] for name in expected} == expected
