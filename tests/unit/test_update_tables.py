"""What the table generator makes of the parts of a wheel; whole wheels are read in tests/contract."""

from pathlib import Path
from typing import Any

import pytest

from tools.loader_trace import loader_symbols
from tools.table_file import Table, read_rows, render_table, write_table
from tools.torch_declared import architectures_in, numpy_in
from tools.wheel_cache import WheelCache
from tools.wheel_code import declared_difference, measured_columns
from tools.wheel_facts import build_columns, glibc_floor, library_hashes, python_versions
from tools.wheel_index import WheelFile, platform_of

TABLE = Table(
    summary='A "table"', key=("version",), columns={"version": "package_version", "code": "records"}
)


def test_table_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """Records and figures survive; a column without a value is left out, an empty list is a value."""
    path = tmp_path / "t.toml"
    rows: list[dict[str, Any]] = [
        {"version": "1.0", "code": [{"sass": ["8.0"], "fat_binaries": 2}], "source": "pypi:x==1.0"},
        {"version": "1.1", "code": [{"rate": 16.35, "size": 80.0}], "source": "pypi:x==1.1"},
        {"version": "1.2", "code": [], "source": "pypi:x==1.2"},
        {"version": "1.3", "code": None, "source": "pypi:x==1.3"},
    ]
    write_table(path, TABLE, rows)
    del rows[3]["code"]
    assert read_rows(path) == rows


def test_unknown_column_is_refused() -> None:
    """A row may not bring a column whose type the table does not declare."""
    with pytest.raises(ValueError, match="glibc"):
        render_table(TABLE, [{"version": "1.0", "glibc": "2.17", "source": "pypi:x==1.0"}])


@pytest.mark.parametrize(
    ("tag", "platform"),
    [
        ("manylinux_2_27_x86_64", "linux_x86_64"),
        ("manylinux2014_aarch64", "linux_aarch64"),
        ("linux_x86_64", "linux_x86_64"),
        ("win_amd64", "windows_x86_64"),
        ("macosx_12_0_arm64", "macos_arm64"),
        ("macosx_10_11_x86_64", "macos_x86_64"),
        ("any", "any"),
    ],
)
def test_platform_tag_is_translated(tag: str, platform: str) -> None:
    """One name for one platform, whatever the tag's age."""
    assert platform_of(tag) == platform


@pytest.mark.parametrize(
    ("tags", "floor"),
    [
        (["manylinux_2_17_x86_64", "manylinux2014_x86_64"], "2.17"),
        (["manylinux_2_5_x86_64", "manylinux1_x86_64", "manylinux_2_28_x86_64"], "2.5"),
        (["manylinux2010_x86_64"], "2.12"),
        (["win_amd64"], None),
    ],
)
def test_glibc_floor_is_the_oldest_that_a_tag_admits(tags: list[str], floor: str | None) -> None:
    """Versions compare as versions: 2.5 is older than 2.28."""
    assert glibc_floor(tags) == floor


def wheel(*pythons: str) -> WheelFile:
    return WheelFile(
        project="x",
        version="1.0",
        filename="x.whl",
        url="",
        sha256="",
        uploaded="",
        platform="linux_x86_64",
        pythons=pythons,
        platform_tags=(),
    )


