"""Read a folder of rule pages, tables and symptoms as people write them."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gpudoctor import __version__, compiled, compiled_parts, meaning, symptom_meaning, table_meaning
from gpudoctor.assume import AssumptionError, blank, lay
from gpudoctor.compatible import tomllib
from gpudoctor.compiled import RuleDatabaseError
from gpudoctor.meaning import Fault
from gpudoctor.model import Fact, Known, Rule, RuleDatabase, Snapshot, SymptomPattern, Table, Tables
from gpudoctor.pages import PageError, parse_page, parse_symptoms, parse_table
from gpudoctor.rule_packages import numbers
from gpudoctor.skeleton import OF_A_SITE, UNFINISHED
from gpudoctor.toml_lines import line_of, steps
from gpudoctor.unfamiliar import likeness

_CALENDAR = re.compile(r"20[0-9]{2}\.(?:[1-9]|1[0-2])\.[0-9]{1,6}\Z")  # as pip sorts them


def read(root: Path, base: Snapshot | None, shipped_base: Callable[[], Snapshot],
         shipped: RuleDatabase | None = None) -> RuleDatabase:
    """Return the database of pages below `root`; raise `RuleDatabaseError` with every problem at once.

    Its cases start from the machine `base` of the rules that a site's pages are added to, else from
    `base.toml` of the folder, else from the shipped one. Where its tables will be judged with, they
    have the columns of the `shipped` ones.
    """
    if not os.path.isdir(root):  # Path.is_dir() fails where its parent may not be entered
        raise RuleDatabaseError(
            f"{root}: no such folder; --rules, GPUDOCTOR_RULES and GPUDOCTOR_RULES_EXTRA name one of pages")
    problems: list[str] = []
    rules: list[Rule] = []
    tables: dict[str, Table] = {}
    for page in _below(root, ".md"):
        try:
            rules.append(parse_page(_read(page), _name(page, root)))
        except PageError as error:
            problems += str(error).splitlines()
    for table in _below(root, ".toml", only="tables"):
        name = table.name.removesuffix(".toml")
        try:
            tables[name] = parse_table(_read(table), name, _name(table, root))
        except PageError as error:
            problems += str(error).splitlines()
    symptoms: list[SymptomPattern] = []
    for said in _below(root, ".toml", only="symptoms"):
        try:
            symptoms += parse_symptoms(_read(said), _name(said, root))
        except PageError as error:
            problems += str(error).splitlines()
    version, engine = _read_head(root)
    if shipped is not None:
        older = () < numbers(version) < numbers(shipped.version)
        problems += [problem for table in tables.values() for problem in _table_problems(
            root, table, table_meaning.lacking(table, shipped.tables, older=older))]
        problems += [] if older or base is not None else _missing_files(root, rules, tables, shipped)
    _refuse(root, problems, is_sites=base is not None)
    if not rules and not tables and not symptoms:
        raise RuleDatabaseError(
            f"{root}: holds no rule page; rule pages are FAMILY/GPDnnnn-CAUSE.md. To begin one: "
            f"gpudoctor rules new FAMILY CAUSE --rules {shlex.quote(str(root))}")
    base = base if base is not None else _read_base(root, tables, shipped_base)
    database = RuleDatabase(version=version, sha256="", rules=tuple(sorted(rules, key=lambda r: r.id)),
                            tables=tables, symptoms=tuple(symptoms), base=base, engine=engine,
                            words=(likeness.index(symptoms),) if symptoms else ())
    return replace(database, sha256=compiled.digest_of(database))


def _missing_files(root: Path, rules: Sequence[Rule], tables: Tables, shipped: RuleDatabase) -> list[str]:
    """Return what is missing beside the pages: those that are shipped are judged by all that is shipped.

    Without a table nothing is judged wrongly, but nobody tells what stands in it, and a check looks healthy.
    """
    if {rule.id for rule in rules}.isdisjoint(rule.id for rule in shipped.rules):
        return []  # pages of somebody's own
    gone = [f"tables/{name}.toml" for name in shipped.tables if name not in tables]
    if not (root / "base.toml").is_file():
        gone.append("base.toml")
    return [f"{name}: there is none, and the shipped pages among these are judged with it: put it back (a "
            "table, if need be, without a row); rules from before it say in db.toml that they are older"
            for name in gone]


def _refuse(root: Path, problems: Sequence[str], *, is_sites: bool) -> None:
    """Raise `RuleDatabaseError` with the problems, where there are any.

    What proves a site's pages proves them beside the ones that they are added to.
    """
    if problems:
        listed = "\n".join(f"{root}/{problem}" for problem in problems)
        folder = shlex.quote(str(root))
        proof = (f"GPUDOCTOR_RULES_EXTRA={folder} gpudoctor rules lint" if is_sites
                 else f"gpudoctor rules lint --rules {folder}")
        raise RuleDatabaseError(f"{listed}; mend it, then prove it: {proof}")


def refuse_taken_ids(root: Path, pages: RuleDatabase, database: RuleDatabase) -> None:
    """Raise `RuleDatabaseError` for each page of a site that has no id of its own beside the `database`."""
    taken = {rule.id for rule in database.rules}
    problems = [f"{rule.path}:{_line_of(root / rule.path, 'id')}: the id {rule.id} is not a site's own; site "
                "rules use GPDX0001 and up, which no rule that is published ever has"
                for rule in pages.rules if not rule.id.startswith(OF_A_SITE)]
    problems += [f"{rule.path}:{_line_of(root / rule.path, 'id')}: the id {rule.id} is taken; choose another "
                 "GPDX number" for rule in pages.rules if rule.id in taken and rule.id.startswith(OF_A_SITE)]
    known = {symptom.id for symptom in database.symptoms} if pages.symptoms else set()
    problems += [f"{symptom.path}: the id {symptom.id} is taken; name the symptom otherwise"
                 for symptom in pages.symptoms if symptom.id in known]
    _refuse(root, problems, is_sites=True)


def require_meaning(root: Path, pages: RuleDatabase, database: RuleDatabase) -> None:
    """Raise `RuleDatabaseError` with everything in the pages of `root` by which nothing can be judged.

    `database` is what they are judged with: a site's pages may look up in tables that are not theirs.
    """
    problems = [f"{rule.path}:{_line_of(root / rule.path, 'id')}: {problem}"
                for rule, problem in meaning.repeated(pages.rules)]
    for rule in pages.rules:
        problems += _page_problems(root / rule.path, rule, database)
    for table in pages.tables.values():
        problems += _table_problems(root, table, table_meaning.of_table(table))
    numbers_below: Counter[str] = Counter()
    for symptom in pages.symptoms:
        number, file = numbers_below[symptom.path], root / symptom.path
        numbers_below[symptom.path] += 1
        problems += [f"{symptom.path}:{_line_of(file, f'symptom[{number}].{fault.place}')}: {symptom.id}: "
                     f"{fault.problem}" for fault in symptom_meaning.of_symptom(symptom, database)]
    _refuse(root, problems, is_sites=pages is not database)


def _table_problems(root: Path, table: Table, faults: Iterable[Fault]) -> list[str]:
    path = f"tables/{table.name}.toml"
    return [f"{path}:{_line_of(root / path, fault.place)}: {fault.problem}" for fault in faults]


def _page_problems(file: Path, rule: Rule, database: RuleDatabase) -> list[str]:
    """Return what is wrong in a page; of one that nobody filled in yet, only that."""
    if places := meaning.unfinished(rule):
        text = _read(file)
        line = text.count("\n", 0, text.find(UNFINISHED)) + 1
        return [f"{rule.path}:{line}: {places} places are still to be filled in, this the first of them"]
    return [f"{rule.path}:{_line_of(file, fault.place)}: {fault.problem}"
            for fault in meaning.of_page(rule, database)]


def _line_of(file: Path, place: str) -> int:
    """Return the line of a page, a table or a file of symptoms at which a value stands."""
    return line_of(_read(file), steps(place))


def _below(root: Path, suffix: str, only: str | None = None) -> list[Path]:
    try:
        found = [entry for entry in root.iterdir() if entry.is_dir() or _leads_nowhere(entry)]
        folders = [folder for folder in found if (folder.name == only if only else folder.name != "tables")]
        files = [file for folder in folders for file in folder.iterdir()]
    except OSError as error:
        raise RuleDatabaseError(f"{error.filename}: cannot be read: {error.strerror}") from None
    return sorted((file for file in files if file.name.endswith(suffix)), key=str)


def _leads_nowhere(entry: Path) -> bool:
    """Return whether it is a link to what is not there: a folder of pages that would be missed."""
    return entry.is_symlink() and not entry.exists()


def _name(file: Path, root: Path) -> str:
    return str(file).removeprefix(str(root)).lstrip("/")


def _read(file: Path) -> str:
    try:
        if not file.is_file():  # a link that leads nowhere is a page that would be missed
            raise RuleDatabaseError(f"{file}: is no file, or leads to none; mend it or take it away")
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise RuleDatabaseError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RuleDatabaseError(f"{file}:{line}: not UTF-8 (byte {error.start}); save it as UTF-8") from None


def _read_head(root: Path) -> tuple[str, str]:
    """Return the version of the database and the oldest gpudoctor that reads it rightly."""
    head = root / "db.toml"
    if not head.is_file():
        return "site", "0"
    text = _read(head)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleDatabaseError(f"{head}: {error}; it holds version = \"YYYY.MM.N\"") from None
    version, engine = raw.get("version"), raw.get("engine", "0")
    schema = raw.get("schema", compiled.NEWEST_SCHEMA)
    if not isinstance(version, str) or _CALENDAR.match(version) is None:
        said = "lacks" if version is None else "its version is no date:"
        raise RuleDatabaseError(f"{head}{_line(text, 'version') or ':1'}: {said} version = \"YYYY.MM.N\": "
                                "write that")
    numbered = isinstance(schema, int) and not isinstance(schema, bool)
    if not numbered or (unread := compiled.unread_schema(schema)) is not None:
        said = f"these rules {unread}" if numbered else f"schema is no number; write {compiled.NEWEST_SCHEMA}"
        raise RuleDatabaseError(f"{head}{_line(text, 'schema')}: {said}")
    if not isinstance(engine, str) or not numbers(engine):
        raise RuleDatabaseError(f"{head}{_line(text, 'engine')}: engine is a version of gpudoctor in quotes")
    if numbers(engine) > numbers(__version__):
        raise RuleDatabaseError(f"{head}{_line(text, 'engine')}: these rules ask for gpudoctor {engine} or "
                                f"newer, this is {__version__}: pip install --upgrade gpudoctor-cli")
    return version, engine


def _line(text: str, key: str) -> str:
    """Return ":N", the line that a key of db.toml stands on; nothing where it is not there."""
    found = re.search(rf"^{key}\b", text, re.MULTILINE)
    return "" if found is None else f":{text.count(chr(10), 0, found.start()) + 1}"


def _read_base(root: Path, tables: Tables, shipped_base: Callable[[], Snapshot]) -> Snapshot:
    """Return the machine that cases start from: `base.toml` laid over a machine with nothing."""
    file = root / "base.toml"
    if not file.is_file():
        return shipped_base()
    try:
        raw = tomllib.loads(_read(file))
        facts: dict[str, Fact] = {name: Known(value=compiled_parts.value(value), source="base machine")
                                  for name, value in raw.items()}
        return lay(blank(), facts, tables, source="base machine")
    except (tomllib.TOMLDecodeError, AssumptionError) as error:
        raise RuleDatabaseError(f"{file}: {error}; mend it, or take the shipped one") from None
    except KeyError as column:
        raise RuleDatabaseError(f"{file}: its facts are looked up in a table that has no column {column}; "
                                "mend that table") from None
