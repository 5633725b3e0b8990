"""Files of constraints: what is said of one by itself, and of lists that are installed under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.manifests import constraints, kinds
from gpudoctor.manifests.judging import Linter
from gpudoctor.manifests.spans import Source
from tests.contract.checkout import run_gpudoctor
from tests.unit.test_manifest_troubles import GPU, SLIM, causes, database, docker, judged, machine

HEALTHY, FINDINGS = 0, 1


@pytest.mark.parametrize(("file", "text", "is_one"), [
    ("constraints.txt", "", True), ("a/constraints-3.12.txt", "", True), ("dev-constraints.in", "", True),
    ("upper.constraints.txt", "", True), ("constraints/gpu.txt", "", True),
    ("a/constraints/gpu.txt", "", True),
    ("c.txt", "#\n# This constraints file was automatically generated on 2025-03-09\nx==1\n", True),
    ("requirements.txt", "", False), ("unconstraints.txt", "", False), ("constraints.toml", "", False),
    ("r.txt", "# install with -c constraints.txt\nx==1\n", False),
    ("r.txt", "x==1\n# a constraints file\n", False),
])
def test_how_constraints_are_known(file: str, text: str, is_one: bool) -> None:
    assert constraints.is_constraints(file, text) is is_one


@pytest.mark.parametrize(("text", "assumed", "expected"), [
    # what would be a fault of an environment is none: nobody installs all that is bounded
    ("tensorflow-gpu==2.12.0\npytorch==1.0.2\n", (), []),
    ("torch==2.6.0\ntensorflow==2.18.0\nnvidia-cudnn-cu12==8.9.2.26\njax==0.4.30\n", (), []),
    ("torch==2.5.1\n", ("python=3.14",), ["python-version-unsupported"]),
    ("torch==2.5.1\n", ("python=3.12",), []),
    ("torch==2.4.7\n", (), ["release-not-published"]),
    ("jax==0.4.30\njax==0.5.3\n", (), ["requirements-contradict"]),
    ("jax==0.4.30; python_version < '3.10'\njax==0.5.3; python_version >= '3.10'\n", (), []),
])
def test_what_is_said_of_constraints_alone(text: str, assumed: tuple[str, ...], expected: list[str],
                                           tmp_path: Path) -> None:
    """Regression: a bound on a package that ended was an error of what nobody installs."""
    (tmp_path / "constraints.txt").write_text(text)
    words = [word for one in assumed for word in ("--assume", one)]
    done = run_gpudoctor("lint", str(tmp_path / "constraints.txt"), *words)
    assert done.returncode == (FINDINGS if expected else HEALTHY), done.stdout + done.stderr
    assert [line.split()[2] for line in done.stdout.splitlines() if ": ERROR " in line] == expected


def test_they_are_not_for_a_gpu_whatever_is_asked() -> None:
    """With the option for all files, too: what is bounded is not installed."""
    found = judged({"constraints.txt": "tensorflow==2.20.0\n"}, gpu=True)
    assert (causes(found), found.notes, found.undecided) == ([], (), ())


@pytest.mark.parametrize(("files", "place"), [
    ({"r.txt": "-c c.txt\ntorch==2.5.1\n", "c.txt": "torch==2.4.0\n"}, "r.txt:2:1"),
    ({"r.txt": "--constraint=c.txt\ntorch>=2.5\n", "c.txt": "torch<2.5\n"}, "r.txt:2:1"),
    ({**docker(SLIM, "COPY . .", "RUN pip install -c c.txt torch==2.5.1"), "c.txt": "torch==2.4.0\n"},
     "Dockerfile:3:26"),
])
def test_a_requirement_that_its_constraints_exclude(files: dict[str, str], place: str) -> None:
    """Regression: both bounds became one, which no release met, and nothing was said."""
    [found] = judged(files).findings
    assert (found.finding.cause, str(found.place)) == ("requirements-contradict", place)
    assert "(c.txt:1:1)" in found.finding.message


@pytest.mark.parametrize("bound", [
    "torch==2.5.1", "torch>=2.4", "numpy<2", "torch==2.4.0; python_version < '3.9'",
    "torch==2.4.0; sys_platform == 'darwin'"])
def test_a_requirement_that_its_constraints_admit(bound: str) -> None:
    assert causes(judged({"r.txt": "-c c.txt\ntorch==2.5.1\n", "c.txt": f"{bound}\n"})) == []


def test_a_list_is_judged_under_the_constraints_beside_it() -> None:
    """The only ones in its folder, where it names none itself."""
    def found(**files: str) -> list[str]:
        named = {name.replace("_", "/").replace("DOT", "."): text for name, text in files.items()}
        described = {name: kinds.environments(Source(name, text), lambda _: None)
                     for name, text in named.items()}
        every = [one for some in constraints.beside(described).values() for one in some]
        return causes(Linter(machine(), database()).judge(every))

    text, bound = f"{GPU}torch==2.5.1\n", "torch==2.4.0\n"
    assert found(rDOTtxt=text, constraintsDOTtxt=bound) == ["requirements-contradict"]
    assert found(rDOTtxt=text, a_constraintsDOTtxt=bound) == []
    other = {"dev_constraintsDOTtxt": ""}
    assert found(rDOTtxt=text, constraintsDOTtxt=bound, **other) == ["requirements-contradict"]
    assert found(rDOTtxt=text, **{"constraintsDOTtxt": bound, "constraints-2DOTtxt": ""}) == []


def test_constraints_that_a_list_names_are_judged_themselves(tmp_path: Path) -> None:
    """Given with it, what is wrong with them is told at them."""
    (tmp_path / "r.txt").write_text("-c constraints.txt\ntorch==2.5.1\n")
    (tmp_path / "constraints.txt").write_text("torch==2.4.7\n")
    done = run_gpudoctor("lint", str(tmp_path / "r.txt"), str(tmp_path / "constraints.txt"))
    faults = [line for line in done.stdout.splitlines() if ": ERROR " in line]
    assert [(line.split("/")[-1].split(":")[0], line.split()[2]) for line in faults] == [
        ("constraints.txt", "release-not-published"), ("r.txt", "requirements-contradict")], done.stdout


@pytest.mark.parametrize(("asked", "matters"), [("six nemo", []), ("six torch", [True]), ("jax", [True])])
def test_a_missing_constraint_counts_where_it_may_bound_a_framework(asked: str, matters: list[bool]) -> None:
    """Regression: each command under a PIP_CONSTRAINT that only the image has ended with exit code 3."""
    found = judged(docker("FROM nvcr.io/nvidia/pytorch:24.01-py3", "ENV PIP_CONSTRAINT=/c.txt",
                          f"RUN pip install {asked}"))
    assert [note.matters for note in found.notes if "/c.txt" in note.said and note.matters] == matters