def test_python_versions_are_in_order() -> None:
    """3.10 is newer than 3.9; a tag without a minor version says nothing."""
    assert python_versions([wheel("cp310"), wheel("cp39"), wheel("cp27"), wheel("py3")]) == [
        "2.7",
        "3.9",
        "3.10",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "is_cuda_build = True\ncuda_version_number = '10.1'\ncudnn_version_number = '7'\n",
            {"build": "cuda", "cuda": "10.1", "cudnn": "7"},
        ),
        (
            "build_info = {'cuda_version': '64_112', 'cudnn_version': '64_8', 'is_cuda_build': True}\n",
            {"build": "cuda", "cuda": "11.2", "cudnn": "8"},
        ),
        (
            "build_info = D([('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True)])",
            {"build": "cuda", "cuda": "12.5.1", "cudnn": "9"},
        ),
        (
            "build_info = D([('is_cuda_build', True), ('is_tensorrt_build', False)])",
            {"build": "cuda", "tensorrt_build": False},
        ),
        ("is_cuda_build = False\nis_rocm_build = True\n", {"build": "rocm", "cudnn": None}),
        (
            "cuda: Optional[str] = '13.2'\ngit_version = 'd0f2'\nhip: Optional[str] = None\n",
            {"build": "cuda", "cuda": "13.2"},
        ),
        (
            "build_info = {'cuda_compute_capabilities': ['sm_80', 'compute_90'], 'is_cuda_build': True}",
            {"build": "cuda", "declared": ["sm_80", "compute_90"]},
        ),
        (
            "full_version = '2.6.2'\ncuda_version = '11.8'\ncudnn_version = '8.6.0'\nwith_mkl = 'ON'\n",
            {"build": "cuda", "cuda": "11.8", "cudnn": "8.6.0"},
        ),
        (
            "full_version = '3.3.1'\ncuda_version = 'False'\ncudnn_version = 'False'\n",
            {"build": "cpu", "cudnn": None},
        ),
        (
            '{"cuda": "12.x", "packaging": "pip", "cudnn": {"version": "8.8.1"}}',
            {"build": "cuda", "cuda": "12", "cudnn": "8.8.1"},
        ),
        ('{"cuda": "12.x-aarch64", "packaging": "pip"}', {"build": "cuda", "cuda": "12"}),
        ('{"cuda": "10.2-jetson", "packaging": "pip"}', {"build": "cuda", "cuda": "10.2"}),
        ("cuda = None\ngit_version = 'd0f2'\nhip = None\n", {"build": "cpu", "cudnn": None}),
        (None, {}),
    ],
)
def test_build_file_of_every_age_is_understood(text: str | None, expected: dict[str, object]) -> None:
    """What TensorFlow 2.1, 2.3 (Windows), 2.21, 2.22, torch 1.8, 2.15, Paddle and CuPy write."""
    told = {f"{name}_from": "build file" for name in ("cuda", "cudnn") if expected.get(name)}
    assert build_columns(text) == expected | told


def test_record_hashes_become_hex() -> None:
    """RECORD writes unpadded URL-safe base64; other files than libraries are passed over."""
    record = (
        "torch/version.py,sha256=AAAA,10\n"
        "torch/lib/libx.so.2,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n"
        "torch-2.0.dist-info/RECORD,,\n"
    )
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert dict(library_hashes(record)) == {"torch/lib/libx.so.2": empty}


def scan(*records: tuple[list[str], list[str], int]) -> dict[str, Any]:
    code = [{"sass": sass, "ptx": ptx, "fat_binaries": count} for sass, ptx, count in records]
    total = sum(count for _, _, count in records)
    return {"fat_binaries": total, "code": code, "relocatable": [], "unreadable": 0, "error": None}


def dynamic(*needed: str, rpath: list[str] | None = None) -> dict[str, Any]:
    return {"machine": "x86_64", "needed": list(needed), "rpath": rpath, "runpath": None}


