"""The commands that put the open kernel module in place of the proprietary one, run as the table has them.

A plan with such a step needs a driver that answers, which these roots have not: so the commands are given to
dnf and pacman without it. The driver requires any kernel module of its version, of which there are two.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import ruledb
from tests.harness import other_system
from tests.harness.other_system import DNF, OTHERS, OtherSystem, Rpm
from tests.hosts.test_fix_dnf import CUDA, DnfSystem, surroundings
from tests.hosts.test_fix_zypper_pacman import PACMAN, arch_package, become

PLACES = {"rhel 9.6": f"{CUDA}/rhel9/x86_64", "amzn 2023": f"{CUDA}/amzn2023/x86_64",
          "rhel 10.1": f"{CUDA}/rhel10/x86_64"}
DRIVER, PROPRIETARY, OPEN = "nvidia-driver", "kmod-nvidia-latest-dkms", "kmod-nvidia-open-dkms"
VERSION = "3:580.95-1"


def command(distribution: str, major: int) -> str:
    """Return what the table has root run on a distribution."""
    rows = [row for row in ruledb.load().tables["driver_packages"].rows
            if (row["distribution"], row["last_branch"]) == (distribution, "any")
            and int(str(row["first_version"])) <= major]
    row = max(rows, key=lambda one: int(str(one["first_version"])))
    return str(row["flavour_command"]).replace("sudo ", "")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> DnfSystem:
    """Make it once."""
    if reason := other_system.unavailable():
        pytest.skip(reason)
    made = DnfSystem(tmp_path_factory.mktemp("dnf"), DNF)
    built = [*surroundings()]
    for place in PLACES.values():
        built += [
            Rpm(place, DRIVER, VERSION, f"Requires: nvidia-kmod = {VERSION}\nProvides: any-driver"),
            *(Rpm(place, kmod, VERSION, f"Provides: nvidia-kmod = {VERSION}\nConflicts: {other}")
              for kmod, other in ((PROPRIETARY, OPEN), (OPEN, PROPRIETARY))),
            *(Rpm(place, meta, VERSION, f"Requires: {DRIVER} = {VERSION}\nRequires: {kmod} = {VERSION}")
              for meta, kmod in (("cuda-drivers", PROPRIETARY), ("nvidia-open", OPEN)))]
    made.build(built)
    for place in PLACES.values():
        if "rhel10" not in place:
            made.streams(place, DRIVER, {
                stream: [f"{package}-{VERSION}" for package in (DRIVER, kmod, meta)]
                for stream, kmod, meta in (("latest-dkms", PROPRIETARY, "cuda-drivers"),
                                           ("open-dkms", OPEN, "nvidia-open"))})
        made.listed(place)
    return made


@pytest.mark.parametrize("name", PLACES)
def test_dnf_puts_the_open_module_in_place_of_the_other(name: str, system: DnfSystem) -> None:
    """The driver stays, and what needs it."""
    place = PLACES[name]
    system.start(name, best="True")
    system.write(f"etc/yum.repos.d/{system.list_of(place)}",
                 (system.root / "served" / place / system.list_of(place)).read_text())
    stream = "" if "rhel10" in place else "dnf module enable nvidia-driver:latest-dkms && "
    system.run(f"{stream}dnf install app cuda-drivers")
    assert f"{PROPRIETARY} {VERSION}" in system.state()[0]
    distribution, version = name.split()
    said = system.run(command(distribution, int(version.partition(".")[0])))
    held, _, _ = system.state()
    assert {f"{OPEN} {VERSION}", f"{DRIVER} {VERSION}", "app 1-1"} <= set(held), said
    assert f"{PROPRIETARY} {VERSION}" not in held


def test_pacman_puts_the_open_module_in_place_of_the_other(tmp_path: Path) -> None:
    """After its question, since one excludes the other."""
    if reason := other_system.unavailable():
        pytest.skip(reason)
    system = OtherSystem(tmp_path, OTHERS)
    become(system, "arch")
    system.write("etc/pacman.conf", PACMAN)
    built = [arch_package(system, "nvidia-dkms", "580.95-1", "depend = nvidia-utils",
                          "provides = NVIDIA-MODULE"),
             arch_package(system, "nvidia-open-dkms", "580.95-1", "depend = nvidia-utils",
                          "provides = NVIDIA-MODULE", "conflict = NVIDIA-MODULE"),
             arch_package(system, "nvidia-utils", "580.95-1", "depend = NVIDIA-MODULE")]
    system.run(f"repo-add -q /served/extra/extra.db.tar.gz {' '.join(built)} && pacman -Sy nvidia-dkms")
    said = system.run(command("arch", 0))
    held = system.run("pacman -Q")
    assert "nvidia-open-dkms 580.95-1" in held, said
    assert "nvidia-dkms" not in held.replace("nvidia-open-dkms", "")
