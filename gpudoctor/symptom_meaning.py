"""Whether a symptom says anything that can be judged: causes, facts and operators that there are. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import symptoms
from gpudoctor.facts import CATALOGUE, LISTS, ORDERED, TEXT, FactType
from gpudoctor.meaning import Fault, condition_problems, fits, nearest
from gpudoctor.model import RuleDatabase, Scope, SymptomPattern
from gpudoctor.quantities import OPERATORS

_GIVABLE = (ORDERED | LISTS | {FactType.TEXT, FactType.PATH}) - {FactType.INTEGER, FactType.NUMBER}
# holes that hold a version, where it has one
_OF_VERSIONS = ("number", "version")
_OPERATORS = " or ".join(sorted(OPERATORS))


def of_symptom(symptom: SymptomPattern, database: RuleDatabase) -> Iterator[Fault]:
    """Yield every part of a symptom that names what there is not, or that cannot hold what it is to hold."""
    causes = {rule.cause for rule in database.rules if rule.withdrawn is None}
    used = {hole for pattern in symptom.patterns for hole in symptoms.holes(pattern)}
    for number, suspect in enumerate(symptom.suspects):
        place = f"suspects[{number}]"
        if suspect.cause not in causes:
            yield Fault(place=place, problem=f"suspects {suspect.cause!r}, which is the cause of no page")
        least = 1 if symptom.patterns else 0  # stated facts alone may refute; a line speaks `against`
        if not least <= suspect.weight <= 100:
            yield Fault(place=place, problem=f"suspects {suspect.cause} with the weight {suspect.weight}: "
                                             f"it is {least} to 100")
        yield from (Fault(place=f"{place}.when[{index}]", problem=f"suspects {suspect.cause}: {problem}")
                    for index, condition in enumerate(suspect.when)
                    for problem in condition_problems(condition, Scope.HOST, database))
    yield from (Fault(place="against", problem=f"is against {cause!r}, which is the cause of no page")
                for cause in symptom.against if cause not in causes)
    for number, one in enumerate(symptom.holds):
        if one.op not in OPERATORS:
            yield Fault(place=f"holds[{number}]",
                        problem=f"compares {one.left} by {one.op!r}: it is {_OPERATORS}")
        yield from (Fault(place=f"holds[{number}]",
                          problem=f"compares {{{name}}}, which not every pattern has")
                    for name in (one.left, one.right)
                    if any(name not in symptoms.holes(pattern) for pattern in symptom.patterns))
    yield from (Fault(place="gives", problem=problem) for name, what in symptom.gives.items()
                for problem in _given(name, what, used, symptom))


def _given(name: str, what: str, used: set[str], symptom: SymptomPattern) -> Iterator[str]:
    """Yield what is wrong with a fact that a symptom gives: a hole's words, or a quoted word."""
    spec = CATALOGUE.get(name)
    if spec is None:
        yield f"gives {name}: there is no such fact{nearest(name)}; `gpudoctor facts` lists them all"
        return
    if spec.probe != TEXT:
        yield f"gives {name}, which is no fact of a text: those are called text.*"
        return
    if spec.type not in _GIVABLE:
        yield f"gives {name}: what a line says is words, and {spec.type.value} is not"
        return
    is_quoted = what.startswith("'") and what.endswith("'") and len(what) > 2
    if not is_quoted and what not in used:
        yield f"gives {name} from {what!r}: neither a hole of a pattern nor a word in single quotes"
    elif is_quoted and not fits(spec.type, (what[1:-1],) if spec.type in LISTS else what[1:-1]):
        yield f"gives {name} as {what}, which is no {spec.type.value}"
    elif not is_quoted and spec.type in ORDERED | {FactType.COMPUTE_CAPABILITIES} and (
            kind := symptom.captures.get(what, what)) not in _OF_VERSIONS:
        yield (f"gives {name} from the hole {{{what}}}, which holds any {kind}, and {spec.type.value} is a "
               f"version: let captures say that it is a {' or a '.join(_OF_VERSIONS)}")
