"""Find and read the rule database: the compiled file that ships with the package, or a folder of pages.

`--rules DIR` or GPUDOCTOR_RULES replaces the shipped rules; GPUDOCTOR_RULES_EXTRA adds a site's own pages. A
folder that was named and cannot be used is an error, never a silent return to the shipped one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpudoctor import codec
from gpudoctor.assume import AssumptionError, blank, lay
from gpudoctor.model import (
    Ask, Case, Certainty, Condition, Detect, Effect, Fact, Fix, Known, Operand, Rule, RuleDatabase, Scope,
    Severity, Snapshot, Source, SymptomExample, SymptomPattern, Table, Tables, Value,
)

COMPILED_SCHEMA = "gpudoctor.rules/1"
COMPILED_NAME = "rules.json"


class RuleDatabaseError(ValueError):
    """The rule database is missing or cannot be used: file, line and remedy, one problem a line."""


def shipped_folder() -> Path:
    """Return where the shipped rules lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    packaged = package / "_rules"
    return packaged if packaged.is_dir() else package.parent / "rules"


def load_shipped() -> RuleDatabase:
    """Return the rules that came with this gpudoctor."""
    return load_compiled(shipped_folder() / COMPILED_NAME)


def load(folder: str | None = None, extra: str | None = None) -> RuleDatabase:
    """Return the pages in `folder`, or the shipped rules; with the pages of `extra` added."""
    database = load_shipped() if folder is None else load_pages(Path(folder))
    if extra is None:
        return database
    site = load_pages(Path(extra), base=database.base)
    taken = {rule.id for rule in database.rules} | {symptom.id for symptom in database.symptoms}
    twice = [f"{extra}/{rule.path}: the id {rule.id} is taken; site rules use GPDX0001 and up"
             for rule in site.rules if rule.id in taken]
    twice += [f"{extra}/{symptom.path}: the id {symptom.id} is taken; name the symptom otherwise"
              for symptom in site.symptoms if symptom.id in taken]
    if twice:
        raise RuleDatabaseError("\n".join(twice))
    sha256 = hashlib.sha256((database.sha256 + site.sha256).encode()).hexdigest()
    return RuleDatabase(version=f"{database.version}+{site.version}", sha256=sha256,
                        rules=database.rules + site.rules, tables={**database.tables, **site.tables},
                        symptoms=database.symptoms + site.symptoms, base=database.base)


# -- folders of pages ------------------------------------------------------------------------------

def load_pages(root: Path, base: Snapshot | None = None) -> RuleDatabase:
    """Return the database of pages below `root`; raise `RuleDatabaseError` with every problem at once."""
    from gpudoctor.pages import PageError, parse_page, parse_symptoms, parse_table

    if not root.is_dir():
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
    if problems:
        listed = "\n".join(f"{root}/{problem}" for problem in problems)
        proof = f"gpudoctor rules lint --rules {shlex.quote(str(root))}"
        raise RuleDatabaseError(f"{listed}; mend it, then prove it: {proof}")
    if not rules and not tables and not symptoms:
        raise RuleDatabaseError(f"{root}: holds no rule page; rule pages are FAMILY/GPDnnnn-CAUSE.md")
    version = _read_version(root)
    base = base if base is not None else _read_base(root, tables)
    database = RuleDatabase(version=version, sha256="", rules=tuple(sorted(rules, key=lambda r: r.id)),
                            tables=tables, symptoms=tuple(symptoms), base=base)
    return replace(database, sha256=hashlib.sha256(compile_database(database)).hexdigest())


def _below(root: Path, suffix: str, only: str | None = None) -> list[Path]:
    folders = [d for d in root.iterdir() if d.is_dir() and (d.name == only if only else d.name != "tables")]
    files = (file for folder in folders for file in folder.iterdir() if file.is_file())
    return sorted((file for file in files if file.name.endswith(suffix)), key=str)


def _name(file: Path, root: Path) -> str:
    return str(file).removeprefix(str(root)).lstrip("/")


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise RuleDatabaseError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RuleDatabaseError(f"{file}: not UTF-8 (byte {error.start})") from None


def _read_version(root: Path) -> str:
    from gpudoctor.compatible import tomllib

    head = root / "db.toml"
    if not head.is_file():
        return "site"
    try:
        version = tomllib.loads(_read(head)).get("version")
    except tomllib.TOMLDecodeError as error:
        raise RuleDatabaseError(f"{head}: {error}; it holds version = \"YYYY.MM.N\"") from None
    if not isinstance(version, str):
        raise RuleDatabaseError(f"{head}: lacks version = \"YYYY.MM.N\"")
    return version


def _read_base(root: Path, tables: Tables) -> Snapshot:
    """Return the machine that cases start from: `base.toml` laid over a machine with nothing."""
    from gpudoctor.compatible import tomllib

    file = root / "base.toml"
    if not file.is_file():
        return load_shipped().base
    try:
        raw = tomllib.loads(_read(file))
        facts: dict[str, Fact] = {name: Known(value=_value(value), source="base machine")
                                  for name, value in raw.items()}
        return lay(blank(), facts, tables, source="base machine")
    except (tomllib.TOMLDecodeError, AssumptionError) as error:
        raise RuleDatabaseError(f"{file}: {error}; mend it, or take the shipped one") from None


# -- the compiled file -----------------------------------------------------------------------------

