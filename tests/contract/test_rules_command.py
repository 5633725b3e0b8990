"""`gpudoctor rules table`, `new`, `diff` and `lint`, as people and scripts call them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gpudoctor import compiled, ruledb
from gpudoctor.cli.rule_folder import released
from tests.contract.checkout import ROOT, run_gpudoctor, run_without_privilege
from tools.record_release import record

HEALTHY, FINDINGS, USAGE, INPUT = 0, 1, 2, 4
PAGE = "driver/GPD9990-cuda-does-not-start.md"
CARDS = """
[table]
summary = "Cards that nobody makes"
key = ["name"]

[columns]
name = "text"
compute_capability = "compute_capability"
driver = "driver_version"
forms = "texts"
sold = "flag"
memory = "integer"

[[row]]
name = "A"
compute_capability = "7.0"
driver = "525.60"
forms = ["a", "a one"]
sold = true
memory = 16
source = "pypi:cards==1"

[[row]]
name = "B"
compute_capability = "7.5"
driver = "525.60.00"
source = "pypi:cards==1"
"""
BUILDS = """
[table]
summary = "Builds that nobody makes"
key = ["version"]

[columns]
version = "package_version"
code = "records"

[[row]]
version = "1.0"
code = [{ sass = ["7.0"], ptx = [], fat_binaries = 1 }]
source = "pypi:builds==1.0"

