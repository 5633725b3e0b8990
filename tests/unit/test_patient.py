"""Which interpreter is examined, and what is said when the one that was asked for is none."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpudoctor.patient import NoPatient, Own, Patient, choose

REAL = os.path.realpath(sys.executable)


class Place:
    """A folder with environments in it, and gpudoctor's own interpreter in one of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own_prefix = self.environment("own")

    def environment(self, name: str) -> Path:
        """Make a folder that looks like an environment: bin/python leads to a real interpreter."""
        programs = self.root / name / "bin"
        programs.mkdir(parents=True)
        for program in ("python", "python3"):
            (programs / program).symlink_to(REAL)
        return self.root / name

    def choose(
        self,
        explicit: str | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        as_module: bool = False,
    ) -> Patient | NoPatient:
        own = Own(
            executable=str(self.own_prefix / "bin/python"),
            prefix=str(self.own_prefix),
            folders=(str(self.own_prefix / "site-packages"),),
            as_module=as_module,
        )
        return choose(explicit=explicit, environment=environment or {}, own=own, folder=str(self.root))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def chosen(answer: Patient | NoPatient) -> tuple[str, str]:
    assert isinstance(answer, Patient), answer
    return answer.executable, answer.because


def refused(answer: Patient | NoPatient) -> str:
    assert isinstance(answer, NoPatient), answer
    assert answer.reason.isprintable()
    return answer.reason


def test_the_order_of_preference(place: Place) -> None:
    """Each step down takes away what decided before."""
    active, conda, other = (place.environment(name) for name in ("active", "conda", "other"))
    environment = {"VIRTUAL_ENV": str(active), "CONDA_PREFIX": str(conda), "PATH": str(other / "bin")}
    package = place.own_prefix / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    own = str(place.own_prefix / "bin/python")
    assert chosen(place.choose(str(other), environment)) == (str(other / "bin/python"), f"--python {other}")
    assert chosen(place.choose(None, environment, as_module=True)) == (
        own, "gpudoctor runs under it (python -m gpudoctor)")  # fmt: skip
    assert chosen(place.choose(None, environment)) == (own, "gpudoctor's own environment has torch installed")
    shutil.rmtree(package)
    assert chosen(place.choose(None, environment)) == (
        str(active / "bin/python"),
        "VIRTUAL_ENV names its environment",
    )
    del environment["VIRTUAL_ENV"]
    assert chosen(place.choose(None, environment)) == (
        str(conda / "bin/python"),
        "CONDA_PREFIX names its environment",
    )
    del environment["CONDA_PREFIX"]
    assert chosen(place.choose(None, environment)) == (
        str(other / "bin/python3"),
        "the first python3 on PATH outside gpudoctor's own environment",
    )
    assert chosen(place.choose()) == (own, "gpudoctor's own, as no other Python was found")


def test_uvx_puts_its_throw_away_environment_first_on_path(place: Place) -> None:
    """That one holds gpudoctor alone: it is passed over unless the user activated it."""
    other = place.environment("other")
    path = f"{place.own_prefix}/bin/:{other}/bin"
    assert chosen(place.choose(None, {"PATH": path}))[0] == str(other / "bin/python3")
    activated = chosen(place.choose(None, {"PATH": path, "VIRTUAL_ENV": str(place.own_prefix)}))
    assert activated == (str(place.own_prefix / "bin/python"), "VIRTUAL_ENV names its environment")


def test_an_environment_that_is_gone_is_passed_over_and_named(place: Place) -> None:
    """A shell keeps VIRTUAL_ENV after the folder was deleted."""
    other = place.environment("other")
    executable, because = chosen(
        place.choose(None, {"VIRTUAL_ENV": "/nowhere/venv", "PATH": str(other / "bin")})
    )
    assert executable == str(other / "bin/python3")
    assert because == (
        "the first python3 on PATH outside gpudoctor's own environment; "
        "VIRTUAL_ENV was passed over: there is no /nowhere/venv/bin/python"
    )


def test_names_paths_and_folders(place: Place) -> None:
    """What people write behind --python; the link of a virtual environment is not followed."""
    other = place.environment("other")
    expected = str(other / "bin/python3")
    assert chosen(place.choose("python3", {"PATH": f"/nowhere:{other}/bin"})) == (
        expected,
        "--python python3",
    )
    assert chosen(place.choose("other/bin/python3"))[0] == expected
    assert chosen(place.choose(expected))[0] == expected
    assert chosen(place.choose("~/bin/python3", {"HOME": str(other)}))[0] == expected
    assert chosen(place.choose("other"))[0] == str(other / "bin/python")
    assert chosen(place.choose("./other/"))[0] == str(other / "bin/python")
    assert chosen(place.choose(REAL))[0] == REAL


def test_a_pyenv_shim_is_an_interpreter(place: Place) -> None:
    """It is a shell script named python3 that starts one."""
    shim = place.root / "python3"
    shim.write_text('#!/bin/sh\nexec pyenv exec python3 "$@"\n')
    shim.chmod(0o755)
    assert chosen(place.choose(str(shim)))[0] == str(shim)


def test_what_is_no_interpreter_is_refused_in_one_line(place: Place) -> None:
    """And is never run: a training script is executable, too."""
    (place.root / "folder").mkdir()
    script, plain, text = place.root / "train.py", place.root / "python3.9", place.root / "python"
    script.write_text("#!/usr/bin/env python3\nimport torch\n")
    script.chmod(0o755)
    plain.write_bytes(b"\x7fELF")
    text.write_text("hello")
    text.chmod(0o755)
    os.mkfifo(place.root / "pipe")
    root = place.root
    assert refused(place.choose("folder")) == (
        f"{root}/folder is a folder and no Python environment: it has no bin/python"
    )
    assert refused(place.choose("train.py")) == f"{root}/train.py is no Python: it is a script"
    assert (
        refused(place.choose("python")) == f"{root}/python is no Python: it is neither a program nor a script"
    )
    assert refused(place.choose(f"{root}/pipe")) == f"{root}/pipe is no Python: it is a pipe"
    assert refused(place.choose("nothing")) == f"there is no {root}/nothing, and no nothing on PATH"
    assert refused(place.choose("/nowhere/python")) == "there is no /nowhere/python"
    assert refused(place.choose("ls", {"PATH": "/bin"})) == "/bin/ls is no Python: it is some other program"
    assert refused(place.choose("")) == "it names nothing"
    if os.geteuid() != 0:
        assert "no permission to execute" in refused(place.choose("python3.9"))


@pytest.mark.parametrize(
    "said", ["a\nb", "\x1b[31mred", "[bold]", "\udcff", "x" * 5000, "a\0b", "~", "~/", " ", "/"]
)
def test_hostile_names_are_answers(place: Place, said: str) -> None:
    """Whatever was typed: one line that can be printed."""
    refused(place.choose(said))


def test_a_program_that_may_not_be_executed_is_refused(place: Place) -> None:
    """Root may execute anything that anybody may; nobody may execute this."""
    program = place.root / "python3.9"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o644)
    assert refused(place.choose("./python3.9")).endswith(
        "cannot be run: this user has no permission to execute it"
    )
