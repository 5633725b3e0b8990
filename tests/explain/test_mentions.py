"""What only mentions a message reports none: titles of commits, lists of changes, an answer of True."""

from __future__ import annotations

import pytest

from gpudoctor.explanation.mentions import without_denied
from tests.explain.shipped import told

MESSAGE = "RuntimeError: CUDA error: out of memory"
COMMIT = ("commit 1234abc\nAuthor: A <a@b.example>\nDate:   Mon Nov 3 10:00:00 2025 +0100\n\n"
          f"    Fix {MESSAGE} in trainer\n\n    It was CUDNN_STATUS_NOT_INITIALIZED before\n")
TITLES = ("a1b2c3d Fix CUDA out of memory error when batch is large\n"
          'b2c3d4e (HEAD -> main) Add test for "no CUDA-capable device is detected"\n')
CHANGES = (f"# Changelog\n\n## [1.2.0] - 2025-01-01\n\n### Fixed\n\n- {MESSAGE}\n"
           "- Could not load dynamic library 'libcudart.so.11.0'\n")
RELEASE = '* Fix "no CUDA-capable device is detected" by @someone in https://github.com/a/b/pull/123\n'
TRUE = (">>> torch.cuda.is_available()\nTrue\n", "torch.cuda.is_available() returned True on it\n",
        "print(torch.cuda.is_available())  # True\n", "In [3]: torch.cuda.is_available()\nOut[3]: True\n")


@pytest.mark.parametrize("text", [COMMIT, TITLES, CHANGES, RELEASE, *TRUE])
def test_a_mention_and_an_answer_of_true_speak_of_no_fault(text: str) -> None:
    """Regression: five likely errors of a `git log`, and "I do not know" of a card that is seen."""
    found = told(text)
    assert found.findings == ()
    assert [question.cause for question in found.undecided] == ["no-fault-spoken-of"]


@pytest.mark.parametrize("text", [COMMIT, TITLES, CHANGES, RELEASE])
def test_the_same_message_beside_a_mention_of_it_is_reported(text: str) -> None:
    """Also where a mention of the very words stands first."""
    assert told(f"{text}\nIt fails:\n{MESSAGE}\n").findings[0].cause == "gpu-memory-in-use"


def test_a_row_that_begins_with_a_number_is_no_list_of_commits() -> None:
    """A process or a thread has numbers as well."""
    assert told(f"a1b2c3d {MESSAGE}\n").findings


def test_an_error_beside_an_answer_of_true_is_reported() -> None:
    """PyTorch sees cards that it has no code for."""
    found = told("torch.cuda.is_available() is True\nRuntimeError: CUDA error: no kernel image is available "
                 "for execution on the device\n")
    assert found.findings[0].cause == "gpu-too-new-for-build"


def test_where_it_is_true_there_and_false_here_a_fault_is_told() -> None:
    """The better answer does not hide the other."""
    assert told("torch.cuda.is_available() prints True in the terminal but False in Jupyter\n").findings


DENIED = "I do NOT get {0}Failed to initialize NVML: Driver/library version mismatch{0}"


@pytest.mark.parametrize("mark", ['"', "`"])
def test_a_message_that_somebody_does_not_get_is_none(mark: str) -> None:
    """It was a certain error; what else the line says counts."""
    line = DENIED.format(mark)
    assert told(line).findings == ()
    causes = [one.cause for one in told(f"{line} but torch.cuda.is_available() is False").findings]
    assert "driver-kernel-userspace-mismatch" not in causes
    assert "cpu-only-build" in causes


def test_a_thing_that_somebody_does_not_see_is_no_message() -> None:
    """That it is not there is the very fault."""
    assert not list(without_denied(['I do not see "libcuda.so.1" in that folder']))
