"""A table of words that we chose has no sources; every other row says where it was read."""

from __future__ import annotations

import pytest

from gpudoctor.pages import PageError, parse_table

HEAD = '[table]\nsummary = "Words"\nkey = ["word"]\n{more}\n[columns]\nword = "text"\n'
ROW = '[[row]]\nword = "missing"\n'
SOURCE = 'source = "https://docs.nvidia.com/"\naccessed = "2026-11-20"\n'


def test_words_of_our_own_need_no_source() -> None:
    """Nobody else said them."""
    table = parse_table(HEAD.format(more="vocabulary = true") + ROW, "words", "words.toml")
    assert (table.rows, dict(table.columns)) == (({"word": "missing"},), {"word": "text"})


def test_a_source_of_our_own_words_would_be_an_ornament() -> None:
    """It is refused: a reader would take it for proof."""
    with pytest.raises(PageError, match="row 1 has source, which is no column"):
        parse_table(HEAD.format(more="vocabulary = true") + ROW + SOURCE, "words", "words.toml")


@pytest.mark.parametrize("more", ["", "vocabulary = false", 'vocabulary = "yes"'])
def test_a_fact_needs_its_source(more: str) -> None:
    """Only the one word lifts that."""
    with pytest.raises(PageError, match="row 1 lacks source"):
        parse_table(HEAD.format(more=more) + ROW, "words", "words.toml")
