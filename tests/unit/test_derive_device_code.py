"""What a build's fat binaries hold for a card: machine code, PTX that must be compiled, or nothing."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.derive import integrated
from gpudoctor.derive.device_code import coverage, span
from gpudoctor.model import Record


def signature(sass: str = "", ptx: str = "", fat_binaries: int = 1) -> Record:
    """Return a signature record from lists in words: "7.0 8.0", "9.0@8.5"."""
    return {"sass": tuple(sass.split()), "ptx": tuple(ptx.split()), "fat_binaries": fat_binaries}


# As measured in the wheels (rules/tables): the bulk of TensorFlow 2.20 and 2.15, torch 2.8 and 2.15.
TENSORFLOW_2_20 = (
    signature("6.0 7.0 8.0 8.9", "9.0@8.5", 1149),
    signature("6.0 7.0 8.0 8.9 9.0", "9.0@8.3", 319),
)
TENSORFLOW_2_15 = (
    signature("5.0 6.0 7.0 7.5", "8.0@7.1", 1149),
    signature("5.0 6.0 7.0 7.5 8.0", "8.0@8.1", 247),
)
TORCH_2_8 = (
    signature("7.0 7.5 8.0 8.6 9.0 10.0 12.0", "", 389),
    signature("5.0 6.0 7.0 8.0 8.6 9.0 10.0 12.0", "", 107),
)
TORCH_2_15 = (
    signature("7.5 8.0 8.6 9.0 10.0 12.0", "", 419),
    signature("9.0", "", 29),
    signature("10.0", "", 29),
    signature("7.5 8.0 8.9 9.0 10.0 12.0", "12.0@9.0", 3),
)


@pytest.mark.parametrize(
    ("sass", "card", "runs"),
    [
        ("8.6", "8.9", True),
        ("8.0", "8.6", True),
        ("8.9", "8.6", False),
        ("8.0", "9.0", False),
        ("9.0", "8.9", False),
        ("9.0a", "9.0", True),
        ("10.0a", "10.3", False),
        ("10.3f", "10.3", True),
        ("10.0f", "10.3", True),
        ("10.3f", "10.0", False),
        ("12.0", "12.1", True),
        ("", "8.0", False),
        ("nonsense", "8.0", False),
    ],
)
def test_machine_code_runs_within_its_major_version(sass: str, card: str, runs: bool) -> None:
    """Same major, no newer minor; "a" binds code to one chip, "f" to its family."""
    assert ("native" if runs else "none") == coverage([signature(sass)], card).kind


@pytest.mark.parametrize(("sass", "gpu", "cuda", "runs"), [
    ("8.0", "8.7", "13.0", False), ("8.7", "8.7", "12.6", True), ("8.0", "8.7", "13.2", True),
    ("8.0", "8.7", None, False), ("8.0", "8.6", "13.0", True), ("8.7", "8.9", "13.0", False),
    ("7.0", "7.2", "12.9", False), ("7.2", "7.5", "12.9", False), ("6.0", "6.2", "11.8", False),
    ("5.0", "5.3", "10.2", False), ("11.0", "11.0", "13.0", True),
])
def test_the_gpu_inside_a_chip_runs_no_machine_code_for_cards(
        sass: str, gpu: str, cuda: str | None, runs: bool) -> None:
    """Nor the other way round; Orin (8.7) was healthy with PyTorch 2.14, whose code for 8.0 fails there."""
    found = integrated.coverage([signature(sass)], gpu, cuda, ruledb.load_shipped().tables)
    assert ("native" if runs else "none") == found.kind


def test_ptx_is_compiled_on_the_gpu_of_a_chip() -> None:
    """As on any card that is newer than it."""
    found = integrated.coverage([signature("8.0", "8.0@8.1")], "8.7", "12.6", ruledb.load_shipped().tables)
    assert found.kind == "ptx"


@pytest.mark.parametrize(
    ("ptx", "card", "compiles"),
    [
        ("8.0@7.1", "9.0", True),
        ("9.0@8.5", "9.0", True),
        ("9.0@8.5", "8.9", False),
        ("9.0a@8.5", "9.0", True),
        ("9.0a@8.5", "10.0", False),
        ("10.0f@8.8", "10.3", True),
        ("10.0f@8.8", "12.0", False),
        ("8.0", "9.0", False),
    ],
)
def test_ptx_compiles_for_the_same_or_a_newer_card(ptx: str, card: str, compiles: bool) -> None:
    """An entry without its ISA version says too little to count."""
    assert ("ptx" if compiles else "none") == coverage([signature("", ptx)], card).kind


@pytest.mark.parametrize(
    ("code", "card", "kind"),
    [
        (TENSORFLOW_2_20, "8.9", "native"),
        (TENSORFLOW_2_20, "9.0", "partial"),
        (TENSORFLOW_2_20, "12.0", "ptx"),
        (TENSORFLOW_2_20, "5.2", "none"),
        (TENSORFLOW_2_15, "8.0", "partial"),
        (TENSORFLOW_2_15, "9.0", "ptx"),
        (TORCH_2_15, "8.9", "native"),
        (TORCH_2_15, "7.0", "none"),
        (TORCH_2_15, "12.1", "native"),
        (TORCH_2_8, "7.0", "native"),
        (TORCH_2_8, "6.0", "none"),
        ((), "9.0", "none"),
    ],
)
def test_published_builds_on_real_cards(code: tuple[Record, ...], card: str, kind: str) -> None:
    """A few fat binaries without code are normal; a few with code make no build for the card."""
    assert kind == coverage(code, card).kind


@pytest.mark.parametrize(
    ("code", "card", "isa"),
    [
        (TENSORFLOW_2_20, "9.0", "8.5"),
        (TENSORFLOW_2_20, "8.9", None),
        (TENSORFLOW_2_15, "8.0", "7.1"),
        (TENSORFLOW_2_15, "9.0", "8.1"),
    ],
)
def test_the_newest_ptx_that_must_be_compiled_counts(
    code: tuple[Record, ...], card: str, isa: str | None
) -> None:
    """PTX beside machine code that runs is never compiled, so it does not count."""
    assert isa == coverage(code, card).ptx_isa


def test_of_several_entries_in_one_fat_binary_the_oldest_isa_will_do() -> None:
    """The driver compiles whichever it knows."""
    assert coverage([signature("", "7.0@6.4 8.0@7.1")], "9.0").ptx_isa == "6.4"


def test_the_span_of_a_build_leaves_out_what_it_hardly_serves() -> None:
    """torch 2.8 serves 7.0 to 12.1, although some of its fat binaries have code for 5.0."""
    known = ("12.1", "5.0", "6.0", "7.0", "9.0")
    assert span(TORCH_2_8, known) == ("7.0", "12.1")
    assert span((), known) is None


@pytest.mark.parametrize(
    ("ptx", "card", "target"),
    [
        ("9.0@8.5", "12.0", "9.0"),
        ("9.0@8.5 10.0@8.8", "12.0", "10.0"),
        ("9.0@8.5 12.0f@8.8", "12.1", "12.0"),
        ("9.0a@8.5", "12.0", None),
        ("12.0@8.8", "10.0", None),
    ],
)
def test_for_which_card_the_ptx_was_written_that_must_be_compiled(
    ptx: str, card: str, target: str | None
) -> None:
    """The newest one that compiles for the card."""
    assert coverage([signature("", ptx)], card).ptx_target == target
