"""Walking fat binaries: built byte by byte, and compiled by nvcc with cuobjdump as the judge."""

import re
import shutil
import struct
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.payloads.fatbin import scan_buffer, scan_file

MAGIC = struct.pack("<I", 0xBA55ED50)
ARCHITECTURE_SPECIFIC, FAMILY_SPECIFIC = 1 << 20, 1 << 21
PTX, SASS, LINK_TIME_CODE = 1, 2, 8


def entry(
    kind: int, architecture: int, *, isa: tuple[int, int] = (0, 0), flags: int = 0, payload: bytes = b""
) -> bytes:
    payload = payload.ljust(64, b"\xaa")
    head = struct.pack(
        "<HHIQIIHHIQQ", kind, 0x101, 64, len(payload), 0, 64, isa[1], isa[0], architecture, 0, flags
    )
    return head.ljust(64, b"\0") + payload


def fat_binary(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return MAGIC + struct.pack("<HHQ", 1, 16, len(body)) + body


def elf_file(*, section: bytes, content: bytes) -> bytes:
    """Return an ELF64 file with one named section and the section of names."""
    names = b"\0" + section + b"\0"
    table = 64 + len(content) + len(names)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 2, 1)
    held = struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 64, len(content), 0, 0, 8, 0)
    names_held = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64 + len(content), len(names), 0, 0, 1, 0)
    return head + content + names + held + names_held


WHOLE = fat_binary(entry(SASS, 80), entry(PTX, 80, isa=(7, 1)))
WHOLE_ELF = elf_file(section=b"__nv_relfatbin", content=WHOLE)


def test_signatures_are_counted_apart() -> None:
    """Equal sets of entries are one signature; padding and other bytes in between do not matter."""
    both = fat_binary(entry(SASS, 80), entry(SASS, 90), entry(PTX, 90, isa=(8, 3)))
    ptx_only = fat_binary(entry(SASS, 80), entry(PTX, 90, isa=(8, 5)))
    assert scan_buffer(b"\x7fELF" + both + b"\0" * 8 + ptx_only + b"text" + both) == {
        "fat_binaries": 3,
        "code": [
            {"sass": ["8.0", "9.0"], "ptx": ["9.0@8.3"], "fat_binaries": 2},
            {"sass": ["8.0"], "ptx": ["9.0@8.5"], "fat_binaries": 1},
        ],
        "relocatable": [],
        "unreadable": 0,
    }


def test_architecture_and_family_specific_code_is_told_apart() -> None:
    """Code for sm_90a runs on 9.0 alone and is not code for sm_90; the order is by number, not by letter."""
    found = scan_buffer(
        fat_binary(
            entry(SASS, 120),
            entry(SASS, 100, flags=FAMILY_SPECIFIC),
            entry(SASS, 90, flags=ARCHITECTURE_SPECIFIC),
            entry(SASS, 90),
            entry(PTX, 90, isa=(8, 0), flags=ARCHITECTURE_SPECIFIC),
        )
    )
    assert found["code"][0]["sass"] == ["9.0", "9.0a", "10.0f", "12.0"]
    assert found["code"][0]["ptx"] == ["9.0a@8.0"]


def test_link_time_code_is_not_machine_code() -> None:
    """An entry for the link-time optimizer cannot run: it is neither SASS nor PTX."""
    assert scan_buffer(fat_binary(entry(LINK_TIME_CODE, 90), entry(SASS, 80)))["code"] == [
        {"sass": ["8.0"], "ptx": [], "fat_binaries": 1}
    ]


@pytest.mark.parametrize(
    ("section", "loaded", "relocatable"),
    [(b".nv_fatbin", 1, 0), (b".rodata", 1, 0), (b"__nv_relfatbin", 0, 1)],
)
def test_section_tells_code_kept_for_linking(section: bytes, loaded: int, relocatable: int) -> None:
    """Only one section's code is not loaded; TensorFlow keeps fat binaries of its own in .rodata."""
    found = scan_buffer(elf_file(section=section, content=WHOLE))
    assert (found["fat_binaries"], len(found["relocatable"])) == (loaded, relocatable)


def test_magic_inside_a_payload_is_not_a_fat_binary() -> None:
    """Compressed code may hold any bytes, those of a fat binary's start among them."""
    inner = fat_binary(entry(SASS, 35))
    assert scan_buffer(fat_binary(entry(SASS, 80, payload=inner)))["fat_binaries"] == 1


def test_magic_as_a_constant_in_host_code_is_passed_over() -> None:
    """Host code compares with the magic number; a true fat binary right behind it is still found."""
    constant = b"\x81\x3f" + MAGIC + b"\x75\x10"
    assert scan_buffer(constant + fat_binary(entry(SASS, 80)))["fat_binaries"] == 1


def test_entries_that_make_no_sense_are_reported() -> None:
    """A fat binary whose entries do not fill it exactly is counted as unreadable, never as code."""
    broken = MAGIC + struct.pack("<HHQ", 1, 16, 100) + entry(SASS, 80)
    assert scan_buffer(broken) == {"fat_binaries": 0, "code": [], "relocatable": [], "unreadable": 1}


