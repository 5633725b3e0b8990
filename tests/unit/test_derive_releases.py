"""Which releases would fit a machine, and what is known of a card and of JAX's plugins."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.model import Absent, Fact, Known, Record, RuleDatabase, Scope, Unknown
from tests.unit.derived_facts import H100, RULES, V100, Change, fact, release, value


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


@pytest.mark.parametrize(
    ("machine", "installed", "fitting"),
    [
        (V100, "torch==2.15.0", "torch==2.14.1+cu126"),
        ({"cc": "6.0", "driver": "580.95.05"}, "torch==2.15.0", "torch==2.14.1+cu126"),
        ({"cc": "9.0", "driver": "570.86.15"}, "torch==2.15.0", "torch==2.14.1+cu126"),
        (H100, "tensorflow==2.21.0", "tensorflow==2.20.0"),
        (V100, "tensorflow==2.20.0", "tensorflow==2.19.1"),
        ({"cc": "9.0", "driver": "535.54.03"}, "tensorflow==2.20.0", "tensorflow==2.16.2"),
        ({"cc": ("7.0", "12.0"), "driver": "580.95.05"}, "torch==2.15.0", "torch==2.10.0"),
    ],
)
def test_the_newest_release_that_fits_driver_cards_and_its_own_search_path(
    database: RuleDatabase, machine: Change, installed: str, fitting: str
) -> None:
    """Old cards or drivers, PTX too new, cuSOLVER forgotten, cuDNN without code: each rules some out."""
    assert value(database, "framework.fitting_release", machine, release(installed)) == fitting


def test_no_release_of_tensorflow_fits_blackwell(database: RuleDatabase) -> None:
    """None has machine code for it; PTX alone is not enough to recommend."""
    found = fact(
        database,
        Scope.FRAMEWORK,
        "framework.fitting_release",
        {"cc": "12.0", "driver": "580.95.05"},
        release("tensorflow==2.20.0"),
    )
    assert isinstance(found, Absent)


def test_a_release_whose_extra_cannot_be_installed_is_not_recommended(database: RuleDatabase) -> None:
    """On Python 3.11 pip refuses the extra of TensorFlow 2.14; 2.13 has none and takes the system's CUDA."""
    k80: Change = {"cc": "3.7", "driver": "470.82.01"}
    assert value(database, "framework.fitting_release", k80, release("tensorflow==2.20.0")) == (
        "tensorflow==2.13.1"
    )
    assert value(database, "framework.fitting_release", k80, release("tensorflow==2.20.0", "3.10.12")) == (
        "tensorflow==2.14.1"
    )


def test_a_cpu_build_is_replaced_by_the_cuda_build_of_the_same_release(database: RuleDatabase) -> None:
    """Where that fits; the local part of the version is no part of the release."""
    cpu: Change = {"framework.version": "2.8.0+cpu", "framework.build": "cpu"}
    assert value(database, "framework.gpu_requirement", H100, release("torch==2.8.0"), cpu) == "torch==2.8.0"
    assert (
        value(
            database,
            "framework.gpu_requirement",
            {"cc": "6.0", "driver": "580.95.05"},
            release("torch==2.8.0"),
            cpu,
        )
        == "torch==2.8.0+cu126"
    )
    newest: Change = {"framework.version": "2.15.0+cpu", "framework.build": "cpu"}
    pascal: Change = {"cc": "6.0", "driver": "580.95.05"}
    assert value(database, "framework.gpu_requirement", pascal, release("torch==2.15.0"), newest) == (
        "torch==2.14.1+cu126")


def test_another_index_is_named_with_the_label_that_makes_pip_replace_the_same_version(
    database: RuleDatabase,
) -> None:
    """The default index has 2.14.1 for CUDA 13: where that is installed, ==2.14.1 would change nothing."""
    pascal = ({"cc": "6.1", "driver": "580.95.05"}, release("torch==2.14.1"))
    assert value(database, "framework.fitting_arguments", *pascal) == (
        "torch==2.14.1+cu126 --index-url https://download.pytorch.org/whl/cu126"
    )
    assert value(database, "framework.fitting_arguments", V100, release("tensorflow==2.20.0")) == (
        "'tensorflow[and-cuda]==2.19.1'"
    )


