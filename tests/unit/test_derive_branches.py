"""Which driver branch is the last for a card, by its compute capability and by its PCI device."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.derive import jetson
from gpudoctor.derive.branches import fit, major, of_device, oldest_driver, row_of_card, windows_number
from gpudoctor.derive.minor_versions import is_kept
from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Facts, Known, RuleDatabase, Unknown, row_of, rows_of


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped()


@pytest.mark.parametrize(("capability", "last"), [
    ("2.1", "390"), ("3.0", "470"), ("3.7", "470"), ("5.0", "580"), ("7.0", "580"), ("7.5", None),
])
def test_each_generation_has_its_last_branch(
    capability: str, last: str | None, database: RuleDatabase,
) -> None:
    """Regression: whoever had a Fermi card was sent to branch 470, which does not serve it."""
    card: Facts = {"gpu.compute_capability": Known(value=capability, source="test")}
    row = row_of_card(card, database.tables)
    assert row is not None
    assert row.get("last_branch") == last
    assert getattr(fit(card, "470.256.02", {}, database.tables), "value", None) == (
        "too-new" if last == "390" else "serves")


@pytest.mark.parametrize(("device", "generation"), [
    ("0611", "Tesla or older"), ("06c0", "Fermi"), ("06e4", "Tesla or older"), ("0de1", "Fermi"),
    ("0fc6", "Kepler"), ("1023", "Kepler"), ("104a", "Fermi"), ("10d8", "Tesla or older"), ("1140", "Fermi"),
    ("1180", "Kepler"), ("1200", "Fermi"), ("128b", "Kepler"), ("1380", "Maxwell, Pascal or Volta"),
])
def test_ids_of_fermi_and_kepler_lie_between_one_another(
    device: str, generation: str, database: RuleDatabase,
) -> None:
    row = of_device(database.tables["kernel_modules"], device)
    assert row is not None
    assert row["generation"] == generation


@pytest.mark.parametrize(("device", "generation"), [
    ("2330", "Hopper"), ("31c2", "Blackwell"), ("3fff", None)])
def test_an_id_above_all_known_cards_is_of_no_generation(
    device: str, generation: str | None, database: RuleDatabase,
) -> None:
    """Regression: every later card was a Blackwell, for which driver 560 is too old and 580 is not."""
    row = of_device(database.tables["kernel_modules"], device)
    assert (None if row is None else row["generation"]) == generation


def test_the_chips_name_says_the_same_as_the_device_ids(database: RuleDatabase) -> None:
    """Two tables of two sources: GK107 is a Kepler."""
    keplers = [card.partition(" ")[0] for row in rows_of(database.tables, "pci_ids")
               for card in as_texts(row["cards"]) if "(GK" in card]
    assert len(keplers) > 50
    rows = [of_device(database.tables["kernel_modules"], device) for device in keplers]
    assert {row["generation"] for row in rows if row is not None} == {"Kepler"}


@pytest.mark.parametrize(("place", "number"), [("system.wsl", 2), ("system.os", "Windows")])
@pytest.mark.parametrize(("driver", "capability", "fits"), [
    ("581.29", "6.1", "serves"), ("591.44", "6.1", "too-new"), ("475.14", "3.7", "serves"),
    ("537.58", "12.0", "too-old"), ("572.16", "12.0", "serves"), ("517.48", "8.9", "too-old"),
])
def test_a_driver_of_windows_is_of_the_branch_that_its_number_goes_on_from(
    place: str, number: int | str, driver: str, capability: str, fits: str, database: RuleDatabase,
) -> None:
    """Regression: under WSL no driver was held against the card, and on Windows 581 was newer than 580."""
    card: Facts = {"gpu.compute_capability": Known(value=capability, source="test")}
    host: Facts = {place: Known(value=number, source="test")}
    assert getattr(fit(card, driver, host, database.tables), "value", None) == fits


def test_nobody_can_tell_a_branch_where_it_is_not_known_whose_driver_it_is(database: RuleDatabase) -> None:
    card: Facts = {"gpu.compute_capability": Known(value="6.1", source="test")}
    unknown: Facts = {"system.wsl": Unknown(reason="test")}
    assert isinstance(fit(card, "581.29", unknown, database.tables), Unknown)


@pytest.mark.parametrize(("version", "expected"), [
    ("580.95.05", 580), ("24.04", 24), ("rolling", 0), ("", 0), ("9" * 5000, 0), ("\u00b2.1", 0)])
def test_what_begins_with_no_number_is_of_branch_0(version: str, expected: int) -> None:
    """A snapshot with a superscript two, or with thousands of digits, ended gpudoctor on its own account."""
    assert major(version) == expected


@pytest.mark.parametrize("release", ["x", "", "\u0663.\u0664.", "9" * 5000])
def test_a_release_of_jetson_linux_that_is_no_version_is_in_no_table(
        release: str, database: RuleDatabase) -> None:
    assert isinstance(jetson.cuda_ceiling(release, database.tables), Unknown)


@pytest.mark.parametrize(("driver", "expected"), [
    ("580.65.06", "580.88"), ("580.105.08", "580.88"), ("525.60.13", "527.41"), ("590.44.01", "590"),
    ("450.51.05", "452.39"),
])
def test_a_driver_has_its_number_in_windows(driver: str, expected: str, database: RuleDatabase) -> None:
    """The newest that NVIDIA names beside one of its branch, or the branch where it names none."""
    assert windows_number(driver, database.tables) == expected


@pytest.mark.parametrize(("cuda", "linux", "windows"), [
    ("12.8", "570.26", "570.65"), ("13.2", "595.45.04", "595")])
def test_the_oldest_driver_of_a_row_is_numbered_as_the_one_here(
        cuda: str, linux: str, windows: str, database: RuleDatabase) -> None:
    row = row_of(database.tables, "cuda_toolkits", cuda=cuda)
    assert row is not None
    hosts: tuple[Facts, ...] = ({}, {"system.wsl": Known(value=2, source="test")})
    assert [oldest_driver(row, View(facts=host, database=database)) for host in hosts] == [linux, windows]


@pytest.mark.parametrize(("driver", "wsl", "kept"), [
    ("525.60.12", None, False), ("525.60.13", None, True), ("527.40", 2, False), ("527.41", 2, True)])
def test_at_the_floor_of_a_cuda_the_first_drivers_of_a_branch_are_too_old(
        driver: str, wsl: int | None, kept: bool, database: RuleDatabase) -> None:
    host: Facts = {"driver.version": Known(value=driver, source="test")}
    if wsl is not None:
        host = {**host, "system.wsl": Known(value=wsl, source="test")}
    assert is_kept("12.0", View(facts=host, database=database)) is kept
