"""What a step does to the system's packages is undone exactly: with apt and dpkg of a throw-away root."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpudoctor.cli import installed_packages
from gpudoctor.cli.installed_packages import Manager, Package, State
from tests.harness.engine import system
from tests.hosts.test_fix import Place, outcomes

CONTROL = """Package: {name}
Version: {version}
Architecture: all
Maintainer: nobody <nobody@example.invalid>
Description: a package for tests
{more}"""
DRIVER, LIBRARY, OLD, MORE = (f"gpudoctor-{word}" for word in ("driver", "library", "old", "more"))
PACKAGES = (
    (DRIVER, "1.0", f"Depends: {LIBRARY} (= 1.0)\n"),
    (DRIVER, "2.0", f"Depends: {LIBRARY} (= 2.0), {MORE}\nConflicts: {OLD}\n"),
    (LIBRARY, "1.0", ""), (LIBRARY, "2.0", ""), (OLD, "1:1.0-1", ""), (MORE, "1.0", ""))
PURGE = "echo first && apt-get purge gpudoctor-driver && echo last"
IN_ROOT = "DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin"
BEFORE = {DRIVER: "1.0", LIBRARY: "1.0", OLD: "1:1.0-1"}


class Root:
    """A small Debian in a folder, with a repository of our packages and no other."""

    def __init__(self, folder: Path) -> None:
        self.root, self.programs = folder / "root", folder / "programs"
        self.root.mkdir()
        subprocess.run(["tar", "-C", str(self.root), "-xf", str(system())], check=True)
        self._publish()
        (self.root / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/repository ./\n")
        (self.root / "etc/apt/apt.conf.d/99tests").write_text('APT::Get::Assume-Yes "true";\n')
        self.programs.mkdir()
        for name in ("apt-get", "apt-mark", "dpkg-query"):
            program = self.programs / name
            program.write_text(f"#!/bin/sh\nexec chroot {self.root} env -i {IN_ROOT} {name} \"$@\"\n")
            program.chmod(0o755)
        self.run("apt-get update && apt-get install gpudoctor-driver=1.0 gpudoctor-library=1.0 "
                 "gpudoctor-old && apt-mark auto gpudoctor-library")

    def _publish(self) -> None:
        repository = self.root / "repository"
        entries = []
        for name, version, more in PACKAGES:
            build = repository / "build"
            (build / "DEBIAN").mkdir(parents=True)
            control = CONTROL.format(name=name, version=version, more=more)
            (build / "DEBIAN/control").write_text(control)
            file = repository / f"{name}_{version.replace(':', '.')}.deb"
            subprocess.run(["dpkg-deb", "--build", str(build), str(file)], check=True, capture_output=True)
            shutil.rmtree(build)
            entries.append(f"{control}Filename: ./{file.name}\nSize: {file.stat().st_size}\n"
                           f"SHA256: {hashlib.sha256(file.read_bytes()).hexdigest()}\n")
        (repository / "Packages").write_text("\n".join(entries))

    @property
    def path(self) -> str:
        """Return a PATH on which the programs of the root come first."""
        return f"{self.programs}:{os.environ['PATH']}"

    def run(self, command: str) -> str:
        """Run a command in a shell, as a person copies it."""
        ran = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True,
                             env={**os.environ, "PATH": self.path})
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def held(self) -> dict[str, str]:
        """Return our packages that are installed."""
        said = self.run("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n' 'gpudoctor-*'")
        listed = [line.split() for line in said.splitlines()]
        return {name: version for name, version, *state in listed if state == ["ii"]}

    def automatic(self) -> list[str]:
        """Return those of our packages that came for others alone."""
        return [name for name in self.run("apt-mark showauto").split() if name.startswith("gpudoctor-")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    """Make it once."""
    missing = [name for name in ("debootstrap", "dpkg-deb", "chroot") if shutil.which(name) is None]
    if missing or os.geteuid():
        pytest.skip(f"needs root and {' '.join(missing) or 'debootstrap'}")
    return Root(tmp_path_factory.mktemp("apt"))


@pytest.mark.parametrize("further", [[], ["exit 1"]])
def test_what_apt_did_is_undone(root: Root, tmp_path: Path, further: list[str]) -> None:
    """What was updated, what came along, what had to go, and which packages nobody had asked for."""
    assert (root.held(), root.automatic()) == (BEFORE, [LIBRARY])
    place = Place(tmp_path)
    place.environment["PATH"] = root.path
    place.page(1, ["apt-get install gpudoctor-driver=2.0", *further])
    page = next((place.rules / "host").iterdir())
    page.write_text(page.read_text().replace("echo undo 1", PURGE))
    document, _ = place.applied()
    assert outcomes(document) == ["failed" if further else "done"]
    assert root.held() == {DRIVER: "2.0", LIBRARY: "2.0", MORE: "1.0"}
    commands = [line for line in document["applied"]["undo"] if not line.startswith("#")]
    assert commands == [
        "echo first",
        ("apt-get install --allow-downgrades --no-install-recommends --purge gpudoctor-driver=1.0 "
         "gpudoctor-library=1.0 gpudoctor-old=1:1.0-1 gpudoctor-more-"), "apt-mark auto gpudoctor-library",
        "echo last"]
    written = place.log.read_text()
    assert "".join(f"  {line}\n" for line in document["applied"]["undo"]) in written
    noted = written.partition("WHAT WAS INSTALLED BEFORE STEP 1, as apt says\n")[2].splitlines()
    assert {f"  {name} all {version}" for name, version in BEFORE.items()} < set(noted)
    assert any(line.startswith("  libc6 amd64 ") for line in noted)
    for command in commands:
        root.run(command)
    assert (root.held(), root.automatic()) == (BEFORE, [LIBRARY])


def test_where_nothing_was_changed_there_is_nothing_to_undo(root: Root, tmp_path: Path) -> None:
    """What a page would undo roughly is not printed: it would take away what was there before."""
    place = Place(tmp_path)
    place.environment["PATH"] = root.path
    place.page(1, ["apt-get install gpudoctor-driver=3.0"])
    page = next((place.rules / "host").iterdir())
    page.write_text(page.read_text().replace("echo undo 1", "apt-get purge gpudoctor-driver"))
    document, _ = place.applied()
    assert (outcomes(document), document["applied"]["undo"]) == (["failed"], [])
    assert root.held() == BEFORE


def test_where_the_manager_does_not_answer_the_page_says_the_way_back(tmp_path: Path) -> None:
    """There is no pacman here: that its versions are not noted is in the log, and the step is run."""
    place = Place(tmp_path)
    place.page(1, ["mv {python.shadowing_files} moved; : pacman -S nothing"])
    document, _ = place.applied()
    assert (outcomes(document), document["applied"]["undo"]) == (["done"], ["echo undo 1"])
    assert "pacman did not say which packages are installed" in place.log.read_text()


def manager(command: str) -> Manager:
    found = installed_packages.manager_of([command])
    assert found is not None
    return found


@pytest.mark.parametrize(("command", "name"), [
    ("sudo apt-get install -y a", "apt"), ("if x; then sudo apt-get purge a; fi", "apt"),
    ("sudo ubuntu-drivers install", "apt"), ("sudo dpkg -i a.deb && sudo apt-get update", "apt"),
    ("sudo dnf module install -y nvidia-driver", "dnf"), ("sudo dnf module enable a:b", "dnf"),
    ("sudo zypper --gpg-auto-import-keys install -y a", "zypper"),
    ("sudo pacman -Syu a", "pacman"), ("sudo apt-get update", ""), ("apt-cache policy install", ""),
    ("sudo dnf versionlock add a", ""), ("pip install apt-get", ""), ("sudo modprobe nvidia", "")])
def test_which_commands_change_packages(command: str, name: str) -> None:
    found = installed_packages.manager_of([command])
    assert (found.name if found is not None else "") == name


def state(*lines: str) -> State:
    """Return packages written as NAME ARCHITECTURE VERSION."""
    return State(packages=frozenset(Package(name=one[0], architecture=one[1], version=one[2])
                                    for one in (line.split() for line in lines)))


KERNELS = ("kernel x86_64 5.14-1", "driver x86_64 3:570-1", "driver i686 3:570-1", "gone noarch 1-1")
LATER = ("kernel x86_64 5.14-1", "kernel x86_64 5.15-1", "driver x86_64 3:580-1", "driver i686 3:570-1",
         "new noarch 1-1")


@pytest.mark.parametrize(("command", "expected"), [
    ("dnf install x", ["sudo dnf install --allowerasing driver-3:570-1.x86_64 gone-1-1.noarch",
                       ("sudo dnf remove --setopt=clean_requirements_on_remove=False kernel-5.15-1.x86_64 "
                        "new-1-1.noarch")]),
    ("zypper install x", [("sudo zypper install --oldpackage -- driver.x86_64=3:570-1 gone.noarch=1-1 "
                           "-kernel.x86_64=5.15-1 -new.noarch=1-1")]),
    ("pacman -S x", ["sudo pacman -R kernel new",
                     "# no longer in /var/cache/pacman/pkg: driver 3:570-1, gone 1-1"])])
def test_commands_between_two_states(command: str, expected: list[str]) -> None:
    """A kernel comes beside the one from before; a name of two architectures is two packages."""
    found = installed_packages.undo(manager(command), state(*KERNELS), state(*LATER))
    assert list(found) == expected
    assert installed_packages.undo(manager(command), state(*KERNELS), state(*KERNELS)) == ()


@pytest.mark.parametrize(("command", "program", "said", "expected"), [
    ("apt-get install x", "dpkg-query", "a\tamd64\t1\tii \nb\tall\t2\trc \nc\ti386\t3\thi \nbroken\n",
     state("a amd64 1", "c i386 3")),
    ("dnf install x", "rpm", "a\tx86_64\t1:2-3\nkey\t(none)\t1-2\n",
     state("a x86_64 1:2-3")),
    ("zypper install x", "rpm", "", state()), ("pacman -S x", "pacman", "a 1:2-3\n", None)])
def test_what_managers_say(
    command: str, program: str, said: str, expected: State | None, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names whose configuration alone is left are not installed; an empty list is an answer, too."""
    for name, text in ((program, said), ("apt-mark", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\nprintf %s '{text}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = installed_packages.installed(manager(command))
    if command.startswith("pacman"):
        expected = State(packages=frozenset({Package(name="a", architecture="", version="1:2-3")}))
    assert found == expected
