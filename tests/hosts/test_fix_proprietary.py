"""Drivers for cards that the newest no longer serves: dnf and zypper do what a plan says, and it is undone.

Such a machine often has the newest driver, which does not see the card. What conflicts with what is as in
RPM Fusion's packages, whose branches exclude one another, and NVIDIA's, whose cuda-drivers has the branch in
its version alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest

from tests.harness import other_system
from tests.harness.other_system import CARD, DNF, OTHERS, OtherSystem, Rpm
from tests.hosts.test_fix_dnf import CUDA, FUSION, DnfSystem, surroundings
from tests.hosts.test_fix_zypper_pacman import RPMS, become

PASCAL, KEPLER = ({**CARD, "device": device} for device in ("0x15f8", "0x102d"))  # Tesla P100, Tesla K80
NEWEST, PASCALS, KEPLERS = "3:590.48-1", "3:580.95-1", "3:470.82-1"
RHEL = {major: f"{CUDA}/rhel{major}/x86_64" for major in ("8", "9", "10")}
RPM_FUSION = f"{FUSION}/packages"
STREAMS = {"590-open": ("nvidia-open", NEWEST), "580-dkms": ("cuda-drivers", PASCALS),
           "470-dkms": ("cuda-drivers", KEPLERS)}


def nvidias(place: str) -> Iterator[Rpm]:
    """Yield NVIDIA's packages, of which cuda-drivers and nvidia-open exclude one another."""
    for version in (NEWEST, PASCALS, KEPLERS):
        plain = version.partition(":")[2]
        yield Rpm(place, "nvidia-driver", version, "Provides: any-driver")
        needs = f"Requires: nvidia-driver = {version}"
        yield Rpm(place, "cuda-drivers", plain, f"{needs}\nConflicts: nvidia-open")
        if version != KEPLERS:
            yield Rpm(place, "nvidia-open", version, needs)


def fusions() -> Iterator[Rpm]:
    """Yield RPM Fusion's packages."""
    for branch, version in (("", NEWEST), ("-580xx", PASCALS), ("-470xx", KEPLERS)):
        others = [one for one in ("", "-580xx", "-470xx") if one != branch]
        conflicts = "".join(f"\nConflicts: xorg-x11-drv-nvidia{one}-cuda" for one in others)
        driver = f"xorg-x11-drv-nvidia{branch}-cuda"
        yield Rpm(RPM_FUSION, f"akmod-nvidia{branch}", version, f"Requires: {driver}")
        yield Rpm(RPM_FUSION, driver, version, f"Provides: any-driver{conflicts}")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> DnfSystem:
    """Make it once."""
    if reason := other_system.unavailable():
        pytest.skip(reason)
    made = DnfSystem(tmp_path_factory.mktemp("dnf"), DNF)
    made.build([*surroundings(), *fusions(), *chain.from_iterable(map(nvidias, RHEL.values()))])
    for major in ("8", "9"):
        made.streams(RHEL[major], "nvidia-driver", {
            stream: [f"{wanted}-{version.replace('3:', '0:') if wanted == 'cuda-drivers' else version}",
                     f"nvidia-driver-{version}"] for stream, (wanted, version) in STREAMS.items()})
    for place in (*RHEL.values(), RPM_FUSION):
        made.listed(place)
    return made


FEDORA = {PASCALS: ("akmod-nvidia-580xx", "xorg-x11-drv-nvidia-580xx-cuda"),
          KEPLERS: ("akmod-nvidia-470xx", "xorg-x11-drv-nvidia-470xx-cuda")}


def prepare(system: DnfSystem, name: str, card: dict[str, str], before: str) -> None:
    """Become a distribution with that card, and with the newest driver or none."""
    place = RPM_FUSION if name.startswith("fedora") else RHEL[name.split()[1].partition(".")[0]]
    system.start(name, best="True" if name.startswith("rhel") else "False")
    system.card(card)
    if before or place == RPM_FUSION:
        listed = (system.root / "served" / place / system.list_of(place)).read_text()
        system.write(f"etc/yum.repos.d/{system.list_of(place)}", listed)
    if before:
        stream = "dnf module enable nvidia-driver:590-open && " * name.startswith(("rhel 8", "rhel 9"))
        driver = "akmod-nvidia" if place == RPM_FUSION else "nvidia-open"
        system.run(f"{stream}dnf install app {driver}")
    if before == "newest and locked":  # by whoever wanted it to stay; and one of the branch that comes now
        system.run("dnf versionlock app nvidia-driver nvidia-open cuda-drivers-580.95")


