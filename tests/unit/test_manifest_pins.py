"""NVIDIA's packages that files pin beside a framework: what is foreseen of them, and what pip refuses."""

from __future__ import annotations

import time

import pytest
from packaging.requirements import Requirement

from gpudoctor.derive import planned
from tests.unit.test_manifest_troubles import SLIM_11, Files, causes, database, docker, judged

PASCAL = ("driver=580.95.05", "cc=6.1")
TENSORFLOW, FITTING = "'tensorflow[and-cuda]==2.20.0'", "nvidia-cudnn-cu12==9.10.2.21"
OLD = "nvidia-cudnn-cu12==9.1.0.70"


def run(*requirements: str) -> str:
    return f"RUN pip install {' '.join(requirements)}"


def constrained(bound: str) -> Files:
    return {**docker(SLIM_11, "COPY c.txt .", run("-c c.txt", TENSORFLOW)), "c.txt": f"{bound}\n"}


@pytest.mark.parametrize(("files", "expected"), [
    (docker(SLIM_11, run(TENSORFLOW)), ["cudnn-dropped-gpu"]),
    (docker(SLIM_11, run(TENSORFLOW, FITTING)), []),
    (docker(SLIM_11, run(FITTING, TENSORFLOW)), []),
    (docker(SLIM_11, run(TENSORFLOW, "'nvidia_cudnn_cu12<=9.10.2.21'")), []),
    (docker(SLIM_11, run(TENSORFLOW, "\"nvidia-cudnn-cu12==9.10.2.21; sys_platform == 'win32'\"")),
     ["cudnn-dropped-gpu"]),
    (constrained("nvidia-cudnn-cu12<=9.10.2.21"), []),
    (constrained("nvidia-cudnn-cu11<=8.9"), ["cudnn-dropped-gpu"]),
    (docker(SLIM_11, run(TENSORFLOW), run(FITTING)), []),
    (docker(SLIM_11, run(FITTING), run(TENSORFLOW)), []),
    # a release that came after these rules is taken for what they know
    (docker(SLIM_11, run(TENSORFLOW, "'nvidia-cudnn-cu12>=9.99'")), ["cudnn-dropped-gpu"]),
])
def test_the_release_that_pins_leave_is_foreseen(files: Files, expected: list[str]) -> None:
    """Regression: the newest that the framework admits was foreseen, whatever was pinned beside it."""
    assert causes(judged(files, *PASCAL)) == expected


@pytest.mark.parametrize(("lines", "expected"), [
    ((run(TENSORFLOW), run(OLD)), ["cudnn-runtime-older-than-compiled"]),
    ((run(OLD), run(TENSORFLOW)), []),
    ((run(TENSORFLOW), run("--no-deps", OLD)), ["cudnn-runtime-older-than-compiled"]),
    ((run(TENSORFLOW), run("nvidia-cudnn-cu12==9.1.0.70"), run("nvidia-cudnn-cu12==9.10.2.21")), []),
])
def test_of_several_commands_the_last_counts(lines: tuple[str, ...], expected: list[str]) -> None:
    assert causes(judged(docker(SLIM_11, *lines))) == expected


@pytest.mark.parametrize(("files", "told"), [
    (docker(SLIM_11, run(TENSORFLOW, OLD)), "needs nvidia-cudnn-cu12<10.0,>=9.3.0.75"),
    (docker(SLIM_11, run("torch==2.6.0", "nvidia-cudnn-cu12==8.9.7.29")),
     "needs nvidia-cudnn-cu12==9.1.0.70"),
    (docker(SLIM_11, run("torch==2.6.0", "'nvidia-cudnn-cu12>9.1.0.70'")), "nvidia-cudnn-cu12>9.1.0.70"),
    (constrained("nvidia-cudnn-cu12<9.2"), "nvidia-cudnn-cu12<9.2 (c.txt:1:1)"),
    ({"r.txt": f"torch==2.6.0\n{FITTING}\n"}, "(r.txt:2:1)")])
def test_a_pin_outside_a_frameworks_own_bounds_is_a_contradiction(files: Files, told: str) -> None:
    """Regression: pip refuses both together, and nothing was found."""
    [found] = judged(files, gpu=True).findings
    assert found.finding.cause == "requirements-contradict"
    assert told in found.finding.message


@pytest.mark.parametrize("lines", [
    ("torch==2.6.0", OLD), ("torch==2.6.0", "nvidia-cudnn-cu12>=9"), ("torch", OLD),
    ("tensorflow[and-cuda]==2.20.0", "nvidia-cudnn-cu12>9.5"), ("tensorflow==2.20.0", OLD)])
