"""Rules, tables and symptoms out of what JSON holds of them: the parts of a compiled database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.lazily import Lazy
from gpudoctor.model import (
    Ask, Case, Certainty, Comparison, Condition, Detect, Effect, Fix, Operand, Rule, Scope, Severity, Source,
    Suspect, SymptomExample, SymptomPattern, Table, Value,
)

TOLD = "told"  # the key of what a rule says of a text


def value(raw: Any) -> Value:
    """Return a value of JSON or TOML with its lists as tuples."""
    if isinstance(raw, list):
        return tuple({k: tuple(v) if isinstance(v, list) else v for k, v in item.items()}
                     if isinstance(item, dict) else item for item in raw)
    return raw  # type: ignore[no-any-return]


def _operand(raw: Mapping[str, Any] | None) -> Operand | None:
    if raw is None:
        return None
    return Operand(value=value(raw.get("value")), other=raw.get("other"), lookup=raw.get("lookup"),
                   key=tuple(raw.get("key", ())))


def _conditions(raw: Sequence[Mapping[str, Any]]) -> tuple[Condition, ...]:
    return tuple(Condition(fact=c["fact"], op=c["op"], right=_operand(c.get("right"))) for c in raw)


def _fix(raw: Mapping[str, Any]) -> Fix:
    return Fix(
        kind=raw["kind"], title=raw["title"], risk=raw["risk"], by_hand=raw.get("by_hand", False),
        commands=tuple(raw.get("commands", ())), env=raw.get("env", {}), image=raw.get("image"),
        undo=raw.get("undo"), when=_conditions(raw.get("when", ())),
        effect=tuple(Effect(fact=e["fact"], right=_operand(e.get("right")), absent=e.get("absent", False))
                     for e in raw.get("effect", ())))


def rule(raw: Mapping[str, Any]) -> Rule:
    """Return a rule, with as much of its page as there is."""
    return Rule(
        id=raw["id"], cause=raw["cause"], severity=Severity(raw["severity"]), scope=Scope(raw["scope"]),
        summary=raw["summary"], told=raw.get(TOLD), since=raw["since"], withdrawn=raw.get("withdrawn"),
        detect=tuple(Detect(name=d["name"], certainty=Certainty(d.get("certainty", "certain")),
                            when=_conditions(d["when"])) for d in raw.get("detect", ())),
        ask=tuple(Ask(**{**ask, "when": _conditions(ask.get("when", ()))}) for ask in raw.get("ask", ())),
        fix=tuple(_fix(fix) for fix in raw.get("fix", ())),
        source=tuple(Source(**source) for source in raw.get("source", ())),
        case=tuple(_case(case) for case in raw.get("case", ())),
        title=raw["title"], page=raw.get("page", ""), path=raw["path"])


def _case(raw: Mapping[str, Any]) -> Case:
    lists = {name: tuple(raw[name]) for name in ("absent", "unknown", "offers") if name in raw}
    return Case(name=raw["name"], expect=raw["expect"], block=raw.get("block"), log=raw.get("log"), **lists,
                facts={name: value(fact) for name, fact in raw.get("facts", {}).items()})


def table(name: str, raw: Mapping[str, Any]) -> Table:
    """Return a table."""
    return Table(name=name, summary=raw["summary"], key=tuple(raw["key"]), columns=raw["columns"],
                 rows=tuple([{k: value(v) if isinstance(v, list) else v for k, v in row.items()}
                             for row in raw["rows"]]))


def symptom(raw: Mapping[str, Any]) -> SymptomPattern:
    """Return a symptom, with as much of its proof as there is."""
    suspects = raw.get("suspects", ())
    return SymptomPattern(
        id=raw["id"], program=raw["program"], patterns=tuple(raw["patterns"]), meaning=raw.get("meaning", ""),
        benign=raw["benign"], versions=tuple(raw.get("versions", ())), captures=raw.get("captures", {}),
        holds=tuple(Comparison(**one) for one in raw.get("holds", ())),
        examples=tuple(SymptomExample(**example) for example in raw.get("examples", ())),
        also=tuple(raw.get("also", ())), suspects=Lazy(lambda: _suspects(suspects)) if suspects else (),
        against=tuple(raw.get("against", ())), gives=raw.get("gives", {}), framework=raw.get("framework"),
        source=tuple(raw.get("source", ())), accessed=raw.get("accessed"), path=raw["path"],
        spoken=tuple(raw.get("spoken", ())))


def _suspects(raw: Sequence[Mapping[str, Any]]) -> tuple[Suspect, ...]:
    return tuple(Suspect(cause=one["cause"], weight=one["weight"], when=_conditions(one.get("when", ())),
                         because=one.get("because"), anyway=one.get("anyway", False)) for one in raw)
