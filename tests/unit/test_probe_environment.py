"""The environment probe: set, set to nothing, and not set are three things."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gpudoctor.model import Absent, Unknown
from gpudoctor.probes import environment
from gpudoctor.probes.raw import Answer
from gpudoctor.variables import ENVIRONMENT_VARIABLES
from tests.unit.file_answers import JSON, OUTCOMES, ask, assert_total, good, interpreter, spoiled, value

SAMPLE: dict[str, Any] = {
    "variables": {name: {"missing": True} for name in ENVIRONMENT_VARIABLES}
    | {"CUDA_VISIBLE_DEVICES": {"value": "", "bytes": 0}},
    "library_path": [{"written": "/opt/lib", "folder": "/opt/lib"}],
}


def test_set_to_nothing_is_not_unset() -> None:
    """CUDA_VISIBLE_DEVICES= hides every card."""
    facts = environment.read(good(SAMPLE))
    assert value(facts["environment.CUDA_VISIBLE_DEVICES"]) == ""
    assert isinstance(facts["environment.CUDA_HOME"], Absent)
    assert value(facts["loader.library_path"]) == ("/opt/lib",)


def test_what_was_not_asked_is_unknown() -> None:
    """Never "not set"."""
    facts = environment.read(good({}))
    assert all(isinstance(fact, Unknown) for fact in facts.values())


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_values_of_every_kind(version: str, tmp_path: Path) -> None:
    """Line breaks, markup, escape sequences, bytes that are no UTF-8 and 100 KiB come through whole."""
    values = {"CUDA_HOME": "", "XLA_FLAGS": "a\nb [bold]\x1b[31m\u20ac", "TF_XLA_FLAGS": "x" * 100_000,
              "CUDA_PATH": os.fsdecode(b"/caf\xe9"), "LD_LIBRARY_PATH": f"{tmp_path}::relative;/end/"}
    python, request = interpreter(version), {"names": list(ENVIRONMENT_VARIABLES)}
    facts = environment.read(ask("environment", interpreter=python, request=request, environment=values))
    seen = {name: value(facts[f"environment.{name}"]) for name in values}
    assert seen == {**values, "CUDA_PATH": "/caf\\xe9"}
    here = os.getcwd()
    assert value(facts["loader.library_path"]) == (str(tmp_path), here, f"{here}/relative", "/end")


def test_an_empty_library_path_has_no_entry() -> None:
    """The loader takes an empty value for none; unset is Absent."""
    empty = environment.read(ask("environment", environment={"LD_LIBRARY_PATH": ""}))
    assert value(empty["loader.library_path"]) == ()
    unset = environment.read(good({**SAMPLE, "library_path": None}))
    assert isinstance(unset["loader.library_path"], Absent)


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(environment, "environment", Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(SAMPLE))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_total(environment, "environment", good(data))