def test_a_pin_that_pip_can_meet_is_no_contradiction(lines: tuple[str, ...]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    assert "requirements-contradict" not in causes(judged({"r.txt": text}, gpu=True))


def test_a_lock_has_settled_what_excludes_one_another() -> None:
    """An override is written into it, and installed."""
    packages = "".join(f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
                       'source = { registry = "https://index.example/simple" }\n'
                       for name, version in (("torch", "2.6.0"), ("nvidia-cudnn-cu12", "9.10.2.21")))
    assert causes(judged({"uv.lock": f"version = 1\n{packages}"}, gpu=True)) == []


@pytest.mark.parametrize(("texts", "version"), [
    (("nvidia-cudnn-cu12<10,>=9.3", "nvidia-cudnn-cu12<=9.10.2.21"), "9.10.2.21"),
    (("nvidia-cudnn-cu12<10,>=9.3", "NVIDIA_cudnn_cu12==9.1.0.70"), "9.1.0.70"),
    (("nvidia-cudnn-cu12==9.1.0.70", "nvidia-cudnn-cu12<10,>=9.3"), "newest"),
    (("nvidia-cudnn-cu12<10,>=9.3", "nvidia-cudnn-cu12==99.1"), "newest")])
def test_of_one_distribution_one_release_is_taken(texts: tuple[str, ...], version: str) -> None:
    """The last words count where nothing known meets both; those that nothing known meets do not."""
    table = database().tables["nvidia_libraries"]
    whole = planned.newest(Requirement("nvidia-cudnn-cu12<10,>=9.3"), table)
    [requirement] = planned.parse(planned.together(texts, table))
    found = planned.newest(requirement, table)
    assert found is not None
    assert whole is not None
    assert found[1] == (whole[1] if version == "newest" else version)


@pytest.mark.parametrize("text", [
    "tensorflow==2.15.0\ntensorflow>=2.16\n",  # its newest lacks its libraries
    "tensorflow[and-cuda]==2.15.1\ntensorflow[and-cuda]==2.16.1\nnvidia-cudnn-cu12==9.1.0.70\n",
    "torch==2.4.0\ntorch==2.5.0\nnvidia-cudnn-cu12==8.9.7.29\n",
    "tensorflow==2.14.0\ntensorflow==2.14.1\n"])
def test_what_contradicts_itself_is_told_once(text: str) -> None:
    """What follows was judged of the last of the two, though pip takes neither, and told as well."""
    listed, built = {"requirements.txt": text}, docker(SLIM_11, "RUN pip install -r requirements.txt")
    for files in (listed, {**built, **listed}):
        found = judged(files, "driver=580.95.05", "cc=8.0", gpu=True)
        assert causes(found) == ["requirements-contradict"]
        assert not any(note.matters for note in found.notes)
    apart = docker(SLIM_11, *(f"RUN pip install '{line}'" for line in text.splitlines()))
    assert "requirements-contradict" not in causes(judged(apart, gpu=True))


@pytest.mark.parametrize("line", ["torch<2,>3", "torch>=2.10,<2.9", "torch==2.8.0,!=2.8.0", "torch<1.6,>1.7"])
def test_bounds_of_one_line_that_nothing_meets_are_a_contradiction(line: str) -> None:
    """Regression: `torch<2,>3` was newer than these rules, judged as torch 2.15.0, and nothing was wrong."""
    found = judged({"r.txt": f"{line}\n"}, gpu=True)
    assert causes(found) == ["requirements-contradict"]
    assert f"together: {line} (r.txt:1:1)" in found.findings[0].finding.message


def test_bounds_of_two_lines_that_only_releases_to_come_meet_are_a_contradiction() -> None:
    assert causes(judged({"r.txt": "torch<2\ntorch>3\n"}, gpu=True)) == ["requirements-contradict"]


@pytest.mark.parametrize("line", [
    "torch>2.15.0,<2.16", "torch>3,<4", "torch==3.*,>=3.1", "torch>=1.4,<1.6", "torch>=1.7,!=1.8.0,<1.8.1",
    "torch!=1.8.0,<1.8.1", "tensorflow==1.*,>=1.15", "torch>2.9.0.dev20250801,<2.9.0.dev20250901",
    "torch>=2.8.0,!=2.8.1,<2.9", "torch>=2.14.2,<2.15", "torch==2.14.*,!=2.14.0,!=2.14.1"])
def test_bounds_that_an_unknown_release_may_meet_are_none(line: str) -> None:
    """What came before the releases that are listed, what may come behind them, and nightly builds.

    Also the next patch of a minor release that may still get one: that was called a contradiction.
    """
    assert "requirements-contradict" not in causes(judged({"r.txt": f"{line}\n"}, gpu=True))


def test_a_line_of_a_thousand_bounds_is_judged_at_once() -> None:
    """Each was held against every other: eleven seconds, and minutes for five thousand."""
    begun = time.process_time()
    judged({"r.txt": f"torch>=2,{','.join(f'!=3.{number}' for number in range(1000))}\n"}, gpu=True)
    assert time.process_time() - begun < 4
