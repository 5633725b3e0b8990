"""Which limits an engine is asked for, by what it says of itself."""

from __future__ import annotations

import pytest

from gpudoctor.transports import limits

ALL = {"MemoryLimit": True, "SwapLimit": True, "PidsLimit": True, "CpuCfsPeriod": True, "CpuCfsQuota": True}


@pytest.mark.parametrize(("info", "controllers", "missing"), [
    (ALL, None, ()), ({}, None, ()), (ALL, ("cpu", "memory", "pids"), ()),
    ({**ALL, "CpuCfsQuota": False}, None, ("processors",)),
    ({**ALL, "SwapLimit": False}, None, ("swap",)),
    (ALL, ("memory", "pids"), ("processors",)),  # a user's Podman, as systemd hands controllers out by itself
    (ALL, (), ("memory", "swap", "processes", "processors"))])
def test_what_is_missing(info: dict[str, bool], controllers: tuple[str, ...] | None,
                         missing: tuple[str, ...]) -> None:
    assert limits.missing(info, controllers) == missing


def test_only_what_can_be_set_is_asked_for() -> None:
    """Never more processors than there are, which Docker refuses."""
    assert set(limits.options((), 8)) == {"mem_limit", "memswap_limit", "pids_limit", "nano_cpus"}
    assert limits.options((), 2)["nano_cpus"] == 2 * 10**9
    assert set(limits.options(("processors", "swap"), 8)) == {"mem_limit", "pids_limit"}
