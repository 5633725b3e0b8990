"""A machine with a card that CUDA does not start on is never called healthy, whatever else is true of it."""

from __future__ import annotations

from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import lay
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Snapshot, Value, Verdict

UNHEARD_OF = 4321
CONTAINERS, WSL, JETSON = (None, "docker", "apptainer"), (None, 1, 2), (None, "36.4.0")


@cache
def database() -> RuleDatabase:
    return ruledb.load()


def laid(snapshot: Snapshot, values: dict[str, Value | None]) -> Snapshot:
    facts: dict[str, Fact] = {name: Absent(source="the law") if value is None
                              else Known(value=value, source="the law") for name, value in values.items()}
    return lay(snapshot, facts, database().tables, source="the law")


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("wsl", WSL)
@pytest.mark.parametrize("jetson", JETSON)
def test_no_working_driver_is_never_healthy(container: str | None, wsl: int | None,
                                            jetson: str | None) -> None:
    """None at all, one whose libcuda does not load, and one that answers each code there is."""
    place: dict[str, Value | None] = {"cc": ("8.9",), "container.runtime": container, "system.wsl": wsl,
                                      "system.jetson": jetson}
    working = laid(database().base, {**place, "driver": "580.95.05"})
    unloaded: dict[str, Value | None] = dict.fromkeys(
        ("cuda.library", "cuda.library_version", "cuda.init_code", "cuda.init_name", "cuda.device_count"))
    unseen = laid(database().base, {"system.pci_nvidia": ()})  # the card is told of, and nothing showed it
    machines = [laid(database().base, {**place, "driver": "none"}), laid(unseen, {**place, "driver": "none"}),
                laid(working, {**unloaded, "cuda.load_error": "undefined symbol: cuInit"})]
    codes = {int(str(row["code"])) for row in database().tables["cuda_errors"].rows} - {0}
    machines += [laid(working, {"cuda.init_code": code, "cuda.init_name": None, "cuda.device_count": None})
                 for code in (*sorted(codes), UNHEARD_OF)]
    assert [machine.host["cuda.init_code"] for machine in machines
            if examine(machine, database(), Policy()).verdict is Verdict.HEALTHY] == []
