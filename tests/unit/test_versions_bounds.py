"""The bounds that decide: of several upper ones the lowest, of several lower ones the highest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import versions
from gpudoctor.derive import planned

VERSIONS = ("8", "8.6", "8.9.6.50", "9.0.0", "9.0.0.post1", "9.10.2.21", "10", "10.0rc1", "9.10.2.21+local")
bounds = st.lists(st.builds(lambda operator, version: f"{operator}{version}",
                            st.sampled_from(("<", "<=", ">", ">=", "==", "!=", "~=")),
                            st.sampled_from(("8.6", "8.9.6.50", "9.0", "9.10.2.21", "10.0"))),
                  max_size=5).map(",".join)


@given(text=bounds, version=st.sampled_from(VERSIONS))
def test_nothing_else_is_admitted(text: str, version: str) -> None:
    assert versions.within(version, versions.tightest(text)) is versions.within(version, text)


@pytest.mark.parametrize(("text", "decide"), [
    (">=8.6,<=8.9.6.50,<=9.10.2.21", ">=8.6,<=8.9.6.50"), ("<10.0,>=9.10.2.21,<=9.10.2.21", "==9.10.2.21"),
    ("<9,<=9,>8,>=8", ">8,<9"), ("==9.1,<10", "==9.1"), ("==9.*,!=9.1,<10", "!=9.1,==9.*,<10"),
    (">=10,<9", ">=10,<9"), ("", "")])
def test_what_decides_is_left(text: str, decide: str) -> None:
    """Two upper bounds on cuDNN were printed for a V100 (GPD4090)."""
    assert versions.tightest(text) == decide


def test_a_bound_that_decides_nothing_leaves_a_requirement_as_it_is_written() -> None:
    """What is held back is told by the change of its text."""
    assert planned.bounded("nvidia-cudnn-cu12<9.0,>=8.9", "<=9.10.2.21") == "nvidia-cudnn-cu12<9.0,>=8.9"
    assert planned.bounded("nvidia-cudnn-cu11", "<=9.10.2.21") == "nvidia-cudnn-cu11<=9.10.2.21"


def test_a_requirement_on_a_number_that_python_does_not_read_is_none() -> None:
    """packaging takes it, and fails when a version is held against it."""
    assert list(planned.parse((f"numpy=={'9' * 5000}", "six"))) == list(planned.parse(("six",)))
