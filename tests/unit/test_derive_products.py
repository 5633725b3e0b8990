"""A card that no table knows: its name, its compute capability, and what nobody can tell of it yet."""

from __future__ import annotations

import pytest

from gpudoctor import assume, derive, ruledb
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Absent, Fact, Known, Report, Scope, Snapshot, Value, Verdict
from gpudoctor.render import areas


def machine(**changes: Value) -> Snapshot:
    """Return the healthy machine with these changes."""
    database = ruledb.load()
    facts: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="test")
                              for name, value in changes.items()}
    return assume.lay(database.base, facts, database.tables, source="test")


def judged(**changes: Value) -> Report:
    """Return what is said of the machine."""
    return examine(machine(**changes), ruledb.load(), Policy())


def causes(report: Report) -> list[str]:
    """Return the causes of a report; no framework is installed on this machine."""
    return [finding.cause for finding in report.findings if finding.cause != "framework-not-installed"]


@pytest.mark.parametrize(("name", "device", "expected"), [
    ("NVIDIA A100-SXM4-80GB", "", True), ("Tesla V100-SXM2-16GB", "", True), ("Quadro RTX 6000", "", True),
    ("NVIDIA GeForce RTX 4060 Laptop GPU", "", True), ("GRID A100-40C", "", True), ("rtx5090", "", True),
    ("NVIDIA H100 80GB HBM3", "", True), ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "", True),
    ("NVIDIA MATS", "", False), ("", "", False),
    ("NVIDIA Graphics Device", "2b85", True), ("NVIDIA Graphics Device", "ffff", False),
    ("assumed GPU", "", None),
])
def test_a_product_is_known_by_its_name_or_its_device(name: str, device: str, expected: bool | None) -> None:
    """A driver says more than a table; a card that was assumed as a number has no name to look up."""
    known = {"gpu__pci_device_id": device} if device else {}
    snapshot = machine(cc="8.0", gpu__name=name, **known)
    fact = derive.subjects(snapshot, ruledb.load())[Scope.GPU][0].fact("gpu.listed")
    assert (fact.value if isinstance(fact, Known) else None) == expected
    assert isinstance(fact, Known | Absent)


@pytest.mark.parametrize(("name", "device", "expected"), [
    (None, "1db4", "Tesla V100 PCIe 16GB"), (None, "2330", "H100 80GB HBM3"), (None, "ffff", None),
    (None, "1E30", "Quadro RTX 6000 or Quadro RTX 8000"), ("NVIDIA MATS", "1db4", "NVIDIA MATS"),
])
def test_a_card_is_named_with_no_driver_at_all(name: str | None, device: str, expected: str | None) -> None:
    """By its PCI device: the report said "NVIDIA device 1db4"."""
    database = ruledb.load()
    card: dict[str, Fact] = {"gpu.name": Known(value=name, source="test") if name else Absent(source="test"),
                             "gpu.pci_device_id": Known(value=device, source="test")}
    snapshot = assume.lay(machine(cc="8.0"), card, database.tables, source="test")
    fact = derive.subjects(snapshot, database)[Scope.GPU][0].fact("gpu.product")
    assert (fact.value if isinstance(fact, Known) else None) == expected
    cards = dict(areas.lines(derive.complete(snapshot, database)))["cards"]
    assert cards.startswith(f"GPU 0: {expected or f'NVIDIA device {device}'}")


def test_an_invented_card_is_judged_by_its_number_and_a_note_says_so() -> None:
    """It was healthy without a word; it still is, for nothing is wrong with it."""
    report = judged(cc="8.6", driver="580.95.05", gpu__name="NVIDIA MATS", release="torch==2.15.0")
    (finding,) = report.findings
    assert (finding.cause, finding.severity.value) == ("unknown-card", "info")
    assert "Unknown card, NVIDIA MATS: " in finding.message
    assert "its compute capability, 8.6 (that of Ampere)" in finding.message
    assert report.verdict is Verdict.HEALTHY
    assert causes(judged(cc="8.6", driver="580.95.05", gpu__name="NVIDIA A10G")) == []


def test_a_number_between_those_that_are_sold_has_no_name() -> None:
    """CUDA 13.0 compiles for 8.8, and no document says what it is: the table guessed."""
    (finding,) = judged(cc="8.8", driver="580.95.05", release="torch==2.15.0").findings
    assert finding.cause == "unknown-card"
    assert "its compute capability, 8.8, from" in finding.message


@pytest.mark.parametrize(("driver", "expected"), [
    ("570.86.15", ["driver-too-old"]), ("610.43.02", ["driver-too-old"]),
    ("615.10", []),
])
def test_rubin_asks_for_the_branch_that_its_maker_names(driver: str, expected: list[str]) -> None:
    """Its row was read as Blackwell's, and 570 was held to serve it."""
    report = judged(cc="10.7", driver=driver)
    assert causes(report) == expected
    named = [command for finding in report.findings for fix in finding.fixes for command in fix.commands]
    assert [command for command in named if "-pinning-620 " in command] == [
        command for command in named if "nvidia-open" in command]
    assert bool(named) is bool(expected)


def test_no_generation_is_guessed() -> None:
    """Every name of the table is a name, without a doubt in it."""
    names = {str(row.get("architecture", "")) for row in ruledb.load().tables["architectures"].rows}
    assert [name for name in names if "inferred" in name or "next" in name] == []


@pytest.mark.parametrize(("release", "undecided"), [
    ("tensorflow==2.20.0", True), ("tensorflow==2.21.0", True), ("torch==2.15.0", False),
])
def test_ptx_that_fails_on_cards_before_is_undecided_on_a_newer_one(release: str, undecided: bool) -> None:
    """A warning of a slow start promised that it would run; on 10.x and 12.x it does not."""
    report = judged(cc="13.0", driver="580.95.05", cuda__ceiling="14.0", python="3.11.9", release=release)
    said = [one for one in report.undecided if one.rule == "GPD5020" and one.asked]
    assert (bool(said), "ptx-jit-slow-start" in causes(report)) == (undecided, False)
