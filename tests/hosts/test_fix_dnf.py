"""What a plan tells dnf is done by the real dnf, and what --apply notes brings back what was there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pytest

from tests.harness import other_system
from tests.harness.other_system import DNF, KERNEL, LOG, OtherSystem, Rpm

OLD, NEW = "3:570.86-1", "3:580.95-1"
CUDA = "developer.download.nvidia.com/compute/cuda/repos"
FUSION, EPEL = "mirrors.rpmfusion.org", "dl.fedoraproject.org/pub/epel"
CONF = ("[main]\ngpgcheck=False\nbest={best}\nclean_requirements_on_remove=True\nexcludepkgs={excluded}\n"
        "module_platform_id=platform:el9\n")
REPOSITORY = "[{name}]\nname={name}\nbaseurl={address}\nenabled=1\ngpgcheck=0\nmetadata_expire=0\n"
MODULE = """---
document: modulemd
version: 2
data:
  name: nvidia-driver
  stream: "{stream}"
  version: 20260101
  context: "{context}"
  arch: x86_64
  summary: driver
  description: driver
  license: {{module: [MIT]}}
  profiles: {{default: {{rpms: [{wanted}]}}}}
  artifacts: {{rpms: [{packages}]}}
...
"""
DEFAULTS = """---
document: modulemd-defaults
version: 1
data:
  module: nvidia-driver
  profiles: {{{profiles}}}
...
"""
STREAMS = "for file in /etc/dnf/modules.d/*.module; do grep -H '^stream=.' $file; done 2> /dev/null; true"
HELD = "rpm -qa --qf '%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\n'"
# whose packages, and what of them comes from where: `app` needs what the old and the new driver both bring
SYSTEMS = {"rhel 9.6": ("nvidia-open", "nvidia-driver", f"{CUDA}/rhel9/x86_64", "True"),
           "amzn 2023": ("nvidia-open", "nvidia-driver", f"{CUDA}/amzn2023/x86_64", "False"),
           "rhel 10.1": ("nvidia-open", "nvidia-driver", f"{CUDA}/rhel10/x86_64", "False"),
           "fedora 42": ("akmod-nvidia", "xorg-x11-drv-nvidia-cuda", f"{FUSION}/packages", "False")}


def surroundings() -> Iterator[Rpm]:
    """Yield what is no driver: of the distributions, and the packages that add a repository."""
    number, _, release = KERNEL.partition("-")
    for name in ("kernel-devel", "kernel-headers", "kernel-modules-extra", "python3-dnf-plugin-versionlock"):
        yield Rpm("base", name, f"{number}-{release}")
    yield Rpm("base", "app", "1-1", "Requires: any-driver")
    for folder in ("free", "nonfree"):
        yield Rpm(f"{FUSION}/{folder}/fedora", f"rpmfusion-{folder}-release", "42-1",
                  file=f"rpmfusion-{folder}-release-%%{{VERSION}}.noarch.rpm")
    for major in ("8", "9", "10"):
        yield Rpm(EPEL, "epel-release", f"{major}-1", file=f"epel-release-latest-{major}.noarch.rpm")


def packages() -> Iterator[Rpm]:
    """Yield all packages of all repositories."""
    yield from surroundings()
    for driver, library, place, _ in SYSTEMS.values():
        yield Rpm(place, driver, OLD, f"Requires: {library} = {OLD}\nProvides: any-driver")
        yield Rpm(place, driver, NEW,
                  f"Requires: {library} = {NEW}\nRequires: firmware\nProvides: any-driver")
        yield from (Rpm(place, library, version) for version in (OLD, NEW))
        yield Rpm(place, "firmware", "1-1")
        yield Rpm(place, "cuda-drivers", OLD, f"Provides: any-driver\nConflicts: {driver}")


class DnfSystem(OtherSystem):
    """A system of dnf with the repositories of all distributions, which becomes one of them."""

    def publish(self) -> None:
        """Build all packages, once."""
        self.build([*packages()])
        for driver, library, place, _ in SYSTEMS.values():
            if self.has_streams(place):
                self.streams(place, driver, {stream: [f"{package}-{one}" for package in (driver, library)]
                                            for stream, one in (("570-open", OLD), ("580-open", NEW))})
            self.listed(place)

    def listed(self, place: str) -> None:
        """Publish the file that adds a repository."""
        self.write(f"served/{place}/{self.list_of(place)}",
                   REPOSITORY.format(name="nvidia", address=f"https://{place}"))

    def streams(self, place: str, wanted: str, streams: Mapping[str, Sequence[str]]) -> None:
        """Publish streams of packages; the profile of each, its default one, has the wanted one."""
        self.write(f"served/{place}/modules.yaml", "".join(
            MODULE.format(stream=stream, context=f"c{number}", wanted=wanted,
                          packages=", ".join(f'"{package}.noarch"' for package in packages))
            for number, (stream, packages) in enumerate(streams.items())) + DEFAULTS.format(
                profiles=", ".join(f'"{stream}": [default]' for stream in streams)))
        self.run(f"createrepo_c -q /served/{place}")

    @staticmethod
    def has_streams(place: str) -> bool:
        """Say whether NVIDIA's repository there has streams."""
        return "rhel9" in place or "amzn" in place

    @staticmethod
    def list_of(place: str) -> str:
        """Return the name of the file that adds the repository."""
        return f"cuda-{place.split('/')[-2]}.repo"

    def start(self, name: str, *, best: str, excluded: str = "") -> None:
        """Become a distribution as it is set up, with nothing but the plugin of locks."""
        distribution, version = name.split()
        self.run("rm -rf /etc/yum.repos.d /etc/dnf/modules.d; mkdir /etc/yum.repos.d /etc/dnf/modules.d; "
                 "rpm -qa | xargs -r rpm -e --nodeps; echo > /etc/dnf/plugins/versionlock.list")
        self.write("etc/os-release", f'ID={distribution}\nVERSION_ID="{version}"\nPRETTY_NAME="{name}"\n')
        self.write("etc/dnf/dnf.conf", CONF.format(best=best, excluded=excluded))
        self.write("etc/dnf/plugins/local.conf", "[main]\nenabled=0\n")
        self.write("etc/yum.repos.d/base.repo", REPOSITORY.format(name="base", address="file:///served/base"))
        self.run("dnf install python3-dnf-plugin-versionlock")

    def become(self, name: str, before: str, *, excluded: str = "") -> None:
        """Become a distribution, with an older driver, one of another kind, or none."""
        distribution, _ = name.split()
        driver, _, place, best = SYSTEMS[name]
        self.start(name, best=best, excluded=excluded)
        list_of = (self.root / "served" / place / self.list_of(place)).read_text()
        if before or distribution == "fedora":  # there the packages of RPM Fusion hold it
            self.write(f"etc/yum.repos.d/{self.list_of(place)}", list_of)
        if before:
            wanted = driver if before == "older" else "cuda-drivers"
            stream = self.has_streams(place) and before == "older"
            self.run(f"{'dnf module enable nvidia-driver:570-open && ' * stream}"
                     f"dnf install app {wanted}-{OLD}.noarch")

    def state(self) -> tuple[list[str], str, list[str]]:
        """Return what is installed, which streams are enabled, and what is locked."""
        locks = (self.root / "etc/dnf/plugins/versionlock.list").read_text()
        return sorted(self.run(HELD).split("\r\n")), self.run(STREAMS), re.sub("#.*", "", locks).split()


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> DnfSystem:
    """Make it once."""
    if reason := other_system.unavailable():
        pytest.skip(reason)
    made = DnfSystem(tmp_path_factory.mktemp("dnf"), DNF)
    made.publish()
    return made


