"""What is recommended for two frameworks in one environment, by what both ask of third packages."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.candidates.ground import ground_of
from gpudoctor.candidates.together import Together
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.model import Fit, RuleDatabase
from gpudoctor.ruledb import load_compiled
from gpudoctor.versions import parse
from tests.unit.asked_candidates import asked, host

A100 = ("cc=8.0", "driver=580.95.05", "python=3.11.0")
RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def stack(framework: str, version: str, database: RuleDatabase) -> Stack:
    own = stacks_of(framework, ground_of(host(database, *A100), database).platform, database.tables)
    return next(one for one in own if one.version == version)


@pytest.mark.parametrize(("torch", "typing"), [
    ("2.5.1", "torch 2.5.1 asks for typing-extensions>=4.8.0"),
    ("2.15.0", "torch 2.15.0 asks for typing-extensions>=4.13.0"),
])
@pytest.mark.parametrize("tensorflow", ["2.12.1", "2.13.1"])
def test_no_version_of_a_third_package_meets_both(
        tensorflow: str, torch: str, typing: str, database: RuleDatabase) -> None:
    """TensorFlow 2.12 and 2.13 take typing-extensions below 4.6; pip refuses the two in one command."""
    clash = Together(database).clash(
        (stack("tensorflow", tensorflow, database), stack("torch", torch, database)))
    assert clash is not None
    assert clash.rule == "GPD6110"
    assert "asks for typing-extensions<4.6.0,>=3.6.6" in clash.message
    assert typing in clash.message


def test_jax_asks_for_what_its_two_parts_ask_for(database: RuleDatabase) -> None:
    """The plugin's wheel, which has the device code, names none; TensorFlow 2.14 takes ml-dtypes 0.2."""
    jax = stack("jax", "0.6.2", database)
    assert {"ml-dtypes>=0.5.0", "numpy>=1.26"} <= set(jax.row["requires"])  # type: ignore[arg-type]
    alone = replace(jax, row={"requires": jax.row["requires"]})
    clash = Together(database).clash((stack("tensorflow", "2.14.1", database), alone))
    assert clash is not None
    assert "tensorflow 2.14.1 asks for ml-dtypes==0.2.0, jax 0.6.2 asks for ml-dtypes>=0.5.0" in clash.message


def test_packages_write_the_same_files_also_where_one_release_asks_for_both(database: RuleDatabase) -> None:
    """The one that two releases ask for hid that one of them asks for the other, too."""
    one, other = stack("tensorflow", "2.20.0", database), stack("jax", "0.6.2", database)
    platform = one.row["platform"]
    eleven = replace(one, release="tensorflow of CUDA 11", row={
        "platform": platform, "requires": ("nvidia-cudnn-cu11",)})
    both = replace(other, release="jax of both", row={
        "platform": platform, "requires": ("nvidia-cudnn-cu11", "nvidia-cudnn-cu12")})
    clash = Together(database).clash((eleven, both))
    assert clash is not None
    assert (clash.rule, "nvidia-cudnn-cu11 (tensorflow 2.20.0)" in clash.message) == ("GPD6060", True)
    assert Together(database).clash((both,)) is None


def test_a_set_is_completed_with_a_release_that_takes_the_same_packages(database: RuleDatabase) -> None:
    said = asked(host(database, *A100), database, "tensorflow==2.12.*", "torch")
    best = said.candidates[0]
    assert best.name == "tensorflow 2.12.1 with torch 2.1.2"  # for CUDA 11.8, with its libraries inside
    assert best.verdict is Fit.WITH_NOTES


def test_a_toolkit_is_the_one_of_the_build_and_not_of_its_runtimes_name(database: RuleDatabase) -> None:
    """All of CUDA 11 calls its runtime 11.0; 11.0 has no libcusolver.so.11, which TensorFlow 2.12 opens."""
    said = asked(host(database, *A100), database, "tensorflow==2.12.1", "torch==2.0.1")
    [note] = [note for note in said.candidates[0].notes if "no package has them" in note]
    assert "install CUDA 11.8 and cuDNN 8 (8.6 or newer) so that /usr/local/cuda-11.8/lib64 holds" in note
    assert said.candidates[0].environment == {"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"}


def test_a_change_of_a_set_makes_none_of_it_older(database: RuleDatabase) -> None:
    """A newer driver made torch 2.4.1 with TensorFlow 2.3.4 possible, where 2.13.1 was offered already."""
    said = asked(host(database, "cc=7.5", "driver=470.256.02"), database, "torch", "tensorflow", python="3.8",
                 may_change=("driver", "python"))
    best = said.candidates[0]
    now = [parse(version) for version in (best.version, best.beside[0].version)]
    assert said.changes
    for change in said.changes:
        for gain in change.gains:
            would_be = [parse(part.split()[1]) for part in gain.split(" with ")]
            assert would_be > now
            assert all(new >= old for new, old in zip(would_be, now, strict=True)), change


def test_jax_of_old_asks_for_cuda_by_its_own_extra(database: RuleDatabase) -> None:
    """Up to 0.4.29 it stands at jax, not at the plugin: a set was offered that pip, and uv, refuse."""
    machine = host(database, "cc=8.9", "driver=580.95.05")
    apart = asked(machine, database, "jax==0.4.29", "tensorflow==2.17.1", python="3.11")
    assert (apart.exit_code, apart.conflict) == (1, ("jax==0.4.29", "tensorflow==2.17.1"))
    assert "nvidia-cudnn-cu12==8.9.7.29" in apart.candidates[0].rejected_by[0].message
    alone = asked(machine, database, "jax==0.4.29", python="3.11").candidates[0]
    assert [note for note in alone.notes if "brings no CUDA libraries" in note] == []


@pytest.mark.parametrize(("version", "pins"), [
    ("0.4.25", ("numpy<2", "nvidia-cudnn-cu12==8.9.7.29")), ("0.4.26", ("numpy<2",)), ("0.4.30", ())])
def test_a_cudnn_with_another_name_is_kept_away(version: str, pins: tuple[str, ...],
                                                database: RuleDatabase) -> None:
    """jax 0.4.25 asks for cuDNN 8.9.7 or newer, and pip takes cuDNN 9, of which it opens nothing."""
    machine = host(database, "cc=8.9", "driver=580.95.05")
    assert asked(machine, database, f"jax=={version}", python="3.11").candidates[0].pins == pins


@pytest.mark.parametrize(("release", "brings"), [("2.0.1", True), ("2.10.0", False)])
def test_who_brings_a_package_itself_may_bring_what_another_lacks(release: str, brings: bool,
                                                                 database: RuleDatabase) -> None:
    """A set is not refused for two of its members where a third has what a fix would bring to one of them."""
    some = ("nvidia-cudnn-cu11==8.9.6.50", "nvidia-cublas-cu11==11.11.3.6")
    assert Together(database).brings_any(stack("torch", release, database), some) is brings
