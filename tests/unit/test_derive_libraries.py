"""What a framework finds of its CUDA libraries, and what pip is to bring: on the real tables."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from packaging.requirements import Requirement

from gpudoctor import ruledb
from gpudoctor.derive import planned, published
from gpudoctor.model import Known, Record, RuleDatabase, Scope, Unknown
from tests.unit.derived_facts import H100, NOTHING_PLANNED, RULES, V100, Change, fact, release, value

SITE = "/home/user/venv/lib/python3.12/site-packages"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def test_a_release_with_its_packages_finds_all_of_them(database: RuleDatabase) -> None:
    """TensorFlow 2.20 with the extra misses nothing."""
    assert value(database, "framework.libraries_missing", H100, release("tensorflow==2.20.0")) == ()


def test_tensorflow_2_21_misses_cusolver_alone(database: RuleDatabase) -> None:
    """The library is installed beside the others, and the folder to name is its own."""
    changes: tuple[Change, ...] = (H100, release("tensorflow==2.21.0"))
    assert value(database, "framework.libraries_missing", *changes) == ("libcusolver.so.11",)
    assert value(database, "framework.off_path_origin", *changes) == "packages"
    assert value(database, "framework.library_path_needed", *changes) == (f"{SITE}/nvidia/cusolver/lib",)


def test_the_driver_own_libraries_are_nobodys_package(database: RuleDatabase) -> None:
    """TensorFlow 2.21 opens libnvidia-ml, which no package brings."""
    missing = value(
        database, "framework.libraries_missing", H100, release("tensorflow==2.21.0"), NOTHING_PLANNED
    )
    assert isinstance(missing, tuple)
    assert "libcudart.so.12" in missing
    assert "libnvidia-ml.so.1" not in missing


def test_ld_library_path_is_cleaned_of_what_shadows_and_keeps_the_rest(database: RuleDatabase) -> None:
    """Only the folder with the broken file goes."""
    broken: Record = {"path": "/opt/old/libcudnn.so.9", "error": "file too short"}
    changes: tuple[Change, ...] = (
        H100,
        release("tensorflow==2.20.0"),
        {"loader.library_path": ("/opt/old", "/opt/mpi"), "loader.files": (broken,)},
    )
    assert value(database, "framework.libraries_broken", *changes) == ("libcudnn.so.9",)
    assert value(database, "framework.shadowing_folders", *changes) == ("/opt/old",)
    assert value(database, "framework.library_path_clean", *changes) == ("/opt/mpi",)


def test_an_older_copy_before_the_frameworks_own_is_told_from_the_one_behind_it(
    database: RuleDatabase,
) -> None:
    """cuDNN as found, as it would be without LD_LIBRARY_PATH, and as it was compiled."""
    system: Record = {"path": "/usr/local/cuda/lib64/libcudnn.so.9", "version": "9.1.0"}
    changes: tuple[Change, ...] = (
        H100,
        release("tensorflow==2.20.0"),
        {"loader.library_path": ("/usr/local/cuda/lib64",), "loader.files": (system,)},
    )
    assert value(database, "framework.libraries_shadowed", *changes) == ("libcudnn.so.9",)
    assert value(database, "framework.cudnn_found", *changes) == "9.1.0"
    assert value(database, "framework.cudnn_floor", *changes) == "9.3"
    assert str(value(database, "framework.cudnn_without_library_path", *changes)).startswith("9.")
    assert value(database, "framework.cudnn_without_library_path", *changes) != "9.1.0"


def test_another_major_version_is_named_only_where_the_right_one_is_missing(database: RuleDatabase) -> None:
    """cuDNN 8 beside a TensorFlow for cuDNN 9."""
    cache: tuple[Record, ...] = ({"soname": "libcudnn.so.8", "path": "/usr/lib/libcudnn.so.8"},)
    missing: tuple[Change, ...] = (
        H100,
        release("tensorflow==2.20.0"),
        NOTHING_PLANNED,
        {"loader.cache": cache},
    )
    assert value(database, "framework.cudnn_others", *missing) == ("libcudnn.so.8",)
    found: tuple[Change, ...] = (H100, release("tensorflow==2.20.0"), {"loader.cache": cache})
    assert value(database, "framework.cudnn_others", *found) == ()


def test_an_unreadable_list_of_files_is_not_a_missing_library(database: RuleDatabase) -> None:
    """Unknown stays unknown."""
    hidden: Change = {"loader.files": Unknown(reason="the folder could not be read")}
    found = fact(
        database, Scope.FRAMEWORK, "framework.libraries_missing", H100, release("tensorflow==2.20.0"), hidden
    )
    assert isinstance(found, Unknown)
    assert "could not be read" in found.reason


# -- what pip is to bring -----------------------------------------------------------------------------------


def test_the_extra_of_the_very_release_and_the_folder_it_forgets(database: RuleDatabase) -> None:
    """Plain TensorFlow 2.21: the extra, and LD_LIBRARY_PATH for cuSOLVER."""
    changes: tuple[Change, ...] = (H100, release("tensorflow==2.21.0"), NOTHING_PLANNED)
    assert value(database, "framework.cuda_requirement", *changes) == ("tensorflow[and-cuda]==2.21.0",)
    assert value(database, "framework.library_path_planned", *changes) == (f"{SITE}/nvidia/cusolver/lib",)


def test_cudnn_is_held_back_for_an_old_card_only(database: RuleDatabase) -> None:
    """A V100 gets the limit, an H100 does not, and an exact pin is left as it is."""
    changes: tuple[Change, ...] = (release("tensorflow==2.20.0"), NOTHING_PLANNED)
    assert value(database, "framework.cuda_requirement", V100, *changes) == (
        "tensorflow[and-cuda]==2.20.0",
        "nvidia-cudnn-cu12<=9.10.2.21",
    )
    assert value(database, "framework.cuda_requirement", H100, *changes) == ("tensorflow[and-cuda]==2.20.0",)
    pinned = value(database, "framework.cudnn_requirement", V100, release("tensorflow==2.19.1"))
    assert pinned == ("nvidia-cudnn-cu12==9.3.0.75",)


def test_releases_without_an_extra_get_the_packages_one_by_one(database: RuleDatabase) -> None:
    """TensorFlow 2.13 wants CUDA 11 and a cuDNN 8 out of a package that also has 9."""
    wanted = value(database, "framework.cuda_requirement", H100, release("tensorflow==2.13.1"))
    assert isinstance(wanted, tuple)
    assert "nvidia-cuda-runtime-cu11" in wanted
    assert [text for text in wanted if str(text).startswith("nvidia-cudnn-cu11>=8.") and "<=8." in str(text)]


@pytest.mark.parametrize(
    ("requirement", "soname", "version"),
    [
        ("nvidia-cudnn-cu12==8.9.7.29", "libcudnn.so.8", "8.9.7.29"),
        ("nvidia-cudnn-cu12==9.3.0.75", "libcudnn.so.9", "9.3.0.75"),
        ("nvidia-cudnn-cu12>=9.3.0.75,<10.0,<=9.10.2.21", "libcudnn.so.9", "9.10.2.21"),
        ("nvidia-cublas==13.4.1.3.*", "libcublas.so.13", "13.4.1.3"),
    ],
)
def test_a_requirement_brings_the_files_of_its_version(
    database: RuleDatabase, requirement: str, soname: str, version: str
) -> None:
    """Ranges take the newest version that is known to satisfy them."""
    brought = dict(planned.files([requirement], "/site", database.tables["nvidia_libraries"]))
    assert version in {str(record["version"]) for record in brought.values()}
    assert soname in {str(record["soname"]) for record in brought.values()}


def test_a_requirement_that_no_version_satisfies_brings_nothing(database: RuleDatabase) -> None:
    """A version from before the first one, and a package nobody knows."""
    table = database.tables["nvidia_libraries"]
    assert planned.newest(Requirement("nvidia-cudnn-cu12<1"), table) is None
    assert list(planned.files(["some-package", "not a requirement !"], "/site", table)) == []


def test_packages_are_those_for_this_processor(database: RuleDatabase) -> None:
    """What the wheels for x86_64 hold was taken for what those for aarch64 hold, which begin later."""
    held = {
        platform: published.for_platform(database.tables[published.nvidia_table(platform)], platform)
        for platform in ("linux_x86_64", "linux_aarch64", "windows_x86_64")
    }
    wanted = Requirement("nvidia-cuda-nvrtc==13.0.88")
    nvrtc = {name: planned.newest(wanted, table) for name, table in held.items()}
    libraries = {name: chosen[0]["libraries"] for name, chosen in nvrtc.items() if chosen}
    assert libraries["linux_aarch64"] == ("libnvrtc-builtins.so.13.0", "libnvrtc.so.13")
    assert "libnvrtc.alt.so.13" in str(libraries["linux_x86_64"])
    assert "nvrtc64_130_0.dll" in str(libraries["windows_x86_64"])


@pytest.mark.parametrize(("architecture", "is_known"), [("x86_64", True), ("aarch64", False)])
def test_a_package_that_is_not_for_this_processor_is_not_planned(
    database: RuleDatabase, architecture: str, is_known: bool
) -> None:
    """NCCL 2.18 has no wheel for aarch64: pip would refuse it, and its device code was judged there."""
    changes: tuple[Change, ...] = (
        {"system.architecture": architecture},
        H100,
        release("torch==2.10.0"),
        {"python.planned_distributions": ("nvidia-nccl-cu12==2.18.1",)},
    )
    oldest = fact(database, Scope.FRAMEWORK, "framework.nccl_oldest_card", *changes)
    assert isinstance(oldest, Known) is is_known


@pytest.mark.parametrize(
    ("texts", "installed", "replaced"),
    [
        (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu12", "version": "9.1.0.70"}, True),
        (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu12", "version": "9.5.1.17"}, False),
        (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu13", "version": "9.26.0.51"}, True),
        (
            ["nvidia-cudnn-cu12>=9.3"],
            {"distribution": "nvidia-cudnn-cu12", "version": "9.5.1.17", "error": "short"},
            False,
        ),
        (
            ["nvidia-cudnn-cu12==9.5.1.17"],
            {"distribution": "nvidia-cudnn-cu12", "version": "9.5.1.17", "error": "short"},
            True,
        ),
    ],
)
def test_pip_leaves_alone_what_satisfies_it(texts: Sequence[str], installed: Record, replaced: bool) -> None:
    """Even a broken file stays, unless exactly its version is asked for again."""
    assert replaced is planned.replaces({"distribution": "nvidia-cudnn-cu12"}, texts, installed)