def test_a_sufficient_driver_also_compiles_what_the_cards_need(database: RuleDatabase) -> None:
    """525 runs TensorFlow 2.20's machine code; an H100 needs PTX 8.5 compiled, a V100 nothing."""
    old: Change = {"driver": "470.82.01"}
    assert (
        value(database, "framework.sufficient_driver", {"cc": "7.0"}, old, release("tensorflow==2.20.0"))
        == "525.60.13"
    )
    assert str(
        value(database, "framework.sufficient_driver", {"cc": "9.0"}, old, release("tensorflow==2.20.0"))
    ).startswith("555.")


# -- cards and plugins --------------------------------------------------------------------------------------


def test_frameworks_are_not_judged_before_the_driver_works(database: RuleDatabase) -> None:
    """No card: no. A card and no driver: not asked yet. A card and a driver: yes."""

    def ready(*changes: Change) -> Fact:
        return fact(database, Scope.HOST, "driver.ready", *changes)

    without_driver = ready({"cc": "9.0", "driver": "none"})
    assert isinstance(without_driver, Unknown)
    assert not without_driver.asked
    for changes, expected in ((H100, True), ({"cc": "none", "driver": "none"}, False)):
        found = ready(changes)
        assert isinstance(found, Known)
        assert found.value is expected


def test_the_note_on_a_card_names_the_cuda_that_dropped_it(database: RuleDatabase) -> None:
    """Volta ended with CUDA 12; Hopper goes on."""

    def note(machine: Change) -> str:
        found = fact(database, Scope.PAIR, "pair.architecture_note", machine, release("torch==2.15.0"))
        assert isinstance(found, Known)
        return str(found.value)

    assert "CUDA 12.9 is the last" in note(V100)
    assert "CUDA 13 dropped it" in note(V100)
    assert "dropped" not in note(H100)


@pytest.mark.parametrize(
    ("plugin", "wrong"),
    [
        ("0.7.1", ()),
        ("0.7.1.post1", ()),
        ("0.7.2", ("jax-cuda12-plugin 0.7.2",)),
    ],
)
def test_jaxlib_takes_only_a_plugin_of_its_own_numbers(
    database: RuleDatabase, plugin: str, wrong: tuple[str, ...]
) -> None:
    """What follows the numbers of a version is not compared."""
    records: tuple[Record, ...] = (
        {"name": "jaxlib", "version": "0.7.1"},
        {"name": "jax-cuda12-plugin", "version": plugin},
    )
    changes: tuple[Change, ...] = (
        H100,
        release("torch==2.10.0"),
        {"framework.name": "jax", "framework.plugins": records},
    )
    assert value(database, "framework.plugins_mismatched", *changes) == wrong
    assert value(database, "framework.plugin_requirements", *changes) == ("jax-cuda12-plugin==0.7.1",)


PTX_ONLY: Record = {"sass": (), "ptx": ("9.0@9.9",), "fat_binaries": 3}
MACHINE_CODE: Record = {"sass": ("9.0",), "ptx": (), "fat_binaries": 3}


def built_for(cuda: str, code: Record, ceiling: str, driver: str = "700.1") -> Change:
    """Return a build of its own on a driver that says what it runs."""
    return {"cc": "9.0", "driver": driver, "cuda.ceiling": ceiling, **release("torch==2.11.0"),
            "framework.cuda": cuda, "framework.version": "3.0", "framework.code": (code,)}