[[row]]
version = "2.0"
code = [{ sass = ["8.0"], ptx = ["9.0@8.0"], fat_binaries = 1 }]
source = "pypi:builds==2.0"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a small folder of rules that a test may change."""
    folder = tmp_path / "rules"
    shutil.copytree(ROOT / "tests" / "hosts" / "rules", folder)
    (folder / "tables").mkdir()
    (folder / "tables" / "cards.toml").write_text(CARDS)
    (folder / "tables" / "builds.toml").write_text(BUILDS)
    return folder


# -- table -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("table", "where", "expected"), [
    ("cards", [], ["A", "B"]),
    ("cards", ["compute_capability=7.0"], ["A"]),
    ("cards", ["cc=7.5"], ["B"]),
    ("cards", ["driver=525.60.0"], ["A", "B"]),
    ("cards", ["driver=525.60.0", "name=B"], ["B"]),
    ("cards", ["driver=525.60", "cc=8.0"], []),
    ("cards", ["forms=a one"], ["A"]),
    ("cards", ["forms=AOne"], ["A"]),
    ("cards", ["name=a"], ["A"]),
    ("cards", ["name=A one"], ["A"]),
    ("cards", ["sold=yes"], ["A"]),
    ("cards", ["memory=16"], ["A"]),
    ("builds", ["cc=7.0"], ["1.0"]),
    ("builds", ["cc=7.5"], ["1.0"]),
    ("builds", ["cc=8.6"], ["2.0"]),
    ("builds", ["cc=10.0"], ["2.0"]),
    ("builds", ["version=1"], ["1.0"]),
])
def test_rows_are_chosen_by_the_type_of_the_column(
        table: str, where: list[str], expected: list[str], rules: Path) -> None:
    """Versions by meaning, lists by what they hold, cards by the code that serves them; all must hold."""
    options = [word for condition in where for word in ("--where", condition)]
    run = run_gpudoctor("rules", "table", table, *options, "--format", "json", "--rules", str(rules))
    assert run.returncode == HEALTHY, run.stderr
    rows = json.loads(run.stdout)["rows"]
    assert [row.get("name", row.get("version")) for row in rows] == expected


def test_without_a_name_the_names_of_the_tables_are_listed() -> None:
    """It was an error without one of them; each that is listed can be printed."""
    run = run_gpudoctor("rules", "table")
    names = [line.split()[0] for line in run.stdout.splitlines()]
    assert [line for line in run.stdout.splitlines() if len(line) > 80 or len(line.split()) < 3] == []
    assert (run.returncode, run.stderr, "torch" in names) == (HEALTHY, "", True)
    assert json.loads(run_gpudoctor("rules", "table", "--format", "json").stdout) == names
    assert run_gpudoctor("rules", "table", names[0]).returncode == HEALTHY
    refused = run_gpudoctor("rules", "table", "--where", "cc=7.0")
    assert (refused.returncode, "name one" in refused.stderr) == (USAGE, True)


@pytest.mark.parametrize(("capability", "some"), [("9.0", True), ("12.0", False)])
def test_rows_that_serve_a_card_are_those_that_the_engine_takes(capability: str, some: bool) -> None:
    """Regression: each TensorFlow with PTX was listed for Blackwell, where that PTX is reported to fail."""
    run = run_gpudoctor("rules", "table", "tensorflow", "--where", f"cc={capability}")
    assert (run.returncode, bool(run.stdout)) == (HEALTHY, some)


def test_a_table_as_text_has_a_line_for_each_row(rules: Path) -> None:
    """And no cells that hold records, which would fill the screen."""
    run = run_gpudoctor("rules", "table", "builds", "--where", "version=2.0", "--rules", str(rules))
    assert (run.returncode, run.stdout) == (HEALTHY, "version=2.0  source=pypi:builds==2.0\n")


@pytest.mark.parametrize(("where", "said"), [
    (["name=C"], "gpudoctor: no row of cards has name=C, of 2; its name: A, B"),
    (["driver=525.60", "cc=8.0"],
     "gpudoctor: no row of cards has driver=525.60 and cc=8.0, of 2; write its driver whole: 525.60.00"),
])
def test_that_no_row_matches_is_said(where: list[str], said: str, rules: Path) -> None:
    """Printing nothing left open whether the command had worked; what reads the rows is not disturbed."""
    options = [word for condition in where for word in ("--where", condition)]
    for format_, printed in (("text", ""), ("json", '{\n  "rows": []\n}\n')):
        run = run_gpudoctor("rules", "table", "cards", *options, "--format", format_, "--rules", str(rules))
        assert (run.returncode, run.stdout, run.stderr) == (HEALTHY, printed, f"{said}\n")


@pytest.mark.parametrize(("table", "where", "said"), [
    ("tensorflow", "version=2.16",
     "no row of tensorflow has version=2.16, of 245; write its version whole: 2.16.1, 2.16.2"),
    ("cudnn_architectures", "last=9.10", "; write its last whole: 9.10.2.21"),
    ("torch", "version=3.0", "no row of torch has version=3.0, of "),
])
def test_a_part_of_a_version_is_answered_with_the_whole_ones(table: str, where: str, said: str) -> None:
    """2.16 is equal to no release: that no row has it read as if TensorFlow 2.16 were not known."""
    run = run_gpudoctor("rules", "table", table, "--where", where)
    assert (run.returncode, run.stdout) == (HEALTHY, "")
    assert said in run.stderr
    assert ("whole" in run.stderr) is ("whole" in said)


@pytest.mark.parametrize(("name", "said"), [
    ("GPD9992", "there is no rule GPD9992; did you mean GPD9991 or GPD9990?"),
    ("cuda-doesnot-start", "; did you mean cuda-does-not-start or nvml-does-not-start?;"),
    ("qqq", "there is no rule qqq; `gpudoctor rules list`"),
])
def test_a_page_that_is_not_there_has_neighbours(name: str, said: str, rules: Path) -> None:
    """Ids and causes are mistyped; the list of all is long. It is wrong usage, as an unknown table is."""
    run = run_gpudoctor("rules", "show", name, "--rules", str(rules))
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (USAGE, "", 1)
    assert said in run.stderr


@pytest.mark.parametrize(("arguments", "said"), [
    (["boards"], "there is no table boards; did you mean cards?; `gpudoctor rules table` lists"),
    (["build"], "there is no table build; did you mean builds?; `gpudoctor rules table` lists"),
    (["cards", "--where", "colour=red"], "there are: name, compute_capability, driver, forms, sold, memory"),
    (["cards", "--where", "name"], "write COLUMN=VALUE"),
    (["cards", "--where", "=A"], "write COLUMN=VALUE"),
    (["cards", "--where", "a\nb"], "--where 'a\\nb': write COLUMN=VALUE"),
    (["cards", "--where", "driver=new"], "driver_version, which this is not"),
    (["cards", "--where", "sold=perhaps"], "flag, which this is not"),
    (["cards", "--where", "memory=much"], "integer, which this is not"),
    (["cards", "--where", "cc=none"], "compute_capability, which this is not"),
    (["builds", "--where", "code=7.0"], "holds records"),
])
def test_what_cannot_be_asked_is_one_line(arguments: list[str], said: str, rules: Path) -> None:
    """Exit code 2; where a name is wrong, those that there are."""
    run = run_gpudoctor("rules", "table", *arguments, "--rules", str(rules))
    assert (run.returncode, run.stdout) == (USAGE, "")
    assert len(run.stderr.splitlines()) == 1
    assert said in run.stderr


# -- new -------------------------------------------------------------------------------------------

def test_a_new_page_has_the_next_free_id_and_is_refused_until_it_is_finished(rules: Path) -> None:
    """It can be read, so that the linter says what is missing; nothing else is wrong with the folder."""
    before = run_gpudoctor("rules", "lint", "--rules", str(rules))
    run = run_gpudoctor("rules", "new", "driver", "gpu-asleep", "--rules", str(rules))
    page = rules / "driver" / "GPD9000-gpu-asleep.md"  # 9990 and 9991 are the last of their range
    assert (run.returncode, run.stdout.splitlines()[0]) == (HEALTHY, str(page)), run.stderr
    assert ruledb.load_pages(rules).rules[0].cause == "gpu-asleep"
    after = run_gpudoctor("rules", "lint", "--rules", str(rules))
    assert after.returncode == FINDINGS
    added = [line for line in after.stdout.splitlines()[:-1] if line not in before.stdout.splitlines()]
    assert added
    assert [line for line in added if not line.startswith(f"driver/{page.name}: ")] == []
    assert [line for line in added if line.endswith("to be filled in: 21; they say 'FILL IN'")] != []


def test_every_place_of_a_new_page_is_looked_for(rules: Path) -> None:
    """One that is left in the text alone is enough."""
    page = rules / PAGE
    page.write_text(page.read_text() + "\nFILL IN\n")
    run = run_gpudoctor("rules", "lint", "--rules", str(rules))
    assert f"{PAGE}: places that are still to be filled in: 1; they say 'FILL IN'" in run.stdout.splitlines()


def test_ids_are_not_given_twice_and_no_page_is_written_over(rules: Path) -> None:
    """Also not those of pages that a release had."""
    (rules / "released.toml").write_text('[ids]\nGPD9010 = "gone"\n')
    runs = [run_gpudoctor("rules", "new", "driver", "gpu-asleep", "--rules", str(rules)) for _ in range(2)]
    assert [run.stdout.splitlines()[0].rpartition("/")[2] for run in runs] == [
        "GPD9000-gpu-asleep.md", "GPD9020-gpu-asleep.md"]


def test_a_folder_of_a_site_gets_ids_of_its_own(tmp_path: Path) -> None:
    """They can be added to the shipped ones."""
    run = run_gpudoctor("rules", "new", "licence", "server-full", "--rules", str(tmp_path))
    assert run.returncode == HEALTHY
    assert (tmp_path / "licence" / "GPDX0001-server-full.md").is_file()
    assert f"prove it: GPUDOCTOR_RULES_EXTRA={tmp_path} gpudoctor rules lint\n" in run.stdout


def test_a_second_page_of_a_cause_is_said(rules: Path) -> None:
    """It is allowed, and was made without a word by whoever had forgotten the first."""
    first = run_gpudoctor("rules", "new", "driver", "gpu-asleep", "--rules", str(rules))
    second = run_gpudoctor("rules", "new", "driver", "gpu-asleep", "--rules", str(rules))
    assert (first.stderr, second.returncode) == ("", HEALTHY)
    assert second.stderr == ("gpudoctor: driver/GPD9000-gpu-asleep.md of the same cause: "
                             "both pages will be judged\n")


def test_a_folder_of_other_things_gets_no_page(tmp_path: Path) -> None:
    """Any folder was taken for a site's own: site-packages, a home."""
    (tmp_path / "notes.txt").write_text("mine")
    run = run_gpudoctor("rules", "new", "driver", "gpu-asleep", "--rules", str(tmp_path))
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (INPUT, "", 1)
    assert f"{tmp_path}: holds no rules; name a folder with rule pages, or an empty one" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["drivr", "gpu-asleep"], USAGE, "there is no family drivr; there are: driver"),
    (["driver", "GPU asleep"], USAGE, "small letters and digits"),
    (["tables", "gpu-asleep"], USAGE, "'tables' cannot be a family: the folder of that name holds no pages"),
    (["..", "gpu-asleep"], USAGE, "cannot be a family"),
    (["driver", "x", "--rules", "/nowhere"], INPUT, "/nowhere: no such folder"),
])
def test_a_page_that_cannot_be_begun(arguments: list[str], code: int, said: str, rules: Path) -> None:
    """One line, and nothing is written."""
    files = sorted(rules.rglob("*"))
    where = [] if "--rules" in arguments else ["--rules", str(rules)]
    run = run_gpudoctor("rules", "new", *arguments, *where)
    assert (run.returncode, run.stdout) == (code, "")
    assert len(run.stderr.splitlines()) == 1
    assert said in run.stderr
    assert sorted(rules.rglob("*")) == files


