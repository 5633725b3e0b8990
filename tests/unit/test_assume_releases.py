"""What `--assume release=` stands for: releases that are told by tables of several distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor import derive
from gpudoctor.assume import AssumptionError, lay
from gpudoctor.model import Fact, Known, RuleDatabase, Scope, Unknown, Value
from gpudoctor.ruledb import load_compiled

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def framework(release: str, database: RuleDatabase,
              more: Mapping[str, Value] | None = None) -> Mapping[str, Fact]:
    facts: dict[str, Fact] = {name: Known(value=value, source="the test")
                              for name, value in {"release": release, **(more or {})}.items()}
    snapshot = lay(database.base, facts, database.tables, source="the test")
    return derive.subjects(snapshot, database)[Scope.FRAMEWORK][0].facts


def value(facts: Mapping[str, Fact], name: str) -> Value | None:
    fact = facts[name]
    return fact.value if isinstance(fact, Known) else None


def test_jax_has_the_code_of_its_plugin_and_the_libraries_that_pip_chooses(database: RuleDatabase) -> None:
    facts = framework("jax[cuda12]==0.12.0.1", database)
    assert value(facts, "framework.oldest_card") == "5.0"
    assert value(facts, "framework.jaxlib") == "0.12.0.1"
    assert value(facts, "framework.plugins_mismatched") == ()
    assert value(facts, "framework.libraries_missing") == ()
    assert str(value(facts, "framework.cudnn_found")).startswith("9.")


def test_jax_for_cuda_13_is_another_build(database: RuleDatabase) -> None:
    facts = framework("jax[cuda13]==0.12.0.1", database)
    assert (value(facts, "framework.cuda"), value(facts, "framework.oldest_card")) == ("13", "7.5")


def without(column: str, database: RuleDatabase) -> RuleDatabase:
    """Return the database with a column of PaddlePaddle's releases lost."""
    table = database.tables["paddle_distributions"]
    rows = tuple({name: cell for name, cell in row.items() if name != column} for row in table.rows)
    return replace(database, tables={**database.tables, table.name: replace(table, rows=rows)})


def test_code_that_was_not_measured_is_unknown_and_not_absent(database: RuleDatabase) -> None:
    """Every release of Linux has been measured, so this one is taken from a table that lost its code."""
    unread = without("code", database)
    assert value(framework("paddle==2.6.1", database), "framework.oldest_card") == "6.1"
    assert isinstance(framework("paddle==2.6.1", unread)["framework.oldest_card"], Unknown)


def test_a_cuda_that_no_table_has_is_unknown(database: RuleDatabase) -> None:
    """No file of PaddlePaddle 2.1 says it; its machine code does, and is in the table."""
    assert value(framework("paddle==2.1.3", database), "framework.cuda") == "10.2"
    assert isinstance(framework("paddle==2.1.3", without("cuda", database))["framework.cuda"], Unknown)


def test_paddle_is_what_pip_calls_paddlepaddle_gpu(database: RuleDatabase) -> None:
    facts = framework("paddle==2.6.2", database)
    assert value(facts, "framework.distribution") == "paddlepaddle-gpu"
    assert (value(facts, "framework.oldest_card"), value(facts, "framework.newest_card")) == ("6.1", "8.9")


def test_a_library_on_disk_is_known_by_its_digest(database: RuleDatabase) -> None:
    """Without its version: what counts is the file."""
    row = next(row for row in database.tables["jax_distributions"].rows
               if row["distribution"] == "jax-cuda13-pjrt" and "code" in row
               and row["platform"] == "linux_x86_64")
    digests = row["library_sha256"]
    assert isinstance(digests, tuple)
    facts = framework("jax[cuda12]==0.12.0.1", database, {"framework.code_library_sha256": str(digests[0])})
    assert value(facts, "framework.oldest_card") == "7.5"


