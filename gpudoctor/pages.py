"""Rule pages, tables and symptoms as people write them.

TOML front matter + Markdown <-> `Rule`, TOML <-> `Table`, TOML <-> `SymptomPattern`.

Authoring only: it checks strictly and reports every problem at once. `check` reads the compiled `rules.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from gpudoctor.compatible import tomllib
from gpudoctor.facts import FactType
from gpudoctor.model import Rule, Scalar, SymptomPattern, Table, Value
from gpudoctor.pattern_forms import prepared
from gpudoctor.symptoms import pattern_problems
from gpudoctor.toml_lines import line_of, steps

_FENCE = re.compile(r"\A```toml\n(.*?)\n```\n(.*)\Z", re.DOTALL)
_NONE_OF = re.compile(r"unknown error \((.*) not in literal typing\.Literal\[(.*)\]\) @ (.*)")
_SURPLUS = re.compile(r"extra fields found \(([\w-]+)")
_MADE = ("spoken",)  # of a symptom
_OPERAND = ("value", "other", "lookup", "key")


class PageError(ValueError):
    """A page or table is wrong; the message names file, line or key, one problem a line."""


class _UnfitError(ValueError):
    """A value is not of its kind; the message says which values are."""


def parse_page(text: str, path: str) -> Rule:
    """Return the rule in a page; raise `PageError` with every schema problem."""
    match = _FENCE.match(text)
    if match is None:
        raise PageError(f"{path}:1: a page starts with a ```toml block that ends in a line of ```")
    try:
        raw = tomllib.loads(match[1])
    except tomllib.TOMLDecodeError as error:
        raise PageError(_placed(path, str(error), fence_lines=1)) from None
    heading, _, body = match[2].strip().partition("\n")
    if not heading.startswith("# "):
        line = text.count("\n", 0, match.start(2)) + 1
        raise PageError(f"{path}:{line}: after the front matter comes a `# ` title")
    compiled = compile_front_matter(raw)
    compiled.update(title=heading[2:].strip(), page=body.strip(), path=path)
    return structure_rule(compiled, path, match[1])


def _placed(path: str, message: str, fence_lines: int) -> str:
    """Return a TOML error as `path:line: message`; lines before the TOML are counted in."""
    found = re.search(r" \(at line ([0-9]+), column [0-9]+\)", message)
    if found is None:
        return f"{path}: {message}"
    return f"{path}:{int(found[1]) + fence_lines}: {message.replace(found[0], '')}"


def compile_front_matter(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return front matter in the shape of the model: right-hand sides gathered under `right`."""
    compiled = dict(raw)
    for part in ("detect", "ask", "fix"):
        compiled[part] = [_with_conditions(block) for block in raw.get(part, [])]
    return compiled


