"""`gpudoctor preflight`: told as the place wants it, where it runs; the exit code is the gate."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.harness.junit import problems

RECORDED = Path(__file__).parents[1] / "gpu" / "recorded"
HEALTHY = RECORDED / "h200-580.159.04-2026-11-20-healthy-torch-jax.json"
FULL = RECORDED / "h200-580.159.04-2026-11-20-full-torch-jax.json"  # its memory is used by others: a warning
MASKED = RECORDED / "h200-580.159.04-2026-11-20-masked-tensorflow-2.21.json"
TESTS = "gpudoctor-preflight.xml"
_OF_PLACES = ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITLAB_CI", "JENKINS_URL")


def preflight(folder: Path, *options: str, variables: Mapping[str, str] | None = None
              ) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, in a place that the variables tell of."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_PLACES}
    return subprocess.run([sys.executable, "-m", "gpudoctor", "preflight", *options], cwd=folder, text=True,
                          env={**kept, **(variables or {})}, capture_output=True, timeout=60, check=False)


def test_elsewhere_it_prints_text_and_writes_nothing(tmp_path: Path) -> None:
    """At a terminal or on an unknown service it is a check."""
    done = preflight(tmp_path, "--from", str(MASKED))
    assert (done.returncode, done.stderr, [*tmp_path.iterdir()]) == (1, "", [])
    assert "ERROR  cuda-visible-devices" in done.stdout


@pytest.mark.parametrize("named", [("--image", "app:1"), ("--container", "3f2a")])
def test_a_container_is_gated_as_well(tmp_path: Path, named: tuple[str, str]) -> None:
    """Regression: both were refused. An engine that is not there is told in each form of the place."""
    place = {"JENKINS_URL": "https://ci.example/", "DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"}
    done = preflight(tmp_path, *named, variables=place)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ERROR  container-engine-unreachable" in done.stdout
    assert "container-engine-unreachable" in (tmp_path / TESTS).read_text(encoding="utf-8")


def test_warnings_fail_it(tmp_path: Path) -> None:
    """A check passes with warnings, a pre-flight does not, unless it is told to."""
    full = ("--from", str(FULL), "--allow-undecided")
    assert preflight(tmp_path, *full).returncode == 1
    assert preflight(tmp_path, *full, "--fail-on", "error").returncode == 0
    assert preflight(tmp_path, "--from", str(FULL), "--fail-on", "error").returncode == 3


def test_github_gets_annotations_and_a_summary(tmp_path: Path) -> None:
    """The log has an annotation for each fault, and what other steps wrote into the summary stays."""
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")
    place = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = preflight(tmp_path, "--from", str(MASKED), variables=place)
    assert done.returncode == 1
    assert "\n::error title=gpudoctor%3A cuda-visible-devices [host]::" in done.stdout
    said = summary.read_text(encoding="utf-8")
    assert said.startswith("# Before\n")
    assert "### ERROR `cuda-visible-devices` on `host`" in said


@pytest.mark.parametrize("place", [{"GITLAB_CI": "true"}, {"JENKINS_URL": "https://ci.example/"}])
def test_gitlab_and_jenkins_get_a_list_of_tests(tmp_path: Path, place: dict[str, str]) -> None:
    """The text is for who reads the log, and the file for what shows tests."""
    done = preflight(tmp_path, "--from", str(MASKED), variables=place)
    assert done.returncode == 1
    assert "ERROR  cuda-visible-devices" in done.stdout
    assert problems((tmp_path / TESTS).read_text(encoding="utf-8")) == []
    suite = ET.parse(tmp_path / TESTS).find("testsuite")
    assert suite is not None
    assert int(suite.attrib["failures"]) >= 2


def test_who_names_a_format_gets_that_alone(tmp_path: Path) -> None:
    """`--format` and `--output` are obeyed in every place."""
    place = {"GITLAB_CI": "true"}
    done = preflight(tmp_path, "--from", str(MASKED), "--format", "markdown", variables=place)
    assert (done.stdout[:13], [*tmp_path.iterdir()]) == ("## gpudoctor:", [])
    file = tmp_path / "report.html"
    done = preflight(tmp_path, "--from", str(MASKED), "--format", "html", "-o", str(file), variables=place)
    assert (done.stdout, [*tmp_path.iterdir()]) == ("", [file])


def test_more_is_told_as_by_check(tmp_path: Path) -> None:
    """What a check shows with -v and -vv, the gate shows as well: the log of a job is often all there is."""
    said = [preflight(tmp_path, "--from", str(HEALTHY), *more) for more in ((), ("-v",), ("-vv",))]
    assert ["LOADER TRACE of torch" in done.stdout for done in said] == [False, True, True]
    assert ["TIME of gpudoctor itself" in done.stderr for done in said] == [False, False, True]


def test_a_place_that_cannot_be_written_changes_no_verdict(tmp_path: Path) -> None:
    """The file that could not be written is named in one line; the exit code is the check's."""
    summary = tmp_path / "missing" / "summary.md"
    place = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = preflight(tmp_path, "--from", str(HEALTHY), variables=place)
    assert done.returncode == 0
    assert done.stderr == f"gpudoctor: {summary}: cannot be written: No such file or directory\n"


@pytest.mark.parametrize(("recorded", "options", "code", "said"), [
    (HEALTHY, (), 0, "Healthy (2 questions not reached).\n"),
    (MASKED, (), 1, (
        "cuda-visible-devices [host]: CUDA_VISIBLE_DEVICES is set to \"\", which hides every CUDA device of "
        "this machine (1) from programs. Also: pip-nvidia-libs-not-found, wheel-file-collision. "
        "Next: gpudoctor rules show GPD1080\n")),
    (FULL, ("--allow-undecided", "--fail-on", "error"), 0,
     ("Undecided: something that matters could not be seen "
      "(1 warning, 2 questions not asked at this depth).\n")),
])
def test_where_there_is_room_for_one_line(tmp_path: Path, recorded: Path, options: tuple[str, ...], code: int,
                                          said: str) -> None:
    """What was seen, what it means and the next command."""
    done = preflight(tmp_path, "--from", str(recorded), "--format", "line", *options)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")


def test_a_line_says_what_could_not_be_seen(tmp_path: Path) -> None:
    """The reason first: the list of what hangs on it is long."""
    done = preflight(tmp_path, "--from", str(FULL), "--format", "line", "--fail-on", "error")
    assert done.returncode == 3
    assert done.stdout.startswith(
        "could not look: GPU 0 was left alone: no room on it: 199 MiB of its 143771 MiB are free, 1024 MiB "
        "are needed. Open: ptx-jit-slow-start [torch], ")
    assert re.search(r" and \d+ more\. Next: gpudoctor check\n\Z", done.stdout)
