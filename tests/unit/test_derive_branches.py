"""Which driver branch is the last for a card, by its compute capability and by its PCI device."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.derive import jetson
from gpudoctor.derive.branches import fit, major, of_device, row_of_card
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Facts, Known, RuleDatabase, Unknown, rows_of


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


def test_the_chips_name_says_the_same_as_the_device_ids(database: RuleDatabase) -> None:
    """Two tables of two sources: GK107 is a Kepler."""
    keplers = [card.partition(" ")[0] for row in rows_of(database.tables, "pci_ids")
               for card in as_texts(row["cards"]) if "(GK" in card]
    assert len(keplers) > 50
    rows = [of_device(database.tables["kernel_modules"], device) for device in keplers]
    assert {row["generation"] for row in rows if row is not None} == {"Kepler"}


@pytest.mark.parametrize(("version", "expected"), [
    ("580.95.05", 580), ("24.04", 24), ("rolling", 0), ("", 0), ("9" * 5000, 0), ("\u00b2.1", 0)])
def test_what_begins_with_no_number_is_of_branch_0(version: str, expected: int) -> None:
    """A snapshot with a superscript two, or with thousands of digits, ended gpudoctor on its own account."""
    assert major(version) == expected


@pytest.mark.parametrize("release", ["x", "", "\u0663.\u0664.", "9" * 5000])
def test_a_release_of_jetson_linux_that_is_no_version_is_in_no_table(
        release: str, database: RuleDatabase) -> None:
    assert isinstance(jetson.cuda_ceiling(release, database.tables), Unknown)