def test_a_release_records_its_ids_and_keeps_those_of_earlier_ones(rules: Path) -> None:
    """A page that was deleted since then stays in the list; the linter asks for it."""
    (rules / "released.toml").write_text('[ids]\nGPD9010 = "gone"\n')
    record(rules)
    assert released(str(rules)) == {
        "GPD9010": "gone", "GPD9990": "cuda-does-not-start", "GPD9991": "nvml-does-not-start"}


# -- diff ------------------------------------------------------------------------------------------

def newer(rules: Path) -> Path:
    """Return a copy of the rules with one change of each kind."""
    folder = rules.parent / "newer"
    shutil.copytree(rules, folder)
    page, cards = folder / PAGE, folder / "tables" / "cards.toml"
    text = page.read_text()
    for old, new in (('severity = "error"', 'severity = "warning"'),
                     ('since = "2026.11.0"', 'since = "2026.11.0"\nwithdrawn = "it starts after all"'),
                     ('op = "differs", value = 0', 'op = "at_least", value = 1')):
        assert old in text
        text = text.replace(old, new, 1)
    page.write_text(text)
    cards.write_text(cards.read_text().replace('driver = "525.60"\n', 'driver = "530.1"\n').replace(
        'name = "B"', 'name = "C"'))
    (folder / "tables" / "builds.toml").unlink()
    (folder / "db.toml").write_text('version = "2026.12.0"\nschema = 1\n')
    return folder