def test_measured_columns_of_a_torch_wheel() -> None:
    """Signatures add up over torch's own libraries; what import needs is apart from what is loaded later."""
    observed = {
        "scans": {
            "torch/lib/libtorch_cuda.so": scan((["8.0", "9.0"], [], 5), (["9.0a"], [], 1)),
            "torch/lib/libtorch_cuda_linalg.so": scan((["8.0", "9.0"], [], 2)),
            "torch/lib/libcudnn_ops_infer.so.8": scan((["3.5"], [], 100)),
        },
        "dynamic": {
            "torch/lib/libtorch_python.so": dynamic("libtorch_cuda.so", "libc.so.6"),
            "torch/lib/libtorch_cuda.so": dynamic("libcudart.so.12", "libm.so.6", rpath=["/b", "/a", "/b"]),
            "torch/lib/libtorch_cuda_linalg.so": dynamic("libcusolver.so.11", "libtorch_cuda.so"),
        },
        "opened": {},
        "named": {},
        "built": {},
        "compiled": {"torch/lib/libtorch_cuda.so": "12.9", "torch/lib/libtorch_cuda_linalg.so": "12.8"},
        "linked": {"torch/lib/libtorch_cuda.so": None, "torch/lib/libtorch_cuda_linalg.so": "7.6.5"},
        "sha256": {"torch/lib/libtorch_cuda.so": "bb", "torch/lib/libtorch_cuda_linalg.so": "cc"},
    }
    recorded: dict[str, str | None] = {
        "torch/lib/libtorch_cuda.so": "aa", "torch/lib/libtorch_cuda_linalg.so": "cc"
    }
    assert measured_columns(observed, recorded) == {
        "code_library": "torch/lib/libtorch_cuda.so",
        "measured_library_sha256": "aa",
        "fat_binaries": 8,
        "code": [
            {"sass": ["8.0", "9.0"], "ptx": [], "fat_binaries": 7},
            {"sass": ["9.0a"], "ptx": [], "fat_binaries": 1},
        ],
        "relocatable": None,
        "loader": "torch/lib/libtorch_cuda.so",
        "rpath": ["/b", "/a"],
        "loads": ["libcudart.so.12"],
        "loads_optional": ["libcusolver.so.11"],
        "cuda": "12.9",
        "cuda_from": "compiled code",
        "cudnn": "7.6.5",
        "cudnn_from": "compiled code",
        "record_differs": ["torch/lib/libtorch_cuda.so"],
    }


NOTHING_SEEN: dict[str, Any] = {
    "scans": {}, "dynamic": {}, "sha256": {}, "opened": {}, "named": {}, "built": {}, "compiled": {},
    "linked": {},
}


def test_measured_columns_of_a_paddle_wheel() -> None:
    """What is opened by name is apart from what is needed; what the wheel ships is neither."""
    member = "paddle/libs/libphi.so"
    observed = NOTHING_SEEN | {
        "scans": {member: scan((["7.0", "8.0"], ["8.0@7.8"], 3))},
        "dynamic": {member: dynamic("libdnnl.so.3", "libcudart.so.10.2", "libc.so.6")},
        "named": {member: ["libcudnn.so", "libcublas.so"]},
        "sha256": {member: "aa"},
    }
    columns = measured_columns(observed, {member: "aa", "paddle/libs/libdnnl.so.3": "bb"})
    assert columns["loads"] == ["libcudart.so.10.2"]
    assert columns["loads_optional"] == ["libcublas.so", "libcudnn.so"]
    assert (columns["loader"], columns["fat_binaries"], columns["record_differs"]) == (member, 3, None)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (["sm_70", "compute_80", "sm_90"], ["declared, not there: 9.0"]),
        (["7.0", "8.0"], ["there in 1 of 10, not declared: 9.0"]),
        (["sm_70", "sm_75", "compute_80"],
         ["declared, not there: 7.5", "there in 1 of 10, not declared: 9.0"]),
        (["sm_70", "sm_80", "compute_90"],
         ["declared, not there: 9.0", "there in 9 of 10, not declared: PTX:8.0"]),
        (["compute_80"], ["there, not declared: 7.0", "there in 1 of 10, not declared: 9.0"]),
    ],
)
def test_declared_architectures_are_held_against_the_measured(
    declared: list[str], said: list[str] | None
) -> None:
    """The frequent signature is what a wheel was built for; compute_80 is PTX, with or without SASS."""
    code = [
        {"sass": ["7.0", "8.0"], "ptx": ["8.0@7.8"], "fat_binaries": 9},
        {"sass": ["9.0"], "ptx": [], "fat_binaries": 1},
    ]
    assert declared_difference(declared, code) == said


