"""Facts about the driver's surroundings: commands, search paths, capabilities, the kernel log's signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Scope, Severity, Unknown, Value
from gpudoctor.remedy import diagnose

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def known(value: Value) -> Known:
    """Return a value as a fact."""
    return Known(value=value, source="test")


def derived(database: RuleDatabase, name: str, **changes: Value | Fact) -> Fact:
    """Return one derived fact of the base machine after `changes` (dots written as two underscores)."""
    facts: dict[str, Fact] = {
        key.replace("__", "."): change if isinstance(change, Known | Absent | Unknown) else known(change)
        for key, change in changes.items()}
    snapshot = lay(database.base, facts, database.tables, source="test")
    return derive.subjects(snapshot, database)[Scope.HOST][0].facts[name]


def value_of(fact: Fact) -> Value:
    """Return the value of a fact that must be known."""
    assert isinstance(fact, Known), fact
    return fact.value


def test_commands_follow_the_distribution_and_the_driver_in_use(database: RuleDatabase) -> None:
    """Ubuntu names the branch in its packages; what is like Ubuntu follows it; a stranger has no command."""
    command = derived(database, "driver.libcuda_command", system__distribution="ubuntu", driver="570.86.15")
    assert value_of(command) == "sudo apt-get install libnvidia-compute-570"
    command = derived(
        database, "driver.fabric_manager_command", system__distribution="linuxmint",
        system__distribution_like=("ubuntu", "debian"), driver="570.86.15")
    assert value_of(command) == "sudo apt-get install nvidia-fabricmanager-570"
    assert isinstance(derived(database, "driver.libcuda_command", system__distribution="slackware"), Absent)


def test_the_branch_command_keeps_the_flavour_of_the_module(database: RuleDatabase) -> None:
    """Who runs the proprietary module on a card that both serve may have a reason."""
    changes: dict[str, Value] = {"cuda__library_version": "580.65.06", "system__distribution": "ubuntu"}
    opened = derived(database, "cuda.library_driver_command", driver__kernel_flavour="open", **changes)
    assert value_of(opened) == "sudo apt-get install nvidia-driver-580-open"
    closed = derived(database, "cuda.library_driver_command", driver__kernel_flavour="proprietary", **changes)
    assert value_of(closed) == "sudo apt-get install nvidia-driver-580"


def test_the_clean_path_lacks_every_folder_with_a_libcuda(database: RuleDatabase) -> None:
    """The loaded file's real path need not be the folder that LD_LIBRARY_PATH names."""
    files = ({"path": "/usr/local/cuda/compat/libcuda.so.1", "soname": "libcuda.so.1"},)
    path = derived(
        database, "cuda.library_path_clean", loader__library_path=("/usr/local/cuda/compat/", "/opt/lib"),
        loader__files=files, cuda__library="/usr/local/cuda-12.2/compat/libcuda.so.535.54.03")
    assert value_of(path) == ("/opt/lib",)
    nothing = derived(database, "cuda.library_path_clean", loader__library_path=("/opt/lib",))
    assert isinstance(nothing, Absent)


def test_the_drivers_own_folder_stays_in_the_path(database: RuleDatabase) -> None:
    """Regression: on an H100 with a stub in front, /usr/local/nvidia/lib64 was to be taken out as well."""
    own, stub = "/usr/local/nvidia/lib64", "/tmp/stubs"
    files = ({"path": f"{stub}/libcuda.so.1", "soname": "libcuda.so.1"},
             {"path": f"{own}/libcuda.so.1", "soname": "libcuda.so.1", "version": "580.159.04"})
    facts: dict[str, Value] = {"loader__library_path": (stub, own), "loader__files": files,
                               "cuda__library": "/usr/local/cuda-13.0/lib64/stubs/libcuda.so"}
    path = derived(database, "cuda.library_path_clean", nvml__driver_version="580.159.04", **facts)
    assert value_of(path) == (own,)
    of_another = derived(database, "cuda.library_path_clean", nvml__driver_version="595.10", **facts)
    assert value_of(of_another) == ()


def test_a_libcuda_elsewhere_goes_in_front_of_the_path(database: RuleDatabase) -> None:
    """What was in LD_LIBRARY_PATH stays in it."""
    path = derived(
        database, "driver.libcuda_search_path", loader__library_path=("/opt/lib",),
        driver__libcuda_off_path=("/run/opengl-driver/lib/libcuda.so.1",))
    assert value_of(path) == ("/run/opengl-driver/lib", "/opt/lib")
    assert isinstance(derived(database, "driver.libcuda_search_path"), Absent)


@pytest.mark.parametrize(("text", "withheld"), [
    ("utility", ("compute",)), ("compute", ("utility",)), ("Compute, Utility", ()), ("all", ()), ("", ()),
    ("graphics", ("compute", "utility"))])
def test_capabilities_that_are_not_named_are_withheld(
    database: RuleDatabase, text: str, withheld: tuple[str, ...],
) -> None:
    """In a container; elsewhere the variable means nothing."""
    name = "container.withheld_capabilities"
    variable = {"environment__NVIDIA_DRIVER_CAPABILITIES": text}
    assert value_of(derived(database, name, container__runtime="docker", **variable)) == withheld
    assert value_of(derived(database, name, **variable)) == ()
    assert value_of(derived(database, name, container__runtime="docker")) == ()