def test_two_editions_are_compared_in_words(rules: Path) -> None:
    """Pages, their conditions, tables and their rows; the same in both directions of reading."""
    run = run_gpudoctor("rules", "diff", str(rules), str(newer(rules)))
    assert (run.returncode, run.stderr) == (HEALTHY, "")
    assert run.stdout.splitlines() == [
        "page GPD9990: is withdrawn: it starts after all",
        "page GPD9990: severity: was 'error', is 'warning'",
        "page GPD9990: detection 'cuInit fails', condition is gone: cuda.init_code is different from 0",
        "page GPD9990: detection 'cuInit fails', condition is new: cuda.init_code is at least 1",
        "table builds: is gone",
        "table cards: row A: driver: was 525.60, is 530.1",
        "table cards: row is gone: B",
        "table cards: row is new: C",
        "2026.11.0 -> 2026.12.0: 8 differences"]


def test_compiled_rules_are_compared_like_pages(rules: Path, tmp_path: Path) -> None:
    """A wheel may hold no more than those; what a program reads says the same."""
    folder = tmp_path / "compiled"
    folder.mkdir()
    for name, data in compiled.encode(ruledb.load_pages(rules)).items():
        (folder / name).write_bytes(data)
    same = run_gpudoctor("rules", "diff", str(folder), str(rules), "--format", "json")
    assert json.loads(same.stdout) == {"before": "2026.11.0", "after": "2026.11.0", "differences": []}
    other = run_gpudoctor("rules", "diff", str(folder), str(newer(rules)), "--format", "json")
    found = json.loads(other.stdout)["differences"]
    assert len(found) == 8
    assert found[0] == {"kind": "page", "name": "GPD9990", "what": "is withdrawn: it starts after all"}


