"""What an image asks of driver and cards, read as NVIDIA's toolkit reads it, and held against a machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.image_needs import NOT_TOLD, Card, is_met, of_labels, of_variables
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Scope, Unknown
from tests.unit.derived_facts import RULES

T4 = Card(cuda="12.2", driver="535.183.06", arch="7.5", brand="tesla")
CUDA_12_8 = "cuda>=12.8 brand=unknown,driver>=470,driver<471 brand=tesla,driver>=535,driver<536"


@pytest.mark.parametrize(("requirement", "card", "expected"), [
    ("cuda>=12.2", T4, True), ("cuda>=12.3", T4, False), ("cuda>=12", T4, True), ("cuda>=13", T4, False),
    ("cuda>=12.2.0", T4, True), ("cuda>12.2", T4, False), ("cuda<=12.2", T4, True), ("cuda<12.10", T4, True),
    ("cuda=12.2.0", T4, True), ("cuda!=12.2", T4, False), ("CUDA>=12.2", T4, True), ("", T4, True),
    (CUDA_12_8, T4, True),
    (CUDA_12_8, replace(T4, brand="geforce"), False),
    (CUDA_12_8, replace(T4, brand="Tesla"), True),
    (CUDA_12_8, replace(T4, driver="550.54.14"), False),
    (CUDA_12_8, replace(T4, cuda="12.8", brand="geforce"), True),
    (CUDA_12_8, replace(T4, brand=None), None),
    (CUDA_12_8, replace(T4, brand=None, driver="550.54.14"), False),
    (CUDA_12_8, replace(T4, brand=NOT_TOLD), True),
    ("driver>=535.183.07", T4, False), ("driver>=535.183", T4, True), ("driver>=535.183.6", T4, True),
    ("arch>=8.0 arch=7.5", T4, True), ("arch>=8.0", T4, False), ("arch>=8.0", replace(T4, arch=None), None),
    ("brand!=tesla", T4, False), ("brand>tesla", T4, None), ("cuda>=11,,arch<8", T4, True),
    ("cuda>=11 nonsense", T4, True), ("cuda>=13 nonsense", T4, None), ("cuda==12.2", T4, None),
    ("cuda>=x", T4, None), ("cores>=3", T4, None), ("cuda>=12.8", Card(), None),
])
def test_alternatives_and_conditions(requirement: str, card: Card, expected: bool | None) -> None:
    """One alternative is enough, all its conditions must hold, and what cannot be read is not known."""
    assert is_met(requirement, card) is expected


@pytest.mark.parametrize(("variables", "expected"), [
    ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "CUDA_VERSION": "12.4.1"}, {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}),
    ({"CUDA_VERSION": "9.2.148"}, {"CUDA_VERSION": "cuda>=9.2"}),
    ({"CUDA_VERSION": "v12"}, {"CUDA_VERSION": "cuda>=12.0"}),
    ({"CUDA_VERSION": "12.6.3.004"}, {}),  # a fourth number is no version to the toolkit
    ({"CUDA_VERSION": "latest"}, {}),
    ({"NVIDIA_REQUIRE_DRIVER": "driver>=550", "NVIDIA_REQUIRE_CUDA": "cuda>=12.0", "HOME": "/"},
     {"NVIDIA_REQUIRE_CUDA": "cuda>=12.0", "NVIDIA_REQUIRE_DRIVER": "driver>=550"}),
    ({"NVIDIA_REQUIRE_JETPACK": "csv-mounts=all"}, {}),
    ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "1"}, {}),
    ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "true"}, {}),
    ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "yes"},
     {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}),
    ({"CUDA_VERSION": "9.2.148", "NVIDIA_DISABLE_REQUIRE": "T"}, {}), ({}, {})])
def test_variables(variables: dict[str, str], expected: dict[str, str]) -> None:
    """The toolkit adds all of them up; an older image asks by its CUDA_VERSION."""
    assert of_variables(variables) == expected


@pytest.mark.parametrize(("label", "variables", "expected"), [
    ("13.0.1", {}, "13.0"), ("9.0", {"HOME": "/"}, "9.0"), ("", {}, None), ("latest", {}, None),
    ("13.0", {"NVIDIA_REQUIRE_CUDA": "cuda>=9.0"}, None), ("13.0", {"CUDA_VERSION": "9.2.148"}, None),
    ("13.0", {"NVIDIA_DISABLE_REQUIRE": "1"}, None)])
def test_a_label_asks_where_no_variable_does(label: str, variables: dict[str, str],
                                             expected: str | None) -> None:
    assert of_labels({"com.nvidia.cuda.version": label, "maintainer": "ana"}, variables) == expected


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load_pages(RULES)


def judged(database: RuleDatabase, requirement: str, driver: str, *brands: str,
           **host: Fact) -> tuple[object, object]:
    """Return what is not met, and what no compatibility excuses, on a machine with cards of these brands."""
    laid = lay(database.base, {
        name: Known(value=value, source="test") for name, value in (
            ("driver", driver), ("image.requirements", (requirement,)))}, database.tables, source="test")
    assert not isinstance(laid.gpus, Unknown)
    cards = tuple({**laid.gpus[0], "gpu.brand": Known(value=brand, source="test")} for brand in brands)
    snapshot = replace(laid, gpus=cards, host={**laid.host, **host})
    subject = derive.subjects(snapshot, database)[Scope.HOST][0]
    found = [subject.fact(name) for name in ("image.requirements_unmet", "image.requirements_failing")]
    return tuple(one.value if isinstance(one, Known) else type(one) for one in found)  # type: ignore[return-value]


@pytest.mark.parametrize(("requirement", "driver", "brands", "expected"), [
    ("cuda>=12.8", "570.86.15", ["tesla"], (Absent, Absent)),
    ("cuda>=12.8", "525.60.13", ["tesla"], (("cuda>=12.8",), Absent)),
    ("cuda>=12.8", "525.53", ["tesla"], (("cuda>=12.8",), ("cuda>=12.8",))),
    ("cuda>=12.8", "520.61.05", ["tesla"], (("cuda>=12.8",), ("cuda>=12.8",))),
    (CUDA_12_8, "535.183.06", ["tesla"], (Absent, Absent)),
    (CUDA_12_8, "535.183.06", ["tesla", "geforce"], (("cuda>=12.8",), Absent)),
    ("driver>=550,cuda>=12.0", "535.183.06", ["tesla"], (("driver>=550,cuda>=12.0",),) * 2)])
def test_a_machine_is_held_against_it(requirement: str, driver: str, brands: list[str],
                                      expected: tuple[object, object], database: RuleDatabase) -> None:
    """Every card must meet it; the first alternative stands for all, as in the toolkit's own message."""
    assert judged(database, requirement, driver, *brands) == expected


def test_a_driver_that_is_known_to_run_at_least_a_cuda(database: RuleDatabase) -> None:
    """That is enough to say that it meets what asks for less, and too little to say that it does not."""
    newer: dict[str, Fact] = {name: Absent(source="test") for name in ("cuda.ceiling", "nvml.cuda_version")}
    assert judged(database, "cuda>=12.8", "999.1", "tesla", **newer) == (Absent, Absent)
    assert judged(database, "cuda>=99.0", "999.1", "tesla", **newer) == (Unknown, Unknown)


def test_without_a_driver_nothing_is_held_against_it(database: RuleDatabase) -> None:
    """That there is none is for other pages."""
    none: dict[str, Fact] = {name: Absent(source="test") for name in (
        "cuda.ceiling", "nvml.cuda_version", "nvml.driver_version", "driver.kernel_version",
        "driver.libcuda_file_version", "driver.libnvidia_ml_file_version")}
    assert judged(database, "cuda>=12.8", "570.86.15", **none) == (Absent, Absent)
