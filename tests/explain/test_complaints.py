"""A text that complains and states nothing is asked, not answered."""

from __future__ import annotations

from functools import cache

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.codec import encode_report
from gpudoctor.examine import EXIT_FINDINGS, EXIT_UNDECIDED, Policy
from gpudoctor.explanation import Told, explain, report
from gpudoctor.model import RuleDatabase, Severity, value_of
from gpudoctor.render.text import render

POLICY = Policy(fail_on=Severity.ERROR, allow_undecided=False)


@cache
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped("told")


def told(text: str) -> Told:
    """Return what is told of a text."""
    return explain(texts.read_text(text, database()), database())


@pytest.mark.parametrize(("text", "command"), [
    ("my gpu does not work", "nvidia-smi"),
    ("GPU not detected", "nvidia-smi"),
    ("CUDA is not available, please help!", "nvidia-smi"),
    ("tensorflow not using gpu help", "is_built_with_cuda"),
    ("pytorch cannot see my gpu", "torch.version.cuda"),
    ("paddle not using gpu", "run_check"),
    ("jax not using gpu", "jax.devices"),
    ("nvidia-smi does not work", "nvidia-smi"),
])
def test_a_bare_complaint_is_asked_the_one_question_that_decides(text: str, command: str) -> None:
    """Regression: up to five candidates with exit code 1, the likeliest at 18 of a hundred."""
    found = told(text + "\n")
    judged = report(found, database(), POLICY)
    assert (found.findings, judged.exit_code) == ((), EXIT_UNDECIDED)
    [question] = found.undecided
    assert question.cause == "complaint-without-facts"
    assert command in question.asks[0].command
    assert question.asks[0].answers
    assert question.reasons[0].saw == text
    assert encode_report(judged)["undecided"][0]["asks"][0]["command"] == question.asks[0].command
    assert question.asks[0].question in render(judged, width=200, colour=False)


@pytest.mark.parametrize(("text", "cause"), [
    ("tensorflow 2.16 not using gpu on Windows 11", "windows-native-tf-dropped"),
    ("my gpu does not work, it is a docker container", "docker-no-gpu-flag"),
    ("my gpu does not work after a kernel update", "driver-module-not-loaded"),
    ("torch.cuda.is_available() returns False", "cpu-only-build"),
    ("jax 0.4.30 not using gpu", "jax-cuda-plugin-missing"),
    ("nvidia-smi is not working after a kernel update", "driver-module-not-loaded"),
])
def test_a_fact_or_a_program_speaks_for_candidates(text: str, cause: str) -> None:
    """A place, a release, what was done before, or what a program answered."""
    found = told(text + "\n")
    assert found.findings[0].cause == cause
    assert {finding.certainty.value for finding in found.findings} == {"likely"}
    assert report(found, database(), POLICY).exit_code == EXIT_FINDINGS


def test_what_a_line_resembles_states_nothing() -> None:
    """Regression: "cannot see my gpu" resembled a Jetson's image, and so the text was of a Jetson."""
    assert value_of(told("pytorch cannot see my gpu\n").snapshot.host, "text.places") == ()
    assert value_of(told("CUDA is not available, please help!\n").snapshot.host, "text.framework") is None
