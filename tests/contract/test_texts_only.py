"""docs/texts_only.md lists the causes that no page finds on a machine, each with the reason."""

from __future__ import annotations

import re

from gpudoctor import ruledb
from tests.contract.checkout import ROOT

PAGE = ROOT / "docs" / "texts_only.md"


def test_the_list_is_that_of_the_pages() -> None:
    """A page that learns to judge a machine leaves it, and one that cannot gives its reason."""
    rules = ruledb.load_shipped("told").rules
    judged = {rule.cause for rule in rules if rule.detect}
    told = {rule.cause for rule in rules} - judged
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert [cause for cause, _ in rows if cause != "cause"] == sorted(told)


def test_pages_that_it_names_exist() -> None:
    """The list sends the reader to other pages."""
    known = {rule.id for rule in ruledb.load_shipped("told").rules}
    assert set(re.findall(r"GPD\d{4}", PAGE.read_text())) <= known
