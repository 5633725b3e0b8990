"""What lock files pin, what environments of hatch ask for, and Dockerfiles that are called otherwise."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.statements import Environment
from tests.unit.test_manifest_troubles import causes, judged

UV = """version = 1
requires-python = "==3.12.*"

[[package]]
name = "app"
source = { virtual = "." }
dependencies = [{ name = "tensorflow", extra = ["and-cuda"] }, { name = "torch" }]

[[package]]
name = "tensorflow"
version = "2.20.0"
source = { registry = "https://index.example/simple" }

[[package]]
name = "torch"
version = "2.9.0+cu130"
source = { registry = "https://download.pytorch.org/whl/cu130" }

[[package]]
name = "jax"
version = "0.5.3"
source = { git = "https://git.example/jax" }

[[package]]
name = "numpy"
version = "1.26.4"

[[package]]
name = "numpy"
version = "2.1.0"
"""
POETRY = """[[package]]
name = "torch"
version = "2.6.0+cu124"

[package.source]
type = "legacy"
url = "https://download.pytorch.org/whl/cu124"
reference = "cu124"

[[package]]
name = "mine"
version = "1"

[package.dependencies]
jax = {version = "0.5.3", extras = ["cuda12"]}

[package.source]
type = "git"
url = "https://git.example/mine"

[[package]]
name = "jax"
version = "0.5.3"

[metadata]
python-versions = "~3.11"
"""


def only(name: str, text: str) -> Environment:
    """Return the one environment that a file describes."""
    found, = kinds.environments(Source(file=name, text=text), lambda _: None)
    return found


def test_a_lock_of_uv() -> None:
    """Extras stand where a package is asked for; an index is named only where a local label shows it."""
    found = only("uv.lock", UV)
    assert [(one.text, one.index, one.place.line) for one in found.asked] == [
        ("tensorflow[and-cuda]==2.20.0", None, 9),
        ("torch==2.9.0+cu130", "https://download.pytorch.org/whl/cu130", 14)]
    assert [(one.why.split(":")[0], one.of_framework) for one in found.unread] == [
        ("jax is no release of an index, so what it is was not judged", True),
        ("numpy is locked in several versions", False)]
    assert found.python == "3.12"


def test_a_lock_of_poetry() -> None:
    found = only("poetry.lock", POETRY)
    assert [(one.text, one.index) for one in found.asked] == [
        ("torch==2.6.0+cu124", "https://download.pytorch.org/whl/cu124"), ("jax[cuda12]==0.5.3", None)]
    assert found.python == "3.11"


def test_a_lock_of_pip() -> None:
    """PEP 751: packages in the plural."""
    found = only("pylock.toml", '[[packages]]\nname = "torch"\nversion = "2.6.0"\n'
                                '[[packages]]\nname = "jax"\nversion = "1"\ndirectory = { path = "." }\n')
    assert [one.text for one in found.asked] == ["torch==2.6.0"]
    assert [one.of_framework for one in found.unread] == [True]


def test_a_locked_release_is_judged_as_a_written_one() -> None:
    assert "driver-too-old" in causes(judged({"uv.lock": UV}, "driver=535.104.05", gpu=True))


@pytest.mark.parametrize("text", ["[[package]]\n", "package = 1\n", '[[package]]\nname = "torch"\n',
                                  "x = 1\n",
                                  '[[package]]\nname = 1\nversion = []\nsource = "x"\ndependencies = 2\n'])
def test_a_lock_without_packages_pins_nothing(text: str) -> None:
    assert only("uv.lock", text).asked == ()


def test_environments_of_hatch() -> None:
    """Each is one of its own; what it adds counts as well."""
    text = ('[tool.hatch.envs.gpu]\ndependencies = ["torch==2.6.0"]\nextra-dependencies = ["jax"]\n'
            '[tool.hatch.envs.docs]\n')
    found = kinds.environments(Source(file="pyproject.toml", text=text), lambda _: None)
    assert [(one.name, [asked.text for asked in one.asked]) for one in found] == [
        ("group hatch gpu", ["torch==2.6.0", "jax"]), ("group hatch docs", [])]


@pytest.mark.parametrize("text", [
    "FROM a\n", "# x\n\nARG A=1\n  FROM --platform=linux/amd64 a:1 AS b\n", "\ufefffrom ${A}\r\nRUN x\n",
    "# x\r\n\r\nFROM a@sha256:" + "0" * 64])
def test_a_dockerfile_by_what_it_begins_with(text: str) -> None:
    """D.cuda and image are Dockerfiles, too."""
    assert only("D.cuda", text).image is not None


@pytest.mark.parametrize("text", ["FROM here on\n", "x\nFROM a\n", "", "# only this\n",
                                  " " * 20000 + "\n" * 20000])
def test_what_begins_otherwise_is_none(text: str) -> None:
    with pytest.raises(ManifestError, match="does not begin with FROM"):
        only("notes", text)
