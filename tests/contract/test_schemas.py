"""The committed schemas are the generated ones, and real output obeys them."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest

from tests.contract.checkout import run_gpudoctor
from tools.build_schemas import SCHEMAS, render


@pytest.mark.parametrize("name", SCHEMAS)
def test_committed_schema_is_the_generated_one(name: str) -> None:
    """`python -m tools.build_schemas` was run after the last change of the catalogue."""
    assert (files("gpudoctor") / "schema" / name).read_text("utf-8") == render(name)


@pytest.mark.parametrize("arguments", [[], ["--assume", "driver=570.86.15", "--assume", "cc=9.0"]])
def test_reports_of_this_machine_obey_the_schema(arguments: list[str]) -> None:
    """Whatever machine this is, the report is one that the schema describes."""
    run = run_gpudoctor("check", "--depth", "static", "--format", "json", *arguments)
    assert run.returncode in (0, 1, 3), run.stderr
    report = json.loads(run.stdout)
    jsonschema.validate(report, json.loads(render("report-1.json")))
    assert report["exit_code"] == run.returncode
