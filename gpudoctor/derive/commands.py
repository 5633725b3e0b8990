"""Exact commands for this machine: its distribution's driver package, the patient's own pip."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive.view import View, text_in
from gpudoctor.model import Absent, Fact, Known

DISPLAY_CLASS = "0x03"


def _families(view: View) -> Iterator[str]:
    """Yield the distribution's id and then the ids it says it is like."""
    yield view.need_text("system.distribution")
    yield from view.texts("system.distribution_like")


def driver_row(view: View, column: str) -> Fact:
    """Return a cell of the table of driver packages, of this distribution or of one that it is like."""
    for family in _families(view):
        for row in view.table("driver_packages").rows:
            if row["distribution"] == family and column in row:
                return Known(value=row[column], source=str(row["source"]))
    distribution = view.need_text("system.distribution")
    return Absent(source=f"the rule database has no driver package for {distribution}")


def driver_command(view: View) -> Fact:
    """Return the command that installs the distribution's NVIDIA driver."""
    return driver_row(view, "command")


def branch_row(view: View) -> Fact:
    """Return the command for a certain branch, in the flavour of the kernel module that serves the cards."""
    return driver_row(view, "proprietary_branch_command" if needs_proprietary(view) else "branch_command")


def needs_proprietary(view: View) -> bool:
    """Return whether the open kernel module may not serve a card here.

    It serves none before Turing: by the PCI device id, also where no driver can say what the card is. A
    machine that has the proprietary one loaded may have a reason for it.
    """
    if view.value("driver.kernel_flavour") == "proprietary":
        return True
    rows = view.table("kernel_modules").rows
    first = next((str(row["first_device"]) for row in rows if row["flavour"] == "open"), "")
    devices = [text_in(record, "device").lower() for record in view.records("system.pci_nvidia")
               if text_in(record, "class").startswith(DISPLAY_CLASS)]
    return any(device.zfill(4) < first for device in devices if device)


def _branch_command(fact_name: str, view: View) -> Fact:
    branch = view.need_text(fact_name).partition(".")[0]
    fact = branch_row(view)
    if isinstance(fact, Known):
        return Known(value=str(fact.value).replace("BRANCH", branch), source=fact.source)
    return fact


def framework_driver_command(view: View) -> Fact:
    """Return the command that installs a driver of at least the branch that the framework needs."""
    return _branch_command("framework.sufficient_driver", view)


def pair_driver_command(view: View) -> Fact:
    """Return the command that installs a driver which compiles the PTX that this card needs."""
    return _branch_command("pair.ptx_driver", view)


def pip_command(view: View) -> Fact:
    """Return how to run pip for the patient: its own pip, or uv for an environment without one."""
    python = shlex.quote(view.need_text("python.executable"))
    if isinstance(view.fact("python.pip_version"), Absent):
        return Known(value=f"uv pip install --python {python}", source="the patient has no pip")
    return Known(value=f"{python} -m pip install", source="the patient's pip")


def pip_uninstall_command(view: View) -> Fact:
    """Return how to remove packages from the patient: its own pip, or uv where it has none."""
    python = shlex.quote(view.need_text("python.executable"))
    if isinstance(view.fact("python.pip_version"), Absent):
        return Known(value=f"uv pip uninstall --python {python}", source="the patient has no pip")
    return Known(value=f"{python} -m pip uninstall --yes", source="the patient's pip")