def test_code_linked_in_is_not_held_against_what_is_declared() -> None:
    """In torch 1.11 cuDNN has a few fat binaries more than torch's own kernels, which are as declared.

    What only these have is told with their number.
    """
    code = [
        {"sass": ["3.5", "5.0", "6.0", "6.1", "7.0", "7.5"], "ptx": [], "fat_binaries": 273},
        {"sass": ["3.7", "5.0", "6.0", "7.0"], "ptx": [], "fat_binaries": 271},
        {"sass": ["9.0a"], "ptx": [], "fat_binaries": 55},
    ]
    in_some = ["there in 273 of 599, not declared: 3.5 6.1 7.5"]
    assert declared_difference(["sm_37", "sm_50", "sm_60", "sm_70"], code) == [
        *in_some, "there in 55 of 599, not declared: 9.0a",
    ]
    assert declared_difference(["sm_37", "sm_50", "sm_60", "sm_90a"], code) == [
        "declared, not there: 9.0a",
        "there, not declared: 7.0",
        *in_some,
    ]
    assert declared_difference(["sm_37", "sm_50", "sm_60", "sm_70"], code[1:2]) is None


@pytest.mark.parametrize(
    ("library", "declared"),
    [
        (b"\0sm_50 sm_90a compute_120\0", ["sm_50", "sm_90a", "compute_120"]),
        (b"\0sm_75 sm_80\0x\0sm_75 sm_80\0", ["sm_75", "sm_80"]),
        (b"std::string ipc_hsm_70 sm_75\0", ["sm_70", "sm_75"]),
        (b"\0built for sm_75 sm_80\0", []),
        (b"\0sm_75 sm_80\0sm_90 sm_100\0", []),
    ],
)
def test_torch_declares_its_architectures_in_one_text(library: bytes, declared: list[str]) -> None:
    """A text of its own, which a zero ends; with two different ones it is not known which counts."""
    assert architectures_in(library) == declared


def test_unreadable_device_code_stops_the_measurement() -> None:
    """A row is never written from a scan that did not understand everything."""
    broken = {**scan(), "unreadable": 1}
    with pytest.raises(ValueError, match="unreadable"):
        measured_columns({**NOTHING_SEEN, "scans": {"a.so": broken}}, {"a.so": "aa"})


def test_loader_functions_are_found_by_their_plain_names(tmp_path: Path) -> None:
    """Both namespaces that TensorFlow has had are known; the caching class beside it is another."""
    library = tmp_path / "lib.so"
    library.write_bytes(
        b"\0_ZN3tsl8internal9DsoLoader16GetNvmlDsoHandleEv\0"
        b"_ZN3tsl8internal15CachedDsoLoader17GetCudnnDsoHandleEv\0"
        b"_ZN15stream_executor8internal9DsoLoader22TryDlopenCUDALibrariesEv\0"
    )
    assert loader_symbols(library) == {
        "GetNvmlDsoHandle": "_ZN3tsl8internal9DsoLoader16GetNvmlDsoHandleEv",
        "TryDlopenCUDALibraries": "_ZN15stream_executor8internal9DsoLoader22TryDlopenCUDALibrariesEv",
    }


@pytest.mark.parametrize(("library", "major"), [
    (b"..numpy.core._multiarray_umath\0", "1"), (b"\0numpy.core.multiarray\0", "1"),
    (b"numpy._core._multiarray_umath\0numpy.core._multiarray_umath\0", "2"), (b"\0sm_90\0", None)])
def test_numpy_is_told_by_the_module_that_the_library_looks_for(library: bytes, major: str | None) -> None:
    """What NumPy 2 compiled looks for both, its own first, for it runs under NumPy 1 as well."""
    assert numpy_in(library) == major


def test_what_is_measured_again_replaces_what_was_kept(tmp_path: Path) -> None:
    """`--again` said that it measured, and took what this machine had kept of the wheel."""
    cache, answers = WheelCache(tmp_path), iter([1, 2, 3])
    found = [cache.get("seen", "a" * 64, lambda: next(answers), anew=anew) for anew in (False, False, True)]
    assert found == [1, 1, 2]
    assert cache.find("seen", "a" * 64) == 2
