"""Tables that speak of one thing say the same: what cards compute in, where CUDA and its drivers end."""

from __future__ import annotations

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


def test_cuda_and_its_drivers_end_at_one_version(tables: Tables) -> None:
    """One table ended at 610 and CUDA 13.3, and another knew an image with 615 and CUDA 13.4."""
    branches = {str(row["cuda"]): str(row["driver"]) for row in tables["driver_branches"].rows}
    toolkits = {str(row["cuda"]): str(row["minimum_driver"]).partition(".")[0]
                for row in tables["cuda_toolkits"].rows}
    assert branches == toolkits
    beyond = [row["release"] for row in tables["ngc_releases"].rows if "driver" in row
              and minor(row["cuda"]) not in branches]
    assert beyond == []


def newer(version: object, other: object) -> bool:
    return versions.parse(str(version)) > versions.parse(str(other))


def minor(cuda: Value) -> str:
    return ".".join(str(cuda).split(".")[:2])
