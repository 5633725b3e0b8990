"""The pages of the documentation site that are made of data: the causes, and the catalogue of facts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor.facts import CATALOGUE, FactSpec
from gpudoctor.model import Condition, Fix, Operand, Rule, RuleDatabase, SymptomPattern
from gpudoctor.render.markup import block, code
from gpudoctor.words import show

FACTS = "facts.md"
_PROSE = re.compile(r"([\\`*_{}\[\]<>|&~#@])")
_OPTIONAL = re.compile(r"\[\?(.*?)\]", re.DOTALL)
_OPERATORS = {
    "below": "is below", "at_least": "is at least", "within": "fits", "equals": "is", "differs": "is not",
    "in": "is one of", "not_in": "is none of", "contains": "contains", "lacks": "lacks",
    "exists": "is there", "missing": "is not there",
}
_SHORT = {"nvml", "cuda", "gpu"}
_RISKS = {
    "safe": "Safe", "restart": "Takes a restart", "admin": "Takes an administrator",
    "reinstall": "Installs something anew",
}
_COLUMNS = ("| fact | type | from | meaning |", "|---|---|---|---|")
_MOST_MESSAGES = 12
_LEAST_WEIGHT = 25  # of a hundred texts with this message, how many have this cause


def causes_page(rules: Sequence[Rule]) -> str:
    """Return the list of all causes, by families."""
    families: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        families[rule.path.partition("/")[0]].append(rule)
    about = (f"{len(rules)} pages, one for each cause and way to it. `gpudoctor rules show ID` prints them, "
             "`gpudoctor explain` and `gpudoctor check` name them.\n")
    parts = ["# Causes\n", about]
    for family, members in sorted(families.items()):
        rows = [f"| [{rule.id}]({rule.path}) | {code(rule.cause)} | {rule.severity.value} | "
                f"{prose(rule.title)} |" for rule in sorted(members, key=lambda rule: rule.id)]
        parts.append("\n".join((f"## {family.capitalize()}\n", "| page | cause | severity | what to do |",
                                "|---|---|---|---|", *rows, "")))
    return "\n".join(parts)


def rule_page(rule: Rule, database: RuleDatabase) -> str:
    """Return a cause with its page, how it is seen, its fixes, its messages and its sources."""
    return "\n".join(_rule_parts(rule, database))


def _rule_parts(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    yield f"# {prose(rule.title)}\n"
    withdrawn = f", withdrawn: {prose(rule.withdrawn)}" if rule.withdrawn else ""
    yield (f"{rule.id}, {code(rule.cause)}, {rule.severity.value}, judged for each {rule.scope.value}, "
           f"since {rule.since}{withdrawn}\n")
    yield f"> {prose(_whole(rule.summary))}\n"
    yield f"{rule.page}\n"
    if rule.detect:
        yield "## What decides\n"
        yield f"Any of these, with all of its conditions; the names are [facts](../../{FACTS}).\n"
        for way in rule.detect:
            yield f"- {prose(way.name)} ({way.certainty.value})\n"
            yield from (f"    - {_condition(one)}" for one in way.when)
            yield ""
    if rule.ask:
        yield "## What would settle it\n"
        for ask in rule.ask:
            yield f"{_where(ask.when)}{prose(ask.question)}\n\n{block(tuple(ask.command.splitlines()), 'sh')}"
            yield "".join(f"- {prose(answer)}: {prose(meaning)}\n" for answer, meaning in ask.answers.items())
    if rule.fix:
        yield "## Fixes\n\nIn braces stands what `gpudoctor` fills in for the machine at hand.\n"
        for fix in rule.fix:
            yield _fix(fix)
    messages = _messages(rule, database.symptoms)
    if messages:
        yield f"## Messages that suggest it\n\n{block(messages, 'text')}"
    if rule.source:
        yield "## Sources\n"
        for source in rule.source:
            address = f"<{source.url}>" if source.url.startswith("https://") else code(source.url)
            yield f"- {address}{f', read {source.accessed}' if source.accessed else ''}"


def _condition(condition: Condition) -> str:
    right = "" if condition.right is None else f" {_operand(condition.right)}"
    return f"{_fact(condition.fact)} {_OPERATORS[condition.op]}{right}"


def _where(conditions: Sequence[Condition]) -> str:
    """Return the conditions as the beginning of a line, "" without any."""
    return f"Where {' and '.join(map(_condition, conditions))}: " if conditions else ""


def _operand(operand: Operand) -> str:
    if operand.other is not None:
        return _fact(operand.other)
    if operand.lookup is not None:
        keys = ", ".join(code(key) for key in operand.key)
        return f"what the table says: {code(operand.lookup)}{f' for {keys}' if keys else ''}"
    return code(show(operand.value)) if operand.value is not None else "nothing"


def _fact(name: str) -> str:
    return f"[{code(name)}](../../{FACTS}#{name})" if name in CATALOGUE else code(name)


def _fix(fix: Fix) -> str:
    lines = [*fix.commands, *(f"export {name}={value}" for name, value in fix.env.items())]
    by_hand = ", by hand" if fix.by_hand else ""
    parts = [f"### {prose(_whole(fix.title))}\n",
             f"{_where(fix.when)}{_RISKS[fix.risk]}{by_hand}.\n"]
    if lines:
        parts.append(block(tuple(lines), "sh"))
    if fix.image:
        parts.append(f"Image: {code(fix.image)}\n")
    if fix.undo:
        parts.append(f"To undo it:\n\n{block((fix.undo,), 'sh')}")
    return "\n".join(parts)


def _messages(rule: Rule, symptoms: Sequence[SymptomPattern]) -> tuple[str, ...]:
    """Return the messages of programs that most speak for a cause, the surest first."""
    weighed = [(max((one.weight for one in symptom.suspects if one.cause == rule.cause), default=0), symptom)
               for symptom in symptoms if symptom.patterns]
    told = sorted((one for one in weighed if one[0] >= _LEAST_WEIGHT), key=lambda one: (-one[0], one[1].id))
    return tuple(symptom.patterns[0] for _, symptom in told[:_MOST_MESSAGES])


def facts_page(catalogue: Mapping[str, FactSpec] = CATALOGUE) -> str:
    """Return the catalogue of facts, by the thing that they are said of."""
    families: dict[str, list[FactSpec]] = defaultdict(list)
    for spec in catalogue.values():
        families[spec.name.partition(".")[0]].append(spec)
    about = ("Everything that a snapshot can hold. A fact is known (with its source), absent (looked in the "
             "right place) or unknown (could not look); *derive* computes it from others. Private ones are "
             "redacted by `gpudoctor snapshot --share`.\n")
    parts = ["# Facts\n", about]
    for family, members in families.items():
        rows = [f"| <a id=\"{spec.name}\"></a>{code(spec.name)} | {spec.type.value.replace('_', ' ')} | "
                f"{spec.probe} | {prose(spec.meaning)}{_marks(spec)} |" for spec in members]
        heading = family.upper() if family in _SHORT else family.capitalize()
        parts.append("\n".join((f"## {heading}\n", *_COLUMNS, *rows, "")))
    return "\n".join(parts)


def _marks(spec: FactSpec) -> str:
    return "".join(f" ({mark})" for mark in ("private", "informative") if getattr(spec, mark))


def _whole(text: str) -> str:
    """Return a text with the parts that may stay away."""
    return _OPTIONAL.sub(r"\1", text)


def prose(text: str) -> str:
    """Return text in which no dialect of Markdown finds markup."""
    return _PROSE.sub(lambda found: f"&#{ord(found[1])};", " ".join(text.split()))