@pytest.mark.parametrize(("name", "before"), [
    ("rhel 9.6", ""), ("rhel 9.6", "older"), ("rhel 9.6", "other"), ("rhel 10.1", "older"),
    ("amzn 2023", "older"), ("fedora 42", ""), ("fedora 42", "older")])
def test_what_dnf_did_is_undone(name: str, before: str, system: DnfSystem) -> None:
    """Packages, streams and locks; what needs either driver stays all the time."""
    system.become(name, before)
    was = system.state()
    said = system.apply()
    held, streams, _ = system.state()
    driver, library, place, _ = SYSTEMS[name]
    assert {f"{driver} {NEW}", f"{library} {NEW}", "firmware 1-1"} <= set(held), said
    assert ("580-open" in streams) == system.has_streams(place)
    assert "step 1   done" in said
    system.undone()
    assert system.state() == was


def test_what_was_done_to_a_system_without_any_package_is_undone(system: DnfSystem) -> None:
    """Regression: that rpm names no package was taken for no answer, so nothing exact was known of before."""
    system.become("fedora 42", "")
    system.run("rpm -qa | xargs -r rpm -e --nodeps")
    was = system.state()
    said = system.apply()
    assert "step 1   done" in said
    assert system.state() != was
    system.undone()
    assert system.state() == was


@pytest.mark.parametrize("name", ["rhel 9.6", "rhel 10.1"])
def test_a_failure_in_the_middle_is_undone(name: str, system: DnfSystem) -> None:
    """The stream is another already, or the versions are locked, when the packages turn out not to fit."""
    system.become(name, "older", excluded="firmware")
    was = system.state()
    said = system.apply()
    assert "step 1   FAILED" in said, said
    assert system.state() != was
    assert system.undone()
    assert system.state() == was
    assert "WHAT WAS INSTALLED BEFORE STEP 1, as dnf says\n" in (system.root / LOG[1:]).read_text()
