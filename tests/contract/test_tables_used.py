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
from tools import (
    cause_words, error_codes, locale_messages, nvidia_code, nvidia_libraries, nvidia_releases,
    nvidia_requirements, shared_modules, update_gpu_products,
)
from tools.framework_tables import PROJECTS
from tools.table_file import Table, render_table

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


HEADS: dict[str, Table] = {
    **{project.name: project.table for project in PROJECTS},
    "gpu_products": update_gpu_products.TABLE, "gpu_specifications": update_gpu_products.SPECIFICATIONS,
    "nvidia_code": nvidia_code.TABLE, "nvidia_libraries": nvidia_libraries.TABLE,
    "nvidia_libraries_elsewhere": nvidia_libraries.ELSEWHERE_TABLE,
    "nvidia_releases": nvidia_releases.TABLE,
    "nvidia_shared_files": nvidia_libraries.SHARED_TABLE, "nvidia_requirements": nvidia_requirements.TABLE,
    "shared_modules": shared_modules.TABLE, "cause_words": cause_words.TABLE,
    "locale_messages": locale_messages.TABLE,
    **{codes.name: codes.table for codes in error_codes.ALL},
}


def test_generated_tables_have_the_head_that_their_script_writes() -> None:
    """Each that says it is generated: what was changed by hand would be gone with the next run."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in TABLES}
    assert {name for name, text in texts.items() if "\ngenerated_by = " in text} == HEADS.keys()
    assert [name for name, table in HEADS.items()
            if not texts[name].startswith(render_table(table, []))] == []
