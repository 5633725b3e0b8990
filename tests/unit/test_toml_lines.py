"""At which line of a page a value stands."""

from __future__ import annotations

import pytest

from gpudoctor.toml_lines import line_of, steps

TEXT = """id = "GPD1"
severity = "error"

[[detect]]
name = "one"
when = [{ fact = "a", op = "is" }, { fact = "b", op = "is" }]

[[detect]]
name = "two"  # [[detect]] in a comment
when = [
  { fact = "a", op = "equals", value = 0 },
  { fact = "b", op = "is" },
]

[[case]]
name = "x"
facts = { cc = "9.0" }
"""


@pytest.mark.parametrize(("place", "line"), [
    ("$.id", 1), ("$.severity", 2), ("$.detect[0]", 4), ("$.detect[0].when[1].op", 6),
    ("$.detect[1].name", 9),
    ("$.detect[1].when[0].op", 11), ("$.detect[1].when[1].op", 12), ("$.detect[1].when[1].gone", 12),
    ("$.case[0].facts", 17), ("$.case[3].facts", 1), ("$", 1), ("$.nothing", 1)])
def test_a_place_has_its_line(place: str, line: int) -> None:
    """Of what is not there the line of what it belongs to; other blocks do not count."""
    assert line_of(TEXT, steps(place)) == line


def test_an_entry_of_a_list_is_not_looked_for_in_the_next_one() -> None:
    """A list on one line was said to be wrong where the entries of the one after it stand."""
    text = 'one = [{ op = "is" }]\ntwo = [  # more\n  { op = "is" },\n]\nthree = [\n  { op = "is" },\n]\n'
    assert [line_of(text, steps(place)) for place in ("one[0]", "two[0].op", "two[1]")] == [1, 3, 2]


@pytest.mark.parametrize("text", ["", "\n", "[[x", "= 1\n[["])
def test_any_text_has_a_first_line(text: str) -> None:
    """A text that is no TOML at all is told by its parser; here nothing is raised."""
    assert line_of(text, steps("$.detect[0].when[1].op")) == 1
