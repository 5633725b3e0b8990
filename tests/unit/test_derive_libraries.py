"""What a framework finds of its CUDA libraries, what pip is to bring, and which releases would fit: on the real tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.derive import planned
from gpudoctor.model import Absent, Fact, Known, Record, RuleDatabase, Scope, Unknown, Value

RULES = Path(__file__).parents[2] / "rules"
SITE = "/home/user/venv/lib/python3.12/site-packages"
H100: Mapping[str, Value] = {"cc": "9.0", "driver": "580.95.05"}
V100: Mapping[str, Value] = {"cc": "7.0", "driver": "580.95.05"}
NOTHING_PLANNED: Mapping[str, Value] = {"python.planned_distributions": ()}


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def fact(database: RuleDatabase, scope: Scope, name: str, *changes: Mapping[str, Value | Fact]) -> Fact:
    """Return one derived fact of the base machine after `changes`, laid over it in order."""
    facts = {key: value if isinstance(value, Known | Absent | Unknown) else Known(value=value, source="test")
             for change in changes for key, value in change.items()}
    snapshot = lay(database.base, facts, database.tables, source="test")
    return derive.subjects(snapshot, database.tables)[scope][0].fact(name)


def value(database: RuleDatabase, name: str, *changes: Mapping[str, Value | Fact]) -> Value:
    """Return the value of a framework's derived fact, which must be known."""
    found = fact(database, Scope.FRAMEWORK, name, *changes)
    assert isinstance(found, Known), found
    return found.value


def release(text: str, python: str = "3.11.9") -> Mapping[str, Value]:
    """Return a release, installed with its CUDA libraries."""
    return {"python": python, "release": text}


# -- the trace --------------------------------------------------------------------------------------------------------

def test_a_release_with_its_packages_finds_all_of_them(database: RuleDatabase) -> None:
    """TensorFlow 2.20 with the extra misses nothing."""
    assert value(database, "framework.libraries_missing", H100, release("tensorflow==2.20.0")) == ()


def test_tensorflow_2_21_misses_cusolver_alone(database: RuleDatabase) -> None:
    """The library is installed beside the others, and the folder to name is its own."""
    changes = (H100, release("tensorflow==2.21.0"))
    assert value(database, "framework.libraries_missing", *changes) == ("libcusolver.so.11",)
    assert value(database, "framework.off_path_origin", *changes) == "packages"
    assert value(database, "framework.library_path_needed", *changes) == (f"{SITE}/nvidia/cusolver/lib",)


def test_the_driver_own_libraries_are_nobodys_package(database: RuleDatabase) -> None:
    """TensorFlow 2.21 opens libnvidia-ml, which no package brings."""
    missing = value(database, "framework.libraries_missing", H100, release("tensorflow==2.21.0"), NOTHING_PLANNED)
    assert isinstance(missing, tuple) and "libcudart.so.12" in missing and "libnvidia-ml.so.1" not in missing


def test_ld_library_path_is_cleaned_of_what_shadows_and_keeps_the_rest(database: RuleDatabase) -> None:
    """Only the folder with the broken file goes."""
    broken: Record = {"path": "/opt/old/libcudnn.so.9", "error": "file too short"}
    changes = (H100, release("tensorflow==2.20.0"),
               {"loader.library_path": ("/opt/old", "/opt/mpi"), "loader.files": (broken,)})
    assert value(database, "framework.libraries_broken", *changes) == ("libcudnn.so.9",)
    assert value(database, "framework.shadowing_folders", *changes) == ("/opt/old",)
    assert value(database, "framework.library_path_clean", *changes) == ("/opt/mpi",)


def test_an_older_copy_before_the_frameworks_own_is_told_from_the_one_behind_it(database: RuleDatabase) -> None:
    """cuDNN as found, as it would be without LD_LIBRARY_PATH, and as it was compiled."""
    system: Record = {"path": "/usr/local/cuda/lib64/libcudnn.so.9", "version": "9.1.0"}
    changes = (H100, release("tensorflow==2.20.0"),
               {"loader.library_path": ("/usr/local/cuda/lib64",), "loader.files": (system,)})
    assert value(database, "framework.libraries_shadowed", *changes) == ("libcudnn.so.9",)
    assert value(database, "framework.cudnn_found", *changes) == "9.1.0"
    assert value(database, "framework.cudnn_floor", *changes) == "9.3"
    assert str(value(database, "framework.cudnn_without_library_path", *changes)).startswith("9.")
    assert value(database, "framework.cudnn_without_library_path", *changes) != "9.1.0"


def test_a_library_of_another_major_version_is_named_only_where_the_right_one_is_missing(database: RuleDatabase) -> None:
    """cuDNN 8 beside a TensorFlow for cuDNN 9."""
    cache: tuple[Record, ...] = ({"soname": "libcudnn.so.8", "path": "/usr/lib/libcudnn.so.8"},)
    missing = (H100, release("tensorflow==2.20.0"), NOTHING_PLANNED, {"loader.cache": cache})
    assert value(database, "framework.cudnn_others", *missing) == ("libcudnn.so.8",)
    found = (H100, release("tensorflow==2.20.0"), {"loader.cache": cache})
    assert value(database, "framework.cudnn_others", *found) == ()


