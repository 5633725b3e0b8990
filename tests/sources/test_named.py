"""What a text names in passing: the one framework of its sentences, and that there is no card."""

from __future__ import annotations

import pytest

from tests.sources.stating import of_text, stated


@pytest.mark.parametrize(("text", "framework"), [
    ("Tensorflow can't see my card at all", "tensorflow"),
    ("My card is not used (PyTorch).", "pytorch"),
    ("framework: 2.17.0\nwhy does tensorflow not see it?", "tensorflow"),
    ("tensorflow and pytorch both fail", None),  # nobody knows which it is about
    ("I tensorflow/compiler/xla/service.cc:176] said by another program", None),
    ('{"name":"tensorflow","version":"2.1.0"}', None),  # a list is no sentence
    ("nothing is named", None),
])
def test_the_one_framework_that_a_sentence_names(text: str, framework: str | None) -> None:
    """A path in a log is no sentence, and two names are no answer."""
    assert of_text(text).get("framework") == framework


@pytest.mark.parametrize(("text", "has_card"), [
    ("- OS: Debian 12\n- No GPU", False),
    ("* CPU only machine", False),
    ("No GPU", None),  # a program may have printed that
    ("- no GPU is found by it", None),
    ("My laptop has only Intel graphics. Is this bad?", False),
    ("I have an AMD Radeon RX 6600 here", False),
    ("it has Intel UHD 630 and an RTX 3050", True),
    ("my notebook has Intel graphics and a dedicated card", None),
    ("Radeon cards are not supported", None),
])
def test_an_item_of_a_list_says_that_there_is_no_card(text: str, has_card: bool | None) -> None:
    """Only where it is the whole item, or where somebody names graphics of another maker as theirs alone."""
    assert of_text(text).get("nvidia_card") == has_card


@pytest.mark.parametrize(("text", "capabilities"), [
    ("I have an RTX 50 series card here", ("12.0",)), ("my GTX 16-series laptop", ("7.5",))])
def test_a_sentence_names_a_series_whole(text: str, capabilities: tuple[str, ...]) -> None:
    """It was cut to "RTX 50", which is no card."""
    assert of_text(text).get("capabilities") == capabilities


def test_the_pip_of_a_sentence() -> None:
    """It decides which wheels are known."""
    found = stated("it cannot be installed with pip 18.1 here").host["python.pip_version"]
    assert getattr(found, "value", None) == "18.1"


@pytest.mark.parametrize(("text", "generation"), [
    ("I have a Kepler card", "kepler"), ("Blackwell GPU, torch 2.4", "blackwell"),
    ("my Ada Lovelace laptop GPU", "ada"), ("a Pascal-based card", "pascal"),
    ("torch 2.8 supports Blackwell GPU", None), ("Kepler GPUs are not supported any more", None),
    ("a Volta GPU and an Ampere GPU", None), ("Maxwell wrote equations", None),
    ("a Pascal card, the GTX 1080", None),  # the name of the card says more
])
def test_the_generation_of_the_one_card(text: str, generation: str | None) -> None:
    """Where a person means a card, not where a program speaks of a kind."""
    assert of_text(text).get("generation") == generation
