"""Rows of the generated tables: what pins say, what is left out, who shares files, and what changed."""

import re
from typing import Any

import pytest

from tools.framework_tables import PROJECTS
from tools.nvidia_libraries import shared_rows
from tools.table_file import Table, changes
from tools.update_gpu_products import specification_rows
from tools.wheel_facts import libraries_of
from tools.wheel_requirements import lowest_admitted

TABLE = Table(summary="x", key=("version",), columns={"version": "package_version", "code": "records"})


@pytest.mark.parametrize(
    ("requirements", "lowest"),
    [
        (["nvidia-cudnn-cu12<10.0,>=9.3.0.75"], "9.3.0.75"),
        (["nvidia-cublas-cu12==12.1.3.1", "nvidia-cudnn-cu12==8.9.2.26"], "8.9.2.26"),
        (["nvidia-cudnn-frontend>=1.0", "nvidia-cudnn-cu12"], None),
        (["nvidia-cudnn-cu12==9.*"], None),
    ],
)
def test_lowest_admitted_version(requirements: list[str], lowest: str | None) -> None:
    """A lower bound or an exact pin tells it; other distributions and whole ranges do not."""
    assert lowest_admitted(requirements, re.compile(r"nvidia-cudnn-cu\d+")) == lowest


def test_changes_name_rows_and_columns() -> None:
    """A new row, one that is gone, and the one column of a row that differs; nothing for equal rows."""
    same: dict[str, Any] = {"version": "1.0", "source": "a"}
    old: dict[str, Any] = {"version": "1.1", "source": "a"}
    newer = {**old, "code": [{"sass": ["8.0"]}]}
    after: list[dict[str, Any]] = [same, newer, {"version": "1.3", "source": "a"}]
    assert list(changes(TABLE, [same, old, {"version": "1.2", "source": "a"}], after)) == [
        "1.1: code: nothing -> [{'sass': ['8.0']}]",
        "1.3: new",
        "1.2: gone",
    ]
    assert list(changes(TABLE, after, after)) == []


def test_libraries_in_one_place_are_named_with_their_owners() -> None:
    """Older releases count as well, which may lie elsewhere; each owner once, with the span that does."""
    rows = [
        library_row("a-cu12", "1.0", "x/lib", "libx.so.1"),
        library_row("a-cu12", "2.0", "y/lib", "liby.so.2", "libz.so.2"),
        library_row("a-cu12", "10.0", "y/lib", "liby.so.2"),
        library_row("a-cu13", "3.0", "y/lib", "liby.so.2", "libw.so.2"),
        library_row("b", "1.0", "x/lib", "libx.so.1"),
    ]
    shared = shared_rows(rows)
    assert [(row["library"], row["distributions"], row["source"]) for row in shared] == [
        ("libx.so.1", ["a-cu12==1.0", "b==1.0"], "pypi:b==1.0"),
        ("liby.so.2", ["a-cu12>=2.0,<=10.0", "a-cu13==3.0"], "pypi:a-cu13==3.0"),
    ]
    assert [row["wheel_sha256"] for row in shared] == ["hash of b 1.0", "hash of a-cu13 3.0"]


def library_row(distribution: str, version: str, folder: str, *libraries: str) -> dict[str, Any]:
    source = f"pypi:{distribution}=={version}"
    return {
        "distribution": distribution, "version": version, "since": version, "folder": folder,
        "libraries": list(libraries), "wheel_sha256": f"hash of {distribution} {version}", "source": source,
    }


def test_compact_rows_keep_what_their_table_has() -> None:
    """The distribution comes from the source; what is empty, or a hash tells as well, is left out."""
    project = next(project for project in PROJECTS if project.name == "jax_distributions")
    row: dict[str, Any] = {
        "version": "0.7.2", "platform": "linux_x86_64", "build": "cpu", "glibc": None, "requires": [],
        "measured_from": "x.whl", "wheel_sha256": "aa", "source": "pypi:jaxlib==0.7.2",
    }
    assert project.fitted(row) == {
        "distribution": "jaxlib", "version": "0.7.2", "platform": "linux_x86_64", "build": "cpu",
        "wheel_sha256": "aa", "source": "pypi:jaxlib==0.7.2",
    }


PRODUCT: dict[str, Any] = {
    "manufacturer": "NVIDIA", "name": "Tesla V100 SXM3 32 GB", "gpu_name": "GV100", "cuda_major_version": 7,
    "cuda_minor_version": 0, "memory_size_gb": 32.0, "memory_type": "HBM2", "memory_bandwidth_gb_s": 981.0,
    "single_float_performance_gflop_s": 16350.000000000002, "half_float_performance_gflop_s": 32710.0,
    "board_slot_width": "SXM Module", "bus_interface": "PCIe 3.0 x16", "thermal_design_power_w": 350,
    "release_date": None, "tpu_url": "https://example.org/gpu-specs/tesla-v100-sxm3-32-gb.c3474",
}


def test_specifications_have_round_figures_and_leave_out_what_is_doubtful() -> None:
    """Rates in TFLOPS, of four digits; none that only tensor cores reach, no row for half a card."""
    doubtful = PRODUCT | {"name": "H100 PCIe 80 GB", "gpu_name": "GH100", "cuda_major_version": 9,
                          "half_float_performance_gflop_s": 4 * PRODUCT["single_float_performance_gflop_s"]}
    others = [PRODUCT | {"name": "B200"}, PRODUCT | {"name": "B300"}, PRODUCT | {"manufacturer": "AMD"},
              PRODUCT | {"cuda_major_version": 3}, PRODUCT | {"cuda_major_version": None}]
    first, second = specification_rows("2025.12", [PRODUCT, doubtful, *others])
    assert (first["compute_capability"], first["fp32_tflops"], first["fp16_tflops"]) == ("7.0", 16.35, 32.71)
    assert (first["specification"], first["released"]) == ("tesla-v100-sxm3-32-gb.c3474", None)
    assert (second["fp32_tflops"], second["fp16_tflops"]) == (16.35, None)


def test_libraries_are_those_of_the_wheel_whatever_its_record_names() -> None:
    """RECORD of tensorflow-gpu 2.1 for Windows names other folders: its libraries have no recorded hash."""
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    record = "a/x.dll,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\na_gpu/y.pyd,sha256=AAAA,0\n"
    assert libraries_of(["a/x.dll", "a/y.pyd", "a/z.py"], record) == {"a/x.dll": empty, "a/y.pyd": None}
