"""What pip changed is undone exactly by the commands that `fix --apply` prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.cli import packages
from tests.hosts.test_fix import Place, outcomes
from tests.machines import local_wheels


class Environment:
    """A throw-away environment with a package of our own, and wheels of others."""

    def __init__(self, folder: Path) -> None:
        self.python, self.wheels = folder / "venv's own" / "bin" / "python", folder / "wheels"
        subprocess.run([sys.executable, "-m", "venv", str(self.python.parent.parent)], check=True)
        for name, version in (("gpudoctor-a", "1.0"), ("gpudoctor-a", "2.0"), ("gpudoctor-b", "1.0")):
            local_wheels.build(self.wheels, name, version, {f"{name.replace('-', '_')}/{version}.so": "x.so"})
        self.settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels),
                         "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        self.run(f"'{self.python.parent}/pip' install gpudoctor-a==1.0".replace("venv's", "venv'\"'\"'s"))

    def run(self, command: str) -> None:
        """Run a command of pip in a shell, as a person copies it."""
        subprocess.run(["sh", "-c", command], check=True, capture_output=True, env=self.settings)

    def held(self) -> list[str]:
        """Return our packages and their versions, as pip says."""
        said = subprocess.run([str(self.python), "-m", "pip", "freeze"], check=True, capture_output=True,
                              text=True, env=self.settings)
        return sorted(line.partition(" @")[0] for line in said.stdout.splitlines() if "gpudoctor" in line)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Make it once."""
    return Environment(tmp_path_factory.mktemp("packages"))


@pytest.mark.parametrize("further", [[], ["exit 1"]])
def test_what_pip_did_is_undone(further: list[str], environment: Environment, tmp_path: Path) -> None:
    """Also where a later command of the step failed: what is new goes, what was there comes back."""
    place = Place(tmp_path)
    place.environment.update(environment.settings)
    place.page(1, ["{python.pip_command} gpudoctor-a==2.0 gpudoctor-b", *further])
    page = next((place.rules / "host").iterdir())
    page.write_text(page.read_text().replace('kind = "system"', 'kind = "pip"'))
    assert environment.held() == ["gpudoctor-a==1.0"]
    document, _ = place.applied("--python", str(environment.python))
    assert outcomes(document) == ["failed" if further else "done"]
    assert environment.held() == ["gpudoctor-a==2.0", "gpudoctor-b==1.0"]
    undo = document["applied"]["undo"]
    assert [line.partition("-m pip ")[2] for line in undo] == [
        "uninstall --yes gpudoctor-b", "install --no-deps gpudoctor-a==1.0"]
    assert "".join(f"  {line}\n" for line in undo) in place.log.read_text()
    for command in undo:
        environment.run(command)
    assert environment.held() == ["gpudoctor-a==1.0"]


@pytest.mark.parametrize(("before", "after", "expected"), [
    ({"a": "1"}, {"a": "1"}, ()), ({}, {"a": "1", "b": "2"}, ("un a b",)),
    ({"a": "1", "b": "2"}, {"b": "3"}, ("in --no-deps a==1 b==2",)),
    ({"a": "1"}, {"a;x": "1"}, ("un 'a;x'", "in --no-deps a==1")),
    ({"a": "1+cu1"}, {"a": "1"}, ("in --no-deps a==1+cu1 --extra-index-url https://x.example/cu1",)),
    ({"a": "1+own"}, {"a": "1"}, ("in --no-deps a==1+own",)),
])
def test_commands_between_two_states(
    before: dict[str, str], after: dict[str, str], expected: tuple[str, ...],
) -> None:
    """Names from folders are quoted; a build with a known label comes from the index of that label."""
    assert packages.undo(before, after, ("in", "un"), {"cu1": "https://x.example/cu1"}) == expected