CASES = [("rhel 9.6", PASCALS), ("rhel 10.1", PASCALS), ("rhel 8.10", KEPLERS), ("fedora 42", PASCALS),
         ("fedora 42", KEPLERS)]


@pytest.mark.parametrize(("name", "version", "before"), [
    *((*case, before) for case in CASES for before in ("", "newest")),
    ("rhel 10.1", PASCALS, "newest and locked")])
def test_dnf_brings_the_last_driver_of_the_card(name: str, version: str, before: str,
                                                system: DnfSystem) -> None:
    """In place of the newest, too; what needs either driver stays all the time."""
    prepare(system, name, PASCAL if version == PASCALS else KEPLER, before)
    was = system.state()
    said = system.apply()
    held, _, _ = system.state()
    assert "step 1   done" in said, said
    wanted = FEDORA[version] if name.startswith("fedora") else ("nvidia-driver",)
    assert {f"{package} {version}" for package in wanted} <= set(held), said
    assert not before or "app 1-1" in held
    assert not [package for package in held if NEWEST in package or "nvidia-open" in package], said
    system.undone()
    assert system.state() == was


# -- zypper ------------------------------------------------------------------------------------------------

G07 = ("nvidia-open-driver-G07-signed-kmp-meta", "nvidia-open-driver-G07-signed-kmp-default")
# what is installed in the end, of which packages, in which repository
SUSE = {
    ("opensuse-leap 16.0", PASCALS): ("download.nvidia.com/opensuse/leap/16.0",
                                      ("nvidia-driver-G06-kmp-meta", "nvidia-driver-G06-kmp-default")),
    ("opensuse-tumbleweed 20261101", KEPLERS): ("download.nvidia.com/opensuse/tumbleweed",
                                                ("nvidia-gfxG05-kmp-default", "nvidia-computeG05")),
    ("sles 15.7", PASCALS): ("developer.download.nvidia.com/compute/cuda/repos/sles15/x86_64",
                             ("nvidia-driver-G06", "nvidia-compute-utils-G06"))}


@pytest.fixture(scope="module")
def suse(tmp_path_factory: pytest.TempPathFactory) -> OtherSystem:
    """Make it once; the newest driver is in each repository, and excludes any other."""
    if reason := other_system.unavailable():
        pytest.skip(reason)
    made = OtherSystem(tmp_path_factory.mktemp("suse"), OTHERS)
    built = [Rpm("base", "base", "1-1")]
    for (_, version), (place, (first, second)) in SUSE.items():
        plain = version.partition(":")[2]
        meta, module = G07
        built += [Rpm(place, "app", "1-1", "Requires: any-driver"),
                  Rpm(place, meta, "595.45-1", f"Requires: {module} = 595.45"),
                  Rpm(place, module, "595.45-1", f"Provides: any-driver\nConflicts: {second}"),
                  Rpm(place, first, plain, f"Requires: {second} = {plain}"),
                  Rpm(place, second, plain, "Provides: any-driver")]
    made.build(built)
    made.run("rpm -i --nodeps /served/base/*.rpm")  # a system without any is broken to zypper
    made.write("etc/zypp/zypp.conf", "[main]\ngpgcheck = off\n")
    return made


@pytest.mark.parametrize("before", ["", f"app {G07[0]}"])
@pytest.mark.parametrize(("name", "version"), SUSE)
def test_zypper_brings_the_last_driver_of_the_card(name: str, version: str, before: str,
                                                   suse: OtherSystem) -> None:
    """In place of the newest, too; what needs either driver stays all the time."""
    become(suse, name)
    suse.card(PASCAL if version == PASCALS else KEPLER)
    place, wanted = SUSE[name, version]
    suse.run("rm -rf /etc/zypp/repos.d/*; rpm -qa | grep -v ^base- | xargs -r rpm -e --nodeps; "
             f"zypper addrepo --refresh https://{place} before && zypper refresh; "
             f"{f'zypper install {before} && ' * bool(before)} zypper removerepo before")
    was = sorted(suse.run(RPMS).split())
    said = suse.apply()
    held = suse.run(RPMS)
    assert "step 1   done" in said, said
    assert all(f"{package} {version.partition(':')[2]}" in held for package in wanted), said
    assert "G07" not in held, said
    assert not before or "app 1-1" in held
    suse.undone()
    assert sorted(suse.run(RPMS).split()) == was
