"""Images laid over machines: what is noted of them, why they are refused, and what no image can be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.candidates import WishError
from gpudoctor.dockerfiles.choice import Wanted, checked
from gpudoctor.model import Candidate, Fit, Known, Recommendation, Row, RuleDatabase
from gpudoctor.render import recommendation
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def image(said: Recommendation, name: str) -> Candidate:
    [found] = [one for one in said.candidates if one.image == name]
    return found


def test_of_one_month_the_image_with_tensorflow_2_comes_first(database: RuleDatabase) -> None:
    """tensorflow:21.05-tf1-py3 was advised, beside a release 2.13 by pip."""
    said = asked(host(database, "cc=6.1", "driver=470.256.02"), database, "tensorflow", image=True)
    assert [one.image for one in said.candidates if one.offered][:2] == [
        f"nvcr.io/nvidia/tensorflow:21.05-tf{generation}-py3" for generation in (2, 1)]


def test_code_of_which_nobody_knows_whether_it_runs_is_offered_in_no_form(database: RuleDatabase) -> None:
    """The same release was kept from pip, and offered as an image: its PTX fails on some newer cards."""
    said = asked(host(database, "cc=13.0", "driver=580.95.05"), database, "tensorflow==2.17.0")
    assert [one.image for one in said.candidates if one.offered] == []
    known = asked(host(database, "cc=8.9", "driver=580.95.05"), database, "tensorflow==2.17.0")
    assert image(known, "tensorflow/tensorflow:2.17.0-gpu").verdict is Fit.FITS


@pytest.mark.parametrize(("capability", "words"), [
    ("11.0", "the driver compiles each kernel when it is first used, which can take many minutes (GPD5040)"),
    ("9.0", "part of the code is PTX 8.3, which the driver compiles when it is first used"),
])
def test_an_image_with_ptx_says_that_the_driver_compiles_it_first(capability: str, words: str,
                                                                  database: RuleDatabase) -> None:
    """As pip's offers do: the code in the image is the same."""
    said = asked(host(database, f"cc={capability}", "driver=580.95.05"), database, "tensorflow", image=True)
    one = image(said, "tensorflow/tensorflow:2.17.0-gpu")
    assert (one.verdict, [note.endswith(words) for note in one.notes]) == (Fit.WITH_NOTES, [True])
    page = recommendation.render(said, width=1000, colour=False)
    assert f"    note    {one.notes[0]}\n" in page


def test_the_reasons_of_an_image_are_those_of_the_image(database: RuleDatabase) -> None:
    """It told why pip could install the release, and then that nothing fits."""
    machine = host(database, "cc=8.9", "driver=535.104.05")
    said = asked(machine, database, image=True, why=("tensorflow==2.18.0",))
    [one] = [one for one in said.candidates if one.why]
    assert (one.kind, one.image, one.offered) == ("image", "tensorflow/tensorflow:2.18.0-gpu", False)
    assert one.why[0].startswith("image tensorflow/tensorflow:2.18.0-gpu holds release 2.18.0, Python 3.11")
    assert any(reason.startswith("GPD4060: ") for reason in one.why)
    assert one.why[-1] == "so it is not offered"
    page = recommendation.render(said, width=100, colour=False)
    assert "WHY tensorflow: image tensorflow/tensorflow:2.18.0-gpu (CUDA 12.3, Python 3.11)  not off" in page
    several = asked(machine, database, image=True, why=("tensorflow",))
    assert [(one.offered, one.image) for one in several.candidates if one.why] == [
        (True, "tensorflow/tensorflow:2.17.0-gpu"), (False, "tensorflow/tensorflow:2.21.0-gpu")]


def test_one_image_holds_no_two_frameworks(database: RuleDatabase) -> None:
    """Two images were offered for a set that must live in one."""
    machine = host(database, "cc=8.9", "driver=580.95.05")
    with pytest.raises(WishError, match="an image holds one framework, and torch and tensorflow are two"):
        asked(machine, database, "torch", "tensorflow", image=True)
    assert asked(machine, database, "tensorflow", "tensorflow<2.18", image=True).exit_code == 0


