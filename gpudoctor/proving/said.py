"""What a symptom must prove: its examples show it, and no other symptom that it does not name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpudoctor import symptom_meaning, symptoms, versions
from gpudoctor.model import RuleDatabase, Severity, SymptomPattern
from gpudoctor.table_meaning import PINNED, is_day

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
# a program of a stated version that was run, the day, and what was done
_RUN = re.compile(r"run:[A-Za-z0-9._-]+==\S+ [0-9]{4}-[0-9]{2}-[0-9]{2} \S.*\Z")


def symptom_problems(database: RuleDatabase) -> Iterator[str]:
    """Yield every problem of every symptom, `path: id: problem`."""
    for identifier, count in Counter(symptom.id for symptom in database.symptoms).items():
        if count > 1:
            yield f"{identifier}: the id is used by {count} symptoms"
    known = {symptom.id for symptom in database.symptoms}
    for symptom in database.symptoms:
        for problem in (*_form(symptom, known), *_suspects(symptom, database), *_sources(symptom),
                        *_examples(symptom, database)):
            yield f"{symptom.path}: {symptom.id}: {problem}"


def _form(symptom: SymptomPattern, known: set[str]) -> Iterator[str]:
    if not _SLUG.match(symptom.id):
        yield "the id is no slug: small letters and digits, joined with hyphens"
    if not symptom.meaning.endswith("."):
        yield "the meaning is no sentence: it ends in a full stop"
    used = {hole for pattern in symptom.patterns for hole in symptoms.holes(pattern)}
    yield from (f"no pattern has the hole {{{name}}} that captures names" for name in symptom.captures
                if name not in used)
    yield from (f"also names {other!r}, which is no other symptom" for other in symptom.also
                if other not in known - {symptom.id})
    for version in symptom.versions:
        try:
            versions.parse(version)
        except versions.Incomparable:
            try:
                versions.within("1", version)
            except versions.Incomparable:
                yield f"{version!r} is neither a version nor a specifier such as \">=2.12,<2.16\""


def _suspects(symptom: SymptomPattern, database: RuleDatabase) -> Iterator[str]:
    severities = {rule.cause: rule.severity for rule in database.rules if rule.withdrawn is None}
    yield from (fault.problem for fault in symptom_meaning.of_symptom(symptom, database))
    if not symptom.patterns:
        yield from (f"suspects {suspect.cause} without a condition, and has no pattern"
                    for suspect in symptom.suspects if not suspect.when)
    if symptom.benign and symptom.suspects and not any(
            severities.get(suspect.cause) is Severity.BENIGN for suspect in symptom.suspects):
        yield "is benign, but suspects no benign cause"


def _sources(symptom: SymptomPattern) -> Iterator[str]:
    if not symptom.source:
        yield "no source"
    for source in symptom.source:
        if source.startswith("https://"):
            if not is_day(symptom.accessed or ""):
                yield f"source {source} lacks the day it was read (accessed = \"YYYY-MM-DD\")"
        elif not (PINNED.match(source.partition(" ")[0]) or _RUN.match(source)):
            yield (f"source {source!r} is neither https://, nor \"pypi:NAME==VERSION member\", "
                   "nor \"run:NAME==VERSION YYYY-MM-DD what was done\"")
    public_only = all(source.startswith("https://") for source in symptom.source)
    if not symptom.versions and not public_only:
        yield "no versions, though the source is of a version"
    if any(not example.filled for example in symptom.examples) and all(
            source.startswith("pypi:") for source in symptom.source):
        yield "an example is said to have been heard (filled is not true), but no source is a run or a report"


def _examples(symptom: SymptomPattern, database: RuleDatabase) -> Iterator[str]:
    if not symptom.examples and symptom.patterns:
        yield "no example: a line as the program really said it"
    used: set[str] = set()
    others: set[str] = set()
    for example in symptom.examples:
        hits = {hit.id: hit.captures for hit in symptoms.read([example.line], database.symptoms)}
        said = f"the example {example.line[:80]!r}"
        if symptom.id not in hits:
            yield f"{said} does not show it"
            continue
        captured = dict(hits.pop(symptom.id))
        if captured != dict(example.captures):
            yield f"{said} gives {captured}, not {dict(example.captures)}"
        used |= {pattern for pattern in symptom.patterns
                 if symptoms.shown(pattern, symptoms.clean(example.line), symptom) is not None}
        others |= set(hits)
        yield from (f"{said} shows {other} as well, which also does not name"
                    for other in hits if other not in symptom.also)
    yield from (f"also names {other}, which no example shows"
                for other in symptom.also if other not in others)
    yield from (f"no example has the wording {pattern!r}"
                for pattern in symptom.patterns if pattern not in used)
