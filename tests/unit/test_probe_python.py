"""The python probe: what an interpreter says of itself, asked in environments of several kinds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes import python, requirements
from gpudoctor.probes.raw import Answer
from tests.harness.patient import Patient
from tests.unit.file_answers import ask, good, interpreter, value

SYSTEM = "/usr/bin/python3"


def read(executable: str, environment: dict[str, str] | None = None, **request: object) -> dict[str, Fact]:
    answer = ask("frameworks", interpreter=executable, request=request, environment=environment)
    assert answer.outcome == "ok", answer
    return python.read(answer)


@pytest.mark.parametrize(
    ("version", "abi"), [("3.6", "cp36m"), ("3.7", "cp37m"), ("3.8", "cp38"), ("3.13", "cp313")]
)
def test_every_supported_python_describes_itself(version: str, abi: str) -> None:
    """The payload runs on Python 3.6 as on the newest."""
    executable = interpreter(version)
    facts = read(executable, because="a test")
    said = subprocess.run([executable, "-c", "import sys; print(sys.version.split()[0], sys.prefix)"],
                          check=True, capture_output=True, text=True).stdout.split()  # fmt: skip
    assert [value(facts["python.version"]), value(facts["python.prefix"])] == said
    assert value(facts["python.abi"]) == abi
    assert value(facts["python.environment"]) == "base"
    assert value(facts["python.chosen_because"]) == "a test"
    assert not [name for name, fact in facts.items() if isinstance(fact, Unknown)]


def test_a_virtual_environment(tmp_path: Path) -> None:
    """Its packages are its own; pip may be missing; a marker of the base interpreter does not count there."""
    patient = Patient.create(tmp_path / "venv", python="3.12")
    facts = read(str(patient.python))
    assert value(facts["python.environment"]) == "venv"
    assert value(facts["python.executable"]) == str(patient.python)
    assert value(facts["python.site_packages"]) == (str(patient.site_packages),)
    assert value(facts["python.user_site"]) is False
    assert isinstance(facts["python.pip_version"], Absent)
    patient.install("pip", "24.0", libraries="none")
    assert value(read(str(patient.python))["python.pip_version"]) == "24.0"


@pytest.mark.parametrize(("left", "tool"), [
    (".venv/pipx_metadata.json", "pipx"), ("poetry.lock", "poetry"), ("uv.lock", "uv"), ("pdm.lock", "pdm"),
    ("Pipfile.lock", "pipenv"), (".venv/.project", "pipenv"), (".venv/uv-receipt.toml", "uv tool"),
    ("other.lock", None)])
def test_whose_environment_it_is(left: str, tool: str | None, tmp_path: Path) -> None:
    """As pipx 1.18, Poetry 2.5 and uv 0.13 leave their files in an environment and beside it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")], check=True)
    (tmp_path / left).write_text("")
    facts = read(str(tmp_path / ".venv" / "bin" / "python"))
    assert (value(facts["python.kept_by"]) if tool else facts["python.kept_by"]) == (tool or Absent(
        source="no file of a tool that keeps environments lies in or beside it, and none installed it"))


@pytest.mark.parametrize(("said", "tool"), [("Poetry 2.5.1", "poetry"), ("pdm", "pdm"), ("pip\n", None),
                                            ("uv", None), ("poetry-like", None), ("", None)])
@pytest.mark.parametrize(("package", "version"), [("torch", "2.5.1"), ("nvidia-cudnn-cu12", "9.5.0.50")])
def test_whose_environment_it_is_where_it_lies_elsewhere(package: str, version: str, said: str,
                                                         tool: str | None, tmp_path: Path) -> None:
    """POETRY_CACHE_DIR and virtualenvs.path lead anywhere, and an environment of one's own may be active.

    Poetry 2.5.1 and PDM 2.29.4 sign what they install; pip and uv also sign what nothing keeps.
    """
    patient = Patient.create(tmp_path / "demo-koPcKbFb-py3.12", python="3.12")
    patient.install(package, version, libraries="none")
    folder = f"{package.replace('-', '_')}-{version}.dist-info"
    (patient.site_packages / folder / "INSTALLER").write_text(said)
    fact = read(str(patient.python))["python.kept_by"]
    assert (value(fact) if tool else type(fact)) == (tool or Absent)


def test_uv_is_named_where_a_shell_would_find_it(tmp_path: Path) -> None:
    """`uv pip install` was the way out of an environment without pip also where there is no uv."""
    folder = str(tmp_path)
    assert read(sys.executable, {"PATH": folder})["python.uv"] == Absent(source="PATH")
    (tmp_path / "uv").touch(mode=0o755)
    assert value(read(sys.executable, {"PATH": folder})["python.uv"]) == f"{folder}/uv"