def compile_database(database: RuleDatabase) -> bytes:
    """Return the database as one JSON document, deterministic."""
    from gpudoctor.pages import unstructure

    document = {
        "schema": COMPILED_SCHEMA,
        "version": database.version,
        "base": codec.encode_snapshot(database.base),
        "rules": [unstructure(rule) for rule in database.rules],
        "tables": {name: {"summary": table.summary, "key": table.key, "columns": dict(table.columns),
                          "rows": [dict(row) for row in table.rows]}
                   for name, table in sorted(database.tables.items())},
        "symptoms": [unstructure(symptom) for symptom in database.symptoms],
    }
    # keys stay in their order: the facts of a case are laid one after another
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8") + b"\n"


def load_compiled(file: Path) -> RuleDatabase:
    """Return the database in a compiled file."""
    try:
        data = file.read_bytes()
        raw = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise  # the machine has too little left; the file may be as it should
        raise RuleDatabaseError(f"{file}: cannot be read ({error}); reinstall gpudoctor-cli") from None
    if not isinstance(raw, dict) or raw.get("schema") != COMPILED_SCHEMA:
        raise RuleDatabaseError(f"{file}: is no {COMPILED_SCHEMA} file; reinstall gpudoctor-cli")
    try:
        return RuleDatabase(
            version=raw["version"], sha256=hashlib.sha256(data).hexdigest(),
            rules=tuple(_rule(rule) for rule in raw["rules"]),
            tables=_LazyTables(raw["tables"]),
            symptoms=tuple(_symptom(symptom) for symptom in raw["symptoms"]),
            base=codec.decode_snapshot(raw["base"], str(file)))
    except (KeyError, TypeError, ValueError) as error:
        raise RuleDatabaseError(f"{file}: is damaged ({error!r}); reinstall gpudoctor-cli") from None


class _LazyTables(Mapping[str, Table]):
    """The compiled tables, each decoded when it is read: most machines need few of them."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._raw = raw
        self._decoded: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        """Return a table; raise KeyError where there is none, `RuleDatabaseError` where it is damaged."""
        if name not in self._decoded:
            raw = self._raw[name]
            try:
                self._decoded[name] = _table(name, raw)
            except (KeyError, TypeError, AttributeError) as error:
                raise RuleDatabaseError(
                    f"the table {name} is damaged ({error!r}); reinstall gpudoctor-cli") from None
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all tables."""
        return iter(self._raw)

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._raw)


def _value(raw: Any) -> Value:
    if isinstance(raw, list):
        return tuple({k: tuple(v) if isinstance(v, list) else v for k, v in item.items()}
                     if isinstance(item, dict) else item for item in raw)
    return raw  # type: ignore[no-any-return]


def _operand(raw: Mapping[str, Any] | None) -> Operand | None:
    if raw is None:
        return None
    return Operand(value=_value(raw.get("value")), other=raw.get("other"), lookup=raw.get("lookup"),
                   key=tuple(raw.get("key", ())))


def _conditions(raw: Sequence[Mapping[str, Any]]) -> tuple[Condition, ...]:
    return tuple(Condition(fact=c["fact"], op=c["op"], right=_operand(c.get("right"))) for c in raw)


def _fix(raw: Mapping[str, Any]) -> Fix:
    return Fix(
        kind=raw["kind"], title=raw["title"], risk=raw["risk"], commands=tuple(raw.get("commands", ())),
        env=raw.get("env", {}), image=raw.get("image"), undo=raw.get("undo"),
        when=_conditions(raw.get("when", ())),
        effect=tuple(Effect(fact=e["fact"], right=_operand(e.get("right")), absent=e.get("absent", False))
                     for e in raw.get("effect", ())))


def _rule(raw: Mapping[str, Any]) -> Rule:
    return Rule(
        id=raw["id"], cause=raw["cause"], severity=Severity(raw["severity"]), scope=Scope(raw["scope"]),
        summary=raw["summary"], since=raw["since"], withdrawn=raw.get("withdrawn"),
        detect=tuple(Detect(name=d["name"], certainty=Certainty(d.get("certainty", "certain")),
                            when=_conditions(d["when"])) for d in raw["detect"]),
        ask=tuple(Ask(**ask) for ask in raw.get("ask", ())),
        fix=tuple(_fix(fix) for fix in raw.get("fix", ())),
        source=tuple(Source(**source) for source in raw.get("source", ())),
        case=tuple(_case(case) for case in raw.get("case", ())),
        title=raw["title"], page=raw["page"], path=raw["path"])


def _case(raw: Mapping[str, Any]) -> Case:
    return Case(name=raw["name"], expect=raw["expect"], block=raw.get("block"),
                facts={name: _value(value) for name, value in raw.get("facts", {}).items()},
                absent=tuple(raw.get("absent", ())), unknown=tuple(raw.get("unknown", ())))


def _table(name: str, raw: Mapping[str, Any]) -> Table:
    return Table(name=name, summary=raw["summary"], key=tuple(raw["key"]), columns=raw["columns"],
                 rows=tuple({k: _value(v) for k, v in row.items()} for row in raw["rows"]))


def _symptom(raw: Mapping[str, Any]) -> SymptomPattern:
    return SymptomPattern(
        id=raw["id"], program=raw["program"], patterns=tuple(raw["patterns"]), meaning=raw["meaning"],
        benign=raw["benign"], versions=tuple(raw["versions"]), captures=raw.get("captures", {}),
        examples=tuple(SymptomExample(**example) for example in raw["examples"]),
        also=tuple(raw.get("also", ())), source=tuple(raw["source"]), accessed=raw.get("accessed"),
        path=raw["path"])
