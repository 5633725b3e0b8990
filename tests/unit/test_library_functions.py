"""Which functions one library asks of another: read out of its file, and held against the real loader."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.derive.loader_trace import Inputs, trace_with_needs
from gpudoctor.model import Record
from gpudoctor.payloads import libraries
from gpudoctor.payloads.elf import read_elf
from gpudoctor.payloads.symbols import asked_and_given
from gpudoctor.probes.shapes import needs, record

CUSPARSE, NVJITLINK = "libcusparse.so.12", "libnvJitLink.so.12"
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler on this machine")


def build(folder: Path, name: str, code: str, *options: str, style: str = "gnu") -> Path:
    """Compile a library whose own functions have its name as their version, as NVIDIA's have."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "code.c").write_text(code)
    (folder / "versions").write_text(f"{name} {{ global: *; }};\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-s", "-o", str(folder / name), str(folder / "code.c"), *options,
         f"-Wl,-soname,{name},--version-script,{folder / 'versions'},--hash-style={style},--no-as-needed"],
        check=True)
    return folder / name


def nvjitlink(folder: Path, *releases: int, style: str = "gnu") -> Path:
    functions = "".join(f"int __nvJitLinkCreate_12_{n}(void) {{ return 0; }}\n" for n in releases)
    return build(folder, NVJITLINK, functions, style=style)


def cusparse(folder: Path, own: Path, release: int, *, declared: str = "") -> Path:
    function = f"__nvJitLinkCreate_12_{release}"
    code = f"extern int {function}(void) {declared};\nint cusparseCreate(void) {{ return {function}(); }}\n"
    return build(folder, CUSPARSE, code, str(own))


@pytest.mark.parametrize("style", ["gnu", "sysv", "both"])
def test_functions_are_read_whichever_hash_table_there_is(tmp_path: Path, style: str) -> None:
    """NVIDIA's older libraries have the one of System V, its newer ones GNU's."""
    path = nvjitlink(tmp_path, 0, 1, style=style)
    found = asked_and_given(str(path), read_elf(str(path)))
    assert {"__nvJitLinkCreate_12_0", "__nvJitLinkCreate_12_1"} <= set(found["gives"])
    assert "asks" not in found


def test_what_is_asked_is_named_with_its_library(tmp_path: Path) -> None:
    path = cusparse(tmp_path / "sparse", nvjitlink(tmp_path / "jit", 9), 9)
    found = asked_and_given(str(path), read_elf(str(path)))
    assert found == {"asks": [f"{NVJITLINK} __nvJitLinkCreate_12_9"]}


def test_what_need_not_be_there_is_not_asked(tmp_path: Path) -> None:
    path = cusparse(tmp_path / "sparse", nvjitlink(tmp_path / "jit", 9), 9, declared="__attribute__((weak))")
    assert asked_and_given(str(path), read_elf(str(path))) == {}


def test_other_libraries_are_not_read(tmp_path: Path) -> None:
    path = build(tmp_path, "libcufft.so.11", "int cufftCreate(void) { return 0; }\n")
    assert asked_and_given(str(path), read_elf(str(path))) == {}


@given(position=st.integers(0, 1 << 14), value=st.integers(0, 255), cut=st.integers(0, 1 << 15))
def test_damaged_files_never_raise(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int, cut: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged"
    good = folder / NVJITLINK if (folder / NVJITLINK).exists() else nvjitlink(folder, 0, 1)
    content = bytearray(good.read_bytes())
    content[position % len(content)] = value
    (folder / "file").write_bytes(content[:cut])
    described = {"needed": [NVJITLINK], "soname": NVJITLINK, "error": None}
    assert set(asked_and_given(str(folder / "file"), described)) <= {"asks", "gives"}


@pytest.mark.parametrize(("there", "serves"), [((0, 1), False), ((0, 1, 9), True)])
def test_the_real_loader_agrees(tmp_path: Path, there: tuple[int, ...], serves: bool) -> None:
    """One cuSPARSE, and on LD_LIBRARY_PATH an nvJitLink before or after its time."""
    shadow = nvjitlink(tmp_path / "shadow", *there)
    path = cusparse(tmp_path / "own", nvjitlink(tmp_path / "jit", 9), 9)
    described = libraries.describe_files([str(path.parent), str(shadow.parent)], [])
    files: dict[str, Record] = {}
    for one in described:
        functions = {name: texts for name, texts in needs(one).items() if texts}
        files[str(one["path"])] = record(path=one["path"]) | functions
    inputs = Inputs(files=files, rpath=(), runpath=(str(path.parent),), library_path=(str(shadow.parent),),
                    cache=(), default_folders=(), machine="")
    found = trace_with_needs([CUSPARSE], inputs, lambda name: name == "libcuda.so.1")
    steps = {step.soname: step for step in found}
    said = f"it has no __nvJitLinkCreate_12_9, which {CUSPARSE} asks of it"
    assert (steps[NVJITLINK].path, steps[NVJITLINK].error) == (str(shadow), "" if serves else said)
    opened = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(path)!r})"], capture_output=True, text=True,
        env={"LD_LIBRARY_PATH": str(shadow.parent)}, timeout=60, check=False)
    assert (opened.returncode == 0) == serves
    assert ("undefined symbol: __nvJitLinkCreate_12_9" in opened.stderr) == (not serves)
