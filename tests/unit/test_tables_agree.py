"""Tables that speak of one thing say the same: what cards compute in, where CUDA and its drivers end."""

from __future__ import annotations

import re

import pytest

from gpudoctor import ruledb, versions
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Tables, Value

RATES = {"tf32_tflops": "tf32", "bf16_tflops": "bfloat16", "fp16_tflops": "float16"}


@pytest.fixture(scope="module")
def tables() -> Tables:
    return ruledb.load().tables


@pytest.fixture(scope="module")
def tensor_cores(tables: Tables) -> dict[str, tuple[str, ...]]:
    """Return the data types of the tensor cores of each compute capability."""
    return {str(row["compute_capability"]): as_texts(row["values"])
            for row in tables["architecture_features"].rows if row["feature"] == "tensor core data types"}


def test_a_rate_of_tensor_cores_is_of_a_type_that_they_take(
    tables: Tables, tensor_cores: dict[str, tuple[str, ...]]
) -> None:
    """8.6 lacked float16 and 8.9 both it and tf32, whose rates stood in the other table."""
    missing = [(row["name"], named) for row in tables["gpu_tensor_rates"].rows
               for column, named in RATES.items()
               if column in row and named not in tensor_cores[str(row["compute_capability"])]]
    assert missing == []


def test_what_a_card_computes_in_its_tensor_cores_take(
    tables: Tables, tensor_cores: dict[str, tuple[str, ...]]
) -> None:
    """Of every card that has tensor cores."""
    missing = [(card, row["precision"]) for row in tables["precisions"].rows
               for card, types in tensor_cores.items()
               if not newer(row["first_compute_capability"], card) and row["precision"] not in types]
    assert missing == []


def test_ecc_is_said_of_products_that_have_a_row_of_their_own(tables: Tables) -> None:
    """A name that no other table has would be found by nobody who goes from one to the next."""
    capabilities = {(row["name"], row["compute_capability"])
                    for named in ("gpu_products", "gpu_specifications") for row in tables[named].rows}
    strangers = [row["name"] for row in tables["gpu_ecc"].rows
                 if (row["name"], row["compute_capability"]) not in capabilities]
    assert strangers == []


def test_a_card_without_ecc_was_never_seen_with_it(tables: Tables) -> None:
    """`seen` is what a driver showed, so it may not stand beside a card that has none."""
    assert [row["name"] for row in tables["gpu_ecc"].rows if "seen" in row and not row["ecc"]] == []
    assert {row["seen"] for row in tables["gpu_ecc"].rows if "seen" in row} == {"on", "off"}


def test_cuda_and_its_drivers_end_at_one_version(tables: Tables) -> None:
    """One table ended at 610 and CUDA 13.3, and another knew an image with 615 and CUDA 13.4.

    Of CUDA 12.7 NVIDIA published a driver, PTX and no toolkit.
    """
    branches = {str(row["cuda"]): str(row["driver"]) for row in tables["driver_branches"].rows}
    toolkits = {str(row["cuda"]): str(row["minimum_driver"]).partition(".")[0]
                for row in tables["cuda_toolkits"].rows}
    assert branches.pop("12.7") == "565"
    assert branches == toolkits
    beyond = [row["release"] for row in tables["ngc_releases"].rows if "driver" in row
              and minor(row["cuda"]) not in branches]
    assert beyond == []


def test_a_ptx_is_of_a_cuda_that_a_branch_of_drivers_runs(tables: Tables) -> None:
    """PTX 8.6 is of CUDA 12.7, and branch 565 was read as 560, which runs 12.6."""
    known = {str(row["cuda"]) for row in tables["driver_branches"].rows}
    first = min(known, key=versions.parse)
    assert [row["ptx_isa"] for row in tables["ptx_isa"].rows
            if not newer(first, row["cuda"]) and row["cuda"] not in known] == []


def test_an_image_of_cuda_has_a_system_and_kinds(tables: Tables) -> None:
    """Of CUDA 10.0 the folders of Ubuntu 16.04 were read as systems: "base,devel,runtime: "."""
    system = r"(ubuntu[0-9]{4}|(?!ubuntu)[a-z]+[0-9]+)"
    form = re.compile(rf"{system}(,{system})*:( (base|runtime|devel)(/[a-z]+[0-9]*)?)+")
    odd = [(row["cuda"], line) for row in tables["cuda_images"].rows
           for line in as_texts(row["distributions"]) if not form.fullmatch(line)]
    assert odd == []


def newer(version: object, other: object) -> bool:
    return versions.parse(str(version)) > versions.parse(str(other))


def minor(cuda: Value) -> str:
    return ".".join(str(cuda).split(".")[:2])


def test_each_architecture_has_the_first_cuda_of_nvidias_history_of_ptx(tables: Tables) -> None:
    """3.7 was said to be as old as 3.5, which NVIDIA's history of PTX contradicts; Maxwell had none."""
    rows = {str(row["compute_capability"]): str(row.get("first_cuda", ""))
            for row in tables["architectures"].rows}
    assert [card for card, first in rows.items() if not first] == []
    ptx = {str(row["cuda"]): row["ptx_isa"] for row in tables["ptx_isa"].rows}
    assert {card: ptx[rows[card]] for card in ("3.5", "3.7", "5.0", "5.2", "5.3")} == {
        "3.5": "3.1", "3.7": "4.1", "5.0": "4.0", "5.2": "4.1", "5.3": "4.2"}


def test_a_rate_outside_tensor_cores_is_at_most_twice_that_of_fp32(tables: Tables) -> None:
    """Regression: that of the T4's tensor cores stood there. GA100 is said to take four halves at once."""
    rates = [(row["chip"], float(str(row["fp16_tflops"])) / float(str(row["fp32_tflops"])))
             for row in tables["gpu_specifications"].rows if "fp16_tflops" in row]
    faster = {chip for chip, times in rates if times > 2.1}
    assert faster == {"GA100"}


def test_the_memory_of_a_card_is_that_of_the_page_about_its_instances(tables: Tables) -> None:
    """The newest cards of data centers had no specification; their memory alone stands on NVIDIA's pages."""
    memory = {str(row["name"]): row for row in tables["gpu_specifications"].rows
              if row["specification"] == "memory"}
    assert memory.keys() == {"B200", "B300", "GB200", "GB300", "GH200 96 GB", "GH200 144 GB"}
    assert [name for name, row in memory.items() if "fp32_tflops" in row] == []
    of_mig = {str(row["card"]): row["memory_gb"] for row in tables["mig_cards"].rows if "memory_gb" in row}
    assert [memory[name]["memory_gb"] for name in ("B200", "GB200", "GH200 96 GB")] == [
        of_mig[name] for name in ("B200", "GB200", "GH200")]
