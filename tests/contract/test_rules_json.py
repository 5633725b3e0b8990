"""rules/rules.json, which `check` reads, is what compiling the pages gives."""

from __future__ import annotations

from gpudoctor import ruledb
from gpudoctor.lint import lint
from tests.contract.checkout import RULES


def test_compiled_rules_are_up_to_date() -> None:
    """Byte for byte; after a change of a page or table: `make rules`."""
    compiled = ruledb.compile_database(ruledb.load_pages(RULES))
    assert (RULES / ruledb.COMPILED_NAME).read_bytes() == compiled, "run `make rules`"


def test_compiled_rules_read_back_as_the_pages() -> None:
    """The two readers, of pages and of the compiled file, agree on every value."""
    assert ruledb.load_compiled(RULES / ruledb.COMPILED_NAME) == ruledb.load_pages(RULES)


def test_shipped_rules_prove_themselves() -> None:
    """`rules lint` reads the compiled file, in which the order of a case's facts must have survived."""
    assert list(lint(ruledb.load_shipped())) == []