def test_what_is_in_no_image_is_said_to_be_in_none(database: RuleDatabase) -> None:
    machine = host(database, "cc=8.9", "driver=580.95.05")
    said = asked(machine, database, "tensorflow==2.10.1", image=True)
    assert [hint.words for hint in said.hints] == ["These rules know no image with tensorflow==2.10.1."]
    assert "no image with tensorflow==2.10.1" in recommendation.render(said, width=100, colour=False)
    with pytest.raises(WishError, match=r"no image tensorflow/tensorflow:[.]{3} with torch"):
        checked(Wanted(frameworks=("torch",), base="tensorflow"), database)
    checked(Wanted(frameworks=("torch",), base="ngc"), database)
    checked(Wanted(frameworks=("tensorflow",), base="tensorflow"), database)  # was said to be in none
    checked(Wanted(base="tensorflow"), database)


def test_a_python_in_digits_that_no_version_has_is_none(database: RuleDatabase) -> None:
    """A snapshot with Arabic digits ended `recommend` on its own account."""
    with pytest.raises(WishError, match="which Python is there could not be seen"):
        asked(replace(host(database), host={
            **host(database).host, "python.version": Known(value="\u0663.\u0664", source="test")}), database)


def test_no_environment_of_python_2_is_offered(database: RuleDatabase) -> None:
    """`python2.7 -m venv` was: 2.7 has no venv, and uv refuses it."""
    machine = host(database, "cc=7.0", "driver=450.80.02")
    with pytest.raises(WishError, match=r"Python 2\.7: neither venv nor uv makes an environment of it"):
        asked(machine, database, "tensorflow", python="2.7")
    said = asked(machine, database, "paddle<2.1", may_change=("python",))
    assert said.changes
    assert not any("-> 2.7" in one.change for one in said.changes)


# -- in words ------------------------------------------------------------------------------------------------


def test_a_line_of_several_releases_is_true_of_each(database: RuleDatabase) -> None:
    """All that one rule refused stood under what it said of the first."""
    said = asked(host(database, "card=GTX 1080", "driver=390.157", python__version="3.11.4"), database,
                 "tensorflow")
    page = " ".join(recommendation.render(said, width=100, colour=False).split())
    assert "2.18.0 and 10 more GPD2010 tensorflow 2.21.0 ... 2.12.0 is built for CUDA 12.5.1 ... 11.8" in page
    assert "tensorflow 2.15.0 GPD6090 pip refuses tensorflow[and-cuda]==2.15.0: the extra asks" in page
    assert "41 more GPD6090 no wheel of tensorflow 2.11.1 ... 2.1.0 for Python 3.11: there are" in page


def test_reasons_name_the_build_and_what_is_noted(database: RuleDatabase) -> None:
    """Several builds of a release had one head, and nothing objected to what had a note."""
    machine = host(database, "cc=8.9", "driver=535.104.05")
    said = asked(machine, database, why=("torch==2.14.1", "paddle==3.3.0"))
    page = recommendation.render(said, width=100, colour=False)
    for head in ("(CUDA 12.6)  fits, with notes", "(CUDA 13.0)  not offered", "(CUDA 13.2)  not offered"):
        assert f"WHY torch 2.14.1 {head}\n" in page
    [own] = [one for one in said.candidates if one.offered and one.framework == "torch" and one.why]
    assert own.why[-1] == "so it is offered, with notes"
    assert any(reason.startswith("noted: from PyTorch's own index") for reason in own.why)
    unread = next(one for one in said.candidates if one.version == "3.3.0")
    assert unread.why[0].startswith("which Python paddle 3.3.0 has wheels for on linux_x86_64 is in no table")
    plain = asked(machine, database, why=("tensorflow==2.20.0",)).candidates[0]
    assert plain.why[-1] == "so no rule objects to it"


def test_an_image_is_offered_for_each_build_that_pip_has(database: RuleDatabase) -> None:
    """Regression: no image of PyTorch's own was known: people were sent to NVIDIA's of years ago."""
    said = asked(host(database, "cc=6.1", "driver=535.104.05"), database, "torch==2.14.1", image=True)
    offered = image(said, "pytorch/pytorch:2.14.1-cuda12.6-cudnn9-runtime")
    assert (offered.verdict, offered.version, offered.cuda) == (Fit.WITH_NOTES, "2.14.1", "12.6")
    assert offered.commands == (f"docker run --rm -it --gpus all {offered.image}",)
    assert "the image was not read" in offered.notes[0]
    refused = image(said, "pytorch/pytorch:2.14.1-cuda13.0-cudnn9-runtime")
    assert {one.rule for one in refused.rejected_by} == {"GPD2010", "GPD5010"}
    page = recommendation.render(asked(host(database, "cc=7.5", "driver=535.104.05"), database, "torch",
                                       image=True), width=200, colour=False)
    assert "    also    nvcr.io/nvidia/pytorch:23.06-py3 fits as well\n" in page
    before = asked(host(database, "cc=6.1", "driver=535.104.05"), database, "torch<2.1", image=True)
    assert not [one for one in before.candidates if str(one.image).startswith("pytorch/")]


