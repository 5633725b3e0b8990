"""A snapshot that was shared: its paths are stand-ins, and nobody is given them to type without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor import codec, ruledb, share
from gpudoctor.model import Snapshot
from tests.contract.checkout import run_gpudoctor
from tools.build_schemas import render

CPU_BUILD = ("--assume", "release=torch==2.10.0", "--assume", "framework.build=cpu")
STAND_IN = "/home/name1/"


def encoded(is_shared: bool) -> dict[str, Any]:
    """Return the healthy machine of the cases as a document, as it is or as it is shared."""
    machine = ruledb.load().base
    assert isinstance(machine, Snapshot)
    document: dict[str, Any] = codec.encode_snapshot(share.share(machine) if is_shared else machine)
    return document


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_document_says_whether_it_is_redacted(is_shared: bool) -> None:
    document = encoded(is_shared)
    jsonschema.validate(document, json.loads(render("snapshot-1.json")))
    assert document.get("redacted", False) is is_shared
    assert codec.decode_snapshot(document, "x").redacted is is_shared


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("command", ["check", "fix"])
def test_commands_with_stand_ins_say_so(command: str, is_shared: bool, tmp_path: Path) -> None:
    """The fix named /home/name1/venv/bin/python as if that were there."""
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(encoded(is_shared)))
    said = run_gpudoctor(command, "--from", str(path), *CPU_BUILD).stdout
    assert (STAND_IN in said) is is_shared
    assert ("write the real ones into the commands" in " ".join(said.split())) is is_shared


def test_what_is_recommended_goes_into_an_environment_that_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(encoded(is_shared=True)))
    said = run_gpudoctor("recommend", "--from", str(path), "--assume", "cc=8.9").stdout
    assert STAND_IN not in said
    assert "python3.12 -m venv gpu-environment" in said


def test_variables_with_stand_ins_say_so(tmp_path: Path) -> None:
    """On standard error: the lines stay lines."""
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(encoded(is_shared=True)))
    run = run_gpudoctor("env", "--from", str(path), "--assume", "environment.CUDA_VISIBLE_DEVICES=")
    assert run.stdout == "unset CUDA_VISIBLE_DEVICES\n"
    assert "stand-ins" in run.stderr
