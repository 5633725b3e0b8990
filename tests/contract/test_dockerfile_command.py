"""`gpudoctor dockerfile` as a program: what it writes, exit codes, and what it refuses."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor import codec, ruledb
from tests.contract.checkout import UNREADABLE_SNAPSHOTS, run_gpudoctor, run_without_privilege
from tests.harness.dockerfile import directives, instructions

Run = subprocess.CompletedProcess[str]
SOMETHING, NOTHING, USAGE, OPEN, INPUT = range(5)
L4 = ("--assume", "cc=8.9", "--assume", "driver=535.104.05")
WHEEL = "gpudoctor_cli-0.1.0-py3-none-any.whl"
ABOUT_THE_INDEX = "takes gpudoctor-cli from pip's index"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the snapshot of the machine that cases of rules start from."""
    path = tmp_path_factory.mktemp("snapshots") / "healthy.json"
    path.write_text(json.dumps(codec.encode_snapshot(ruledb.load().base)))
    return path


def asked(snapshot: Path, *options: str) -> Run:
    return run_gpudoctor("dockerfile", "--from", str(snapshot), *options, environment={"COLUMNS": "100"})


@pytest.mark.parametrize(("name", "options"), [
    ("tensorflow", ("--framework", "tensorflow")),
    ("torch", ("--framework", "torch", "--require", "gpu>=1", "--gpudoctor", WHEEL)),
    ("set", ("--framework", "tensorflow", "--framework", "torch", "--python", "3.11", "--buildkit")),
    ("older", ("--framework", "tensorflow==2.13.*", "--python", "3.10", "--tag", "registry.example:5/a/b:1")),
    ("paddle", ("--framework", "paddle", "--base", "cuda")),
    ("base-tensorflow", ("--base", "tensorflow")),
    ("base-ngc", ("--base", "ngc")),
    ("base-cuda", ("--base", "cuda")),
])
def test_what_is_written(name: str, options: tuple[str, ...], healthy: Path,
                         golden: Callable[[str, str], None]) -> None:
    """Each file as a person reads it, and as Docker does."""
    run = asked(healthy, *L4, *options)
    assert run.returncode == SOMETHING, run.stderr
    golden(f"dockerfile/{name}.txt", run.stdout)
    read = instructions(run.stdout)
    assert [one.word for one in read].count("FROM") == 1
    assert [one.rest for one in read if one.word == "USER"] == ["10001:10001"]
    assert directives(run.stdout) == []  # none that would have to be fetched
    assert ("--mount=type=cache" in run.stdout) == ("--buildkit" in options)
    assert (ABOUT_THE_INDEX in run.stderr) == ("ARG GPUDOCTOR=gpudoctor-cli==" in run.stdout)


@pytest.mark.parametrize("card", ["GTX 1050", "V100"])
@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_lint_finds_no_fault_in_what_is_written(framework: str, card: str, tmp_path: Path) -> None:
    """Regression: the pin of cuDNN that an old card needs stood in it, and was not heeded."""
    host = ("--assume", "driver=580.95.05", "--assume", f"card={card}")
    written = run_gpudoctor("dockerfile", "--framework", framework, *host)
    assert "nvidia-cudnn-cu12==" in written.stdout, written.stderr
    (tmp_path / "Dockerfile").write_text(written.stdout)
    judged = run_gpudoctor("lint", str(tmp_path / "Dockerfile"), *host)
    assert judged.returncode == SOMETHING, judged.stdout


