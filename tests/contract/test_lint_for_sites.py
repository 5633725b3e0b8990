"""`gpudoctor lint` for sites that hold code: SARIF, and the annotations of a job on GitHub."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from urllib.parse import unquote_to_bytes

import jsonschema
import pytest

from tests.contract.checkout import run_python
from tests.contract.test_lint_command import ANY, BROKEN, FINDINGS, UNDECIDED, USAGE
from tests.laws.test_lint_formats import SHAPE


def lint_below(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `gpudoctor lint` in a folder."""
    command = "import sys; sys.argv[0] = 'gpudoctor'; from gpudoctor.cli import main; sys.exit(main())"
    return run_python(command, "lint", *ANY, *words, folder=folder)


def test_sarif_is_said_of_files_with_any_name(tmp_path: Path) -> None:
    """Below the folder of the run they are told from there, with the exit code of the text."""
    name = b"Dockerfile.\xff \xc3\xb6:[a](b)%41"
    (tmp_path / os.fsdecode(name)).write_text(BROKEN + "RUN pip install 'torch==${V} [a](http://x)'\n")
    run = lint_below(tmp_path, os.fsdecode(name), "--format", "sarif")
    assert (run.returncode, run.stderr) == (FINDINGS, "")
    document = json.loads(run.stdout)
    jsonschema.validate(document, SHAPE)
    results = document["runs"][0]["results"]
    assert (results[0]["ruleId"], results[0]["level"]) == ("GPD4010", "error")
    address = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote_to_bytes(address) == name
    rule = document["runs"][0]["tool"]["driver"]["rules"][0]
    assert (rule["name"], rule["helpUri"].rpartition("/")[2]) == (
        "pip-nvidia-libs-not-installed", "GPD4010-pip-nvidia-libs-not-installed.md")
    assert "## What to do" in rule["help"]["markdown"]


def test_what_was_not_judged_is_in_sarif_as_open(tmp_path: Path) -> None:
    """Exit code 3, and a result that is no failure and no all-clear."""
    (tmp_path / "Dockerfile").write_text("# docker run --gpus all\nFROM ${X}\n")
    run = lint_below(tmp_path, "Dockerfile", "--format", "sarif")
    assert run.returncode == UNDECIDED
    (one,) = json.loads(run.stdout)["runs"][0]["results"]
    assert (one["kind"], one["level"]) == ("open", "none")


@pytest.mark.parametrize("name", ["sarif", "junit"])
def test_2_a_format_without_a_place_for_a_diff(tmp_path: Path, name: str) -> None:
    (tmp_path / "Dockerfile").write_text(BROKEN)
    run = lint_below(tmp_path, "Dockerfile", "--format", name, "--fix", "--write")
    assert (run.returncode, (tmp_path / "Dockerfile").read_text()) == (USAGE, BROKEN)


@pytest.mark.parametrize(("name", "start"), [
    ("markdown", "## gpudoctor: 1 error found"), ("html", "<!doctype html>"), ("junit", "<?xml version")])
def test_the_formats_of_check_are_those_of_lint(tmp_path: Path, name: str, start: str) -> None:
    """With the exit code of the text; the diff of --fix stands in those that are read by a person."""
    (tmp_path / "Dockerfile").write_text(BROKEN)
    fix = () if name == "junit" else ("--fix",)
    run = lint_below(tmp_path, "Dockerfile", "--format", name, *fix, "-o", "report")
    said = (tmp_path / "report").read_text()
    assert (run.returncode, run.stdout, run.stderr) == (FINDINGS, "", "")
    assert said.startswith(start)
    assert "pip-nvidia-libs-not-installed [GPD4010]" in said
    assert ("+++ b/Dockerfile" in said) == (name != "junit")


def test_a_job_on_github_is_told_file_and_line(tmp_path: Path) -> None:
    """A path from the folder of the run, as the site shows it; the text stands before."""
    (tmp_path / "Dockerfile").write_text(BROKEN)
    run = lint_below(tmp_path, "Dockerfile", "--format", "github")
    (said,) = [line for line in run.stdout.splitlines() if line.startswith("::error ")]
    assert said.startswith("::error file=Dockerfile,line=3,col=17,title=gpudoctor%3A pip-nvidia")
    assert "ERROR pip-nvidia-libs-not-installed [GPD4010]" in run.stdout