@given(cut=st.integers(0, len(WHOLE) - 1))
def test_cut_off_fat_binary_is_never_counted(cut: int) -> None:
    """A file that ends in the middle holds no whole fat binary."""
    assert scan_buffer(WHOLE[:cut])["fat_binaries"] == 0


@given(position=st.integers(0, len(WHOLE_ELF) - 1), value=st.integers(0, 255))
def test_damaged_bytes_never_raise(position: int, value: int) -> None:
    """Whatever the headers claim, the answer is counts that agree with one another."""
    damaged = bytearray(WHOLE_ELF)
    damaged[position] = value
    answer = scan_buffer(bytes(damaged))
    assert sum(record["fat_binaries"] for record in answer["code"]) == answer["fat_binaries"]


def test_files_that_cannot_be_read_are_answers(tmp_path: Path) -> None:
    """An empty file, a missing one and a folder give their reason; a file without device code gives none."""
    plain, empty = tmp_path / "plain", tmp_path / "empty"
    plain.write_bytes(b"no device code")
    empty.touch()
    errors = [scan_file(str(path))["error"] for path in (plain, empty, tmp_path / "absent", tmp_path)]
    assert errors == [None, "empty file", "No such file or directory", "Is a directory"]


# The last one is code that a whole family runs, where nvcc knows it (12.9 and newer).
COMPILED = {
    "compute_80": ["sm_80", "compute_80"],
    "compute_90": ["sm_90"],
    "compute_90a": ["sm_90a", "compute_90a"],
    "compute_100f": ["sm_100f", "compute_100f"],
}


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Compile an object file with code for known architectures (nvcc 12.9 or newer)."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc on this machine")
    known = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", known)
    if release is None or (int(release[1]), int(release[2])) < (12, 9):
        pytest.skip("family-specific code needs nvcc 12.9")
    source, result = tmp_path / "kernel.cu", tmp_path / "kernel.o"
    source.write_text("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n")
    options = [f"-gencode=arch={arch},code=[{','.join(codes)}]" for arch, codes in COMPILED.items()]
    subprocess.run([nvcc, "-c", "-o", str(result), str(source), *options], check=True, cwd=tmp_path)
    return result


def test_what_nvcc_compiled_is_found(compiled: Path) -> None:
    """The signature is what nvcc was asked for, with the suffixes."""
    found = scan_file(str(compiled))
    assert (found["fat_binaries"], found["unreadable"], found["error"]) == (1, 0, None)
    assert found["code"][0]["sass"] == ["8.0", "9.0", "9.0a", "10.0f"]
    assert [text.split("@")[0] for text in found["code"][0]["ptx"]] == ["8.0", "9.0a", "10.0f"]


def test_ptx_isa_version_is_the_one_in_the_ptx(compiled: Path, tmp_path: Path) -> None:
    """The header states the ISA version of the .version line in the PTX that the same nvcc writes."""
    ptx = tmp_path / "kernel.ptx"
    source = tmp_path / "kernel.cu"
    subprocess.run(
        ["nvcc", "--ptx", "-arch=compute_80", "-o", str(ptx), str(source)], check=True, cwd=tmp_path
    )
    version = re.search(r"^\.version (\d+\.\d+)", ptx.read_text(), re.MULTILINE)
    assert version is not None
    assert f"8.0@{version[1]}" in scan_file(str(compiled))["code"][0]["ptx"]


def test_code_kept_for_linking_is_apart(compiled: Path, tmp_path: Path) -> None:
    """Regression: PTX kept for linking (NCCL) made TensorFlow 2.15 look as if an A100 had to compile it."""
    source, result = tmp_path / "kernel.cu", tmp_path / "linkable.o"
    options = ["-gencode=arch=compute_80,code=[sm_80,compute_80]"]
    subprocess.run(["nvcc", "-dc", "-o", str(result), str(source), *options], check=True, cwd=tmp_path)
    found = scan_file(str(result))
    assert (found["fat_binaries"], found["code"]) == (0, [])
    assert [record["sass"] for record in found["relocatable"]] == [["8.0"]]
    assert scan_file(str(compiled))["relocatable"] == []


def cuobjdump() -> str | None:
    """Find cuobjdump on PATH or where NVIDIA's wheel (nvidia-cuda-cuobjdump) puts it."""
    folder = Path(sysconfig.get_path("platlib")) / "nvidia"
    return shutil.which("cuobjdump") or next((str(path) for path in folder.glob("*/bin/cuobjdump")), None)


@pytest.mark.skipif(cuobjdump() is None, reason="no cuobjdump: install nvidia-cuda-cuobjdump")
def test_cuobjdump_lists_the_same(compiled: Path) -> None:
    """NVIDIA's own tool lists the same; it shows family-specific machine code without the letter f."""
    listing = subprocess.run(
        [str(cuobjdump()), "--list-elf", "--list-ptx", str(compiled)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    code = scan_file(str(compiled))["code"][0]
    listed_sass = re.findall(r"sm_(\w+)\.cubin", listing)
    listed_ptx = re.findall(r"sm_(\w+)\.ptx", listing)
    assert sorted(listed_sass) == sorted(text.replace(".", "").rstrip("f") for text in code["sass"])
    assert sorted(listed_ptx) == sorted(text.split("@")[0].replace(".", "") for text in code["ptx"])
