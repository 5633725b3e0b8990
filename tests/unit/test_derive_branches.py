"""Which driver a fix names: a maintained branch that serves the cards, out of whose packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import ruledb
from gpudoctor.model import Absent, Known, RuleDatabase, Scope, Value
from tests.unit.derived_facts import Change, fact

RULES = Path(__file__).parents[2] / "rules"
PASCAL, TURING, GH200, BLACKWELL, KEPLER = "1b80", "1e04", "2342", "2b85", "102d"
RUN = "NVIDIA-Linux-x86_64-470.256.02.run"
SUSE = ("suse", "opensuse")


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def machine(distribution: str, version: str, *devices: str, like: tuple[str, ...] = (),
            architecture: str = "x86_64") -> Change:
    """Return a machine with these cards on its PCI bus, which no driver can tell about."""
    bus = tuple({"address": f"0000:0{number}:00.0", "device": device, "class": "0x030000", "driver": ""}
                for number, device in enumerate(devices, start=1))
    return {"driver": "none", "cc": "none", "system.pci_nvidia": bus, "system.distribution": distribution,
            "system.distribution_version": version, "system.distribution_like": like,
            "system.architecture": architecture,
            "driver.kernel_flavour": Absent(source="test")}


def said(database: RuleDatabase, name: str, *changes: Change) -> Value | None:
    """Return the value of one of the host's derived facts, None where it is not there."""
    found = fact(database, Scope.HOST, name, *changes)
    assert isinstance(found, Known | Absent), found
    return found.value if isinstance(found, Known) else None


def needing(version: str) -> Change:
    """Return a loaded libcuda: its version is what `cuda.library_driver_command` must reach."""
    return {"cuda.library": "/opt/compat/libcuda.so.1", "cuda.library_version": version}


@pytest.mark.parametrize(("minimum", "device", "driver"), [
    ("525.60.13", TURING, "580.65.06"), ("555.42.02", BLACKWELL, "580.65.06"),
    ("580.95.05", TURING, "580.95.05"), ("590.44.01", TURING, "595.45.04"),
    ("610.43.02", TURING, "620.70.06"), ("620.80", TURING, "620.80"), ("630.10", TURING, "630.10"),
    ("525.60.13", PASCAL, "580.65.06"), ("590.44.01", PASCAL, None),
    ("450.80.02", KEPLER, "470.256.02"), ("525.60.13", KEPLER, None),
])
def test_the_oldest_maintained_branch_that_serves_the_card_is_named(
    database: RuleDatabase, minimum: str, device: str, driver: str | None,
) -> None:
    """Short-lived branches are never named, and none that a card was dropped from."""
    here = machine("ubuntu", "24.04", device)
    assert said(database, "cuda.library_maintained_driver", here, needing(minimum)) == driver


