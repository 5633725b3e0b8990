"""The rule database as files of JSON, which are read in a fraction of the time that the pages take.

`rules.json` and `tables.jsonl` are all that judging a machine needs; of the tables, one a line, only those
that are asked for are decoded. `symptoms.jsonl` holds what programs say, one a line; `symptoms.json` where in
it what is found, and the rules that only a text can show (older rules have all of it in the latter).
`words.json` holds the words of what they say (older rules have none), and `pages.json` the pages themselves
and their tests. Each says of which compilation it is: by a digest of all that was compiled. `db.json` is
the head of them all: version, schema, the oldest gpudoctor that reads them rightly, each file's digest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from gpudoctor import codec, compiled_parts
from gpudoctor.compiled_parts import TOLD
from gpudoctor.lazily import Lazy
from gpudoctor.model import Rule, RuleDatabase, SymptomPattern, Table, WordIndex
from gpudoctor.symptom_index import OneByOne, SymptomIndex, index_of

T = TypeVar("T")

OLDEST_SCHEMA = NEWEST_SCHEMA = 1  # a database of any schema between them is read
_SCHEMA = "gpudoctor.rules/"
SCHEMA = f"{_SCHEMA}{NEWEST_SCHEMA}"
HEAD_NAME = "db.json"
RULES_NAME, TABLES_NAME = "rules.json", "tables.jsonl"
SYMPTOMS_NAME, SYMPTOM_LINES_NAME = "symptoms.json", "symptoms.jsonl"
WORDS_NAME, PAGES_NAME = "words.json", "pages.json"
NAMES = (RULES_NAME, TABLES_NAME, SYMPTOMS_NAME, SYMPTOM_LINES_NAME, WORDS_NAME, PAGES_NAME)
LATER_NAMES = (SYMPTOM_LINES_NAME, WORDS_NAME)  # those that rules of schema 1 may lack
# "judged": what judges a machine; "told": also rules that only a text shows; "whole": also cases and pages
Extent: TypeAlias = Literal["judged", "told", "whole"]
_PAGE_KEYS = ("case", "page")
# of a symptom, what only its proof needs
_PROOF_KEYS = ("meaning", "versions", "examples", "also", "source", "accessed")


class RuleDatabaseError(ValueError):
    """The rule database is missing or cannot be used: file, line and remedy, one problem a line."""


def _damaged(what: str, why: object) -> RuleDatabaseError:
    return RuleDatabaseError(f"the compiled rules cannot be used: {what} {why}; reinstall gpudoctor-cli")


def unread_schema(stated: object) -> str | None:
    """Return why rules of a schema ("gpudoctor.rules/1", or a number) are not read, and the remedy."""
    text = str(stated).removeprefix(_SCHEMA)
    number = int(text) if text.isdecimal() else 0
    if OLDEST_SCHEMA <= number <= NEWEST_SCHEMA:
        return None
    read = f"this gpudoctor reads {OLDEST_SCHEMA}" + (
        f" to {NEWEST_SCHEMA}" if NEWEST_SCHEMA > OLDEST_SCHEMA else "")
    if number > NEWEST_SCHEMA:
        return f"are of schema {number}, and {read}: pip install --upgrade gpudoctor-cli"
    if number:
        return f"are of schema {number}, and {read}: pip install --upgrade gpudoctor-rules"
    return f"state no schema ({stated!r}), and {read}: reinstall gpudoctor-cli"


def encode(database: RuleDatabase) -> dict[str, bytes]:
    """Return a whole database as the contents of its files, deterministic."""
    import hashlib  # slow to import, and only those who write need it

    from gpudoctor.pages import unstructure
    from gpudoctor.unfamiliar.likeness import as_raw

    rules = [(rule, unstructure(rule)) for rule in database.rules]
    short = [(rule, _without((*_PAGE_KEYS, TOLD), raw)) for rule, raw in rules]
    symptoms = [unstructure(symptom) for symptom in database.symptoms]
    rest: dict[str, dict[str, Any]] = {
        SYMPTOMS_NAME: {"index": index_of(database.symptoms).as_raw(),
                        "rules": [raw for rule, raw in short if not rule.detect],
                        "told": {rule.id: rule.told for rule in database.rules if rule.told is not None}},
        WORDS_NAME: {"indexes": [as_raw(words) for words in database.words]},
        PAGES_NAME: {"pages": {rule.id: {key: raw[key] for key in _PAGE_KEYS if key in raw}
                               for rule, raw in rules},
                     "symptoms": [{key: raw[key] for key in _PROOF_KEYS if key in raw} for raw in symptoms]},
    }
    tables = sorted(database.tables.items())
    judged = {
        "version": database.version, "engine": database.engine, "base": codec.encode_snapshot(database.base),
        "rules": [raw for rule, raw in short if rule.detect], "tables": [name for name, _ in tables],
        "words": len(database.words), "symptoms": len(database.symptoms),
    }
    lines = [{"summary": table.summary, "key": table.key, "columns": dict(table.columns),
              "rows": [dict(row) for row in table.rows]} for _, table in tables]
    files: dict[str, list[dict[str, Any]]] = {
        RULES_NAME: [judged], TABLES_NAME: [{}, *lines],
        SYMPTOM_LINES_NAME: [{}, *(_without(_PROOF_KEYS, raw) for raw in symptoms)],
        **{name: [one] for name, one in rest.items()}}
    digest = hashlib.sha256(b"".join(_line(line) for name in files for line in files[name])).hexdigest()
    for content in files.values():  # the first line of each says what it is, and of which compilation
        content[0] = {"schema": SCHEMA, "sha256": digest, **content[0]}
    written = {name: b"".join(map(_line, content)) for name, content in files.items()}
    head = {"schema": SCHEMA, "version": database.version, "engine": database.engine, "sha256": digest,
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in written.items()}}
    return {HEAD_NAME: _line(head), **written}


def _without(keys: Sequence[str], raw: Mapping[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in raw.items() if key not in keys}


def digest_of(database: RuleDatabase) -> str:
    """Return the digest that a whole database is compiled with."""
    return str(json.loads(encode(database)[RULES_NAME])["sha256"])


def _line(content: Mapping[str, Any]) -> bytes:
    # keys stay in their order: the facts of a case are laid one after another
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8") + b"\n"


def decode(read: Callable[[str], bytes], extent: Extent) -> RuleDatabase:
    """Return the database in the files that `read` gives by name; raise `RuleDatabaseError`."""
    data = read(RULES_NAME)
    raw = _parsed(data, RULES_NAME)
    try:
        digest = raw["sha256"]
        later = _Later(lambda name: _parsed(read(name), name, digest))
        return RuleDatabase(
            version=raw["version"], sha256=digest, rules=_rules(raw, later, extent),
            engine=raw.get("engine", "0"),
            tables=_LazyTables(raw["tables"], lambda: _lines(read, TABLES_NAME, digest, len(raw["tables"]))),
            symptoms=_symptoms(raw.get("symptoms"), later,
                               lambda: _lines(read, SYMPTOM_LINES_NAME, digest, raw.get("symptoms")), extent),
            words=Lazy(lambda: _intact(WORDS_NAME, lambda: _words(later))) if raw.get("words") else (),
            base=codec.decode_snapshot(raw["base"], RULES_NAME))
    except (KeyError, TypeError, AttributeError, codec.CodecError) as error:
        raise _damaged(RULES_NAME, f"is damaged ({error!r})") from None


def _rules(raw: Mapping[str, Any], later: _Later, extent: Extent) -> tuple[Rule, ...]:
    found = list(raw["rules"])
    if extent != "judged":
        said = later.file(SYMPTOMS_NAME)
        found = [{**rule, TOLD: said["told"].get(rule["id"])} for rule in (*found, *said["rules"])]
    if extent == "whole":
        pages = later.file(PAGES_NAME)["pages"]
        found = [{**rule, **pages[rule["id"]]} for rule in found]
    return tuple(compiled_parts.rule(rule) for rule in sorted(found, key=lambda rule: str(rule["id"])))


def _symptoms(number: int | None, later: _Later, lines: Callable[[], Sequence[bytes]], extent: Extent
              ) -> Sequence[SymptomPattern]:
    """Return the symptoms, whole ones with what their authors must prove; older rules do not count them."""
    if number is not None and extent != "whole":
        return OneByOne(number, lambda: _intact(SYMPTOMS_NAME, lambda: SymptomIndex(
            **later.file(SYMPTOMS_NAME)["index"])), lines,
            lambda line: _intact(SYMPTOM_LINES_NAME, lambda: compiled_parts.symptom(json.loads(line))))

    def every_one() -> tuple[SymptomPattern, ...]:
        found = later.file(SYMPTOMS_NAME)["symptoms"] if number is None else list(map(json.loads, lines()))
        if extent == "whole":
            proofs = later.file(PAGES_NAME)["symptoms"]
            found = [{**one, **proof} for one, proof in zip(found, proofs, strict=True)]
        return tuple(map(compiled_parts.symptom, found))
    return Lazy(lambda: _intact(SYMPTOMS_NAME, every_one))


def _intact(name: str, decode: Callable[[], T]) -> T:
    """Return what is decoded, or say which file is damaged."""
    try:
        return decode()
    except RuleDatabaseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(name, f"is damaged ({error!r})") from None


def _words(later: _Later) -> tuple[WordIndex, ...]:
    from gpudoctor.unfamiliar.likeness import of_raw  # for the few texts that are in no known words

    return tuple(of_raw(raw) for raw in later.file(WORDS_NAME)["indexes"])


def _parsed(data: bytes, name: str, digest: str | None = None) -> dict[str, Any]:
    """Return the first line of a file; it says what it is and, if a digest is given, of which compilation."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, f"cannot be read ({error})") from None
    said = unread_schema(raw.get("schema") if isinstance(raw, dict) else None)
    if said is not None:
        raise RuleDatabaseError(f"the compiled rules cannot be used: {name}: {said}")
    assert isinstance(raw, dict)
    if digest is not None and raw.get("sha256") != digest:
        raise _damaged(name, f"is not the one that was compiled with {RULES_NAME}")
    return raw


