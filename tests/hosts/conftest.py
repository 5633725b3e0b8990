"""What the tests of bad surroundings share: a snapshot of a healthy machine, and a patient."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.patient import Patient
from tests.hosts.in_process import Gpudoctor
from tests.hosts.looking import healthy


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report on a healthy machine, as a file."""
    path = tmp_path_factory.mktemp("recorded") / "report.json"
    path.write_text(json.dumps(healthy().report))
    return path


@pytest.fixture(scope="session")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Patient:
    """Return an environment with a framework and junk beside it, which every user may read."""
    folder = tmp_path_factory.mktemp("patient")
    for parent in (folder, *folder.parents[:3]):
        if parent.stat().st_mode & 0o055 != 0o055 and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    return Patient.create(folder / "venv", python="3.11")


@pytest.fixture
def gpudoctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gpudoctor:
    """Return what runs a command line."""
    return Gpudoctor(patch=monkeypatch, output=capsys)
