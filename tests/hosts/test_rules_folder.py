"""Rule folders that cannot be used: exit 4, naming file, line and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.in_process import Gpudoctor
from tests.hosts.looking import RULES


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Return a folder of rules that a test may break."""
    folder = tmp_path / "rules"
    shutil.copytree(RULES, folder)
    (folder / "tables").mkdir()
    return folder


PAGE = "driver/GPD9990-cuda-does-not-start.md"


def changed_page(old: str, new: str) -> Callable[[Path], None]:
    """Return a way to break the page: one text for another."""

    def change(folder: Path) -> None:
        page = folder / PAGE
        assert old in page.read_text()
        page.write_text(page.read_text().replace(old, new))

    return change


def written(name: str, content: bytes) -> Callable[[Path], None]:
    """Return a way to break the folder: a file with this content."""

    def write(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return write


COLUMNS = b'[table]\nsummary = "A"\nkey = ["version"]\n[columns]\nversion = "package_version"\n'
TABLE = COLUMNS + b'[[row]]\nversion = "1"\n'
BROKEN: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "no front matter": (written(PAGE, b"# Only a title\n"), (PAGE + ":1:", "```toml")),
    "an empty page": (written(PAGE, b""), (PAGE + ":1:", "```toml")),
    "TOML that is none": (changed_page('severity = "error"', "severity = error"),
                          (PAGE, ":4: ", "rules lint --rules")),
    "an unknown key": (changed_page("since", "hence"), (PAGE + ":7: ", "hence")),
    "an unknown severity": (changed_page('"error"', '"terrible"'), (
        PAGE + ":4: ", "'terrible' is none of 'error', 'warning', 'info', 'benign' @ $.severity")),
    "an unknown operator": (changed_page('"differs"', '"is"'), (PAGE + ":11: ", "is is none of 'below'")),
    "a condition without a fact": (changed_page('fact = "cuda.init_code", ', ""), (PAGE, "fact")),
    "a wrong type": (changed_page('"2026.11.0"', "7"), (PAGE + ":7: ", "7 is not text @ $.since")),
    "no title": (changed_page("# cuInit fails", "cuInit fails"), (PAGE, "title")),
    "not UTF-8": (written(PAGE, b"```toml\n\xff\xfe\n```\n"), (PAGE, "not UTF-8")),
    "a table that is no TOML": (written("tables/one.toml", b"[table\n"),
                               ("tables/one.toml:1: ", "rules lint --rules")),
    "a table without sources": (written("tables/one.toml", TABLE), ("tables/one.toml", "source")),
    "a table that is not UTF-8": (written("tables/one.toml", b"\xff"), ("tables/one.toml", "not UTF-8")),
    "a table of something else": (
        written("tables/one.toml", b"table = 1\nrow = 2\n"),
        ("tables/one.toml", "[[row]]"),
    ),
    "a table with a date": (
        written("tables/one.toml", TABLE + b"source = 2026-11-20\n"),
        ("tables/one.toml", "row 1"),
    ),
    "a version that is none": (written("db.toml", b"version = 7\n"), ("db.toml", "version")),
    "a head that is no TOML": (written("db.toml", b"version\n"), ("db.toml", "line 1")),
    "a base of unknown facts": (
        written("base.toml", b'"driver.colour" = "red"\n'),
        ("base.toml", "driver.colour"),
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_rules_that_are_broken(kind: str, pages: Path, recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 4; the message names the file and what is wrong in it; the shipped rules do not step in."""
    break_it, words = BROKEN[kind]
    break_it(pages)
    run = gpudoctor("check", "--from", str(recorded), "--rules", str(pages))
    assert (run.returncode, run.stdout) == (4, ""), run.stderr
    assert [word for word in (str(pages), *words) if word not in run.stderr] == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: None, "no such folder"),
        (lambda folder: folder.mkdir(), "no rule page"),
        (lambda folder: folder.write_text("a file"), "no such folder"),
        (lambda folder: folder.symlink_to(folder), "no such folder"),
    ],
    ids=["missing", "empty", "a file", "a loop"],
)
def test_rules_folder_that_holds_none(
    make: Callable[[Path], Any], words: str, tmp_path: Path, recorded: Path, gpudoctor: Gpudoctor
) -> None:
    """A folder without rules, named in whichever way, is an error that says what such a folder holds."""
    folder = tmp_path / "rules"
    make(folder)
    runs = (
        gpudoctor("check", "--from", str(recorded), "--rules", str(folder)),
        gpudoctor("check", "--from", str(recorded), GPUDOCTOR_RULES=str(folder)),
        gpudoctor("check", "--from", str(recorded), GPUDOCTOR_RULES_EXTRA=str(folder)),
    )
    for run in runs:
        assert (run.returncode, run.stdout) == (4, "")
        assert words in run.stderr
        assert str(folder) in run.stderr


def test_every_broken_page_is_named_at_once(pages: Path, gpudoctor: Gpudoctor) -> None:
    """Two broken pages are two lines, not two runs."""
    for page in (pages / "driver").iterdir():
        page.write_text("nothing")
    run = gpudoctor("rules", "list", "--rules", str(pages))
    assert run.returncode == 4
    assert [name for name in ("GPD9990", "GPD9991") if name not in run.stderr] == []
