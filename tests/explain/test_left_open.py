"""What is said of lines that decide nothing: numbers with two meanings, lines that were called harmless."""

from __future__ import annotations

import pytest

from gpudoctor.examine import Policy
from gpudoctor.explanation import report
from gpudoctor.render import line as one_line
from gpudoctor.render.text import render
from tests.explain.shipped import database, told

CUDART = ("W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library "
          "'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file\n")


def test_a_number_with_two_meanings_is_quoted_with_both() -> None:
    """Regression: it was unknown, and nothing said why."""
    found = told("CUDA error 4")
    (question,) = found.undecided
    assert not found.findings
    assert "4 is CUDA_ERROR_DEINITIALIZED" in question.reasons[0].source
    assert "or cudaError" in question.reasons[0].source


def test_a_line_that_was_called_harmless_is_not_unknown_as_well() -> None:
    """Regression: it was quoted three times under "I do not know", by the other symptoms that it shows."""
    found = told(CUDART)
    assert [(one.cause, one.certainty.value) for one in found.findings] == [
        ("benign-no-gpu-machine", "likely")]
    assert found.undecided == ()


@pytest.mark.parametrize(("text", "begins"), [
    ("hello world", "Nothing in this text speaks of a fault"),
    ("CUDA error 4", "I do not know what these lines come from: CUDA error 4"),
])
def test_of_a_text_the_one_line_does_not_say_that_nobody_could_look(text: str, begins: str) -> None:
    """It was read; what it does not tell is another thing."""
    policy = Policy()
    said = one_line.render(report(told(text), database(), policy), policy)
    assert said.startswith(begins)
    assert "could not look" not in said


def test_of_candidates_the_one_line_names_the_most_probable() -> None:
    """Regression: it named the second, an error, and not the first, whose page is a warning."""
    policy = Policy()
    found = told("RuntimeError: CUDA error: out of memory")
    said = one_line.render(report(found, database(), policy), policy)
    assert said.startswith("gpu-memory-in-use [text] (likely, 1 of 4)")
    assert "Also: out-of-memory-model" in said


@pytest.mark.parametrize("text", [
    "OSError: [Errno 24] Too many open files\nRuntimeError: CUDA error: unknown error\n",
    "Too many open files\nRuntimeError: CUDA error: OS call failed or operation not supported on this OS\n",
    "pytorch 2.1\nRuntimeError: received 0 items of ancdata\n",
])
def test_the_limit_of_open_files_is_told_first(text: str) -> None:
    """The device nodes are files too."""
    first = told(text).findings[0]
    assert first.cause == "host-memory-limit"
    assert "open files" in first.message
    assert "ulimit -n" in first.asks[0].command


@pytest.mark.parametrize("text", ["hello world", "\x01\x02 qwe 7", "the weather is nice"])
def test_of_a_text_without_a_known_line_one_sentence_is_said(text: str) -> None:
    """Regression: "line no line that is known (the whole text)", below two empty lines."""
    said = render(report(told(text), database(), Policy()), width=200, colour=False)
    assert "no line of it is known; that is no proof of health." in said
    assert "    line " not in said
    assert "\n\n\n" not in said


def test_a_harmless_line_is_still_quoted() -> None:
    """What is known of a text stands there, and so does what it states, below one empty line."""
    said = render(report(told("NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2\n"),
                         database(), Policy()), width=200, colour=False)
    assert "    line    NVIDIA-SMI 535.183.01" in said
    assert "no line of it is known" not in said
    assert "\n\n  versions " in said