def test_a_folder_without_rules_cannot_be_compared(rules: Path, tmp_path: Path) -> None:
    """Exit code 4; the line names the folder."""
    for folder in (tmp_path / "nowhere", tmp_path):
        run = run_gpudoctor("rules", "diff", str(rules), str(folder))
        assert (run.returncode, run.stdout) == (INPUT, "")
        assert str(folder) in run.stderr


# -- lint ------------------------------------------------------------------------------------------

def test_the_folder_to_prove_may_be_named_plainly(rules: Path) -> None:
    """`rules lint DIR` is `rules lint --rules DIR`; naming it twice is refused."""
    plain, option = (run_gpudoctor("rules", "lint", *words, str(rules)) for words in ([], ["--rules"]))
    assert (plain.returncode, plain.stdout) == (option.returncode, option.stdout)
    both = run_gpudoctor("rules", "lint", str(rules), "--rules", str(rules))
    assert (both.returncode, both.stdout, len(both.stderr.splitlines())) == (USAGE, "", 1)


@pytest.mark.parametrize(("ids", "said"), [
    ('GPD9990 = "cuda-does-not-start"', None),
    ('GPD9980 = "gone"', "GPD9980: the last release has it (gone): keep the page"),
    ('GPD9990 = "another"', "GPD9990: in the last release it meant another, and an id is never used again"),
])
def test_an_id_of_the_last_release_keeps_its_meaning(ids: str, said: str | None, rules: Path) -> None:
    """It is neither deleted nor given to another cause."""
    (rules / "released.toml").write_text(f"[ids]\n{ids}\n")
    run = run_gpudoctor("rules", "lint", "--rules", str(rules))
    about = [line for line in run.stdout.splitlines() if "release" in line]
    assert [line for line in about if said is None or not line.startswith(said)] == []
    assert len(about) == (0 if said is None else 1)


@pytest.mark.parametrize("inside", ["", "tables"])
def test_rules_that_may_not_be_read_are_an_input_that_cannot_be_used(inside: str, rules: Path) -> None:
    """Regression: gpudoctor was said to have failed on its own account, with exit code 5."""
    (rules / inside).chmod(0)
    for named in (rules, rules / "tables"):
        run = run_without_privilege("rules", "list", "--rules", str(named))
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1)


def test_a_table_of_a_long_name_is_listed(rules: Path) -> None:
    """Regression: no column was left for what it holds, and gpudoctor failed on its own account."""
    (rules / "tables" / "cards.toml").rename(rules / "tables" / f"{'c' * 90}.toml")
    run = run_gpudoctor("rules", "table", "--rules", str(rules))
    assert (run.returncode, f"{'c' * 90}  Cards that" in run.stdout) == (HEALTHY, True)