def test_an_unreadable_list_of_files_is_not_a_missing_library(database: RuleDatabase) -> None:
    """Unknown stays unknown."""
    hidden = {"loader.files": Unknown(reason="the folder could not be read")}
    found = fact(database, Scope.FRAMEWORK, "framework.libraries_missing", H100, release("tensorflow==2.20.0"), hidden)
    assert isinstance(found, Unknown) and "could not be read" in found.reason


# -- what pip is to bring -------------------------------------------------------------------------------------------

def test_the_extra_of_the_very_release_and_the_folder_it_forgets(database: RuleDatabase) -> None:
    """Plain TensorFlow 2.21: the extra, and LD_LIBRARY_PATH for cuSOLVER."""
    changes = (H100, release("tensorflow==2.21.0"), NOTHING_PLANNED)
    assert value(database, "framework.cuda_requirement", *changes) == ("tensorflow[and-cuda]==2.21.0",)
    assert value(database, "framework.library_path_planned", *changes) == (f"{SITE}/nvidia/cusolver/lib",)


def test_cudnn_is_held_back_for_an_old_card_only(database: RuleDatabase) -> None:
    """A V100 gets the limit, an H100 does not, and an exact pin is left as it is."""
    changes = (release("tensorflow==2.20.0"), NOTHING_PLANNED)
    assert value(database, "framework.cuda_requirement", V100, *changes) == (
        "tensorflow[and-cuda]==2.20.0", "nvidia-cudnn-cu12<=9.10.2.21")
    assert value(database, "framework.cuda_requirement", H100, *changes) == ("tensorflow[and-cuda]==2.20.0",)
    pinned = value(database, "framework.cudnn_requirement", V100, release("tensorflow==2.19.1"))
    assert pinned == ("nvidia-cudnn-cu12==9.3.0.75",)


def test_releases_without_an_extra_get_the_packages_one_by_one(database: RuleDatabase) -> None:
    """TensorFlow 2.13 wants CUDA 11 and a cuDNN 8 out of a package that also has 9."""
    wanted = value(database, "framework.cuda_requirement", H100, release("tensorflow==2.13.1"))
    assert isinstance(wanted, tuple)
    assert "nvidia-cuda-runtime-cu11" in wanted
    assert [text for text in wanted if str(text).startswith("nvidia-cudnn-cu11>=8.") and "<=8." in str(text)]


@pytest.mark.parametrize(("requirement", "soname", "version"), [
    ("nvidia-cudnn-cu12==8.9.7.29", "libcudnn.so.8", "8.9.7.29"),
    ("nvidia-cudnn-cu12==9.3.0.75", "libcudnn.so.9", "9.3.0.75"),
    ("nvidia-cudnn-cu12>=9.3.0.75,<10.0,<=9.10.2.21", "libcudnn.so.9", "9.10.2.21"),
    ("nvidia-cublas==13.4.1.3.*", "libcublas.so.13", "13.4.1.3"),
])
def test_a_requirement_brings_the_files_of_its_version(
        database: RuleDatabase, requirement: str, soname: str, version: str) -> None:
    """Ranges take the newest version that is known to satisfy them."""
    brought = dict(planned.files([requirement], "/site", database.tables["nvidia_libraries"]))
    assert version in {str(record["version"]) for record in brought.values()}
    assert soname in {str(record["soname"]) for record in brought.values()}


def test_a_requirement_that_no_version_satisfies_brings_nothing(database: RuleDatabase) -> None:
    """A version from before the first one, and a package nobody knows."""
    table = database.tables["nvidia_libraries"]
    assert planned.newest(Requirement("nvidia-cudnn-cu12<1"), table) is None
    assert list(planned.files(["some-package", "not a requirement !"], "/site", table)) == []


