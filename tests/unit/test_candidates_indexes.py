"""Builds of torch on PyTorch's own indexes: what an older driver or card is offered, and what comes along."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import derive
from gpudoctor.assume import lay
from gpudoctor.derive import planned, published
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Candidate, Known, Row, RuleDatabase, Scope
from gpudoctor.render.recommendation import render
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"
TESLA_T4, V100, GTX_1080, K80 = "cc=7.5", "cc=7.0", "cc=6.1", "cc=3.7"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def build(version: str, database: RuleDatabase) -> Row:
    [row] = [row for row in published.indexed_rows("torch", "linux_x86_64", database.tables)
             if row["version"] == version]
    return row


def offers(database: RuleDatabase, *words: str, wanted: str = "torch") -> list[Candidate]:
    said = asked(host(database, *words), database, wanted, python="3.10")
    return [one for one in said.candidates if one.offered and one.kind == "pip"]


@pytest.mark.parametrize(("card", "driver", "version", "index"), [
    (TESLA_T4, "470.256.02", "2.6.0", "cu118"), (V100, "450.248.02", "2.6.0", "cu118"),
    (V100, "525.147.05", "2.14.1", "cu126"), (GTX_1080, "535.288.01", "2.14.1", "cu126"),
    (K80, "470.256.02", "2.3.1", "cu118"),
])
def test_an_older_driver_or_card_is_offered_the_newest_build_for_it(
        card: str, driver: str, version: str, index: str, database: RuleDatabase) -> None:
    """A T4 with driver 470 was sent to torch 2.0.1, as no other index for CUDA 11 was known."""
    newest = offers(database, card, f"driver={driver}")[0]
    assert newest.commands[0].endswith(
        f"pip install torch=={version} --index-url https://download.pytorch.org/whl/{index}")


def test_a_build_whose_cudnn_dropped_the_card_is_refused(database: RuleDatabase) -> None:
    """torch 2.6 for CUDA 11.8 has code for a K80, and its cuDNN 9.1 has none."""
    said = asked(host(database, K80, "driver=470.256.02"), database, "torch==2.6.0", python="3.10")
    refused = {one.kind: one.rejected_by for one in said.candidates if one.cuda == "11.8"}
    assert {kind: [one.rule for one in some] for kind, some in refused.items()} == {
        "pip": ["GPD5050"], "image": ["GPD5050"]}
    assert "cuDNN 9.1.0.70" in refused["pip"][0].message


def test_a_cudnn_that_replaces_another_is_the_one_that_is_found(database: RuleDatabase) -> None:
    """A fix that installs another release was held to the cuDNN of the one before, and so not offered."""
    machine = host(database, TESLA_T4, "driver=580.95.05", "release=torch==2.14.1")
    after = lay(machine, {"release": Known(value="torch==2.15.0", source="a test")}, database.tables,
                source="a test")
    found = [derive.subjects(one, database)[Scope.FRAMEWORK][0].fact("framework.cudnn_found")
             for one in (machine, after)]
    assert [fact.value for fact in found if isinstance(fact, Known)] == ["9.24.0.43", "9.26.0.51"]


def test_a_build_with_its_libraries_inside_asks_for_none(database: RuleDatabase) -> None:
    """2.0.1+cu118 is a wheel of 2.3 GB: nothing is to be installed beside it."""
    [one] = [one for one in offers(database, TESLA_T4, "driver=470.256.02", wanted="torch==2.0.1")
             if one.cuda == "11.8"]
    assert not any("brings no CUDA libraries" in note for note in one.notes)
    assert as_texts(build("2.0.1+cu118", database)["requires_nvidia"]) == ()


@pytest.mark.parametrize(("version", "cudnn", "with_it", "without"), [
    ("2.3.1+cu118", "nvidia-cudnn-cu11==8.7.0.84", "nvidia-nccl-cu11", "nvidia-cudnn-cu12"),
    ("2.4.1+cu124", "nvidia-cudnn-cu12==9.1.0.70", "nvidia-nvjitlink-cu12", "nvidia-cusparselt-cu12"),
    ("2.7.1+cu128", "nvidia-cudnn-cu12==9.7.1.26", "nvidia-cusparselt-cu12", "nvidia-nvshmem-cu12"),
    ("2.8.0+cu129", "nvidia-cudnn-cu12==9.10.2.21", "nvidia-cufile-cu12", "nvidia-nvshmem-cu12"),
    ("2.14.1+cu126", "nvidia-cudnn-cu12==9.10.2.21", "nvidia-cusparselt-cu12", "nvidia-cudnn-cu13"),
])
def test_a_build_brings_what_the_release_nearest_to_it_brings(
        version: str, cudnn: str, with_it: str, without: str, database: RuleDatabase) -> None:
    """Regression: of the newest release for CUDA 12.4 it took packages that came later."""
    brought = as_texts(build(version, database)["requires_nvidia"])
    assert cudnn in brought
    assert with_it in brought
    assert without not in planned.names(brought)


def test_a_build_for_a_newer_glibc_than_the_release_itself_says_so(database: RuleDatabase) -> None:
    """Of torch 2.6 the build for CUDA 12.6 alone is manylinux_2_28."""
    said = asked(host(database, TESLA_T4, "driver=560.35.05", "glibc=2.17"), database, "torch==2.6.0",
                 python="3.10")
    assert {one.cuda for one in said.candidates if one.kind == "pip" and one.offered} == {"11.8", "12.4"}


@pytest.mark.parametrize(("version", "expected"), [
    ("2.7.1+cu128", "ptx"), ("2.8.0+cu129", "ptx"), ("2.9.1+cu130", "ptx"), ("2.10.0+cu130", "ptx"),
    ("2.6.0+cu126", "none"), ("2.11.0+cu128", "none"), ("2.12.1+cu132", "none"), ("2.14.1+cu132", "none"),
])
def test_a_card_newer_than_a_build_is_served_where_its_script_says_ptx(
        version: str, expected: str, database: RuleDatabase) -> None:
    """Regression: builds with `12.0+PTX` in their script were said to have nothing for a newer card."""
    machine = host(database, "cc=13.0", "driver=595.45.04", f"release=torch=={version}")
    [pair] = derive.subjects(machine, database)[Scope.PAIR]
    code = pair.fact("pair.code")
    assert isinstance(code, Known)
    assert code.value == expected


# -- what pip has nothing of ---------------------------------------------------------------------------------

CONDA = "conda create -n tensorflow -c conda-forge 'tensorflow=2.19.1=cuda128*'"
IMAGE = "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"


@pytest.mark.parametrize(("words", "wanted", "is_named"), [
    (("cc=12.0", "driver=580.95.05"), "tensorflow", True),
    (("cc=12.0", "driver=580.95.05"), "tensorflow==2.19.*", True),
    (("cc=12.0", "driver=580.95.05"), "tensorflow==2.20.*", False),
    (("cc=12.0", "driver=535.288.01"), "tensorflow", False),  # which serves no such card
    (("cc=12.0", "cc=8.9", "driver=580.95.05"), "tensorflow", False),  # of 8.9 the table says nothing
    (("cc=8.9", "driver=580.95.05"), "tensorflow", False),  # pip has it
    (("cc=12.0", "driver=580.95.05", "system.architecture=aarch64"), "tensorflow", False),
    (("cc=12.0", "driver=580.95.05"), "torch", False),
])
def test_conda_is_named_for_a_card_that_no_wheel_serves(
        words: tuple[str, ...], wanted: str, is_named: bool, database: RuleDatabase) -> None:
    """An RTX 5090 was sent to NVIDIA's last image alone, though conda-forge builds TensorFlow for it."""
    said = asked(host(database, *words), database, wanted, python="3.12")
    assert (CONDA in [hint.command for hint in said.hints]) is is_named