@pytest.mark.parametrize(("written", "release"), [
    ("tensorflow_gpu==2.0.0", "tensorflow-gpu==2.0.0"),
    ("PaddlePaddle.GPU==2.6.2", "paddlepaddle-gpu==2.6.2"),
    ("TensorFlow[and_cuda] == 2.15", "tensorflow==2.15.0"), ("Torch==2.4", "torch==2.4.0"),
    ("JAX[CUDA12]==0.12.0.1", "jax[cuda12]==0.12.0.1")])
def test_a_release_is_named_as_pip_compares_names(written: str, release: str, database: RuleDatabase) -> None:
    """Regression: `tensorflow_gpu==2.0.0` was refused, with "tensorflow-gpu" as what to write."""
    assert framework(written, database) == framework(release, database)


@pytest.mark.parametrize("release", [
    "torch[cuda]==2.4.0", "jax==0.12.0.1", "jax[cuda12]==9.9", "paddle==9.9", "mxnet==1.0", "jax"])
def test_what_no_table_has_is_refused(release: str, database: RuleDatabase) -> None:
    with pytest.raises(AssumptionError, match="release="):
        framework(release, database)


@pytest.mark.parametrize(("release", "build", "cuda"), [
    ("tensorflow-gpu==2.0.0", "cuda", "10"), ("tensorflow-cpu==2.10.0", "cpu", None),
    ("intel-tensorflow==2.10.0", "cpu", None), ("tensorflow-rocm==2.14.0.600", "rocm", None),
    ("paddlepaddle==3.0.0", "cpu", None), ("paddlepaddle-gpu==3.2.0", "cuda", None),
])
def test_a_release_under_another_name(
        release: str, build: str, cuda: str | None, database: RuleDatabase) -> None:
    """A regression: the tables had them, and each was refused as no release of anything."""
    facts, (name, _, version) = framework(release, database), release.partition("==")
    assert (value(facts, "framework.distribution"), value(facts, "framework.version")) == (name, version)
    assert value(facts, "framework.build") == build
    cuda_fact = facts["framework.cuda"]
    assert (cuda_fact.value if isinstance(cuda_fact, Known) else None) == cuda


def test_what_the_tables_know_of_another_name_counts(database: RuleDatabase) -> None:
    """Its own row tells the code, not that of tensorflow, which is a build for the CPU in 2.0."""
    facts = framework("tensorflow-gpu==2.0.4", database)
    assert value(facts, "framework.oldest_card") == "3.5"
    assert value(facts, "framework.python_versions") == ("3.6", "3.7")
    assert value(framework("tensorflow-gpu==2.2.3", database), "framework.cuda_floor") == "10.1", (
        "its build file says 10, and what it opens is libcudart.so.10.1")


def test_the_code_of_a_release_newer_than_the_rules_is_not_that_of_another(database: RuleDatabase) -> None:
    """A regression: nothing was said of a card that no build of these rules serves, and all was well."""
    code = framework("torch==2.15.0", database, {"framework.version": "3.0.0"})["framework.oldest_card"]
    assert isinstance(code, Unknown)
    assert code.reason.startswith(f"torch 3.0.0 is newer than rules {database.version}")


def test_a_build_on_an_index_of_its_own_is_there_and_was_not_read(database: RuleDatabase) -> None:
    """A regression: paddlepaddle-gpu 3.2.0 was refused with the advice to get newer rules."""
    facts = framework("paddlepaddle-gpu==3.2.0+cu126", database)
    assert value(facts, "framework.cuda") == "12.6"
    assert isinstance(facts["framework.oldest_card"], Unknown)
    assert isinstance(framework("paddle==3.2.0", database)["framework.cuda"], Unknown), "12.6 or 12.9"
    snapshot = lay(database.base, {"release": Known(value="paddle==3.2.0", source="the test")},
                   database.tables, source="the test")
    [host] = derive.subjects(snapshot, database)[Scope.HOST]
    assert value(host.facts, "rules.behind") == ()