def test_files_beside_it(healthy: Path, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    """Compose and Kubernetes, in the folder of the Dockerfile; a second time nothing is in the way."""
    words = (*L4, "--framework", "torch", "--require", "gpu>=1", "--compose", "--kubernetes",
             "--tag", "a/b:1", "-o", str(tmp_path / "gpu.Dockerfile"))
    names = ("gpu.Dockerfile", "compose.yaml", "pod.yaml")
    for _ in range(2):
        run = asked(healthy, *words)
        assert (run.returncode, run.stdout) == (SOMETHING, ""), run.stderr
        assert f"wrote {', '.join(str(tmp_path / name) for name in names)}\n" in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compose.yaml", "gpu.Dockerfile", "pod.yaml"]
    for name in ("compose.yaml", "pod.yaml"):
        golden(f"dockerfile/{name}", (tmp_path / name).read_text())
    assert "docker build -f gpu.Dockerfile -t a/b:1 ." in (tmp_path / "gpu.Dockerfile").read_text()


def test_what_could_not_be_judged_may_be_let_through(healthy: Path, tmp_path: Path) -> None:
    """By the option of `check`, in the image and in the pod."""
    for options, count in (((), 0), (("--allow-undecided",), 1)):
        run = asked(healthy, *L4, *options, "--kubernetes", "--force", "-o", str(tmp_path / "Dockerfile"))
        assert run.returncode == SOMETHING, run.stderr
        written = (tmp_path / "Dockerfile").read_text()
        assert written.count("--allow-undecided") == count
        assert (tmp_path / "pod.yaml").read_text().count('"--allow-undecided"') == count
        assert written.count("or what could not be judged") == 1 - count


def test_a_name_with_a_dollar_is_no_variable_of_compose(healthy: Path, tmp_path: Path) -> None:
    """Compose fills in what a single one begins, or refuses the file."""
    run = asked(healthy, *L4, "--compose", "-o", str(tmp_path / "Docker$(a) ${HOME}"))
    assert run.returncode == SOMETHING, run.stderr
    assert '  dockerfile: "Docker$$(a) $${HOME}"\n' in (tmp_path / "compose.yaml").read_text()


def test_nothing_else_is_overwritten_and_nothing_is_half_written(healthy: Path, tmp_path: Path) -> None:
    """One file in the way keeps all of them from being written, unless --force is given."""
    (tmp_path / "pod.yaml").write_text("mine")
    words = (*L4, "--compose", "--kubernetes", "-o", str(tmp_path / "Dockerfile"))
    run = asked(healthy, *words)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1)
    assert "pod.yaml: is there already" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pod.yaml"]
    assert asked(healthy, *words, "--force").returncode == SOMETHING
    assert "kind:" in (tmp_path / "pod.yaml").read_text()


