"""What is said of an Xid: what the number means, and a cold start only where the card is gone."""

from __future__ import annotations

import pytest

from gpudoctor.model import Finding
from tests.explain.shipped import database, findings

_LINE = "[1.0] NVRM: Xid (PCI:0000:65:00): {xid}, pid=1234, name=python, {rest}\n"


def lost(*lines: tuple[str, str]) -> Finding:
    """Return what is told of the card after such lines."""
    text = "".join(_LINE.format(xid=xid, rest=rest) for xid, rest in lines)
    return next(finding for finding in findings(text) if finding.cause == "gpu-fell-off-bus")


def commands(finding: Finding) -> str:
    """Return all that its fixes have one run."""
    return " ".join(command for fix in finding.fixes for command in fix.commands)


@pytest.mark.parametrize(("xid", "rest", "means", "advice"), [
    ("94", "Contained: SM (0x1). RST: No, D-RST: No", "Contained memory error", "restart the application"),
    ("63", "Row Remapper: New row marked for remapping", "GPU memory remapping event", "nothing to do"),
    ("95", "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", "Uncontained memory error",
     "reset the card"),
    ("74", "NVLink: fatal error detected on link 0", "NVLINK Error", "follow the NVLink errors"),
])
def test_an_xid_is_told_by_its_meaning(xid: str, rest: str, means: str, advice: str) -> None:
    """Regression: each was "no longer answers on the PCI bus", and to be switched off."""
    told = lost((xid, rest))
    assert f"Xid {xid}, {means}" in told.message
    assert f"Xid {xid}, {advice}" in told.fixes[0].title
    assert "poweroff" not in commands(told)


def test_several_are_told_in_their_order() -> None:
    """The first may be the reason of the others."""
    told = lost(("149", "NETIR_LINK_EVT Nonfatal"), ("45", "Ch 00000008"))
    assert "Xid 149, NVLINK: NETIR Error; Xid 45," in told.message


@pytest.mark.parametrize("lines", [
    (("79", "GPU has fallen off the bus."),),
    (("48", "DBE"), ("79", "GPU has fallen off the bus.")),
])
def test_a_card_that_is_gone_still_needs_a_cold_start(lines: tuple[tuple[str, str], ...]) -> None:
    """Whatever else is logged beside."""
    told = lost(*lines)
    assert "no longer answers on the PCI bus" in told.message
    assert "poweroff" in commands(told)


def test_a_number_that_no_table_has_is_not_given_a_meaning() -> None:
    """Nor is the card said to be lost, which would mean a cold start."""
    told = lost(("94", "Contained"), ("999", "x"))
    assert "Xid 999, which the table of these rules does not have" in told.message
    assert "poweroff" not in commands(told)


def test_an_xid_of_which_the_catalogue_advises_nothing_is_told_by_its_meaning() -> None:
    """Regression: the row has no such column."""
    rows = [row for row in database().tables["xids"].rows if "action" not in row]
    assert rows
    for row in rows:
        findings(_LINE.format(xid=row["xid"], rest="Ch 00000008"))
