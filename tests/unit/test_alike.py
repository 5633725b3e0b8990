"""Messages of one form in one line."""

from __future__ import annotations

from gpudoctor.render import alike


def test_numbers_in_which_messages_differ_become_their_ends() -> None:
    """The newest first, as candidates are listed."""
    said = alike.of_all(["no wheel of torch 2.9.0 for 3.9", "no wheel of torch 2.10.0 for 3.9"])
    assert said == "no wheel of torch 2.10.0 ... 2.9.0 for 3.9"


def test_ranges_become_the_one_that_spans_them() -> None:
    """Four ends in a row were read by nobody: 3.8 ... 2.7 to 3.10 ... 3.7."""
    said = alike.of_all(["there are some for 3.8 to 3.10", "there are some for 2.7 to 3.7"])
    assert said == "there are some for 2.7 to 3.10"
    assert alike.of_all(["for 3.8 to 3.10", "for 3.8 to 3.10"]) == "for 3.8 to 3.10"
