"""Names of cards: people's spellings, nvidia-smi's, the table of products; what is not known stays so."""

from __future__ import annotations

import pytest

from gpudoctor.sources.cards import (
    capabilities_named, capability_named, forms, index, maker_is_nvidia, stated_cards,
)
from tests.sources.stating import stated, tables, value

KNOWN = index(tables()["gpu_products"])


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("Tesla V100-SXM2-16GB", "7.0"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "8.0"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "8.6"),
        ("NVIDIA GeForce GTX 1650 with Max-Q Design", "7.5"),
        ("RTX3090", "8.6"),
        ("1080ti", "6.1"),
        ("rtx 2070super", "7.5"),
        ("gtx970", "5.2"),
        ("GeForce GTX TITAN X", "5.2"),
        ("TITAN X (Pascal)", "6.1"),
        ("Titan X", None),
        ("NVIDIA TITAN Xp", "6.1"),
        ("Quadro RTX 6000", "7.5"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("RTX 6000", None),
        ("RTX A6000", "8.6"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H200", "9.0"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA GB200", "10.0"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA L40S", "8.9"),
        ("Tesla K80", "3.7"),
        ("GRID K520", "3.0"),
        ("GeForce 820M", None),
        ("GeForce GT 710", None),
        ("NVIDIA Tegra X1", "5.3"),
        ("Orin (nvgpu)", "8.7"),
        ("Jetson AGX Xavier", "7.2"),
        ("GeForce GTX 165...", "7.5"),
        ("NVIDIA GeForce RTX 3080 ...", "8.6"),
        ("NVIDIA GeForce ...", None),
        ("Kepler", None),
        ("GeForce RTX 9999", None),
        ("", None),
    ],
)
def test_compute_capability(name: str, capability: str | None) -> None:
    """By the table alone, and only where it has one answer."""
    assert capability_named(name, KNOWN) == capability


@pytest.mark.parametrize(("name", "capabilities"), [
    ("RTX 30 series", {"8.6"}), ("NVIDIA GeForce RTX 30xx", {"8.6"}), ("RTX 50-series", {"12.0"}),
    ("GTX 10 series", {"6.1"}), ("RTX 5000", {"7.5", "8.9"}), ("RTX 70 series", set()),
])
def test_a_series_is_each_of_its_cards(name: str, capabilities: set[str]) -> None:
    """Of GeForce cards: Quadros of like numbers belong to no series."""
    assert capabilities_named(name, KNOWN) == capabilities


@pytest.mark.parametrize(
    ("name", "nvidia"),
    [
        ("GeForce 210", True),
        ("Tesla something", True),
        ("A100", True),
        ("AMD Radeon RX 6800", False),
        ("RX570", False),
        ("rx6700xt", False),
        ("Intel(R) UHD Graphics 620", False),
        ("Apple M1 Max", False),
        ("MI250", False),
        ("a card", None),
    ],
)
def test_maker(name: str, nvidia: bool | None) -> None:
    """By words that only one maker uses, or by the table."""
    assert maker_is_nvidia(name, KNOWN) is nvidia


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("2x Tesla K40m", ["Tesla K40m", "Tesla K40m"]),
        ("Tesla T4 x 2", ["Tesla T4", "Tesla T4"]),
        ("NVIDIA A10, Tesla T4", ["NVIDIA A10", "Tesla T4"]),
        ("jetson tx2", ["jetson tx2"]),
        ("Intel UHD 620 and GeForce MX150", ["Intel UHD 620", "GeForce MX150"]),
        ("99x A100", ["A100"] * 16),
        ("a good one", None),
        ("none", []),
        ("none (a laptop)", []),
        ("RTX 4090, nvidia-smi shows the card but TensorFlow does not", ["RTX 4090"]),
        ("it is a Tesla T4 on a machine of ours", None),  # a sentence, which is read as one
        ("GTX 1070 with Max-Q design", ["GTX 1070 with Max-Q design"]),
        ("Quadro M2200 with driver 535", ["Quadro M2200"]),
    ],
)
def test_stated_cards(words: str, names: list[str] | None) -> None:
    """Several in one line, counts before and after the name."""
    cards = stated_cards(words, KNOWN)
    assert (None if cards is None else [card.name for card in cards]) == names


def test_capability_that_is_written_out_counts_more_than_the_table() -> None:
    """A board that is too new for the table."""
    (card,) = stated_cards("Jetson Thor (sm_110)", KNOWN) or ()
    assert card.capability == "11.0"


def test_table_has_the_forms_that_names_are_looked_up_by() -> None:
    """It was written by the same function that reads names today."""
    rows = tables()["gpu_products"].rows
    assert [row["name"] for row in rows if row["forms"] != tuple(forms(str(row["name"])))] == []
    assert len(rows) > 500


@pytest.mark.parametrize(("text", "capabilities"), [
    ("Kaggle P100. torch 2.14.1. no kernel image", ("6.0",)),
    ("A T4 of Colab, or a P100 at times", None), ("libA100.so is there", None), ("it needs an A100", None),
    ("Found GPU0 GeForce GT 710 which is of cuda capability 3.5.", ("3.5",)),
])
def test_cards_that_a_sentence_names(text: str, capabilities: tuple[str, ...] | None) -> None:
    """By a bare name only one, and as PyTorch warns of it: both were not read."""
    assert value(stated(text + "\n").text, "text.capabilities") == capabilities
