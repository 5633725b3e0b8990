"""The rules to measure with while they are written: files that cannot be read are left out, aloud."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from gpudoctor import ruledb
from gpudoctor.model import Rule, RuleDatabase, Scope, Severity, SymptomPattern
from gpudoctor.pages import PageError, parse_page, parse_symptoms, parse_table


def readable_rules(folder: Path, causes: Collection[str]) -> RuleDatabase:
    """Return the pages in a folder, without what breaks; a cause without a page gets a stand-in."""
    try:
        database = ruledb.load_pages(folder)
    except ruledb.RuleDatabaseError:
        database = _what_can_be_read(folder)
    known = {rule.cause for rule in database.rules}
    wanted = {*causes, *(suspect.cause for symptom in database.symptoms for suspect in symptom.suspects)}
    if missing := sorted(wanted - known):
        _say(f"{len(missing)} causes have no page yet: {', '.join(missing)}")
    return replace(database, rules=(*database.rules, *(_stand_in(cause) for cause in missing)))


def _stand_in(cause: str) -> Rule:
    severity = Severity.BENIGN if cause.startswith("benign-") else Severity.ERROR
    return Rule(id="GPD0000", cause=cause, severity=severity, scope=Scope.HOST, summary=cause, since="none",
                title=cause, page="", path="none")


def _what_can_be_read(folder: Path) -> RuleDatabase:
    """Return the shipped database with every page and every file of symptoms that can be read."""
    rules: list[Rule] = []
    symptoms: list[SymptomPattern] = []
    tables = dict(ruledb.load_shipped().tables)
    for file in sorted(folder.glob("*/*.*")):
        place = str(file.relative_to(folder))
        try:
            text = file.read_text("utf-8")
            if file.suffix == ".md":
                rules.append(parse_page(text, place))
            elif file.parent.name == "symptoms":
                symptoms += parse_symptoms(text, place)
            elif file.parent.name == "tables":
                tables[file.stem] = parse_table(text, file.stem, place)
        except PageError as error:
            _say(f"LEFT OUT, it cannot be read: {str(error).splitlines()[0]}")
    return replace(ruledb.load_shipped(), rules=tuple(rules), symptoms=tuple(symptoms), tables=tables)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
