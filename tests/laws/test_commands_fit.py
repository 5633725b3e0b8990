"""No command is for another machine: another package manager, the host of a container, Windows behind WSL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest

from gpudoctor import assume, remedy
from gpudoctor.model import Absent, Fact, Known, Snapshot
from gpudoctor.proving.proofs import case_snapshot
from tests.laws.test_plans import database

MANAGERS = {"apt-get", "dnf", "pacman", "ubuntu-drivers", "zypper"}
DRIVER = re.compile(r"nvidia-(driver|open)|cuda-drivers|akmod|libcuda1|libnvidia", re.IGNORECASE)
HOST_ALONE = re.compile(rf"{DRIVER.pattern}|\breboot\b|\bmodprobe\b", re.IGNORECASE)
NONE = Absent(source="the test")


def system(name: str, version: str | None, *like: str) -> dict[str, Fact]:
    """Return what os-release says there."""
    return {"system.distribution": Known(value=name, source="x"),
            "system.distribution_version": NONE if version is None else Known(value=version, source="x"),
            "system.distribution_like": Known(value=like, source="x") if like else NONE}


# what a machine is beside its fault, the package manager that it has, and what no command there may be
PLACES: Mapping[str, tuple[Mapping[str, Fact], set[str], re.Pattern[str] | None]] = {
    "WSL": ({"system.wsl": Known(value=2, source="x"), **system("ubuntu", "24.04", "debian")}, {"apt-get"},
            DRIVER),
    "a container": ({"container.runtime": Known(value="docker", source="x")}, {"apt-get"}, HOST_ALONE),
    "Debian": (system("debian", "13"), {"apt-get"}, None),
    "Ubuntu": (system("ubuntu", "24.04", "debian"), {"apt-get", "ubuntu-drivers"}, None),
    "Fedora": (system("fedora", "42"), {"dnf"}, None),
    "RHEL": (system("rhel", "9.6", "fedora"), {"dnf"}, None),
    "Rocky": (system("rocky", "8.10", "rhel", "centos", "fedora"), {"dnf"}, None),
    "Amazon Linux": (system("amzn", "2023", "fedora"), {"dnf"}, None),
    "SLES": (system("sles", "15.6", "suse"), {"zypper"}, None),
    "Arch": (system("arch", None), {"pacman"}, None),
    "openSUSE": (system("opensuse-leap", "16.0", "suse", "opensuse"), {"zypper"}, None),
    "Gentoo": (system("gentoo", None), set(), None),
    "NixOS": (system("nixos", "25.11"), set(), None),
    "Alpine": (system("alpine", "3.22"), set(), None),
}


def machines(facts: Mapping[str, Fact]) -> Iterator[Snapshot]:
    """Yield the machines of the pages about drivers and containers, put into another place."""
    for rule in database().rules:
        if rule.id.startswith(("GPD2", "GPD3")):
            for case in rule.case:
                if case.log is None and "container.runtime" not in case.facts:
                    yield assume.lay(case_snapshot(case, database()), facts, database().tables, source="test")


@pytest.mark.parametrize("place", PLACES)
def test_commands_fit_the_place(place: str) -> None:
    """Whatever is wrong there; what removes a driver inside WSL is right there."""
    facts, managers, forbidden = PLACES[place]
    commands = {(finding.rule, command) for machine in machines(facts)
                for finding in remedy.diagnose(machine, database()).findings for fix in finding.fixes
                if not fix.by_hand and fix.kind not in ("container", "image", "hardware")
                for command in fix.commands}
    assert commands
    words = {(rule, command) for rule, command in commands
             if set(re.findall(r"[a-z-]+", command)) & (MANAGERS - managers)}
    assert words == set()
    wrong = {(rule, command) for rule, command in commands
             if forbidden and forbidden.search(command) and " purge " not in command}
    assert wrong == set()