@pytest.mark.skipif(not Path(SYSTEM).exists(), reason="no system Python")
def test_the_system_python_and_an_environment_made_of_it(tmp_path: Path) -> None:
    """pip refuses to install into the one (PEP 668, where the distribution says so), not into the other."""
    facts = read(SYSTEM)
    marked = [*Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED")]
    assert value(facts["python.environment"]) == "system"
    assert value(facts["python.externally_managed"]) is bool(marked)
    subprocess.run([SYSTEM, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    facts = read(str(tmp_path / "venv/bin/python"))
    assert value(facts["python.environment"]) == "venv"
    assert value(facts["python.externally_managed"]) is False


def test_the_users_own_package_folder(tmp_path: Path) -> None:
    """It is searched only when it exists and nobody switched it off."""
    executable = interpreter("3.11")
    facts = read(executable, {"PYTHONUSERBASE": str(tmp_path)})
    assert value(facts["python.user_site"]) is False
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    facts = read(executable, {"PYTHONUSERBASE": str(tmp_path)})
    assert value(facts["python.user_site"]) is True
    assert str(folder) in value(facts["python.site_packages"])  # type: ignore[operator]
    facts = read(executable, {"PYTHONUSERBASE": str(tmp_path), "PYTHONNOUSERSITE": "1"})
    assert value(facts["python.user_site"]) is False


def test_local_files_that_hide_a_module(tmp_path: Path) -> None:
    """A file, a package folder; not a folder without __init__.py, nor a built framework, nor other names."""
    for name in (
        "random.py",
        "torch.py",
        "notes.py",
        "jax/__init__.py",
        "keras/readme.md",
        "paddle/version/__init__.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [str(tmp_path / name) for name in ("jax", "random.py", "torch.py")]
    executable = interpreter("3.11")
    assert value(read(executable, folders=[str(tmp_path)])["python.shadowing_files"]) == tuple(found)
    (tmp_path / "random.py").unlink()  # on PYTHONPATH it would hide the module from the collector, too
    on_path = value(read(executable, {"PYTHONPATH": str(tmp_path)})["python.shadowing_files"])
    assert on_path == (found[0], found[2])


def test_an_installed_package_hides_nothing(tmp_path: Path) -> None:
    """`pip install --target` and PYTHONPATH are a way to install."""
    patient = Patient.create(tmp_path / "venv", python="3.12")
    patient.install("torch", "2.15.0", libraries="none")
    facts = read(interpreter("3.12"), {"PYTHONPATH": str(patient.site_packages)})
    assert isinstance(facts["python.shadowing_files"], Absent)


def sample(**changes: Any) -> dict[str, Fact]:
    told = {
        "prefix": "/opt/x",
        "base_prefix": "/opt/x",
        "extension_suffix": ".cpython-312-x86_64-linux-gnu.so",
    }
    return python.read(good({"python": {**told, **changes}}))


@pytest.mark.parametrize(
    ("changes", "environment"),
    [
        ({"conda_packages": ["python-3.12.1-h_0"]}, "conda"),
        ({"conda_packages": ["python-3.12.1-h_0"], "base_prefix": "/opt/conda"}, "venv"),
        ({"real_prefix": "/usr"}, "venv"),
        ({"prefix": "/usr", "base_prefix": "/usr"}, "system"),
        ({}, "base"),
    ],
)
def test_kinds_of_environment(changes: dict[str, Any], environment: str) -> None:
    """A venv inside conda is a venv: pip is what installs there."""
    assert value(sample(**changes)["python.environment"]) == environment


@pytest.mark.parametrize(
    ("suffix", "abi"),
    [
        (".cpython-313t-x86_64-linux-gnu.so", "cp313t"),
        (".cpython-36m-aarch64-linux-gnu.so", "cp36m"),
        (".pypy310-pp73-x86_64-linux-gnu.so", "pypy310"),
        (".abi3.so", None),
    ],
)
def test_extension_tags(suffix: str, abi: str | None) -> None:
    """As wheel tags write them, also of free-threaded and old interpreters."""
    fact = sample(extension_suffix=suffix)["python.abi"]
    assert (fact.value if isinstance(fact, Known) else None) == abi


def test_identical_files_are_no_collision() -> None:
    """Two distributions that ship the very same file do each other no harm."""
    owners = ["tensorflow", "tensorflow-cpu"]
    data = {
        "collisions": [{"file": "/x.so", "owners": owners, "matches": "identical", "decided_by": "record"}]
    }
    facts = python.read(good(data))
    assert value(facts["python.collisions"]) == ()
    assert value(facts["python.colliding_distributions"]) == ()


def test_a_patient_that_never_answered_is_unknown_throughout() -> None:
    """Every promised name, with the reason."""
    answer = Answer(outcome="signal", seconds=1.0, detail="SIGSEGV")
    assert set(python.read(answer).values()) == {answer.unknown}


@pytest.mark.parametrize("said", ["9" * 5000, "\u0663.1", "x"])
def test_what_is_no_version_is_not_known(said: str) -> None:
    """Regression: thousands of digits in the folder of a distribution ended check with exit code 5."""
    assert isinstance(python.version_fact(said, "test"), Unknown)


def test_a_requirement_that_nobody_can_read_is_none() -> None:
    """Regression: so did thousands of digits in a marker."""
    lines = [f"nvidia-a-cu12; python_version<'3.{'9' * 5000}'", "nvidia-b-cu12==1.0"]
    assert [*requirements.required({"requires": lines}, frozenset(), {"python_version": "3.12"}, {})] == [
        "nvidia-b-cu12==1.0"]
