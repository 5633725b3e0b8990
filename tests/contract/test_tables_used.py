"""Every table has somebody who reads it, or says that it is there to be read by people."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from gpudoctor import ruledb
from gpudoctor.compatible import tomllib
from tests.contract.checkout import PACKAGE, ROOT, RULES, files_below, parsed

TABLES = sorted((RULES / "tables").glob("*.toml"))
_LOOKUP = re.compile(r"lookup='([a-z_0-9]+)\.")


@cache
def read_by_rules() -> frozenset[str]:
    """Return the tables in which a page or a symptom looks something up."""
    database = ruledb.load(extent="whole")
    rules = [(rule.detect, rule.ask, rule.fix) for rule in database.rules]
    return frozenset(_LOOKUP.findall(repr((rules, [tuple(one.suspects) for one in database.symptoms]))))


@cache
def named_in_code() -> frozenset[str]:
    """Return the texts in what judges, and in what writes docs/matrix: a table is asked for by its name."""
    files = [*files_below(PACKAGE), *sorted((ROOT / "tools").glob("sweep*.py"))]
    return frozenset(node.value for path in files if path.suffix == ".py" for node in ast.walk(parsed(path))
                     if isinstance(node, ast.Constant) and isinstance(node.value, str))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_is_read_or_marked_informative(path: Path) -> None:
    """What nobody reads is in every installation for nothing, unless a person looks it up."""
    head = tomllib.loads(path.read_text(encoding="utf-8"))["table"]
    is_read = path.stem in read_by_rules() | named_in_code()
    assert head.get("informative", False) is not is_read
