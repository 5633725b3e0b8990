"""Packages that are damaged or in each other's way, and what was required: facts on the real tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Absent, Fact, Known, Record, RuleDatabase, Scope, Unknown, Value

RULES = Path(__file__).parents[2] / "rules"
SITE = "/home/user/venv/lib/python3.12/site-packages"
INSTALLED: tuple[Record, ...] = (
    {"name": "nvidia-cudnn-cu12", "version": "9.10.2.21", "location": SITE},
    {"name": "nvidia-cudnn-cu13", "version": "9.26.0.51", "location": SITE},
)


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def derived(database: RuleDatabase, scope: Scope, name: str, changes: Mapping[str, Value]) -> Fact:
    """Return one derived fact of a machine with an H100 and NVIDIA's cuDNN twice, after `changes`."""
    before: Mapping[str, Value] = {"cc": "9.0", "driver": "580.95.05"}
    facts: dict[str, Fact] = {
        key: Known(value=value, source="test")
        for key, value in {**before, **changes, "python.nvidia_distributions": INSTALLED}.items()
    }
    snapshot = lay(database.base, facts, database.tables, source="test")
    return derive.subjects(snapshot, database)[scope][0].fact(name)


def known(fact: Fact) -> Value:
    """Return the value of a fact that must be known."""
    assert isinstance(fact, Known), fact
    return fact.value


def test_only_packages_that_the_framework_asks_for_can_harm_it(database: RuleDatabase) -> None:
    """TensorFlow asks for the one for CUDA 12, torch 2.15 for the one for CUDA 13."""
    gone: Mapping[str, Value] = {"python.incomplete_distributions": ("nvidia-cudnn-cu12",)}
    name = "framework.distributions_incomplete"
    tensorflow = derived(database, Scope.FRAMEWORK, name, {"release": "tensorflow==2.20.0", **gone})
    torch = derived(database, Scope.FRAMEWORK, name, {"release": "torch==2.15.0", **gone})
    assert (known(tensorflow), known(torch)) == (("nvidia-cudnn-cu12",), ())


def test_what_is_damaged_is_reinstalled_in_the_version_that_is_installed(database: RuleDatabase) -> None:
    """A package of which files are gone, and the owner of a broken file; nothing where nothing is damaged."""
    name = "framework.reinstall_requirements"
    gone = derived(
        database,
        Scope.FRAMEWORK,
        name,
        {"release": "tensorflow==2.20.0", "python.incomplete_distributions": ("nvidia-cudnn-cu12",)},
    )
    assert known(gone) == ("nvidia-cudnn-cu12==9.10.2.21",)
    broken: Record = {
        "path": f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9",
        "error": "file too short",
        "distribution": "nvidia-cudnn-cu12",
        "version": "9.10.2.21",
    }
    half = derived(
        database,
        Scope.FRAMEWORK,
        name,
        {"release": "tensorflow==2.20.0", "python.planned_distributions": (), "loader.files": (broken,)},
    )
    assert known(half) == ("nvidia-cudnn-cu12==9.10.2.21",)
    assert isinstance(derived(database, Scope.FRAMEWORK, name, {"release": "tensorflow==2.20.0"}), Absent)


def test_of_two_packages_with_the_same_files_the_one_nobody_asks_for_may_go(database: RuleDatabase) -> None:
    """torch was upgraded to CUDA 13; with TensorFlow beside it, neither may go."""
    both: Mapping[str, Value] = {"python.colliding_distributions": ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13")}
    torch: Mapping[str, Value] = {"release": "torch==2.15.0", **both}
    assert known(derived(database, Scope.HOST, "python.colliding_unneeded", torch)) == ("nvidia-cudnn-cu12",)
    assert known(derived(database, Scope.HOST, "python.colliding_reinstall", torch)) == (
        "nvidia-cudnn-cu13==9.26.0.51",
    )
    nobody = derived(database, Scope.HOST, "python.colliding_reinstall", both)
    assert isinstance(nobody, Absent)


def test_missing_requirements_are_named_as_pip_takes_them(database: RuleDatabase) -> None:
    """With their versions; those that are installed are left out."""
    missing = known(
        derived(
            database,
            Scope.FRAMEWORK,
            "framework.requires_missing",
            {"release": "torch==2.15.0", "python.planned_distributions": ()},
        )
    )
    assert isinstance(missing, tuple)
    assert "nvidia-nccl-cu13==2.30.7" in missing
    assert not [text for text in missing if str(text).startswith("nvidia-cudnn")]


def test_the_newest_python_is_the_newest_by_number(database: RuleDatabase) -> None:
    """3.10 is newer than 3.9; the requirement carries the extra that brings the libraries."""
    required: Mapping[str, Value] = {
        "require.wanted": ("tensorflow==2.15.1", "gpu>=2"),
    }
    assert known(derived(database, Scope.HOST, "require.newest_python", required)) == "3.11"
    assert (
        known(derived(database, Scope.HOST, "require.wheel_requirement", required))
        == "tensorflow[and-cuda]==2.15.1"
    )
    assert known(derived(database, Scope.HOST, "require.wanted_otherwise", required)) == ("gpu>=2",)


def test_a_platform_without_a_cuda_build_is_told_from_one_with(database: RuleDatabase) -> None:
    """TensorFlow on aarch64 has none, torch has."""
    arm: Mapping[str, Value] = {"system.architecture": "aarch64"}
    name = "framework.published_for_cuda"
    assert known(derived(database, Scope.FRAMEWORK, name, {**arm, "release": "tensorflow==2.20.0"})) is False
    assert known(derived(database, Scope.FRAMEWORK, name, {**arm, "release": "torch==2.15.0"})) is True


def test_what_a_framework_asks_for_is_open_where_its_metadata_could_not_be_read(
    database: RuleDatabase,
) -> None:
    """JAX's table row does not say it; it was taken for a build that asks for no packages."""
    hidden: Mapping[str, Fact] = {"framework.extra_requires_nvidia": Unknown(reason="hidden by the test")}
    jax: Mapping[str, Fact] = {"release": Known(value="jax[cuda12]==0.10.2", source="test"), **hidden}
    torch: Mapping[str, Fact] = {"release": Known(value="torch==2.15.0", source="test"), **hidden}
    for name, release, expected in (
        ("framework.asks_packages", jax, Unknown), ("framework.distributions_incomplete", jax, Unknown),
        ("framework.asks_packages", torch, Known),
    ):
        snapshot = lay(database.base, release, database.tables, source="test")
        found = derive.subjects(snapshot, database)[Scope.FRAMEWORK][0].fact(name)
        assert isinstance(found, expected), name