@pytest.mark.parametrize(
    ("cuda", "ceiling", "expected"),
    [
        ("11.0", "11.0", True), ("11.2", "11.0", False), ("11.8", "11.1", True), ("13.2", "12.9", False),
        ("14.0", "14.1", True), ("14.3", "14.0", True), ("14.0", "13.9", False),
    ],
)
def test_a_ceiling_suffices_at_the_cuda_of_the_build_and_above_the_floor(
    database: RuleDatabase, cuda: str, ceiling: str, expected: bool
) -> None:
    """Only the first releases of the floor's own branch can be too old for minor-version compatibility."""
    assert value(database, "framework.ceiling_suffices", built_for(cuda, MACHINE_CODE, ceiling)) is expected


def test_a_major_release_that_the_rules_do_not_know_starts_at_its_first(database: RuleDatabase) -> None:
    assert value(database, "framework.cuda_floor", built_for("15.2", MACHINE_CODE, "15.0")) == "15.0"


def test_a_driver_of_the_cuda_of_the_build_compiles_its_ptx(database: RuleDatabase) -> None:
    """Also PTX of an ISA version that the rules do not know."""
    found = fact(database, Scope.PAIR, "pair.ptx_ceiling", built_for("13.9", PTX_ONLY, "13.9"))
    assert isinstance(found, Known)
    assert found.value == "13.9"


@pytest.mark.parametrize(("cuda", "ceiling"), [("13.9", "13.8"), ("13", "13.8")])
def test_below_it_unknown_ptx_cannot_be_judged(database: RuleDatabase, cuda: str, ceiling: str) -> None:
    """Only that it needs more than the newest CUDA whose PTX is known."""
    found = fact(database, Scope.PAIR, "pair.ptx_ceiling", built_for(cuda, PTX_ONLY, ceiling))
    assert isinstance(found, Unknown)
    assert f"is newer than rules {database.version}" in found.reason
    assert found.at_least == database.tables["ptx_isa"].rows[-1]["cuda"]


def test_no_desktop_driver_is_named_for_a_jetson(database: RuleDatabase) -> None:
    """Its userland is Ubuntu's; its driver is not."""
    jetson: Change = {"system.jetson": "36.4.0", "system.distribution": "ubuntu", "cc": "8.7"}
    names = ("system.driver_command", "system.branch_command", "system.driver_repository_command")
    for name in names:
        assert isinstance(fact(database, Scope.HOST, name, jetson), Absent), name


NO_DRIVER_STATED: Change = {name: Unknown(reason="a text does not say it") for name in (
    "driver.version", "driver.cuda_ceiling", "driver.kernel_version", "driver.libcuda_file_version",
    "nvml.driver_version", "nvml.cuda_version")}


@pytest.mark.parametrize(("card", "installed", "needed"), [
    ("12.0", "torch==2.5.1", "580.65.06"),  # torch 2.15 for CUDA 13
    ("7.0", "torch==2.15.0", "525.60.13"),  # torch 2.14.1 for CUDA 12.6
])
def test_a_release_is_named_with_the_driver_it_needs_where_none_is_known(
        database: RuleDatabase, card: str, installed: str, needed: str) -> None:
    """A text told to install torch for CUDA 13 by whoever may have an older driver."""
    changes = ({"cc": card, "driver": "580.95.05"}, release(installed), NO_DRIVER_STATED)
    assert value(database, "framework.fitting_driver", *changes) == needed


def test_a_release_that_was_chosen_for_a_driver_needs_no_other(database: RuleDatabase) -> None:
    """It is one that the driver here runs."""
    found = fact(database, Scope.FRAMEWORK, "framework.fitting_driver", H100, release("torch==2.5.1"))
    assert isinstance(found, Absent)


def test_a_driver_serves_the_card_too(database: RuleDatabase) -> None:
    """CUDA 12.8 runs on R525 by its own compatibility, and no branch before R570 knows a Blackwell card."""
    changes = ({"cc": "12.0", "driver": "580.95.05"}, release("torch==2.9.1"), NO_DRIVER_STATED)
    assert value(database, "framework.gpu_release", *changes) == "torch==2.9.1"
    assert value(database, "framework.gpu_driver", *changes) == "570"