def _lines(read: Callable[[str], bytes], name: str, digest: str, number: int | None) -> list[bytes]:
    """Return the lines of a file after the first, which says what it is; so many must be there."""
    first, *lines = read(name).removesuffix(b"\n").split(b"\n")
    _parsed(first, name, digest)
    if len(lines) != number:
        raise _damaged(name, f"is damaged ({len(lines)} lines of {number})")
    return lines


class _Later:
    """The other files, each read when it is needed, once."""

    def __init__(self, read: Callable[[str], dict[str, Any]]) -> None:
        self._read = read
        self._found: dict[str, dict[str, Any]] = {}

    def file(self, name: str) -> dict[str, Any]:
        """Return what is in the file."""
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]


class _LazyTables(Mapping[str, Table]):
    """The compiled tables, each decoded when it is read: most machines need few of them."""

    def __init__(self, names: Sequence[str], read: Callable[[], list[bytes]]) -> None:
        self._names = names
        self._read = read
        self._lines: dict[str, bytes] = {}
        self._decoded: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        """Return a table; raise KeyError where there is none, `RuleDatabaseError` where it is damaged."""
        if name not in self._decoded:
            if name not in self._names:
                raise KeyError(name)
            if not self._lines:
                self._lines = dict(zip(self._names, self._read(), strict=False))
            self._decoded[name] = _intact(
                f"the table {name}", lambda: compiled_parts.table(name, json.loads(self._lines[name])))
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of all tables."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._names)
