"""Find and read the rule database: the compiled files that ship with the package, or a folder of pages.

`--rules DIR` or GPUDOCTOR_RULES replaces the shipped rules; GPUDOCTOR_RULES_EXTRA adds a site's own pages. A
folder that was named and cannot be used is an error, never a silent return to the shipped one.
"""

from __future__ import annotations

import errno
import shlex
from dataclasses import replace
from pathlib import Path

from gpudoctor import compiled
from gpudoctor.assume import AssumptionError, blank, lay
from gpudoctor.compiled import Extent, RuleDatabaseError
from gpudoctor.model import Fact, Known, Rule, RuleDatabase, Snapshot, SymptomPattern, Table, Tables

__all__ = ["RuleDatabaseError", "load", "load_compiled", "load_pages", "load_shipped", "shipped_folder"]


def shipped_folder() -> Path:
    """Return where the shipped rules lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    packaged = package / "_rules"
    return packaged if packaged.is_dir() else package.parent / "rules"


def load_shipped(extent: Extent = "judged") -> RuleDatabase:
    """Return the rules that came with this gpudoctor, as much of them as is asked for."""
    return load_compiled(shipped_folder(), extent)


def load(folder: str | None = None, extra: str | None = None, extent: Extent = "judged") -> RuleDatabase:
    """Return the pages in `folder`, or the shipped rules; with the pages of `extra` added.

    A folder of pages is always read whole; `extent` says how much of the shipped rules is.
    """
    database = load_shipped(extent) if folder is None else load_pages(Path(folder))
    if extra is None:
        return database
    site = load_pages(Path(extra), base=database.base)
    taken = {rule.id for rule in database.rules}
    twice = [f"{extra}/{rule.path}: the id {rule.id} is taken; site rules use GPDX0001 and up"
             for rule in site.rules if rule.id in taken]
    known = {symptom.id for symptom in database.symptoms} if site.symptoms else set()
    twice += [f"{extra}/{symptom.path}: the id {symptom.id} is taken; name the symptom otherwise"
              for symptom in site.symptoms if symptom.id in known]
    if twice:
        raise RuleDatabaseError("\n".join(twice))
    import hashlib  # slow to import, and seldom needed

    sha256 = hashlib.sha256((database.sha256 + site.sha256).encode()).hexdigest()
    return RuleDatabase(version=f"{database.version}+{site.version}", sha256=sha256,
                        rules=database.rules + site.rules, tables={**database.tables, **site.tables},
                        symptoms=(*database.symptoms, *site.symptoms) if site.symptoms else database.symptoms,
                        base=database.base)


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
    return replace(database, sha256=compiled.digest_of(database))


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
        facts: dict[str, Fact] = {name: Known(value=compiled.value(value), source="base machine")
                                  for name, value in raw.items()}
        return lay(blank(), facts, tables, source="base machine")
    except (tomllib.TOMLDecodeError, AssumptionError) as error:
        raise RuleDatabaseError(f"{file}: {error}; mend it, or take the shipped one") from None


# -- the compiled files ----------------------------------------------------------------------------

def load_compiled(folder: Path, extent: Extent = "judged") -> RuleDatabase:
    """Return the database in a folder's compiled files, as much of it as is asked for."""
    return compiled.decode(lambda name: _read_compiled(folder / name), extent)


def _read_compiled(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise  # the machine has too little left; the file may be as it should
        raise RuleDatabaseError(f"{file}: cannot be read ({error}); reinstall gpudoctor-cli") from None