@pytest.mark.parametrize(("here", "command"), [
    (machine("ubuntu", "24.04", TURING), "sudo apt-get install nvidia-driver-580-open"),
    (machine("ubuntu", "24.04", PASCAL), "sudo apt-get install nvidia-driver-580"),
    (machine("linuxmint", "22", TURING, like=("ubuntu", "debian")),
     "sudo apt-get install nvidia-driver-580-open"),
    (machine("debian", "13", TURING),
     "sudo apt-get install nvidia-driver-pinning-580 && sudo apt-get install nvidia-open"),
    (machine("debian", "12", PASCAL),
     "sudo apt-get install nvidia-driver-pinning-580 && sudo apt-get install cuda-drivers"),
    (machine("fedora", "44", TURING),
     ("sudo dnf install --allowerasing akmod-nvidia xorg-x11-drv-nvidia-cuda && "
      "sudo dnf upgrade akmod-nvidia xorg-x11-drv-nvidia-cuda")),
    (machine("fedora", "44", PASCAL),
     ("sudo dnf install --allowerasing akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda && "
      "sudo dnf upgrade akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda")),
    (machine("arch", "", TURING), "sudo pacman -Syu nvidia-open-dkms nvidia-utils"),
    (machine("arch", "", PASCAL), None),
    (machine("opensuse-leap", "16.0", TURING, like=SUSE),
     "sudo zypper install nvidia-open-driver-G07-signed-kmp-meta"),
    (machine("opensuse-leap", "15.6", PASCAL, like=SUSE), "sudo zypper install nvidia-driver-G06-kmp-meta"),
    (machine("opensuse-tumbleweed", "20261101", BLACKWELL, like=SUSE),
     "sudo zypper install nvidia-open-driver-G07-signed-kmp-meta"),
    (machine("opensuse-tumbleweed", "20261101", PASCAL, like=SUSE), None),
    (machine("opensuse-tumbleweed", "20261101", KEPLER, like=SUSE),
     "sudo zypper install nvidia-gfxG05-kmp-default nvidia-computeG05"),
    (machine("sles", "15.7", TURING, like=("suse",)),
     "sudo zypper install nvidia-open-driver-G07-signed-kmp-meta"),
    (machine("sles", "16.0", TURING, like=("suse",)),
     "sudo zypper install nvidia-open-driver-G07-signed-kmp-meta"),
    (machine("sles", "15.7", PASCAL, like=("suse",)),
     "sudo zypper install nvidia-driver-G06 nvidia-compute-utils-G06"),
    (machine("sles", "16.0", PASCAL, like=("suse",)), None),
    (machine("sles", "12.5", TURING, like=("suse",)), None),
    (machine("debian", "12", KEPLER), "sudo apt-get install nvidia-tesla-470-driver"),
    (machine("debian", "13", KEPLER), None),
    (machine("fedora", "44", KEPLER),
     ("sudo dnf install --allowerasing akmod-nvidia-470xx xorg-x11-drv-nvidia-470xx-cuda && "
      "sudo dnf upgrade akmod-nvidia-470xx xorg-x11-drv-nvidia-470xx-cuda")),
    *((machine(name, "8.10", KEPLER, like=("rhel", "centos", "fedora")),
       "sudo dnf module reset nvidia-driver && sudo dnf module install --allowerasing nvidia-driver:470-dkms")
      for name in ("rhel", "rocky", "almalinux")),
    (machine("rocky", "9.6", KEPLER, like=("rhel", "centos", "fedora")), None),
    (machine("rhel", "10.1", KEPLER), None),
    (machine("arch", "", KEPLER), None),
    (machine("slackware", "15.0", TURING), None),
    (machine("kali", "2026.2", TURING, like=("debian",)), None),
    (machine("ubuntu", "24.04", KEPLER), None),
    (machine("ubuntu", "24.04", PASCAL, BLACKWELL), None),
])
def test_the_command_is_for_the_distribution_and_the_cards(
    database: RuleDatabase, here: Change, command: str | None,
) -> None:
    """No command is made up where no source knows one."""
    assert said(database, "cuda.library_driver_command", here, needing("470.0")) == command


@pytest.mark.parametrize(("device", "stream", "package"), [
    (TURING, "580-open", "nvidia-open"), (BLACKWELL, "580-open", "nvidia-open"),
    (GH200, "580-open", "nvidia-open"), (PASCAL, "580-dkms", "cuda-drivers"),
])
def test_rocky_9_takes_the_stream_of_the_module_that_serves_the_card(
    database: RuleDatabase, device: str, stream: str, package: str,
) -> None:
    """The proprietary stream does not serve Blackwell, the open one not Pascal."""
    here = machine("rocky", "9.6", device, like=("rhel", "centos", "fedora"))
    command = str(said(database, "system.branch_command", here))
    assert f"nvidia-driver:{stream} " in command
    assert command.endswith(f" {package}")
    assert said(database, "system.driver_repository", here) == "NVIDIA"


def test_rhel_10_has_no_module_streams(database: RuleDatabase) -> None:
    """There the branch is held by a version lock."""
    command = str(said(database, "system.branch_command", machine("rhel", "10.1", TURING)))
    assert "dnf module" not in command
    assert "versionlock '*nvidia*580*'" in command


def test_amazon_linux_is_not_treated_as_the_fedora_that_it_says_it_is_like(database: RuleDatabase) -> None:
    """RPM Fusion does not serve it."""
    here = machine("amzn", "2023", TURING, like=("fedora",))
    assert said(database, "system.driver_repository", here) == "NVIDIA"
    assert "nvidia-driver:580-open" in str(said(database, "system.branch_command", here))
    assert said(database, "system.branch_command", machine("ol", "9.6", TURING, like=("fedora",))) is None


