"""Two numbers of one line: sizes with units, versions with dots, and what is neither."""

from __future__ import annotations

import pytest

from gpudoctor.model import Comparison
from gpudoctor.quantities import all_hold


@pytest.mark.parametrize(("left", "op", "right", "times", "holds"), [
    ("10.0.145", "above", "9.2.88", None, True),
    ("9.1.121", "above", "9.2.88", None, False),
    ("9.1.121", "below", "9.2.88.", None, True),
    ("12", "below", "12.4", None, False),  # is any release of 12
    ("12", "above", "12.4", None, False),
    ("73.88MiB", "below", "8.00GiB", 0.1, True),
    ("6.59GiB", "below", "8.00GiB", 0.1, False),
    ("15993929728", "above", "17179344896", 0.5, True),
    ("707198976", "above", "4231397376", 0.5, False),
    ("1parsec", "below", "2", 1.0, False),
    ("1.2.3", "below", "2", 1.0, False),
    ("n/a", "below", "9.2", None, False),
])
def test_a_comparison(left: str, op: str, right: str, times: float | None, holds: bool) -> None:
    """What is no number, or has a unit that nobody knows, is neither more nor less."""
    comparison = Comparison(left="left", op=op, right="right", times=times)
    assert all_hold([comparison], {"left": left, "right": right}) is holds


def test_no_comparison_asks_for_nothing() -> None:
    """Most symptoms have none; a hole that took nothing makes one fail."""
    assert all_hold([], {})
    assert not all_hold([Comparison(left="left", op="below", right="right")], {"left": "1"})
