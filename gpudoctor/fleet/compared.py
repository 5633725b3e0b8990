"""Which facts of a machine are held against those of its peers, and as what.

Only what was seen is compared: a fact that is not known is left out, and makes no machine different. What is
private is left out as well, except for the environment, of which is kept what may be shown to others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from gpudoctor import share
from gpudoctor.compare import RESTLESS, is_restless
from gpudoctor.derive.view import as_records
from gpudoctor.facts import CATALOGUE, FactSpec, FactType
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Snapshot, Unknown
from gpudoctor.words import show

Held: TypeAlias = tuple[str, ...]  # a list as it is, anything else as the one text that a person reads
NOT_THERE: Held = ("not there",)

_MOST_CHARACTERS = 4000
_FROM_ELSEWHERE = frozenset({"require", "rules", "process"})  # what the caller said, and whom he asked about
# What differs from machine to machine, or from job to job, without meaning anything
_ITS_OWN = frozenset({
    "container.security_label", "environment.SLURM_JOB_ID", "framework.import_seconds", "gpu.bus_id",
    "gpu.index"})
# What only repeats which release of a framework it is
_OF_THE_RELEASE = frozenset({
    "framework.extra_requires_nvidia", "framework.loader_needed", "framework.loader_rpath",
    "framework.loader_runpath", "framework.requires_nvidia", "framework.tags"})
# Records that say a version, and the parts that are compared
_RECORDS: Mapping[str, tuple[str, ...]] = {
    "framework.plugins": ("name", "version"), "python.nvidia_distributions": ("name", "version"),
    "toolkit.installs": ("path", "version")}
_VARIABLE = "environment."


def _is_compared(spec: FactSpec) -> bool:
    if not spec.seen_on_machine or spec.probe in _FROM_ELSEWHERE:
        return False
    if spec.name in RESTLESS | _ITS_OWN | _OF_THE_RELEASE:
        return False
    if spec.type is FactType.RECORDS:
        return spec.name in _RECORDS
    return not spec.private or spec.name.startswith(_VARIABLE)


COMPARED: Mapping[Scope, tuple[str, ...]] = {
    scope: tuple(spec.name for spec in CATALOGUE.values() if spec.scope is scope and _is_compared(spec))
    for scope in (Scope.HOST, Scope.GPU, Scope.FRAMEWORK)}


_ORDER = {name: place for place, name in enumerate((
    "cards", "frameworks", *COMPARED[Scope.HOST], *COMPARED[Scope.GPU], *COMPARED[Scope.FRAMEWORK]))}


def place(fact: str) -> tuple[int, str]:
    """Return where a fact stands in the order of the catalogue: a driver before what follows from it."""
    return _ORDER.get(fact.rpartition(": ")[2], len(_ORDER)), fact


def held(snapshot: Snapshot) -> dict[str, Held]:
    """Return what is known of a machine and compared, by what it is called in a summary."""
    found = dict(_facts(snapshot.host, COMPARED[Scope.HOST]))
    if not isinstance(snapshot.gpus, Unknown):
        found["cards"] = (str(len(snapshot.gpus)),)
        found.update(_of_cards(snapshot.gpus))
    if not isinstance(snapshot.frameworks, Unknown):
        named = [_name(facts) for facts in snapshot.frameworks]
        found["frameworks"] = tuple(sorted(named))
        for name, facts in zip(named, snapshot.frameworks, strict=True):
            found.update((f"{name}: {fact}", value)
                         for fact, value in _facts(facts, COMPARED[Scope.FRAMEWORK]))
    return found


def _name(framework: Facts) -> str:
    name = framework.get("framework.name")
    return str(name.value)[:80] if isinstance(name, Known) else "unknown framework"


def _facts(facts: Facts, names: Iterable[str]) -> Iterator[tuple[str, Held]]:
    for name in names:
        value = _value(name, facts.get(name))
        if value is not None:
            yield name, value


def _value(name: str, fact: Fact | None) -> Held | None:
    """Return what a fact says, None where it is not known."""
    if isinstance(fact, Absent):
        return NOT_THERE
    if not isinstance(fact, Known):
        return None
    value = fact.value
    if name in _RECORDS:
        return bounded(tuple(sorted("==".join(str(record.get(part)) for part in _RECORDS[name])
                                    for record in as_records(value))))
    if name.startswith(_VARIABLE):
        value = share.variable(name, value)
    if isinstance(value, tuple):
        return bounded(tuple(item for item in value if isinstance(item, str)))
    return bounded((show(value),))


def bounded(value: Held) -> Held:
    """Return a value as it is, a very long one as its beginning and its digest."""
    if len(value) + sum(map(len, value)) <= _MOST_CHARACTERS:
        return value
    digest = hashlib.sha256("\0".join(value).encode("utf-8", "surrogatepass")).hexdigest()
    return (f"{len(value)} entries, sha256 {digest[:16]}",) if len(value) > 1 else (
        f"{value[0][:80]}... ({len(value[0])} characters, sha256 {digest[:16]})",)


def _of_cards(cards: tuple[Facts, ...]) -> Iterator[tuple[str, Held]]:
    """Yield what the cards of a machine say, each value once; nothing where one of them is not known."""
    for name in COMPARED[Scope.GPU] if cards else ():
        values = [None if is_restless(name, card) else _value(name, card.get(name)) for card in cards]
        known = [value for value in values if value is not None]
        if len(known) == len(cards):
            yield name, bounded(tuple(sorted({", ".join(value) or "none" for value in known})))