@pytest.mark.parametrize(("texts", "installed", "replaced"), [
    (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu12", "version": "9.1.0.70"}, True),
    (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu12", "version": "9.5.1.17"}, False),
    (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu13", "version": "9.26.0.51"}, True),
    (["nvidia-cudnn-cu12>=9.3"], {"distribution": "nvidia-cudnn-cu12", "version": "9.5.1.17", "error": "short"}, False),
    (["nvidia-cudnn-cu12==9.5.1.17"], {"distribution": "nvidia-cudnn-cu12", "version": "9.5.1.17", "error": "short"}, True),
])
def test_pip_leaves_alone_what_satisfies_it(texts: Sequence[str], installed: Record, replaced: bool) -> None:
    """Even a broken file stays, unless exactly its version is asked for again."""
    assert replaced is planned.replaces({"distribution": "nvidia-cudnn-cu12"}, texts, installed)


# -- releases that would fit ----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("machine", "installed", "fitting"), [
    (V100, "torch==2.15.0", "torch==2.10.0"),
    ({"cc": "6.0", "driver": "580.95.05"}, "torch==2.15.0", "torch==2.7.1"),
    ({"cc": "9.0", "driver": "570.86.15"}, "torch==2.15.0", "torch==2.10.0"),
    (H100, "tensorflow==2.21.0", "tensorflow==2.20.0"),
    (V100, "tensorflow==2.20.0", "tensorflow==2.19.1"),
    ({"cc": "9.0", "driver": "535.54.03"}, "tensorflow==2.20.0", "tensorflow==2.16.2"),
    ({"cc": ("7.0", "12.0"), "driver": "580.95.05"}, "torch==2.15.0", "torch==2.10.0"),
])
def test_the_newest_release_that_fits_driver_cards_and_its_own_search_path(
        database: RuleDatabase, machine: Mapping[str, Value], installed: str, fitting: str) -> None:
    """Old cards, old drivers, PTX too new for the driver, cuSOLVER forgotten, cuDNN without code: each rules some out."""
    assert value(database, "framework.fitting_release", machine, release(installed)) == fitting


def test_no_release_of_tensorflow_fits_blackwell(database: RuleDatabase) -> None:
    """None has machine code for it; PTX alone is not enough to recommend."""
    found = fact(database, Scope.FRAMEWORK, "framework.fitting_release",
                 {"cc": "12.0", "driver": "580.95.05"}, release("tensorflow==2.20.0"))
    assert isinstance(found, Absent)


def test_a_release_whose_extra_cannot_be_installed_is_not_recommended(database: RuleDatabase) -> None:
    """On Python 3.11 a K80 would need TensorFlow 2.14, whose extra pip refuses there."""
    k80: Mapping[str, Value] = {"cc": "3.7", "driver": "470.82.01"}
    assert isinstance(fact(database, Scope.FRAMEWORK, "framework.fitting_release", k80,
                           release("tensorflow==2.20.0")), Absent)
    assert value(database, "framework.fitting_release", k80, release("tensorflow==2.20.0", "3.10.12")) == (
        "tensorflow==2.14.1")


def test_a_cpu_build_is_replaced_by_the_cuda_build_of_the_same_release(database: RuleDatabase) -> None:
    """Where that fits; the local part of the version is no part of the release."""
    cpu: Mapping[str, Value] = {"framework.version": "2.8.0+cpu", "framework.build": "cpu"}
    assert value(database, "framework.gpu_requirement", H100, release("torch==2.8.0"), cpu) == "torch==2.8.0"
    assert value(database, "framework.gpu_requirement", {"cc": "6.0", "driver": "580.95.05"}, release("torch==2.8.0"),
                 cpu) == "torch==2.7.1"


def test_a_sufficient_driver_also_compiles_what_the_cards_need(database: RuleDatabase) -> None:
    """525 runs TensorFlow 2.20's machine code; an H100 needs PTX 8.5 compiled, a V100 nothing."""
    old = {"driver": "470.82.01"}
    assert value(database, "framework.sufficient_driver", {"cc": "7.0"}, old, release("tensorflow==2.20.0")) == "525.60.13"
    assert str(value(database, "framework.sufficient_driver", {"cc": "9.0"}, old,
                     release("tensorflow==2.20.0"))).startswith("555.")


# -- cards and plugins ----------------------------------------------------------------------------------------------

def test_frameworks_are_not_judged_before_the_driver_works(database: RuleDatabase) -> None:
    """No card: no. A card and no driver: not asked yet. A card and a driver: yes."""
    def ready(*changes: Mapping[str, Value | Fact]) -> Fact:
        return fact(database, Scope.HOST, "driver.ready", *changes)

    without_driver = ready({"cc": "9.0", "driver": "none"})
    assert isinstance(without_driver, Unknown) and not without_driver.asked
    for changes, expected in ((H100, True), ({"cc": "none", "driver": "none"}, False)):
        found = ready(changes)
        assert isinstance(found, Known) and found.value is expected


def test_the_note_on_a_card_names_the_cuda_that_dropped_it(database: RuleDatabase) -> None:
    """Volta ended with CUDA 12; Hopper goes on."""
    def note(machine: Mapping[str, Value]) -> str:
        found = fact(database, Scope.PAIR, "pair.architecture_note", machine, release("torch==2.15.0"))
        assert isinstance(found, Known)
        return str(found.value)

    assert "CUDA 12.9 is the last" in note(V100) and "CUDA 13 dropped it" in note(V100)
    assert "dropped" not in note(H100)


@pytest.mark.parametrize(("plugin", "wrong"), [
    ("0.7.1", ()), ("0.7.1.post1", ()), ("0.7.2", ("jax-cuda12-plugin 0.7.2",)),
])
def test_jaxlib_takes_only_a_plugin_of_its_own_numbers(database: RuleDatabase, plugin: str, wrong: tuple[str, ...]) -> None:
    """What follows the numbers of a version is not compared."""
    records: tuple[Record, ...] = ({"name": "jaxlib", "version": "0.7.1"}, {"name": "jax-cuda12-plugin", "version": plugin})
    changes = (H100, release("torch==2.10.0"), {"framework.name": "jax", "framework.plugins": records})
    assert value(database, "framework.plugins_mismatched", *changes) == wrong
    assert value(database, "framework.plugin_requirements", *changes) == ("jax-cuda12-plugin==0.7.1",)