def test_an_image_of_pip_s_build_has_its_own_c_library(database: RuleDatabase) -> None:
    """What pip cannot install for an old glibc, or none, runs in an image."""
    for glibc in ("2.17", None):
        machine = host(database, "cc=8.9", "driver=580.95.05", system__glibc=glibc)
        said = asked(machine, database, "torch==2.14.1")
        kinds = {one.kind for one in said.candidates if one.offered}
        assert kinds == {"image"}


def test_an_image_that_a_fix_would_have_to_change_is_not_offered(database: RuleDatabase) -> None:
    """pip's offer of TensorFlow 2.21 comes with a variable, as it does not find its cuSOLVER."""
    tags = database.tables["image_tags"]
    form: Row = {"image": "a/tensorflow", "form": "{version}-{cuda}-{cudnn}", "framework": "tensorflow",
                 "each_cuda_since": "2.20.0", "source": "a test"}
    made = replace(database, tables={**database.tables, "image_tags": replace(tags, rows=(*tags.rows, form))})
    said = asked(host(made, "cc=8.9", "driver=580.95.05"), made, "tensorflow")
    offered = {(one.version, one.kind): one.offered for one in said.candidates
               if one.kind == "pip" or str(one.image).startswith("a/")}
    assert [offered["2.21.0", kind] for kind in ("pip", "image")] == [True, False]
    assert [offered["2.20.0", kind] for kind in ("pip", "image")] == [True, True]


def test_an_image_that_gets_no_updates_is_offered_with_that_note(database: RuleDatabase) -> None:
    """Regression: `lint` warned of the base that `dockerfile --base ngc` had chosen without a word."""
    said = asked(host(database, "card=V100", "driver=470.256.02"), database, "tensorflow", image=True)
    ended = image(said, "nvcr.io/nvidia/tensorflow:21.05-tf2-py3")
    assert ended.notes[-2:] == (
        "NVIDIA's build of TensorFlow 2 in it gets no updates since 2025-02 (GPD0030)",
        "Ubuntu 20.04 in it gets no updates since 2025-04 (GPD0030)")
    torch = asked(host(database, "card=V100", "driver=550.54.14"), database, "torch", image=True)
    assert not [note for note in image(torch, "nvcr.io/nvidia/pytorch:24.01-py3").notes if "updates" in note]


def test_what_could_not_be_judged_is_no_rejection(database: RuleDatabase) -> None:
    """It stood under NOT OFFERED, and the exit code said that nothing fits: for ARM nobody knows."""
    arm = host(database, "cc=9.0", "driver=580.95.05", system__architecture="aarch64")
    said = asked(arm, database, "torch", image=True)
    assert (said.exit_code, {one.is_open for one in said.candidates}) == (3, {True})
    page = recommendation.render(said, width=100, colour=False)
    assert "NOT OFFERED" not in page
    assert "NOT JUDGED, so not offered: each of these may fit or not\n  torch pytorch/pytorch:" in page
    assert page.endswith("Nothing is offered: what was asked for could not be judged here.\n")
    both = asked(host(database, "cc=9.0", "driver=580.95.05", system__architecture="aarch64"), database,
                 "tensorflow")  # pip has no build: that is known, so that this outranks the images
    assert both.exit_code == 1
    assert {one.is_open for one in both.candidates} == {False, True}


def test_newer_images_are_told_with_why_they_are_not_offered(database: RuleDatabase) -> None:
    """Regression: of NVIDIA's builds a month was compared with a release, so neither list had any."""
    said = asked(host(database, "card=T4", "driver=525.60.13"), database, "torch", image=True)
    own = [one for one in said.candidates if str(one.image).startswith("nvcr.io/")]
    page = recommendation.render(replace(said, candidates=tuple(own)), width=400, colour=False)
    refused, _, unknown = page.partition("NOT JUDGED")
    assert "nvcr.io/nvidia/pytorch:26.06-py3" in refused.partition("NOT OFFERED")[2]
    assert "pytorch:21.06-py3" in unknown
    assert "the tables do not say which cards it is for" in unknown
    assert "20.02" not in page  # older than the one that is offered
