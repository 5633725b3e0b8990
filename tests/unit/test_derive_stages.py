"""What is derived from a framework's run: where the loader trace was wrong."""

from __future__ import annotations

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Fact, Known, Record, RuleDatabase, Scope, Value

WSL = "/usr/lib/wsl/lib/libcuda.so.1"
WSL_INNER = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libcuda.so.1.1"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load(None, None)


def differs(database: RuleDatabase, foretold: str, *loaded: str) -> object:
    """Return where the trace was wrong about libcuda.so.1."""
    records: tuple[Record, ...] = tuple({"path": p, "soname": p.rpartition("/")[2]} for p in loaded)
    trace: tuple[Record, ...] = ({"soname": "libcuda.so.1", "path": foretold},)
    values: dict[str, Value] = {
        "release": "tensorflow==2.20.0", "framework.libraries": trace,
        "framework.loaded_libraries": records, "framework.resolved_libraries": ()}
    facts: dict[str, Fact] = {name: Known(value=value, source="test") for name, value in values.items()}
    snapshot = lay(database.base, facts, database.tables, source="test")
    framework, = derive.subjects(snapshot, database)[Scope.FRAMEWORK]
    fact = framework.fact("framework.trace_differs")
    assert isinstance(fact, Known), fact
    return fact.value


def test_a_library_that_opens_another_of_its_name_is_as_foretold(database: RuleDatabase) -> None:
    """WSL's libcuda.so.1 opens libcuda.so.1.1 in the driver's own folder."""
    assert differs(database, WSL, WSL_INNER, WSL) == ()


def test_another_file_is_a_difference(database: RuleDatabase) -> None:
    assert differs(database, "/opt/a/libcuda.so.1", WSL) == (
        f"libcuda.so.1: loaded from {WSL}, foretold /opt/a/libcuda.so.1",)