def test_a_folder_that_may_not_be_entered_is_not_said_to_hold_the_file(healthy: Path, tmp_path: Path) -> None:
    """Regression: a file that nobody could look for was "there already", and --force would replace it."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    run = run_without_privilege("dockerfile", "--from", str(healthy), *L4, "-o", str(closed / "Dockerfile"))
    assert (run.returncode, run.stderr) == (
        INPUT, f"gpudoctor: {closed}/Dockerfile: cannot be written: Permission denied\n")


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_a_folder_in_the_way_keeps_all_from_being_written(options: tuple[str, ...], healthy: Path,
                                                          tmp_path: Path) -> None:
    """It was found only after the first file was there."""
    (tmp_path / "pod.yaml").mkdir()
    run = asked(healthy, *L4, *options, "--compose", "--kubernetes", "-o", str(tmp_path / "Dockerfile"))
    assert (run.returncode, run.stderr.count("\n")) == (INPUT, 1), run.stderr
    assert "pod.yaml: cannot be written: it is a folder" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pod.yaml"]


@pytest.mark.parametrize(("options", "words"), [
    (("--assume", "cc=3.0", "--assume", "driver=470.256.02"), ("GPD2062", "the last branch that serves")),
    (("--assume", "driver=none"), ("GPD2001", "none that works")),
    ((*L4, "--require", "gpu>=2"), ("GPD9010", "gpu>=2")),
    ((*L4, "--base", "cuda", "--framework", "torch"), ("GPD3047", "a second CUDA")),
    (("--assume", "cc=8.0", "--assume", "driver=450.80.02", "--framework", "torch==2.10.0"),
     ("GPD2010", "A CHANGE WOULD HELP", "driver 450.80.02 ->")),
    ((*L4, "--framework", "tensorflow==2.20.0", "--framework", "torch==2.15.0"), ("do not go together",)),
    ((*L4, "--framework", "paddle==2.6.2", "--python", "3.10"), ("GPD3047", "--base cuda")),
])
def test_nothing_fits(options: tuple[str, ...], words: tuple[str, ...], healthy: Path,
                      tmp_path: Path) -> None:
    """The rule is named and what would help; nothing is written."""
    run = asked(healthy, *options, "-o", str(tmp_path / "Dockerfile"))
    assert (run.returncode, run.stdout, list(tmp_path.iterdir())) == (NOTHING, "", [])
    said = " ".join(run.stderr.split())
    for word in ("no Dockerfile is written", *words):
        assert word in said


def test_that_nothing_can_be_judged_is_another_exit_code(healthy: Path, tmp_path: Path) -> None:
    """Of no image with JAX do the tables say enough: that is no "nothing fits"."""
    run = asked(healthy, *L4, "--base", "ngc", "--framework", "jax", "-o", str(tmp_path / "Dockerfile"))
    assert (run.returncode, run.stdout, list(tmp_path.iterdir())) == (OPEN, "", [])
    assert "no Dockerfile is written: what was asked for could not be judged" in run.stderr


@pytest.mark.parametrize(("framework", "base", "other", "code"), [
    ("paddle", "python-slim", "cuda", NOTHING), ("torch", "cuda", "python-slim", NOTHING),
    ("jax", "ngc", "python-slim", OPEN),
])
def test_another_base_on_which_it_fits_is_named_by_the_command_for_it(
        framework: str, base: str, other: str, code: int, healthy: Path) -> None:
    """It was hidden in the reason of a rejection or not said at all, and the command lost its options."""
    run = asked(healthy, *L4, "--framework", framework, "--base", base, "--tag", "a/b:1", "--timeout", "9")
    assert (run.returncode, run.stdout) == (code, "")
    command = run.stderr.splitlines()[1].partition(f"it fits --base {other}: ")[2]
    words = shlex.split(command)
    assert words[:2] == ["gpudoctor", "dockerfile"]
    assert words[-3:] == ["a/b:1", "--timeout", "9"]
    assert words.count("--base") == 1
    again = run_gpudoctor(*words[1:])
    assert (again.returncode, "FROM" in again.stdout) == (SOMETHING, True)


def test_an_image_of_a_framework_is_named_where_no_wheel_fits(healthy: Path) -> None:
    """TensorFlow's wheels have no code for Blackwell, NVIDIA's image has; it was said that nothing helps."""
    run = asked(healthy, "--assume", "cc=12.0", "--assume", "driver=575.57.08", "--framework", "tensorflow")
    assert run.returncode == NOTHING
    command = run.stderr.splitlines()[1].partition("it fits --base ngc: ")[2]
    again = run_gpudoctor(*shlex.split(command)[1:])
    assert again.returncode == SOMETHING
    assert "BASE=nvcr.io/nvidia/tensorflow:25.02-tf2-py3" in again.stdout


def test_where_no_framework_is_named_it_is_one_with_a_build_for_this_machine(healthy: Path) -> None:
    """On ARM there is no TensorFlow with CUDA, and nothing was said to fit."""
    run = asked(healthy, "--assume", "cc=9.0", "--assume", "driver=570.86.15",
                "--assume", "system.architecture=aarch64")
    assert (run.returncode, "for torch, as no --framework was named" in run.stderr) == (SOMETHING, True)
    assert "-m pip install --no-cache-dir torch==" in run.stdout


def test_a_base_on_which_nothing_fits_either_is_not_named(healthy: Path) -> None:
    run = asked(healthy, "--assume", "cc=12.0", "--assume", "driver=580.95.05", "--framework", "paddle")
    assert (run.returncode, "it fits" in run.stderr) == (NOTHING, False)


@pytest.mark.parametrize(("options", "exit_code", "words"), [
    (("--framework", "tensorfow"), USAGE, ("did you mean tensorflow?",)),
    (("--framework", "tensorflow==2.99"), USAGE, ("no such release", "2.21.0")),
    (("--framework", "tensorflow==2.20.0", "--require", "tensorflow<2.15"), USAGE,
     ("tensorflow==2.20.0 and tensorflow<2.15",)),
    (("--require", "gpu>=4", "--require", "gpu>=1", "--require", "gpu<2"), USAGE,
     ("--require 'gpu>=4' and --require 'gpu<2' contradict",)),
    (("--require", "gpu<0"), USAGE, ("no machine meets it",)),
    (("--require", "gpu.memory>=40GiB", "--require", "gpu.memory<30GB"), USAGE, ("contradict",)),
    (("--require", "gpus>=2"), USAGE, ("gpu>=2, gpu.memory>=40GiB",)),
    (("--python", "3.7"), USAGE, ("no image python", "3.12")),
    (("--base", "ngc", "--python", "3.12"), USAGE, ("has its own Python",)),
    (("--base", "ngc", "--framework", "torch", "--framework", "jax"), USAGE, ("torch and jax are two",)),
    (("--base", "cuda", "--python", "3.13"), USAGE, ("no image of nvidia/cuda",)),
    (("--assume", "python=3.8"), USAGE, ("gpudoctor: Python 3.8: these rules know no image python",)),
    (("--base", "alpine"), USAGE, ("alpine",)),
    (("--tag", "Not A Reference"), USAGE, ("is no name for an image",)),
    (("--tag", "a:b:c"), USAGE, ("is no name for an image",)),
    (("--tag", "x\nRUN reboot"), USAGE, ("is no name for an image",)),
    (("--tag", f"a:1@sha256:{'0' * 64}"), USAGE, ("is no name for an image",)),
    (("-o", "a\nb"), INPUT, ("the name of the file 'a\\nb' holds",)),
    (("--gpudoctor", "../x.whl"), USAGE, ("gpudoctor_cli-",)),
    (("--compose",), USAGE, ("-o FILE",)), (("--format", "json"), USAGE, ("the report of --verify",)),
    (("--kubernetes", "-o", "pod.yaml"), USAGE, ("pod.yaml",)),
    (("--assume", "driver=abc"), USAGE, ("driver=abc",)),
    (("-o", "/nowhere/there/Dockerfile"), INPUT, ("no such folder",)),
    (("--rules", "/nowhere"), INPUT, ("/nowhere",)),
])
def test_what_cannot_be_done_is_one_line(options: tuple[str, ...], exit_code: int, words: tuple[str, ...],
                                         healthy: Path) -> None:
    run = asked(healthy, *options)
    assert (run.returncode, run.stdout) == (exit_code, ""), run.stderr
    assert run.stderr.count("\n") == 1 or "--base" in options
    for word in words:
        assert word in run.stderr


def test_a_wheel_that_is_not_beside_it_is_refused_before_anything_is_written(healthy: Path,
                                                                             tmp_path: Path) -> None:
    """The build stopped at COPY: the file that it names was never there."""
    options = (*L4, "--framework", "torch", "--gpudoctor", WHEEL, "-o", str(tmp_path / "Dockerfile"))
    refused = asked(healthy, *options)
    assert (refused.returncode, refused.stdout, list(tmp_path.iterdir())) == (INPUT, "", [])
    assert f"--gpudoctor {WHEEL}: there is no such file beside the Dockerfile ({tmp_path})" in refused.stderr
    (tmp_path / WHEEL).touch()
    assert asked(healthy, *options).returncode == SOMETHING


def test_which_framework_was_taken_is_said_where_none_was_named(healthy: Path) -> None:
    """It was TensorFlow without a word."""
    silent, named = asked(healthy, *L4), asked(healthy, *L4, "--framework", "tensorflow")
    assert "gpudoctor: for tensorflow, as no --framework was named\n" in silent.stderr
    assert "no --framework was named" not in named.stderr
    assert silent.stdout == named.stdout


@pytest.mark.parametrize(("content", "words"), UNREADABLE_SNAPSHOTS)
def test_a_snapshot_that_cannot_be_read_is_one_line(content: str, words: tuple[str, ...],
                                                    tmp_path: Path) -> None:
    """One from the future, one that does not parse, one that is none; nothing is written."""
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "machine.json"
    path.write_text(content)
    run = asked(path, "-o", str(tmp_path / "Dockerfile"))
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1), run.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["in"]
    for word in words:
        assert word in run.stderr


def test_this_machine_whatever_it_is() -> None:
    """Looked at, not recorded."""
    run = run_gpudoctor("dockerfile")
    assert run.returncode in (SOMETHING, NOTHING), run.stderr
    assert bool(run.stdout) == (run.returncode == SOMETHING)


def test_help_has_an_example() -> None:
    run = run_gpudoctor("dockerfile", "--help")
    assert (run.returncode, "Example: gpudoctor dockerfile" in run.stdout) == (0, True)


def test_what_is_hostile_in_a_snapshot_stays_in_its_comment(tmp_path: Path) -> None:
    """A card whose name has line ends in it."""
    seen = codec.encode_snapshot(ruledb.load().base)
    seen["gpus"][0]["gpu.name"] = {"value": "L4\nRUN reboot\n# \u2028x=\\", "source": "a stranger"}
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(seen))
    run = asked(path)
    assert run.returncode == SOMETHING, run.stderr
    assert not any("reboot" in one.rest for one in instructions(run.stdout))