def test_an_unreadable_kernel_log_says_neither_yes_nor_no(database: RuleDatabase) -> None:
    """Its known phrases are found within lines; other lines are no signs."""
    name = "system.kernel_log_signs"
    lines = ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)", "nvidia: loading out-of-tree")
    assert value_of(derived(database, name, system__gpu_kernel_log=lines)) == ("card-does-not-start",)
    assert value_of(derived(database, name)) == ()
    hidden = Unknown(reason="not permitted")
    assert isinstance(derived(database, name, system__gpu_kernel_log=hidden), Unknown)


CODES = (1, 2, 3, 34, 36, 46, 100, 101, 102, 201, 214, 304, 800, 802, 803, 804, 805, 806, 807, 808, 809, 999)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", ["host", "container", "WSL"])
def test_every_failure_of_cuinit_has_exactly_one_cause(database: RuleDatabase, code: int, place: str) -> None:
    """Whatever cuInit answers but 0, one error comes first with a fix, and no rule is left open."""
    facts: dict[str, Fact] = {"cuda.init_code": known(code)}
    facts["cuda.device_count"] = known(0) if code == 100 else Unknown(reason="cuInit failed")
    if code == 46:  # where the mode is default already, no setting helps: there the page only asks
        facts["gpu.compute_mode"] = known("exclusive-process")
    if place == "container":
        facts["container.runtime"] = known("docker")
    if place == "WSL":
        facts["system.wsl"] = known(2)
        facts["driver.kernel_version"] = Absent(source="test")
        facts["cuda.library"] = known("/usr/lib/wsl/lib/libcuda.so.1")
    judgement = diagnose(lay(database.base, facts, database.tables, source="test"), database)
    errors = [finding for finding in judgement.findings if finding.severity is Severity.ERROR]
    assert [bool(finding.fixes) for finding in errors] == [True], [finding.cause for finding in errors]
    assert [open_rule for open_rule in judgement.undecided if open_rule.severity is Severity.ERROR] == []


@pytest.mark.parametrize("hidden", ["cuda__library_version", "container__compat_folders"])
def test_a_libcuda_that_may_be_any_is_not_called_the_drivers(database: RuleDatabase, hidden: str) -> None:
    """A cuda-compat of which version and folder could not be read was, and a reboot was advised."""
    facts: dict[str, Value | Fact] = {
        "cuda__init_code": 803, "cuda__library": "/usr/local/cuda/compat/libcuda.so.1",
        "cuda__library_version": "580.95.05", "container__compat_folders": (),
        hidden: Unknown(reason="hidden")}
    assert isinstance(derived(database, "cuda.library_kind", **facts), Unknown)


@pytest.mark.parametrize(("file_version", "expected"), [
    (Known(value="999.1", source="test"), "driver"), (Known(value="580.95.05", source="test"), "compat"),
    (Absent(source="test"), "compat"), (Unknown(reason="the file could not be read"), None)])
def test_a_newer_libcuda_is_forward_compatibility_only_where_the_systems_own_is_known(
    database: RuleDatabase, file_version: Fact, expected: str | None,
) -> None:
    """It was called so where nobody could read the system's file, which may be the very same: an update."""
    found = derived(database, "cuda.library_kind", cuda__library_version="999.1",
                    driver__libcuda_file_version=file_version)
    assert (found.value if isinstance(found, Known) else None) == expected


@pytest.mark.parametrize(("library", "version", "ceiling"), [
    ("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", "580.65.06", "13.0"),
    ("/opt/old/libcuda.so.470.42.01", "470.42.01", "11.4"),
    ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05", "535.104.05", "12.2"),
])
def test_a_libcuda_in_front_of_the_drivers_runs_what_its_own_branch_runs(
        library: str, version: str, ceiling: str, database: RuleDatabase) -> None:
    """Regression: where nobody had asked it, NVML spoke for it, and the driver was too old."""
    found = derived(database, "driver.cuda_ceiling", driver="535.104.05", nvml__cuda_version="12.2",
                    cuda__library=library, cuda__library_version=version,
                    cuda__ceiling=Unknown(reason="test"))
    assert value_of(found) == ceiling


@pytest.mark.parametrize(("driver", "release", "is_error"), [
    ("526.00", "torch==2.8.0", True), ("527.41", "torch==2.8.0", False),
    ("580.70", "torch==2.15.0", True), ("580.88", "torch==2.15.0", False),
])
def test_under_wsl_the_driver_is_held_against_what_windows_needs(
        driver: str, release: str, is_error: bool, database: RuleDatabase) -> None:
    """Regression: the numbers of Linux were asked of it, and 526.00 was healthy with a CUDA 12."""
    facts = {"cc": known("8.6"), "driver": known(driver), "release": known(release), "system.wsl": known(2)}
    snapshot = lay(database.base, facts, database.tables, source="test")
    found = [one.rule for one in diagnose(snapshot, database).findings if one.severity is Severity.ERROR]
    assert found == (["GPD2010"] if is_error else [])


@pytest.mark.parametrize(("held", "expected"), [
    (Absent(source="a test"), "--xla_gpu_cuda_data_dir=/opt/env"),
    ("--xla_gpu_cuda_data_dir=/wrong --xla_dump_to=/tmp/x",
     "--xla_dump_to=/tmp/x --xla_gpu_cuda_data_dir=/opt/env"),
])
def test_the_flags_of_xla_that_are_set_are_kept(
        database: RuleDatabase, held: Value | Fact, expected: str) -> None:
    """The fix set XLA_FLAGS to the folder alone."""
    flags = derived(database, "python.conda_xla_flags", environment__CONDA_PREFIX="/opt/env",
                    environment__XLA_FLAGS=held)
    assert value_of(flags) == expected
