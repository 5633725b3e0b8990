"""Pins of NVIDIA's packages: the one release that pip takes on this machine, not whatever it has by then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.model import Candidate, RuleDatabase, Table, Value, rows_of
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"
VOLTA = ("cc=7.0", "driver=580.65.06")


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def offered(database: RuleDatabase, wish: str, *words: str, **facts: Value) -> Candidate:
    said = asked(host(database, *VOLTA, *words, **facts), database, wish, python="3.11")
    return next(one for one in said.candidates if one.offered and one.kind == "pip")


@pytest.mark.parametrize(("architecture", "glibc", "pin"), [
    ("x86_64", "2.36", "9.10.2.21"), ("aarch64", "2.36", "9.10.2.21"),
    ("x86_64", "2.26", "9.5.0.50"), ("aarch64", "2.26", "9.5.0.50")])
def test_the_release_is_the_newest_for_this_platform_and_glibc(architecture: str, glibc: str, pin: str,
                                                               database: RuleDatabase) -> None:
    """On ARM a bound stayed, and with an older glibc the newest of all was named, which pip does not find."""
    one = offered(database, "jax==0.4.31", f"glibc={glibc}", system__architecture=architecture)
    assert one.pins == (f"nvidia-cudnn-cu12=={pin}",)
    assert all(command.endswith(f" nvidia-cudnn-cu12=={pin}") for command in one.commands)


def test_what_the_framework_itself_asks_for_is_kept(database: RuleDatabase) -> None:
    """JAX asks for less than 10, and of two bounds the tighter one counts; the reason names the release."""
    one = offered(database, "jax==0.4.25")
    assert "nvidia-cudnn-cu12==8.9.7.29" in one.pins
    assert [note for note in one.notes if note.startswith("nvidia-cudnn-cu12==8.9.7.29: cuDNN 9 is")]


def test_where_the_rules_know_no_release_the_bound_stays_and_it_is_said(database: RuleDatabase) -> None:
    """With a table that lists none: what pip takes then is not known."""
    listed = {name: table for name, table in database.tables.items() if name != "nvidia_releases"}
    one = offered(replace(database, tables=listed), "jax==0.4.31")
    assert one.pins == ("nvidia-cudnn-cu12>=9.1,<=9.10.2.21",)
    assert any(note.startswith("nvidia-cudnn-cu12>=9.1,<=9.10.2.21: the bound stays") for note in one.notes)


@pytest.mark.parametrize(("name", "platform"), [
    ("nvidia_libraries", "linux_x86_64"), ("nvidia_libraries_elsewhere", "linux_aarch64")])
def test_the_releases_are_those_whose_files_are_known(name: str, platform: str, database: RuleDatabase
                                                      ) -> None:
    """Each end of a span of releases with the same files is listed, apart from what was withdrawn since."""
    table: Table = database.tables[name]
    ends = {(str(row["distribution"]), str(row[column]))
            for row in table.rows for column in ("since", "version")
            if row.get("platform", platform) == platform and "folder" in row}
    released = {(str(row["distribution"]), version) for row in rows_of(database.tables, "nvidia_releases")
                if row["platform"] == platform for version in row["versions"]}  # type: ignore[union-attr]
    assert ends
    assert ends - released == set()


@pytest.mark.parametrize(("release", "words", "facts", "asked_for"), [
    ("jax==0.6.2", ("glibc=2.17",), {}, "nvidia-cudnn-cu12<10.0,>=9.8"),
    ("jax==0.6.2", ("glibc=2.27",), {}, ""),
    ("jax==0.4.28", (), {"system__architecture": "aarch64"}, "nvidia-cudnn-cu12<9.0,>=8.9.2.26"),
    ("jax==0.4.28", (), {}, "")])
def test_what_asks_for_a_package_that_there_is_not_for_this_machine_is_not_offered(
        release: str, words: tuple[str, ...], facts: dict[str, Value], asked_for: str,
        database: RuleDatabase) -> None:
    """pip 26.3 says of both that no matching distribution was found; they were offered."""
    machine = host(database, "cc=8.0", "driver=580.65.06", *words, **facts)
    said = asked(machine, database, release, python="3.11")
    refused = [one.rejected_by[0] for one in said.candidates if one.kind == "pip" and not one.offered]
    assert any(one.offered for one in said.candidates if one.kind == "pip") is not bool(asked_for)
    assert [one.rule for one in refused] == (["GPD6110"] if asked_for else [])
    assert all(f"asks for {asked_for}, which has no release for linux_" in one.message for one in refused)
