"""Which driver branches and kernel modules serve the cards here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.derive.view import View, as_texts, floor_row, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Fact, Facts, Known, Row, Table, Tables, Unknown, Value, row_of, rows_of, value_of,
)

DISPLAY_CLASS = "0x03"
FOR_GUESTS = "vfio-pci"
_NUMBER = re.compile(r"[0-9]{1,9}")
OPEN = "open"


@frozen
class Served:
    """What serves every card here: the kernel modules, the better one first, and the branches."""

    flavours: tuple[str, ...]
    first_branch: int = 0
    last_branch: int | None = None

    def allows(self, branch: int) -> bool:
        """Return whether a driver branch serves the cards."""
        return branch >= self.first_branch and (self.last_branch is None or branch <= self.last_branch)


def major(version: Value) -> int:
    """Return the branch of a driver, or the major of another version; 0 where it starts with no number."""
    head = str(version).partition(".")[0]
    return int(head) if _NUMBER.fullmatch(head) else 0


# -- what serves the cards -----------------------------------------------------------------------------------


def served(view: View) -> Served:
    """Return which kernel modules and branches serve every card here; the table says so of each generation.

    The cards' PCI device ids tell it without any driver; where the bus shows none, their compute capability.
    """
    rows = _generations(view)
    flavours = [name for name in (OPEN, "proprietary")
                if all(name in as_texts(row["flavours"]) for row in rows)]
    if view.value("driver.kernel_flavour") == "proprietary":
        flavours.reverse()  # whoever runs it may have a reason
    lasts = [major(row["last_branch"]) for row in rows if "last_branch" in row]
    return Served(
        flavours=tuple(flavours),
        first_branch=max((major(row["first_branch"]) for row in rows if "first_branch" in row), default=0),
        last_branch=min(lasts, default=None),
    )


def last_branch(view: View) -> Fact:
    """Return the last branch that serves every card here; absent where the tables know of none."""
    last = served(view).last_branch
    if last is None:
        return Absent(source="rules/tables/kernel_modules.toml names no last branch for the cards here")
    return Known(value=str(last), source="rules/tables/kernel_modules.toml")


def _generations(view: View) -> list[Row]:
    table = view.table("kernel_modules")
    devices = [text_in(record, "device") for record in view.records("system.pci_nvidia")
               if text_in(record, "class").startswith(DISPLAY_CLASS) and text_in(record, "device")]
    rows = [row for device in devices if (row := of_device(table, device)) is not None]
    capability = view.value("system.oldest_card")
    if capability is not None:
        row = floor_row(table, "first_capability", str(capability))
        rows += [] if row is None else [_with_own(row, str(capability), view.tables)]
    return rows


def of_device(table: Table, device: str) -> Row | None:
    """Return the row of a PCI device id, None of one that is higher than those of all known cards."""
    below = [row for row in table.rows if str(row["first_device"]) <= device.lower().zfill(4)]
    row = max(below, key=lambda row: str(row["first_device"]), default=None)
    return row if row is not None and row["flavours"] else None


def fit(card: Facts, driver: str, host: Facts, tables: Tables) -> Fact:
    """Return whether drivers of this branch serve a card: "serves", "too-new" or "too-old".

    Nobody can tell of a card that the tables do not have, nor of a Jetson, whose driver comes with its board.
    The driver under WSL is that of Windows.
    """
    bound = card.get("gpu.pci_driver")
    if isinstance(bound, Known) and bound.value == FOR_GUESTS:
        return Absent(source="the card is set aside for virtual machines")
    if not isinstance(host.get("system.jetson", Absent(source="")), Absent):
        return Absent(source="system.jetson: its drivers are no branches for cards on PCIe")
    wsl = host.get("system.wsl")
    if isinstance(wsl, Unknown):
        return wsl  # nobody can say how the driver is numbered
    row = row_of_card(card, tables)
    if row is None:
        told = isinstance(card.get("gpu.compute_capability"), Known)
        unseen = None if told else _unseen(card, "gpu.pci_device_id")
        return unseen or Unknown(reason="the rule database does not know which drivers serve this card",
                                 asked=False)
    is_windows = isinstance(wsl, Known) or value_of(host, "system.os") == "Windows"
    said = _by_row(row, windows_branch(driver, tables) if is_windows else driver)
    return bound if is_refused(said) and isinstance(bound, Unknown) else said


def apart(cards: Sequence[Facts] | Unknown, tables: Tables) -> Fact:
    """Return which two cards no branch serves both, in words; absent where one serves all that are known.

    Branches serve from one generation to another: where none serves all, some two have none in common.
    """
    if isinstance(cards, Unknown):
        return cards
    rows = [(card, row) for card in cards if (row := row_of_card(card, tables)) is not None]
    ends = [(major(row["last_branch"]), _kind(card, row)) for card, row in rows if "last_branch" in row]
    begins = [(major(row["first_branch"]), _kind(card, row)) for card, row in rows if "first_branch" in row]
    (last, old), (first, new) = min(ends, default=(0, "")), max(begins, default=(0, ""))
    source = "rules/tables/kernel_modules.toml"
    if not old or not new or first <= last:
        return Absent(source=f"{source}: one branch serves all cards here")
    said = f"{old} has none after branch {last} and {new} none before branch {first}"
    return Known(value=said, source=source)


def _kind(card: Facts, row: Row) -> str:
    capability = value_of(card, "gpu.compute_capability")
    return str(row["generation"]) + (f" (compute capability {capability})" if capability is not None else "")


def _by_row(row: Row, driver: str) -> Known:
    branch, generation = major(driver), row["generation"]
    if "last_branch" in row and branch > major(row["last_branch"]):
        return Known(value="too-new", source=f"{row['source']}: branch {row['last_branch']} is the last for "
                                             f"{generation}")
    if "first_branch" in row and branch < major(row["first_branch"]):
        return Known(value="too-old", source=f"{row['source']}: no branch before {row['first_branch']} "
                                             f"serves {generation}")
    return Known(value="serves", source=f"rules/tables/kernel_modules.toml: {generation}")


def windows_branch(driver: str, tables: Tables) -> str:
    """Return the branch of a driver of Windows, whose numbers go on from it: 581.29 is of 580."""
    table = tables.get("driver_branches")
    row = floor_row(table, "driver", driver) if table is not None else None
    return driver if row is None else str(row["driver"])


def is_of_windows(view: View) -> bool:
    """Say whether the driver here is numbered as those of Windows are: under WSL it is one of them."""
    return view.value("system.os") == "Windows" or isinstance(view.fact("system.wsl"), Known)


def windows_number(driver: str, tables: Tables) -> str:
    """Return the driver of Windows that NVIDIA names beside one of Linux, or else its branch: 580.88."""
    named = [str(row["minimum_driver_windows"])
             for table in ("minor_version_compatibility", "cuda_toolkits") for row in rows_of(tables, table)
             if "minimum_driver_windows" in row and major(row["minimum_driver"]) == major(driver)]
    return max(named, key=versions.parse, default=str(major(driver)))


def oldest_driver(row: Row, view: View) -> str | None:
    """Return the oldest driver that a row names, numbered as the one here."""
    if "minimum_driver" not in row or not is_of_windows(view):
        return text_in(row, "minimum_driver") or None
    return text_in(row, "minimum_driver_windows") or windows_number(str(row["minimum_driver"]), view.tables)


def is_unlisted(card: Facts) -> bool:
    """Say whether the driver was asked for its cards and does not list this one."""
    return value_of(card, "gpu.in_nvml") is False


def left_out(card: Facts, fit: Fact) -> bool | Unknown:
    """Say whether the driver does not list a card of a kind that its branch does not serve."""
    unlisted = _unseen(card, "gpu.in_nvml") or is_unlisted(card)
    refused = fit if isinstance(fit, Unknown) and fit.asked else is_refused(fit)
    if unlisted is False or refused is False:
        return False
    return unlisted if isinstance(unlisted, Unknown) else refused


def _unseen(card: Facts, name: str) -> Unknown | None:
    fact = card.get(name)
    return fact if isinstance(fact, Unknown) and fact.asked else None


def is_refused(fit: Fact | None) -> bool:
    """Say whether drivers of this branch are known not to serve a card."""
    return isinstance(fit, Known) and fit.value != "serves"


def is_left_out(card: Facts) -> bool:
    """Say whether the driver does not list the card, and the tables say why: it serves none of its kind.

    The branch is asked only of a card that is not listed: elsewhere nothing follows from it.
    """
    return is_unlisted(card) and is_refused(card.get("gpu.driver_fit"))


def row_of_card(card: Facts, tables: Tables) -> Row | None:
    """Return the row of a card by its compute capability; by its PCI device where nobody tells that."""
    modules = tables.get("kernel_modules")
    if modules is None:
        return None
    capability, device = card.get("gpu.compute_capability"), card.get("gpu.pci_device_id")
    if isinstance(capability, Known):
        is_listed = row_of(tables, "architectures", compute_capability=capability.value) is not None
        row = floor_row(modules, "first_capability", str(capability.value)) if is_listed else None
        return None if row is None else _with_own(row, str(capability.value), tables)
    return of_device(modules, str(device.value)) if isinstance(device, Known) else None


def _with_own(row: Row, capability: str, tables: Tables) -> Row:
    """Return the row of a generation with what is said of one compute capability alone."""
    own = row_of(tables, "architectures", compute_capability=capability) or {}
    if "first_branch" not in own:
        return row
    return {**row, "first_branch": own["first_branch"], "generation": own["architecture"],
            "source": own["source"]}
