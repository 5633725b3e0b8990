"""What is derived from a framework's run: where the loader trace was wrong."""

from __future__ import annotations

import pytest

from gpudoctor import derive, remedy, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Fact, Known, Record, RuleDatabase, Scope, Value

WSL = "/usr/lib/wsl/lib/libcuda.so.1"
WSL_INNER = "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libcuda.so.1.1"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load(None, None)


def differs(database: RuleDatabase, foretold: str, *loaded: str, log: tuple[str, ...] = ()) -> object:
    """Return where the trace was wrong about libcuda.so.1."""
    records: tuple[Record, ...] = tuple({"path": p, "soname": p.rpartition("/")[2]} for p in loaded)
    trace: tuple[Record, ...] = ({"soname": "libcuda.so.1", "path": foretold},)
    values: dict[str, Value] = {
        "release": "tensorflow==2.20.0", "framework.libraries": trace,
        "framework.loaded_libraries": records, "framework.resolved_libraries": (),
        "framework.log": log, "framework.import_words": (), "framework.stages": ()}
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


MISSED = ("W x.cc:1] Failed, dlerror: libcuda.so.1: cannot open shared object file: No such file",)
OPENED = ("I dso_loader.cc:53] Successfully opened dynamic library libcuda.so.1",)
OF_ANOTHER = ("Could not load dynamic library 'libcuda.so.1'; dlerror: x.so: cannot open shared object file",)


def test_a_library_that_the_log_says_is_not_there_is_a_difference(database: RuleDatabase) -> None:
    assert differs(database, WSL, log=MISSED) == (
        f"libcuda.so.1: its log says that there is none, foretold {WSL}",)


def test_a_library_that_the_log_says_was_opened_is_a_difference(database: RuleDatabase) -> None:
    assert differs(database, "", log=OPENED) == (
        "libcuda.so.1: its log says that it was opened, foretold nowhere",)


@pytest.mark.parametrize(("foretold", "loaded", "log"), [
    ("", (), MISSED), (WSL, (), OPENED), (WSL, (WSL,), MISSED), (WSL, (), OF_ANOTHER), (WSL, (), ()),
], ids=["foretold", "opened", "found after all", "another one is missing", "silent"])
def test_a_log_that_says_what_was_foretold_is_none(
        database: RuleDatabase, foretold: str, loaded: tuple[str, ...], log: tuple[str, ...]) -> None:
    assert differs(database, foretold, *loaded, log=log) == ()


def test_how_long_the_driver_has_compiled_is_said_in_minutes(database: RuleDatabase) -> None:
    """The finding's words have them."""
    stages: tuple[Record, ...] = tuple(
        {"stage": name, "card": "0", "outcome": "compiling", "seconds": seconds}
        for name, seconds in (("matmul", 600.0), ("convolution", 90)))
    values: dict[str, Value] = {
        "release": "torch==2.10.0", "framework.import_outcome": "passed", "framework.stages": stages,
        "framework.log": (), "framework.import_words": ()}
    facts: dict[str, Fact] = {name: Known(value=value, source="test") for name, value in values.items()}
    snapshot = lay(database.base, facts, database.tables, source="test")
    found = next(f for f in remedy.diagnose(snapshot, database).findings if f.cause == "ptx-jit-slow-start")
    assert found.message.endswith("for 10.0 minutes in matmul, for 1.5 minutes in convolution")