def _with_conditions(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    compiled = dict(block)
    for name in ("when", "effect"):
        if isinstance(block.get(name), list):
            compiled[name] = [_gather_operand(item) for item in block[name]]
    return compiled


def _gather_operand(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    right = {key: item[key] for key in _OPERAND if key in item}
    if isinstance(right.get("key"), str):
        right["key"] = [right["key"]]
    rest = {key: value for key, value in item.items() if key not in _OPERAND}
    return {**rest, "right": right} if right else rest


def structure_rule(compiled: Mapping[str, Any], path: str, front: str = "") -> Rule:
    """Return the typed rule, strictly; raise `PageError` with every problem and its place in `front`."""
    rule = _structure(compiled, Rule, path, front)
    assert isinstance(rule, Rule)
    return rule


def _structure(compiled: Mapping[str, Any], kind: type, where: str, front: str = "") -> Any:
    from cattrs import transform_error

    try:
        return _converter().structure(compiled, kind)
    except Exception as error:  # noqa: BLE001 -- cattrs raises groups of many kinds; all become one message
        said_of = transform_error(error, format_exception=_told)
        problems = [f"{where}{_line(said, front)}: {_in_words(said)}" for said in said_of]
        raise PageError("\n".join(problems)) from None


def _told(error: BaseException, kind: type | None) -> str:
    """Return what a value lacks in our own words; those of cattrs keep nothing of the error's text."""
    from cattrs.v import format_exception

    return str(error) if isinstance(error, _UnfitError) else format_exception(error, kind)


def _in_words(problem: str) -> str:
    """Return a schema problem without the names of Python's types in it."""
    found = _NONE_OF.fullmatch(problem)
    return problem if found is None else f"{found[1]} is none of {found[2]} @ {found[3]}"


def _line(problem: str, front: str) -> str:
    """Return ":N", the line of a page at which a schema problem stands; the fence is the first one."""
    way = steps(problem.rpartition(" @ ")[2])
    surplus = _SURPLUS.search(problem)
    if surplus is not None:
        way = (*way, (surplus[1], None))
    return f":{line_of(front, way) + 1}" if front else ""


def unstructure(known: Rule | SymptomPattern) -> dict[str, Any]:
    """Return the compiled form of a rule or a symptom: JSON-ready, defaults left out."""
    result = _converter().unstructure(known)
    assert isinstance(result, dict)
    return result


def _converter() -> Any:
    from cattrs.gen import make_dict_unstructure_fn
    from cattrs.preconf.json import make_converter

    converter = make_converter(forbid_extra_keys=True)
    converter.register_structure_hook_func(lambda kind: kind in (Value, Value | None), _structure_value)
    converter.register_structure_hook_func(
        lambda kind: isinstance(kind, type) and issubclass(kind, Enum), _structure_name)
    converter.register_structure_hook(str, _structure_text)
    converter.register_structure_hook(bool, _structure_flag)
    converter.register_unstructure_hook_factory(
        lambda kind: hasattr(kind, "__dataclass_fields__"),
        lambda kind: make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True))
    return converter


def _structure_name(raw: Any, kind: type[Enum]) -> Enum:
    named = {member.value: member for member in kind}
    if isinstance(raw, str) and raw in named:
        return named[raw]
    raise _UnfitError(f"{raw!r} is none of {', '.join(map(repr, named))}")


def _structure_text(raw: Any, _: type) -> str:
    if isinstance(raw, str):
        return raw
    raise _UnfitError(f"{raw!r} is not text")


def _structure_flag(raw: Any, _: type) -> bool:
    if isinstance(raw, bool):
        return raw
    raise _UnfitError(f"{raw!r} is neither true nor false")


def _structure_value(raw: Any, _: Any) -> Value | None:
    match raw:
        case None | bool() | int() | float() | str():
            return raw
        case list() | tuple() if all(isinstance(item, str) for item in raw):
            return tuple(raw)
        case list() | tuple() if all(isinstance(item, Mapping) for item in raw):
            return tuple({key: _scalar(value) for key, value in item.items()} for item in raw)
    raise _UnfitError(f"{raw!r} is not a flag, number, text, list of texts or list of records")


def _scalar(raw: Any) -> Scalar:
    if isinstance(raw, bool | int | float | str):
        return raw
    if isinstance(raw, list | tuple) and all(isinstance(item, str) for item in raw):
        return tuple(raw)
    raise _UnfitError(f"{raw!r} is not a flag, number, text or list of texts")


def parse_table(text: str, name: str, path: str) -> Table:
    """Return the table in a TOML file; raise `PageError` with every problem."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PageError(_placed(path, str(error), fence_lines=0)) from None
    head, columns, rows = raw.get("table", {}), raw.get("columns", {}), raw.get("row", [])
    if not (isinstance(head, dict) and isinstance(columns, dict) and isinstance(rows, list)
            and all(isinstance(row, dict) for row in rows)):
        raise PageError(f"{path}:1: a table has [table], [columns] and any number of [[row]]")
    is_sourced = head.get("vocabulary") is not True  # our own choice of words is no fact
    if is_sourced:
        columns = {**columns, "source": "text", "accessed": "text"}
    problems = [f"{path}: column {column} has the unknown type {kind!r}" for column, kind in columns.items()
                if kind not in {t.value for t in FactType}]
    key = tuple(head.get("key", ()))
    problems += [f"{path}: the key names {column}, which is no column"
                 for column in key if column not in columns]
    problems += _row_problems(rows, (*key, *(["source"] if is_sourced else [])), columns, text, path)
    if not key or "summary" not in head:
        problems.append(f"{path}: [table] needs a summary and a key")
    if problems:
        raise PageError("\n".join(problems))
    typed = tuple({column: _cell(value, text, path, index, column) for column, value in row.items()}
                  for index, row in enumerate(rows))
    return Table(name=name, summary=head["summary"], key=key, columns=columns, rows=typed)


def _row_problems(rows: Sequence[Mapping[str, Any]], needed: Sequence[str], columns: Mapping[str, str],
                  text: str, path: str) -> list[str]:
    """Return what rows lack and have too much, one line for each kind of it: a column is renamed in all."""
    found: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        for said in (*(f"lacks {column}" for column in needed if column not in row),
                     *(f"has {column}, which is no column" for column in row if column not in columns)):
            found.setdefault(said, []).append(index)
    return [f"{path}:{line_of(text, (('row', first),))}: row {first + 1} {said}"
            + (f"; so do {len(more)} more" if more else "") for said, (first, *more) in found.items()]


def _cell(raw: Any, text: str, path: str, row: int, column: str) -> Value:
    try:
        value = _structure_value(raw, None)
    except ValueError as error:
        line = line_of(text, (("row", row), (column, None)))
        raise PageError(f"{path}:{line}: row {row + 1}, {column}: {error}") from None
    assert value is not None, "TOML has no null"
    return value


def parse_symptoms(text: str, path: str) -> tuple[SymptomPattern, ...]:
    """Return the symptoms in a TOML file, in its order; raise `PageError` with every problem."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PageError(_placed(path, str(error), fence_lines=0)) from None
    head, entries = raw.get("program"), raw.get("symptom")
    named = isinstance(head, dict) and all(isinstance(head.get(key), str) for key in ("name", "summary"))
    if not (named and isinstance(entries, list) and set(raw) == {"program", "symptom"}):
        raise PageError(f"{path}:1: symptoms are a [program] with name and summary (and framework, where it "
                        "is one), and [[symptom]] entries")
    assert isinstance(head, dict)
    found, problems = [], []
    for number, entry in enumerate(entries, start=1):
        where = f"{path}:{line_of(text, (('symptom', number - 1),))}: symptom {number}"
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            where += f" ({entry['id']})"
        try:
            found.append(_symptom(entry, head, path, where))
        except PageError as error:
            problems.append(str(error))
    if problems:
        raise PageError("\n".join(problems))
    return tuple(found)


def _symptom(entry: Any, head: Mapping[str, Any], path: str, where: str) -> SymptomPattern:
    if not isinstance(entry, dict):
        raise PageError(f"{where}: is no [[symptom]] entry")
    one_or_many = {key: entry.get(key, []) for key in ("pattern", "source", "examples")}
    patterns, source, examples = (item if isinstance(item, list) else [item] for item in one_or_many.values())
    lines = [{"line": example} if isinstance(example, str) else example for example in examples]
    rest = {key: value for key, value in entry.items() if key not in one_or_many}
    if isinstance(rest.get("suspects"), list):
        rest["suspects"] = [_with_conditions(suspect) for suspect in rest["suspects"]]
    program = {"program": head["name"], **({"framework": head["framework"]} if "framework" in head else {})}
    if problems := [f"{where}: {key} is made, not written" for key in _MADE if key in rest]:
        raise PageError("\n".join(problems))
    symptom = _structure({**program, **rest, "path": path, "patterns": patterns, "source": source,
                          "examples": lines}, SymptomPattern, where)
    assert isinstance(symptom, SymptomPattern)
    if problems := [f"{where}: {problem}" for problem in pattern_problems(symptom)]:
        raise PageError("\n".join(problems))
    return prepared(symptom)
