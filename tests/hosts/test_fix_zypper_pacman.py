"""What a plan tells zypper and pacman is done by these, and what --apply notes brings back what was there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import other_system
from tests.harness.other_system import OTHERS, OtherSystem, Rpm

RPMS = "rpm -qa --qf '%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\n' 2> /dev/null"
META, MODULE, OLD_MODULE = (f"nvidia-{word}" for word in (
    "open-driver-G07-signed-kmp-meta", "open-driver-G07-signed-kmp-default", "driver-G06-kmp-default"))
PLACES = {"opensuse-leap 16.0": "download.nvidia.com/opensuse/leap/16.0",
          "opensuse-tumbleweed 20261101": "download.nvidia.com/opensuse/tumbleweed",
          "sles 15.7": "download.nvidia.com/suse/sle15sp7"}
PACMAN = """[options]
Architecture = auto
[extra]
SigLevel = Optional TrustAll
Server = file:///served/extra
"""
OPEN, UTILS = "nvidia-open-dkms", "nvidia-utils"


def become(system: OtherSystem, name: str) -> None:
    """Become a distribution."""
    distribution, _, version = name.partition(" ")
    system.write("etc/os-release", f'ID={distribution}\nVERSION_ID="{version}"\nPRETTY_NAME="{name}"\n')


def packages(place: str) -> Iterator[Rpm]:
    """Yield the packages of a repository: two drivers of G07, one of G06, and what needs any of them."""
    for version in ("590.10-1", "595.10-1"):
        yield Rpm(place, META, version, f"Requires: {MODULE} = {version}")
    yield Rpm(place, MODULE, "590.10-1", "Provides: any-driver")
    yield Rpm(place, MODULE, "595.10-1",
              f"Provides: any-driver\nRequires: firmware\nConflicts: {OLD_MODULE}")
    yield Rpm(place, OLD_MODULE, "580.10-1", "Provides: any-driver")
    yield Rpm(place, "firmware", "2:1-1")
    yield Rpm(place, "app", "1-1", "Requires: any-driver")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> OtherSystem:
    """Make it once, with all packages."""
    if reason := other_system.unavailable():
        pytest.skip(reason)
    made = OtherSystem(tmp_path_factory.mktemp("others"), OTHERS)
    made.build([Rpm("base", "base", "1-1"), *(one for place in PLACES.values() for one in packages(place))])
    made.run("rpm -i --nodeps /served/base/*.rpm")  # a system without any is broken to zypper
    made.write("etc/zypp/zypp.conf", "[main]\ngpgcheck = off\n")
    made.write("etc/pacman.conf", PACMAN)
    return made


@pytest.mark.parametrize(("name", "before"), [
    ("opensuse-leap 16.0", "app"), ("sles 15.7", f"app {META}=590.10-1"),
    ("opensuse-tumbleweed 20261101", f"app {OLD_MODULE}")])
def test_what_zypper_did_is_undone(name: str, before: str, system: OtherSystem) -> None:
    """What was updated, what came along, what had to go; what needs either driver stays all the time."""
    become(system, name)
    place = f"https://{PLACES[name]}"
    system.run("rm -rf /etc/zypp/repos.d/*; rpm -qa | grep -v ^base- | xargs -r rpm -e --nodeps; "
               f"zypper addrepo --refresh {place} before && zypper install {before} && "
               "zypper removerepo before")
    was = sorted(system.run(RPMS).split())
    said = system.apply()
    held = system.run(RPMS)
    assert "step 1   done" in said, said
    came = (f"{META} 595.10-1", f"{MODULE} 595.10-1", "firmware 2:1-1", "app 1-1")
    assert all(line in held for line in came), said
    assert OLD_MODULE not in held
    commands = system.undone()
    assert sorted(system.run(RPMS).split()) == was
    assert [command.split()[:2] for command in commands] == [["zypper", "install"]]


def arch_package(system: OtherSystem, name: str, version: str, *more: str) -> str:
    """Write a package, and return its path."""
    lines = (f"pkgname = {name}", f"pkgbase = {name}", f"pkgver = {version}", "pkgdesc = none", "url = x",
             "builddate = 1700000000", "packager = nobody", "size = 0", "arch = any", *more)
    system.write("served/build/.PKGINFO", "\n".join(lines) + "\n")
    path = f"/served/extra/{name}-{version}-any.pkg.tar.gz"
    system.run(f"mkdir -p /served/extra && bsdtar -C /served/build -czf {path} .PKGINFO")
    return path


def test_what_pacman_did_is_undone(system: OtherSystem) -> None:
    """Out of its cache; its list is older than the packages, as on a machine not updated for long."""
    become(system, "arch")
    add = "repo-add -q /served/extra/extra.db.tar.gz"
    old = [arch_package(system, OPEN, "570.86-1", f"depend = {UTILS}=570.86"),
           arch_package(system, UTILS, "570.86-1"), arch_package(system, "linux-headers", "6-1"),
           arch_package(system, "app", "1-1", f"depend = {UTILS}")]
    system.run(f"{add} {' '.join(old)} && pacman -Sy app {OPEN}")
    was = system.run("pacman -Q")
    new = [arch_package(system, OPEN, "590.48-1", f"depend = {UTILS}=590.48", "depend = dkms"),
           arch_package(system, UTILS, "590.48-1"), arch_package(system, "dkms", "1:3-1")]
    system.run(f"sleep 1; {add} {' '.join(new)}")
    said = system.apply()
    held = system.run("pacman -Q")
    assert "step 1   done" in said, said
    assert all(f"{name} 590.48-1" in held for name in (OPEN, UTILS)), said
    assert system.undone()
    assert system.run("pacman -Q") == was
