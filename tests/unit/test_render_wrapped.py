"""Pages and lists fit the columns of a terminal, and nothing of them is lost."""

from __future__ import annotations

from gpudoctor import ruledb
from gpudoctor.cli.rules import page_text
from gpudoctor.render import wrapped

PAGE = """# A heading that is longer than the columns there are

One two three four five six
seven eight.

- the first item goes on
  in the next line
- the second
```
a command    that is longer than the columns there are
```
"""


def test_paragraphs_and_items_are_filled_and_commands_are_left_alone() -> None:
    """A hard line end within a paragraph is none; an item hangs below its sign."""
    assert wrapped.page(PAGE, 20) == """# A heading that is longer than the columns there are

One two three four
five six seven
eight.

- the first item
  goes on in the
  next line
- the second
```
a command    that is longer than the columns there are
```
"""


def test_a_record_goes_on_below_itself() -> None:
    """Each line stands for itself, so that two are never joined."""
    assert wrapped.records("a=1  b=2\nname=long long  value=3\n", 12) == (
        "a=1  b=2\nname=long\n    long\n    value=3\n")


def test_every_page_keeps_its_words_and_fits_eighty_columns() -> None:
    """But for single words and headings that are longer themselves."""
    for rule in ruledb.load(extent="whole").rules:
        text = page_text(rule)
        shown = wrapped.page(text, 80)
        assert shown.split() == text.split()
        wide = [line for line in shown.splitlines() if len(line) > 80]
        assert [line for line in wide if not line.startswith(("#", "|")) and len(line.split()) > 2] == []
