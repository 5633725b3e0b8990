"""The schemas of rules that this gpudoctor reads: the oldest from files kept as they were, the newest.

The files in `schema_1` are never compiled again: they are what an installed package of that schema holds.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gpudoctor import codec, compiled, ruledb, texts
from gpudoctor.assume import lay
from gpudoctor.compiled import NEWEST_SCHEMA, OLDEST_SCHEMA
from gpudoctor.examine import Policy, examine
from gpudoctor.explanation import explain
from gpudoctor.model import Known, Verdict
from gpudoctor.rule_packages import objection
from tests.contract.checkout import RULES, run_gpudoctor

ENGINE = "pip install --upgrade gpudoctor-cli"
FROZEN = Path(__file__).parent / f"schema_{OLDEST_SCHEMA}"


def test_oldest_schema_is_frozen_and_the_newest_is_written() -> None:
    """Whoever raises OLDEST_SCHEMA keeps files of it; the shipped rules are of the newest."""
    stated = [json.loads((folder / compiled.HEAD_NAME).read_text())["schema"] for folder in (FROZEN, RULES)]
    assert stated == [f"gpudoctor.rules/{OLDEST_SCHEMA}", f"gpudoctor.rules/{NEWEST_SCHEMA}"]
    assert objection(str(FROZEN)) is None


def test_oldest_schema_judges_a_machine() -> None:
    """Rule, table, question and fix of the frozen files do what they did."""
    database = ruledb.load(str(FROZEN))
    old = {"nvml.driver_version": Known(value="470.256.02", source="test")}
    report = examine(lay(database.base, old, database.tables, source="test"), database, Policy())
    (finding,) = report.findings
    assert (finding.rule, finding.cause, finding.certainty.value) == ("GPD9990", "driver-too-old", "likely")
    assert finding.message == "The driver 470.256.02 is older than every one that is maintained"
    assert [ask.command for ask in finding.asks] == ["cat /proc/driver/nvidia/version"]
    assert [fix.commands for fix in finding.fixes] == [("sudo reboot",)]
    assert examine(database.base, database, Policy()).verdict is Verdict.HEALTHY


def test_oldest_schema_explains_a_text() -> None:
    """Its symptoms and the pages' own words are read as well."""
    database = ruledb.load(str(FROZEN), extent="whole")
    text = texts.read_text("crane: the driver is too old (found version 470)\n", database)
    assert [finding.cause for finding in explain(text, database).findings] == ["driver-too-old"]
    (rule,) = database.rules
    assert "kept as it was compiled" in rule.page
    assert [case.name for case in rule.case] == ["an old one"]


def test_every_command_reads_the_oldest_schema(tmp_path: Path) -> None:
    """As an installed program does, from a folder that is named."""
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(codec.encode_snapshot(ruledb.load_shipped().base)))
    checked = run_gpudoctor("check", "--from", str(machine), "--rules", str(FROZEN))
    assert (checked.returncode, checked.stderr) == (0, "")
    listed = run_gpudoctor("rules", "list", "--rules", str(FROZEN))
    assert listed.stdout.startswith("GPD9990  error    driver-too-old")


@pytest.mark.parametrize(("schema", "remedy"), [
    (NEWEST_SCHEMA + 1, ENGINE), (OLDEST_SCHEMA - 1, "reads"),
])
def test_other_schemas_of_compiled_rules_are_refused(schema: int, remedy: str, tmp_path: Path) -> None:
    """Exit 4: folder, schema and remedy; also where only one file is of it."""
    folder = tmp_path / "rules"
    shutil.copytree(FROZEN, folder)
    for name in (compiled.HEAD_NAME, compiled.RULES_NAME):
        text = (folder / name).read_text().replace(
            f"gpudoctor.rules/{OLDEST_SCHEMA}", f"gpudoctor.rules/{schema}")
        (folder / name).write_text(text)
        answer = run_gpudoctor("rules", "list", "--rules", str(folder))
        assert (answer.returncode, answer.stdout) == (4, "")
        assert [word for word in (str(folder), str(schema), remedy) if word not in answer.stderr] == []
    with pytest.raises(ruledb.RuleDatabaseError, match=rf"rules\.json: .*{schema}.*{remedy}"):
        ruledb.load_compiled(folder)


@pytest.mark.parametrize(("head", "words"), [
    (f"schema = {NEWEST_SCHEMA + 1}", ("db.toml:2: ", f"schema {NEWEST_SCHEMA + 1}", ENGINE)),
    ('schema = "one"', ("db.toml:2: ", "no number")),
    ("schema = true", ("db.toml:2: ", "no number")),
    ('engine = "99.0"', ("db.toml:2: ", "gpudoctor 99.0", ENGINE)),
    ("engine = 1", ("db.toml:2: ", "engine", "in quotes")),
])
@pytest.mark.parametrize("option", ["--rules", "GPUDOCTOR_RULES", "GPUDOCTOR_RULES_EXTRA"])
def test_pages_for_another_gpudoctor_are_refused(
    head: str, words: tuple[str, ...], option: str, tmp_path: Path,
) -> None:
    """Exit 4, naming the file, the line and the remedy."""
    folder = tmp_path / "rules"
    shutil.copytree(RULES / "database", folder / "database")
    (folder / "db.toml").write_text(f'version = "2026.12.0"\n{head}\n')
    named = ("--rules", str(folder)) if option == "--rules" else ()
    environment = {} if named else {option: str(folder)}
    answer = run_gpudoctor("rules", "list", *named, environment=environment)
    assert (answer.returncode, answer.stdout) == (4, "")
    assert [word for word in (str(folder), *words) if word not in answer.stderr] == []


def test_rules_of_a_site_have_a_prefix_of_their_own(tmp_path: Path) -> None:
    """A number that is published one day would otherwise mean two things."""
    page = (RULES / "database" / "GPD9500-rules-older-than-machine.md").read_text()
    folder = tmp_path / "site" / "database"
    folder.mkdir(parents=True)
    (folder / "GPD9999-mine.md").write_text(page.replace("GPD9500", "GPD9999"))
    with pytest.raises(ruledb.RuleDatabaseError, match=r"GPD9999-mine\.md:2: the id GPD9999 .* GPDX0001"):
        ruledb.load(str(FROZEN), str(folder.parent))
    (folder / "GPD9999-mine.md").rename(folder / "GPDX0001-mine.md")
    (folder / "GPDX0001-mine.md").write_text(page.replace("GPD9500", "GPDX0001"))
    both = ruledb.load(str(FROZEN), str(folder.parent))
    assert [rule.id for rule in both.rules] == ["GPD9990", "GPDX0001"]
    assert both.version == "2026.11.0+site"
    assert both.origin == f"{FROZEN} and {folder.parent}"