@pytest.mark.parametrize(("words", "wanted", "is_named"), [
    (("cc=12.1", "system.architecture=aarch64"), "tensorflow", True),  # GB10, as in a DGX Spark
    (("cc=9.0", "system.architecture=ppc64le"), "torch", True),
    (("cc=8.7", "system.architecture=aarch64", "system.jetson=36.4.0"), "tensorflow", False),  # it has a page
    (("cc=12.1", "system.architecture=aarch64"), "torch", False), (("cc=12.0",), "tensorflow", False),
])
def test_a_processor_without_builds_has_a_page_that_says_what_there_is(
        words: tuple[str, ...], wanted: str, is_named: bool, database: RuleDatabase) -> None:
    """Of TensorFlow on a GB10 it was said that nothing fits, and no more."""
    said = asked(host(database, *words, "driver=580.95.05"), database, wanted, python="3.12")
    assert ("gpudoctor explain wheel-arch-linux-aarch64" in [hint.command for hint in said.hints]) is is_named


@pytest.mark.parametrize("python", [None, "3.12"])
def test_an_image_with_whatever_python_is_named_where_a_python_was_asked_for(
        python: str | None, database: RuleDatabase) -> None:
    """`--python 3.12` said of an RTX 5090 that nothing fits, and not that an image would."""
    said = asked(host(database, "cc=12.0", "driver=580.95.05"), database, "tensorflow", python="3.12",
                 only_python=python)
    offered = [one.image for one in said.candidates if one.offered]
    hinted = [hint.command.rpartition(" ")[2] for hint in said.hints if hint.command.startswith("docker")]
    assert (offered, hinted) == (([IMAGE], []) if python is None else ([], [IMAGE]))


def test_a_build_whose_cuda_does_not_compile_for_the_card_is_not_named(database: RuleDatabase) -> None:
    """To a card of Kepler it named Paddle 3 for CUDA 11.8, which compiles for none before 3.5."""
    said = asked(host(database, "cc=3.0", "driver=470.256.02"), database, "paddle", python="3.12")
    assert not any("paddlepaddle-gpu" in (hint.command or "") for hint in said.hints)


@pytest.mark.parametrize(("driver", "cuda"), [("580.95.05", "13.0"), ("570.86.15", "12.9")])
def test_builds_on_an_index_of_their_own_count_where_nothing_that_was_read_serves(
        driver: str, cuda: str, database: RuleDatabase) -> None:
    """Of Paddle on an RTX 5090 it said "newer than 2.6.2, where these rules end", beside Paddle 3."""
    said = asked(host(database, "cc=12.0", f"driver={driver}"), database, "paddle", python="3.12")
    [never] = said.unserved
    assert (never.newest, never.unread) == ("2.6.2", ("3.3.0", "3.2.0", "3.0.0"))
    assert "3.3.0, 3.2.0, 3.0.0 may have some" in render(said, width=200, colour=False)
    label = cuda.replace(".", "")
    index = f"https://www.paddlepaddle.org.cn/packages/stable/cu{label}/"
    assert (f"pip install paddlepaddle-gpu==3.3.0 --index-url {index}"
            in [hint.command for hint in said.hints])
