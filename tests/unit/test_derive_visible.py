"""What CUDA_VISIBLE_DEVICES leaves, and which cards it hides from programs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpudoctor import assume, derive, ruledb
from gpudoctor.model import Absent, Fact, Known, Record, RuleDatabase, Scope, Snapshot, Unknown, Value

HIDDEN = Unknown(reason="hidden by the test")
TWO: tuple[Record, ...] = (
    {"uuid": "GPU-aa11", "bus_id": "0000:01:00.0"}, {"uuid": "GPU-aa22", "bus_id": "0000:02:00.0"})


def machine(value: str | None, **changes: Value | Fact) -> tuple[Snapshot, RuleDatabase]:
    """Return two cards that libcuda lists, and the variable."""
    database = ruledb.load()
    facts: dict[str, Value | Fact] = {
        "cc": "9.0,9.0", "cuda.devices": TWO,
        "environment.CUDA_VISIBLE_DEVICES": Absent(source="test") if value is None else value}
    facts.update({name.replace("__", "."): change for name, change in changes.items()})
    wrapped = {name: fact if isinstance(fact, Known | Absent | Unknown) else Known(value=fact, source="test")
               for name, fact in facts.items()}
    return assume.lay(database.base, wrapped, database.tables, source="test"), database


def host(value: str | None, **changes: Value | Fact) -> Mapping[str, Fact]:
    snapshot, database = machine(value, **changes)
    return derive.subjects(snapshot, database)[Scope.HOST][0].facts


def hidden(
    value: str | None, identities: tuple[Mapping[str, Value], ...], **changes: Value | Fact
) -> list[Fact]:
    """Return of each card whether it is hidden."""
    snapshot, database = machine(value, **changes)
    assert isinstance(snapshot.gpus, tuple)
    named = tuple({**card, **{name: Known(value=text, source="test") for name, text in facts.items()}}
                  for card, facts in zip(snapshot.gpus, identities, strict=True))
    found = derive.subjects(Snapshot(host=snapshot.host, gpus=named), database)[Scope.GPU]
    return [subject.fact("gpu.hidden") for subject in found]


def flags(facts: list[Fact]) -> list[Value | None]:
    return [fact.value if isinstance(fact, Known) else None for fact in facts]


BUSES = ({"gpu.bus_id": "0000:01:00.0"}, {"gpu.bus_id": "0000:02:00.0"})


@pytest.mark.parametrize(
    ("value", "kind", "count"),
    [
        (None, "all", 2),
        ("", "none", 0),
        ("-1", "none", 0),
        ("NoDevFiles", "none", 0),
        ("0", "some", 1),
        ("1,0", "all", 2),
        ("0,7,1", "some", 1),
        ("0,-1,1", "some", 1),
        ("0 1", "some", 1),
        ("0;1", "some", 1),
        ("0x0", "some", 1),
        ("0:0", "some", 1),
        ("+0", "some", 1),
        ("0-3", "some", 1),
        ("1gpu2,0ampere", "all", 2),
        (" 0 , 1 ", "all", 2),
        ("7", "invalid", 0),
        ("0,0", "invalid", 0),
        ("0,1,0", "invalid", 0),
        ("GPU-aa11", "some", 1),
        ("GPU-aa1,GPU-aa2", "all", 2),
        ("GPU-aa", "invalid", 0),
        ("GPU-", "invalid", 0),
        ("GPU-bb", "invalid", 0),
        ("GPU-aa11,GPU-aa11", "invalid", 0),
        ("0,GPU-aa22", "some", 1),
        ("GPU-aa22,0", "some", 1),
        ("MIG-1234", "invalid", 0),
    ],
)
def test_the_list_is_read_as_the_driver_reads_it(value: str | None, kind: str, count: int) -> None:
    facts = host(value)
    found = (facts["cuda.visibility"], facts["cuda.visible_count"])
    assert [fact.value for fact in found if isinstance(fact, Known)] == [kind, count]


def test_a_mig_instance_counts_where_there_is_mig() -> None:
    """Which instances exist no list tells; a process uses one of them."""
    found = host("MIG-1234,MIG-5678", gpu__mig_mode=True)["cuda.visible_count"]
    assert isinstance(found, Known)
    assert found.value == 1


def test_a_mig_instance_where_there_is_no_mig_is_none_whoever_told_the_devices() -> None:
    """Where nobody read the UUIDs it was taken for the first device, and nothing was hidden."""
    unread = Unknown(reason="a test")
    found = host("MIG-1234", gpu__mig_mode=False, cuda__devices=unread)["cuda.hides_every_device"]
    assert flags([found]) == [True]


def test_an_empty_list_hides_everything_whatever_libcuda_would_say() -> None:
    silent = {"cuda__library": HIDDEN, "cuda__init_code": HIDDEN, "cuda__device_count": HIDDEN}
    found = host("", **silent)["cuda.hides_every_device"]
    assert isinstance(found, Known)
    assert found.value is True


@pytest.mark.parametrize("value", ["0", "7", "GPU-aa11"])
def test_a_list_of_devices_cannot_be_judged_without_libcuda(value: str) -> None:
    silent = {"cuda__library": HIDDEN, "cuda__init_code": HIDDEN, "cuda__device_count": HIDDEN}
    assert isinstance(host(value, **silent)["cuda.hides_every_device"], Unknown)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, [False, False]), ("0", [False, True]), ("1", [True, False]), ("GPU-aa22", [True, False]),
     ("0,1", [False, False]), ("", [False, False]), ("0,0", [False, False])],
)
def test_a_card_is_hidden_where_others_stay(value: str | None, expected: list[bool]) -> None:
    assert flags(hidden(value, BUSES)) == expected


def test_cards_are_told_apart_by_bus_id_and_not_by_order() -> None:
    """libcuda lists the fastest card first, NVML goes by the bus."""
    assert flags(hidden("0", BUSES[::-1])) == [True, False]


def test_which_card_is_hidden_is_unknown_where_nothing_tells_them_apart() -> None:
    assert all(isinstance(fact, Unknown) for fact in hidden("0", ({}, {})))


def test_nothing_is_hidden_where_cuda_does_not_start() -> None:
    assert flags(hidden("0", BUSES, cuda__init_code=100, cuda__device_count=0)) == [False, False]


@pytest.mark.parametrize(("capabilities", "release", "variable", "expected"), [
    ("8.9,7.0", "torch==2.15.0", None, "0"),
    ("7.0,8.9", "torch==2.15.0", None, "1"),
    ("7.0,8.9,9.0", "torch==2.15.0", "0,1", "1"),
    ("8.9,9.0", "torch==2.15.0", None, None),
    ("7.0,6.1", "torch==2.15.0", None, None),
    ("12.0,8.9", "tensorflow==2.20.0", None, "1"),  # PTX for Blackwell is there and does not work
])
def test_devices_that_a_build_serves_beside_others(
        capabilities: str, release: str, variable: str | None, expected: str | None) -> None:
    """As CUDA_VISIBLE_DEVICES takes them; absent where it serves all that are visible, or none."""
    listed = tuple({"compute_capability": text} for text in capabilities.split(","))
    changes: dict[str, Value | Fact] = {"cc": capabilities, "cuda.devices": listed, "release": release}
    snapshot, database = machine(variable, **changes)
    fact = derive.subjects(snapshot, database)[Scope.FRAMEWORK][0].fact("framework.served_devices")
    assert (fact.value if isinstance(fact, Known) else None) == expected


def test_which_devices_are_served_is_not_known_where_libcuda_did_not_tell() -> None:
    """An unknown list is no empty one."""
    snapshot, database = machine(None, cuda__devices=HIDDEN, release="torch==2.15.0")
    fact = derive.subjects(snapshot, database)[Scope.FRAMEWORK][0].fact("framework.served_devices")
    assert isinstance(fact, Unknown)