@pytest.mark.parametrize(("here", "part"), [
    (machine("debian", "12", TURING), "repos/debian12/x86_64/"),
    (machine("debian", "13", TURING, architecture="aarch64"), "repos/debian13/sbsa/"),
    (machine("almalinux", "9.6", TURING, like=("rhel", "centos", "fedora")), "cuda-rhel9.repo"),
    (machine("debian", "11", TURING), None), (machine("debian", "", TURING), None),
    (machine("ubuntu", "24.04", TURING), None),
    (machine("sles", "15.6", TURING), "https://download.nvidia.com/suse/sle15sp6 "),
    (machine("sles", "16.1", TURING), "https://download.nvidia.com/suse/sle16.1 "),
    (machine("sles", "15.7", PASCAL, architecture="aarch64"), "/repos/sles15/sbsa "),
    (machine("sles", "15.7", TURING, architecture="aarch64"), None),
    (machine("opensuse-leap", "16.1", TURING), "https://download.nvidia.com/opensuse/leap/16.1 "),
    (machine("opensuse-tumbleweed", "20261101", TURING), "https://download.nvidia.com/opensuse/tumbleweed "),
    (machine("debian", "12", KEPLER), "main contrib non-free"), (machine("debian", "13", KEPLER), None),
    (machine("fedora", "44", KEPLER), "rpmfusion-nonfree-release"),
])
def test_the_repository_is_added_for_the_version_and_the_processor(
    database: RuleDatabase, here: Change, part: str | None,
) -> None:
    """A version that the repository does not serve gets no command, and then none that would need it."""
    command = said(database, "system.driver_repository_command", here)
    assert command is None if part is None else part in str(command)


@pytest.mark.parametrize(("here", "command"), [
    (machine("debian", "13", TURING), "sudo apt-get install nvidia-driver"),
    (machine("debian", "13", BLACKWELL), None),
    (machine("ubuntu", "24.04", BLACKWELL), "sudo ubuntu-drivers install"),
    (machine("ubuntu", "24.04", KEPLER), None),
    (machine("arch", "", PASCAL), None),
])
def test_the_distributions_own_driver_is_offered_only_where_it_serves_the_card(
    database: RuleDatabase, here: Change, command: str | None,
) -> None:
    """Debian's own packages bring 535 or 550 with the proprietary module: nothing for Blackwell."""
    assert said(database, "system.driver_command", here) == command


def test_the_compute_capability_counts_where_the_bus_shows_no_card(database: RuleDatabase) -> None:
    """As under `--assume cc=6.1`."""
    here = {**machine("ubuntu", "24.04"), "cc": "6.1"}
    assert said(database, "system.branch_command", here) == "sudo apt-get install nvidia-driver-580"


def test_there_is_always_a_guide(database: RuleDatabase) -> None:
    """Where no command is known, the fix leads to where the way is written down."""
    assert str(said(database, "system.driver_guide", machine("slackware", "15.0", TURING))).startswith("https://")
    assert "nvidia-580xx" in str(said(database, "system.driver_guide", machine("arch", "", PASCAL)))
    assert "nvidia-470xx" in str(said(database, "system.driver_guide", machine("arch", "", KEPLER)))


@pytest.mark.parametrize(("here", "part"), [
    (machine("arch", "", KEPLER), "nvidia-470xx-dkms"), (machine("arch", "", PASCAL), "nvidia-580xx-dkms"),
    (machine("ubuntu", "24.04", KEPLER), RUN), (machine("debian", "13", KEPLER), RUN),
    (machine("rocky", "9.6", KEPLER, like=("rhel",)), RUN), (machine("slackware", "15.0", KEPLER), RUN),
    (machine("gentoo", "", KEPLER), RUN), (machine("opensuse-leap", "16.0", KEPLER, like=SUSE), RUN),
    (machine("opensuse-tumbleweed", "20261101", PASCAL, like=SUSE), "G06"),
    (machine("debian", "12", KEPLER), None), (machine("fedora", "44", KEPLER), None),
    (machine("almalinux", "8.10", KEPLER, like=("rhel",)), None),
    (machine("ubuntu", "24.04", PASCAL), None), (machine("arch", "", TURING), None),
    ({**machine("ubuntu", "24.04", KEPLER), "system.wsl": 2}, None),
])
def test_where_no_command_installs_the_branch_it_is_said_where_it_comes_from(
    database: RuleDatabase, here: Change, part: str | None,
) -> None:
    """A Tesla K80 is served by branch 470 alone, which most distributions have no more."""
    way = said(database, "system.driver_way", here)
    assert way is None if part is None else part in str(way)


@pytest.mark.parametrize(("here", "driver"), [
    (machine("arch", "", TURING), "590.48.01"), (machine("opensuse-leap", "16.0", TURING), "595.45.04"),
    (machine("debian", "12", KEPLER), "470.256.02"), (machine("ubuntu", "24.04", KEPLER), "470.256.02"),
    (machine("rhel", "8.10", KEPLER), "470.82.01"), (machine("rhel", "9.6", KEPLER), "470.256.02"),
    (machine("ubuntu", "24.04", TURING), "580.65.06"), (machine("slackware", "15.0", TURING), "580.65.06"),
])
def test_the_named_driver_is_the_one_that_the_command_brings(
    database: RuleDatabase, here: Change, driver: str,
) -> None:
    """On Arch `pacman -S nvidia-open-dkms` was said to bring 580.65.06, which it does not have."""
    assert said(database, "system.maintained_driver", here) == driver
