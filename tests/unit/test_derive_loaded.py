"""The kernel module is loaded when /sys or /proc says so, or NVML speaks with it; what follows for cuInit."""

from __future__ import annotations

import pytest

from gpudoctor import remedy, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Scope
from tests.unit.derived_facts import fact

NO_SIGN = Absent(source="neither /sys nor /proc")


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped()


def test_nvml_that_lists_a_card_proves_the_module(database: RuleDatabase) -> None:
    """In a sandbox /sys and /proc may be hidden; NVML answers with the module's own version."""
    found = fact(database, Scope.HOST, "driver.loaded_version", {"driver.kernel_version": NO_SIGN})
    assert found == fact(database, Scope.HOST, "nvml.driver_version")


@pytest.mark.parametrize("change", [{"nvml.init_code": 9}, {"nvml.gpu_count": 0}, {"system.wsl": 2}])
def test_otherwise_only_sys_and_proc_count(database: RuleDatabase, change: dict[str, int]) -> None:
    """NVML that fails or counts none proves nothing, and under WSL the module is on the other side."""
    found = fact(database, Scope.HOST, "driver.loaded_version", {"driver.kernel_version": NO_SIGN}, change)
    assert isinstance(found, Absent)


@pytest.mark.parametrize(("code", "cause"), [
    (34, "libcuda-stub-loaded"), (46, "compute-mode-exclusive"), (102, "vgpu-config"),
    (802, "fabric-manager-missing"), (803, "driver-kernel-userspace-mismatch"), (805, "mps-daemon"),
])
def test_cuinit_is_told_apart_without_sys_and_proc(database: RuleDatabase, code: int, cause: str) -> None:
    """A module that NVML speaks with is never called "not loaded"."""
    facts: dict[str, Fact] = {
        "cuda.init_code": Known(value=code, source="a test"), "cuda.device_count": Absent(source="a test"),
        "driver.kernel_version": NO_SIGN, "system.gpu_modules": Known(value=(), source="a test"),
        "driver.uvm_node": Known(value=True, source="a test")}
    snapshot = lay(database.base, facts, database.tables, source="a test")
    errors = [f.cause for f in remedy.diagnose(snapshot, database).findings if f.severity.value == "error"]
    assert errors == [cause]
