"""What a package manager was told to do is taken back, and the driver from before comes back."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gpudoctor import planning, ruledb
from gpudoctor.assume import lay
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Absent, Fact, Known, RuleDatabase
from gpudoctor.model.plan import Step
from gpudoctor.planning.taken_back import take_back
from tests.unit.derived_facts import Change

RULES = Path(__file__).parents[2] / "rules"
NO_DRIVER: Change = {"driver": "none"}
INSTALLED = "dpkg -l | awk '/^ii +nvidia-driver-/ {print $2}'"
APT_HISTORY = "/var/log/apt/history.log"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def step(database: RuleDatabase, distribution: str, version: str, *changes: Change) -> Step:
    """Return the first step on a machine of the distribution with an RTX 4090, seen on the bus."""
    card = {"address": "0000:01:00.0", "device": "2684", "class": "0x030000", "driver": ""}
    laid: dict[str, object] = {
        "system.pci_nvidia": (card,), "system.architecture": "x86_64", "cc": "8.9",
        "system.distribution": distribution, "system.distribution_version": version}
    for change in changes:
        laid.update(change)
    facts: Mapping[str, Fact] = {
        name: value if isinstance(value, Known | Absent) else Known(value=value, source="x")  # type: ignore[arg-type]
        for name, value in laid.items()}
    machine = lay(database.base, facts, database.tables, source="x")
    return planning.make(examine(machine, database, Policy()), machine, database).steps[0]


@pytest.mark.parametrize(("distribution", "version", "undo"), [
    ("ubuntu", "24.04", (f"sudo apt-get purge --autoremove $({INSTALLED})",)),
    ("sles", "15.7", ("sudo zypper remove --clean-deps nvidia-open-driver-G07-signed-kmp-meta",)),
    ("fedora", "44", ("sudo dnf remove akmod-nvidia xorg-x11-drv-nvidia-cuda",)),
    ("rhel", "9.6", ("sudo dnf remove nvidia-open", "sudo dnf module reset nvidia-driver")),
    ("rhel", "10.1", ("sudo dnf remove nvidia-open", "sudo dnf versionlock delete '*nvidia*580*'")),
    ("opensuse-leap", "16.0", ("sudo zypper remove --clean-deps nvidia-open-driver-G07-signed-kmp-meta",)),
    ("arch", "", ("sudo pacman -Rs nvidia-open-dkms nvidia-utils",)),
])
def test_a_first_driver_is_removed_again(
    database: RuleDatabase, distribution: str, version: str, undo: tuple[str, ...],
) -> None:
    """By the manager that installed it; what was done last is taken back first."""
    first = step(database, distribution, version, NO_DRIVER, {"system.user_id": 1000})
    assert first.undo == undo
    assert "no driver was there before" in first.undo_note


def test_debians_sources_come_back_behind_the_driver(database: RuleDatabase) -> None:
    """They are brought back exactly, and only where they were changed: the command looks itself."""
    first = step(database, "debian", "13", NO_DRIVER, {"system.user_id": 1000})
    assert first.commands[0].startswith("if ! apt-cache policy nvidia-driver ")
    assert first.undo[0] == "sudo apt-get purge --autoremove nvidia-driver"
    assert "if [ -e $file.before-non-free ]" in first.undo[1]


def test_a_repository_stays_and_the_note_says_how_it_goes(database: RuleDatabase) -> None:
    """It may have been there before; a command that is run unread would take it from others."""
    first = step(database, "opensuse-leap", "16.0", NO_DRIVER, {"system.user_id": 1000})
    assert not any("removerepo" in command for command in first.undo)
    assert "where it was not there before: sudo zypper removerepo NVIDIA" in first.undo_note


OLD: Change = {"driver": "570.86.15", "release": "torch==2.15.0", "system.user_id": 1000}


def test_the_branch_from_before_comes_back(database: RuleDatabase) -> None:
    """Its packages may be gone from the archive since, which is said."""
    first = step(database, "ubuntu", "24.04", OLD, {"driver.kernel_flavour": "open"})
    assert first.commands == ("sudo apt-get install nvidia-driver-580-open",)
    assert first.undo == ("sudo apt-get purge --autoremove nvidia-driver-580-open",
                          "sudo apt-get install nvidia-driver-570-open")
    assert "driver 570.86.15 was there before" in first.undo_note


@pytest.mark.parametrize(("distribution", "version", "changes", "history"), [
    ("fedora", "44", OLD, "dnf history undo"), ("arch", "", OLD, "pacman -U"),
    ("ubuntu", "24.04", {**OLD, "driver": "580.65.06", "driver.module_kernels": Absent(source="x"),
                         "driver.kernel_version": Absent(source="x"), "nvml.init_code": 9,
                         "nvml.driver_version": Absent(source="x"), "cuda.init_code": 100}, APT_HISTORY),
])
def test_packages_that_were_there_before_are_not_removed(
    database: RuleDatabase, distribution: str, version: str, changes: Change, history: str,
) -> None:
    """An update of the same packages is undone by their versions, which the manager's history names."""
    first = step(database, distribution, version, changes, {"driver.kernel_flavour": "open"})
    assert first.kind == "driver"
    assert first.undo == ()
    assert history in first.undo_note


