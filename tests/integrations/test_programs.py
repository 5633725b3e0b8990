"""Every shell program in integrations/ is plain, and its folder says what it is for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contract.checkout import ROOT
from tests.integrations.services import document

FOLDER = ROOT / "integrations"
PROGRAMS = [path for path in sorted(FOLDER.glob("*/*")) if path.read_bytes().startswith(b"#!/bin/sh\n")]


def shellcheck() -> str:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("not installed: shellcheck")
    return program


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_shellcheck_says_nothing(path: Path) -> None:
    """They are POSIX shell, and can be run."""
    assert os.access(path, os.X_OK)
    ran = subprocess.run([shellcheck(), "--shell=sh", str(path)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(("shell", "program"), [
    ("bash", document("integrations/github/action.yml")["runs"]["steps"][0]["run"]),
    ("bash", document("integrations/github/action.yml")["runs"]["steps"][1]["run"]),
    ("sh", "\n".join(document("integrations/gitlab/preflight.yml")[".gpudoctor-preflight"]["script"])),
], ids=["github, install", "github, look", "gitlab"])
def test_shellcheck_says_nothing_of_what_stands_in_yaml(shell: str, program: str) -> None:
    """Variables that the service sets are known by their capitals."""
    ran = subprocess.run([shellcheck(), f"--shell={shell}", "-"], input=program, capture_output=True,
                         text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_there_are_programs() -> None:
    assert {"healthcheck", "prolog", "gpudoctor-node"} <= {path.name for path in PROGRAMS}


@pytest.mark.parametrize("folder", sorted(path for path in FOLDER.iterdir() if path.is_dir()),
                         ids=lambda path: path.name)
def test_each_folder_has_a_page_that_the_guide_names(folder: Path) -> None:
    """And the page names every file beside it."""
    guide = (ROOT / "docs" / "guide" / "preflight.md").read_text(encoding="utf-8")
    assert f"(../../integrations/{folder.name}/README.md)" in guide
    page = (folder / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in folder.iterdir()} - {"README.md"}
    assert [name for name in sorted(files) if name not in page] == []
