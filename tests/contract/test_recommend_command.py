"""`gpudoctor recommend` as a program: exit codes, words, the document, and what it refuses."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor import codec, ruledb
from tests.contract.checkout import UNREADABLE_SNAPSHOTS, run_gpudoctor
from tools.build_schemas import render

Run = subprocess.CompletedProcess[str]
SOMETHING, NOTHING, USAGE, INPUT = 0, 1, 2, 4
L4 = ("--assume", "cc=8.9", "--assume", "driver=535.104.05")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the snapshot of the machine that cases of rules start from."""
    path = tmp_path_factory.mktemp("snapshots") / "healthy.json"
    path.write_text(json.dumps(codec.encode_snapshot(ruledb.load().base)))
    return path


def asked(snapshot: Path, *options: str) -> Run:
    return run_gpudoctor("recommend", "--from", str(snapshot), *options, environment={"COLUMNS": "100"})


def document(run: Run) -> dict[str, Any]:
    """Return the document, which obeys its schema and names its exit code."""
    said: dict[str, Any] = json.loads(run.stdout)
    jsonschema.validate(said, json.loads(render("recommendation-1.json")))
    assert (said["exit_code"], run.stderr) == (run.returncode, "")
    return said


@pytest.mark.parametrize(("name", "options"), [
    ("l4", L4),
    ("l4-changes", (*L4, "--framework", "torch", "--may-change", "driver,python")),
    ("l4-set", (*L4, "--framework", "tensorflow", "--framework", "torch")),
    ("l4-why", (*L4, "--why", "torch==2.15.0")),
    ("l4-image", (*L4, "--image", "--framework", "tensorflow")),
    ("blackwell-image", ("--assume", "cc=12.0", "--assume", "driver=535.104.05", "--image", "--framework",
                         "tensorflow", "--may-change", "driver")),
    ("pascal", ("--assume", "cc=6.1", "--assume", "driver=550.54.14", "--python", "3.10")),
    ("kepler", ("--assume", "cc=3.0", "--assume", "driver=470.256.02")),
    ("kepler-torch", ("--assume", "cc=3.5", "--assume", "driver=470.256.02", "--framework", "torch")),
    ("why-another", (*L4, "--framework", "torch", "--why", "tensorflow")),
    ("no-card", ("--assume", "cc=none", "--assume", "driver=none")),
    ("no-card-amd", ("--assume", "cc=none", "--assume", "driver=none", "--framework", "jax",
                     "--assume", "system.other_accelerators=amd")),
    ("no-driver", ("--assume", "driver=none", "--may-change", "driver")),
    ("conflict", (*L4, "--framework", "tensorflow==2.20.0", "--framework", "torch==2.15.0")),
])
def test_what_a_person_reads(name: str, options: tuple[str, ...], healthy: Path,
                             golden: Callable[[str, str], None]) -> None:
    """Each page as it is printed."""
    run = asked(healthy, *options)
    assert run.stderr == ""
    golden(f"recommend/{name}.txt", f"exit code {run.returncode}\n{run.stdout.replace(str(healthy), 'FILE')}")


def test_what_is_wrong_with_the_machine_is_told_with_the_command_that_examines_it(healthy: Path) -> None:
    """`gpudoctor check` alone was named, which is of another machine than the one asked about."""
    run = asked(healthy, "--assume", "driver=none", "--assume", "card=GTX 1080")
    (line,) = [line for line in run.stdout.splitlines() if line.startswith("  what to do")]
    words = shlex.split(line)[3:]
    assert words == ["gpudoctor", "check", "--from", str(healthy), "--assume", "driver=none", "--assume",
                     "card=GTX 1080"]
    assert "driver-not-installed" in run_gpudoctor(*words[1:]).stdout


@pytest.mark.parametrize("options", [
    L4, (*L4, "--framework", "tensorflow", "--framework", "torch"), ("--assume", "driver=none"), ("--image",),
    (*L4, "--may-change", "driver,python"), (*L4, "--why", "tensorflow==2.21.0"), ("--pre",),
])
def test_the_document_obeys_its_schema(options: tuple[str, ...], healthy: Path) -> None:
    said = document(asked(healthy, "--format", "json", *options))
    assert said["schema"] == "gpudoctor.recommendation/1"
    verdicts = [one["verdict"] == "rejected" for one in said["candidates"]]
    assert verdicts == sorted(verdicts)  # in the order of preference
    assert said["exit_code"] == (NOTHING if all(verdicts) else SOMETHING)
    assert all("+" not in one["version"] for one in said["candidates"])


