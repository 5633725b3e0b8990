"""Facts computed from facts: a pure function of a snapshot and the tables, run again after every overlay.

Order: the host first, then each framework, then each pair of card and framework; each derivation sees the ones before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpudoctor import versions
from gpudoctor.derive import frameworks as framework_derivations
from gpudoctor.derive import packages
from gpudoctor.derive.host import HOST_DERIVATIONS
from gpudoctor.derive.pairs import PAIR_DERIVATIONS
from gpudoctor.derive.view import NotKnown, View
from gpudoctor.engine import Subject, Subjects
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Snapshot, Tables, Unknown

Derivation = Callable[[View], Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tier:
    """One subject in the making: base facts and what was derived on top."""

    facts: dict[str, Fact]
    missing: Unknown

    def run(self, derivations: Mapping[str, Derivation], tables: Tables) -> None:
        view = View(facts=self.facts, tables=tables, missing=self.missing)
        for name, derivation in derivations.items():
            try:
                self.facts[name] = derivation(view)
            except NotKnown as error:
                self.facts[name] = error.fact


_NOT_PROBED = Unknown(reason="no probe answered for it")


def subjects(snapshot: Snapshot, tables: Tables) -> Subjects:
    """Return every subject that rules are judged for, with probed and derived facts.

    A scope that could not be enumerated yields one subject in which all its facts are unknown.
    """
    host = _Tier(facts=dict(snapshot.host), missing=_NOT_PROBED)
    host.run(_with_scopes(snapshot), tables)
    cards, blind_cards = _scope(snapshot.gpus)
    patients, blind_patients = _scope(snapshot.frameworks)
    gpus = [(_gpu_name(facts, index, blind_cards), {**host.facts, **facts}, blind_cards or _NOT_PROBED)
            for index, facts in enumerate(cards)]
    frameworks = []
    for facts in patients:
        tier = _Tier(facts={**host.facts, **facts}, missing=blind_patients or _NOT_PROBED)
        tier.run(framework_derivations.derivations(() if blind_cards else cards), tables)
        frameworks.append((_framework_name(facts, blind_patients), tier.facts, tier.missing))
    pairs = []
    for gpu_name, gpu_facts, gpu_missing in gpus:
        for framework_name, framework_facts, framework_missing in frameworks:
            missing = _NOT_PROBED if not blind_cards and not blind_patients else blind_cards or framework_missing
            tier = _Tier(facts={**framework_facts, **gpu_facts}, missing=missing)
            tier.run(PAIR_DERIVATIONS, tables)
            pairs.append((f"{gpu_name} x {framework_name}", tier.facts, tier.missing))
    return {
        Scope.HOST: [Subject(name="host", facts=host.facts)],
        Scope.GPU: [Subject(name=n, facts=f, missing=m) for n, f, m in gpus],
        Scope.FRAMEWORK: [Subject(name=n, facts=f, missing=m) for n, f, m in frameworks],
        Scope.PAIR: [Subject(name=n, facts=f, missing=m) for n, f, m in pairs],
    }


def complete(snapshot: Snapshot, tables: Tables) -> Snapshot:
    """Return the snapshot with its derived facts in it, for people and machines to read; pairs are left out."""
    found = subjects(snapshot, tables)
    frameworks = snapshot.frameworks if isinstance(snapshot.frameworks, Unknown) else tuple(
        {name: fact for name, fact in subject.facts.items() if CATALOGUE[name].scope is Scope.FRAMEWORK}
        for subject in found[Scope.FRAMEWORK])
    return replace(snapshot, host=found[Scope.HOST][0].facts, frameworks=frameworks)


def _scope(scope: tuple[Facts, ...] | Unknown) -> tuple[tuple[Facts, ...], Unknown | None]:
    """Return the subjects of a scope; one without any facts stands for a scope nobody could enumerate."""
    return (({},), scope) if isinstance(scope, Unknown) else (scope, None)


def _gpu_name(facts: Facts, position: int, blind: Unknown | None) -> str:
    if blind is not None:
        return "every GPU"
    index = facts.get("gpu.index")
    return f"GPU {index.value if isinstance(index, Known) else position}"


def _framework_name(facts: Facts, blind: Unknown | None) -> str:
    if blind is not None:
        return "every framework"
    name = facts.get("framework.name")
    return str(name.value) if isinstance(name, Known) else "framework"


def _with_scopes(snapshot: Snapshot) -> Mapping[str, Derivation]:
    """Return the host's derivations with those that sum up the other scopes.

    Cards that the snapshot lists count even if no probe counted them.
    """
    cards = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus

    def counted(view: View) -> Fact:
        found = HOST_DERIVATIONS["system.nvidia_gpus"](view)
        if cards and not (isinstance(found, Known) and isinstance(found.value, int) and found.value >= len(cards)):
            return Known(value=len(cards), source="the snapshot's list of cards")
        return found

    def oldest(_: View) -> Fact:
        if isinstance(snapshot.gpus, Unknown):
            return snapshot.gpus
        known = [str(f.value) for card in cards if isinstance(f := card.get("gpu.compute_capability"), Known)]
        return (Known(value=min(known, key=versions.parse), source="the cards' compute capabilities") if known
                else Absent(source="no card tells its compute capability"))

    def installed(_: View) -> Fact:
        if isinstance(snapshot.frameworks, Unknown):
            return snapshot.frameworks
        names = tuple(str(f.value) for facts in snapshot.frameworks
                      if isinstance(f := facts.get("framework.name"), Known))
        return Known(value=names, source="the patient's packages")

    asked = packages.asked_for(() if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks)
    return {
        **HOST_DERIVATIONS, "system.nvidia_gpus": counted, "system.oldest_card": oldest,
        "python.frameworks": installed,
        "python.colliding_unneeded": lambda view: packages.colliding_unneeded(view, asked),
        "python.colliding_reinstall": lambda view: packages.colliding_reinstall(view, asked),
        "require.newest_python": packages.newest_wheel_python,
        "require.wheel_requirement": packages.wheel_requirement,
        "require.unmet_otherwise": packages.unmet_otherwise,
    }


__all__ = ["complete", "subjects"]
