"""What is known of NVIDIA's monthly images: of one itself, of its month, and that both agree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor import ruledb, versions
from gpudoctor.image_notes import noted
from gpudoctor.model import Tables

OWN = "nvcr.io/nvidia/"


@pytest.fixture(scope="module")
def tables() -> Tables:
    return ruledb.load().tables


def minor(cuda: object) -> tuple[int, ...]:
    return versions.parse(str(cuda)).release[:2]


def test_months_and_images_agree(tables: Tables) -> None:
    """That a month's images are built on one CUDA is not said anywhere: every pair in the tables shows it."""
    months = {row["release"]: row for row in tables["ngc_releases"].rows}
    sharing = {row["image"] for row in tables["ngc_images"].rows if row["shares_release"]}
    pairs = [(row, months[str(row["tag"])[:5]]) for row in tables["container_images"].rows
             if row["image"] in sharing and "cuda" in row and str(row["tag"])[:5] in months]
    assert [own["tag"] for own, month in pairs if minor(own["cuda"]) != minor(month["cuda"])] == []
    assert len(pairs) >= 24
    assert {own["image"] for own, _ in pairs} >= {f"{OWN}tensorflow", f"{OWN}pytorch", f"{OWN}paddlepaddle"}


def test_a_month_asks_for_no_driver_that_its_cuda_does_not_run_on(tables: Tables) -> None:
    """The notes of 25.08 name 575 for CUDA 13.0: that one is not taken."""
    least = {int(str(row["cuda"]).partition(".")[0]): str(row["driver"])
             for row in reversed(tables["driver_branches"].rows)}
    wrong = [row["release"] for row in tables["ngc_releases"].rows if "driver" in row
             and versions.parse(str(row["driver"])) < versions.parse(least[minor(row["cuda"])[0]])]
    assert wrong == []


def test_a_month_adds_what_the_image_leaves_out(tables: Tables) -> None:
    found = noted(f"{OWN}pytorch", "24.01-py3", tables)
    assert (found["cuda"], found["tensorrt"], found["oldest_card"]) == ("12.3.2", "8.6.1.6", "6.0")
    assert str(found["driver_data_center"]).startswith("470.57")
    assert found["read_from"] == f"{OWN}tritonserver"


def test_a_month_is_enough(tables: Tables) -> None:
    found = noted(f"{OWN}pytorch", "24.10-py3", tables)
    assert (found["cuda"], found["driver"], found["oldest_card"]) == ("12.6.2", "560", "6.0")
    assert "python" not in found


def test_a_month_without_notes_asks_for_the_driver_of_its_cuda(tables: Tables) -> None:
    """Of 26.04 nobody names the driver of PyTorch's image; the list of Triton's images has one."""
    found = noted(f"{OWN}pytorch", "26.04-py3", tables)
    assert (found["framework"], found["cuda"], found["driver"]) == ("2.12.0a0", "13.2", "595")
    assert found["read_from"] == f"{OWN}cuda-dl-base and {OWN}tritonserver"


def test_a_month_of_which_two_sources_differ_says_nothing(tables: Tables) -> None:
    """The notes of MXNet 24.06 name CUDA 12.4.1, the list of Triton's images 12.5.0."""
    assert noted(f"{OWN}pytorch", "24.06-py3", tables) == {}


def test_the_image_counts_where_both_speak(tables: Tables) -> None:
    """The exceptions of a month belong to its driver, not to another one."""
    found = noted(f"{OWN}pytorch", "25.02-py3", tables)
    assert (found["driver"], found["oldest_card"]) == ("570", "7.5")
    assert str(found["driver_data_center"]).startswith("470.57")
    other = {"image": f"{OWN}pytorch", "tag": "25.02-py3", "driver": "575"}
    apart = {**tables, "container_images": replace(tables["container_images"], rows=(other,))}
    found = noted(f"{OWN}pytorch", "25.02-py3", apart)
    assert (found["driver"], found["oldest_card"]) == ("575", "7.5")
    assert "driver_data_center" not in found


def test_the_driver_of_a_month_is_that_of_its_cuda(tables: Tables) -> None:
    """The notes of 25.01 to 25.03 name the 560 of the months before; the images have CUDA 12.8, and 570."""
    drivers = {str(row["cuda"]): row["driver"] for row in tables["driver_branches"].rows}
    months = [row for row in tables["ngc_releases"].rows
              if str(row["release"]) >= "24.07" and "driver" in row]
    assert {row["release"]: row["driver"] for row in months} == {
        row["release"]: drivers[".".join(str(row["cuda"]).split(".")[:2])] for row in months}


@pytest.mark.parametrize(("image", "tag"), [
    ("jax", "24.04-py3"),  # built on a CUDA of its own
    ("l4t-pytorch", "r35.2.1-pth2.0-py3"), ("pytorch", "99.01-py3"), ("pytorch", "latest"), ("pytorch", ""),
])
def test_nothing_is_said_of_what_no_month_covers(tables: Tables, image: str, tag: str) -> None:
    assert "cuda" not in noted(f"{OWN}{image}", tag, tables)