def test_this_machine_whatever_it_is() -> None:
    """Looked at, not recorded."""
    run = run_gpudoctor("recommend", "--format", "json")
    assert run.returncode in (SOMETHING, NOTHING), run.stderr
    document(run)


@pytest.mark.parametrize(("options", "exit_code", "words"), [
    (("--framework", "tensorfow"), USAGE, ("did you mean tensorflow?",)),
    (("--framework", "tensorflow==2.99"), USAGE, ("no such release", "2.21.0")),
    (("--framework", "torch>=2.9", "--framework", "torch<2.8"), USAGE, ("torch>=2.9 and torch<2.8",)),
    (("--framework", "torch; reboot"), USAGE, ("is no framework",)),
    (("--why", "torhc==2.9"), USAGE, ("did you mean torch?",)),
    (("--may-change", "kernel"), USAGE, ("write driver or python",)),
    (("--may-change", " , "), USAGE, ("write driver or python",)),
    (("--assume", "driver=abc"), USAGE, ("driver=abc",)),
    (("--assume", "python=3.9", "--python", "3.10"), USAGE, ("--python 3.10 and --assume python=3.9",)),
    (("--framework", "torch[foo]"), USAGE, ("no such extra",)),
    (("--assume", "python=three"), USAGE, ("write a version",)),
    (("--python", "/usr/bin/python3"), USAGE, ("only a version",)),
    (("-o", "/nowhere/there/page.txt"), INPUT, ("no such folder",)),
    (("--rules", "/nowhere"), INPUT, ("/nowhere",)),
])
def test_what_cannot_be_done_is_one_line(options: tuple[str, ...], exit_code: int, words: tuple[str, ...],
                                         healthy: Path) -> None:
    run = asked(healthy, *options)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (exit_code, "", 1), run.stderr
    for word in words:
        assert word in run.stderr


@pytest.mark.parametrize(("content", "words"), UNREADABLE_SNAPSHOTS)
def test_a_snapshot_that_cannot_be_read_is_one_line(content: str, words: tuple[str, ...],
                                                    tmp_path: Path) -> None:
    """One from the future, one that does not parse, one that is none; nothing is written."""
    path, output = tmp_path / "machine.json", tmp_path / "said.json"
    path.write_text(content)
    run = asked(path, "-o", str(output))
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1), run.stderr
    assert not output.exists()
    for word in words:
        assert word in run.stderr


def test_no_python_to_recommend_for(tmp_path: Path) -> None:
    """A snapshot that does not tell asks for a version."""
    seen = codec.encode_snapshot(ruledb.load().base)
    seen["host"]["python.version"] = {"unknown": "no Python was found"}
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(seen))
    run = asked(path)
    assert (run.returncode, "--python 3.12" in run.stderr) == (USAGE, True)
    assert asked(path, "--python", "3.12").returncode == SOMETHING


@pytest.mark.parametrize("value", ["junk", "", "1..2", "9" * 5000])
def test_what_is_no_version_breaks_nothing(value: str, tmp_path: Path) -> None:
    """A machine that tells nonsense of its driver and its card is answered all the same."""
    seen = codec.encode_snapshot(ruledb.load().base)
    for name in ("driver.kernel_version", "nvml.driver_version", "cuda.library_version"):
        seen["host"][name] = {"value": value, "source": "a stranger"}
    seen["gpus"][0]["gpu.compute_capability"] = {"value": value, "source": "a stranger"}
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(seen))
    assert asked(path, "--may-change", "driver").returncode in (SOMETHING, NOTHING)
    assert asked(path, "--image").returncode in (SOMETHING, NOTHING)


def test_what_is_hostile_in_a_snapshot_is_not_obeyed(tmp_path: Path) -> None:
    """A path with a command in it stays one word of the shell; control characters are spelled out."""
    seen = codec.encode_snapshot(ruledb.load().base)
    seen["host"]["python.executable"]["value"] = "/tmp/x'; reboot #\x1b[2J"
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(seen))
    run = asked(path, "--framework", "torch")
    assert "\x1b" not in run.stdout
    said = document(asked(path, "--framework", "torch", "--format", "json"))
    words = said["candidates"][0]["commands"][0]
    assert subprocess.run(["sh", "-c", f"set -- {words}; printf %s \"$1\""], capture_output=True, text=True,
                          check=True).stdout == "/tmp/x'; reboot #\x1b[2J"