def commands(database: RuleDatabase) -> Iterator[str]:
    """Yield every command of the table of driver packages, as on a machine."""
    for row in database.tables["driver_packages"].rows:
        for column, value in row.items():
            if column.endswith("command"):
                yield str(value).replace("BRANCH", "580").replace("VERSION", "9").replace("ARCH", "x86_64")


def test_every_command_of_the_driver_table_can_be_taken_back(database: RuleDatabase) -> None:
    """Also the next that somebody adds; and a shell can read what takes it back."""
    table = database.tables["undone_commands"]
    unknown = {command for command in commands(database) if take_back([command], table) is None}
    assert {command for command in unknown if "module switch-to" not in command} == set()
    for command in set(commands(database)) - unknown:
        found = take_back([command], table)
        assert found is not None
        for text in (*found.commands, *found.repositories):
            assert subprocess.run(["sh", "-n", "-c", text], check=False).returncode == 0, text
            assert not {"PACKAGES", "LAST"} & set(text.split())


@pytest.mark.parametrize("command", ["sudo make install", "sudo apt-getx install a", "sudo apt-get install",
                                     "sudo apt-get install $(cat list)", "sudo dnf install a | tee b"])
def test_what_nobody_knows_is_not_taken_back(database: RuleDatabase, command: str) -> None:
    """Neither another program, nor packages that only the shell can name."""
    assert take_back([command], database.tables["undone_commands"]) is None


def test_apt_understands_what_takes_its_command_back(database: RuleDatabase) -> None:
    """It is asked itself, about a package that is here, and only says what it would do."""
    listed = subprocess.run(["sh", "-c", "dpkg-query -W less tzdata netbase procps"], check=False, text=True,
                            capture_output=True).stdout.split()
    if shutil.which("apt-get") is None or not listed:
        pytest.skip("apt-get is not installed, or none of these packages")
    found = take_back([f"sudo apt-get install -y {listed[0]}"], database.tables["undone_commands"])
    assert found is not None
    words = found.commands[0].removeprefix("sudo ").split()
    said = subprocess.run([words[0], "--simulate", *words[1:]], check=True, text=True, capture_output=True,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}).stdout
    assert f"Purg {listed[0]} " in said


ONE_LINE = "deb http://mirror.example/debian trixie main non-free-firmware\n# deb x trixie main\n"
DEB822 = "Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\n"
ALL = "main contrib non-free non-free-firmware"


@pytest.mark.parametrize(("name", "before", "after"), [
    ("sources.list", ONE_LINE, ONE_LINE.replace("main non-free-firmware", ALL)),
    ("sources.list.d/debian.sources", DEB822, DEB822.replace("main", ALL)),
])
def test_debians_sources_get_what_holds_the_driver_and_come_back(
    database: RuleDatabase, name: str, before: str, after: str, tmp_path: Path,
) -> None:
    """A real shell and sed, in another folder, asking an apt that knows no package."""
    row = next(row for row in database.tables["driver_packages"].rows if row["distribution"] == "debian")
    command = str(row["own_repository_command"])
    taken = take_back([command], database.tables["undone_commands"])
    assert taken is not None
    sources = tmp_path / name
    sources.parent.mkdir(exist_ok=True)
    sources.write_text(before)
    (tmp_path / "apt.conf").write_text(
        f'Dir::State::lists "{tmp_path}/none"; Dir::State::status "/dev/null";\n')
    for text, expected in ((command, after), (taken.commands[0], before)):
        here = text.replace("/etc/apt", str(tmp_path)).replace("sudo apt-get update", "true")
        here = here.replace("sudo ", "")
        subprocess.run(["sh", "-euc", here], check=True, env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "APT_CONFIG": str(tmp_path / "apt.conf")})
        assert sources.read_text() == expected
