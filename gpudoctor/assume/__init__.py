"""Lay facts over a snapshot: what a fix would change, what a case of a rule states, what `--assume` says.

Beside catalogued facts there are names that stand for many at once: `driver` (a working driver of that
version, or "none"), `cc` (one healthy card of each compute capability, or "none"), `card` or `gpu` (the same
by the product's name), `python`, `glibc` (or "none", as with musl), and `release` ("torch==2.15.0": that
release, installed with its CUDA libraries as its table row says).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpudoctor.assume import machines
from gpudoctor.assume.forms import NAMES, NONE_IS_A_VALUE, require_form, spelled
from gpudoctor.assume.laying import AssumptionError
from gpudoctor.assume.observed import seen_by_running, unobserved
from gpudoctor.assume.releases import items, releases, with_shared_files
from gpudoctor.assume.supposed import require_cards, with_consequences
from gpudoctor.assume.systems import with_own_parts
from gpudoctor.derive.lazy import ASSUMED
from gpudoctor.facts import CATALOGUE, LISTS, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Snapshot, Tables, Unknown, Value

__all__ = ["ALIASES", "AssumptionError", "Place", "assumed", "blank", "lay", "parse_assumption",
           "seen_by_running", "supposed", "supposed_facts", "unobserved"]


@frozen
class Place:
    """Which subject `gpu.*` and `framework.*` facts belong to; None means all of them."""

    gpu: int | None = None
    framework: int | None = None


EVERYWHERE = Place()


def blank() -> Snapshot:
    """Return a machine on which every probe looked and found nothing; the base of all cases is laid on it."""
    facts: dict[str, Fact] = {spec.name: Absent(source="base machine") for spec in CATALOGUE.values()
                              if spec.scope is Scope.HOST and spec.seen_on_machine}
    return Snapshot(host=facts)


def lay(snapshot: Snapshot, facts: Mapping[str, Fact], tables: Tables, *, source: str,
        place: Place = EVERYWHERE) -> Snapshot:
    """Return the snapshot with `facts` laid over it in order; raise `AssumptionError`."""
    for name, fact in facts.items():
        alias = ALIASES.get(name)
        if alias is not None:
            if not isinstance(fact, Known):
                raise AssumptionError(f"{name} can only be assumed as a value")
            snapshot = alias(snapshot, fact.value, tables, source)
        else:
            snapshot = _lay_one(snapshot, name, fact, place)
    return snapshot


def _lay_one(snapshot: Snapshot, name: str, fact: Fact, place: Place) -> Snapshot:
    spec = CATALOGUE.get(name)
    if spec is None:
        raise AssumptionError(f"there is no fact called {name!r}; `gpudoctor facts` lists them all")
    match spec.scope:
        case Scope.HOST:
            return replace(snapshot, host={**snapshot.host, name: fact})
        case Scope.GPU:
            return replace(snapshot, gpus=_in_scope(snapshot.gpus, name, fact, place.gpu))
        case Scope.FRAMEWORK:
            return replace(snapshot, frameworks=_in_scope(snapshot.frameworks, name, fact, place.framework))
        case Scope.PAIR:
            raise AssumptionError(f"{name} is computed from a card and a framework and cannot be assumed")


def _in_scope(scope: tuple[Facts, ...] | Unknown, name: str, fact: Fact,
              position: int | None) -> tuple[Facts, ...] | Unknown:
    if isinstance(scope, Unknown):
        return scope
    return tuple({**facts, name: fact} if position in (None, index) else facts
                 for index, facts in enumerate(scope))


def parse_assumption(text: str) -> tuple[str, Value | None]:
    """Return (name, value) of `FACT=VALUE`, typed as the catalogue says; raise `AssumptionError`.

    `none` means none, as it is printed of what is not there: an empty list, or None.
    """
    name, equals, raw = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise AssumptionError(f"{text!r}: write FACT=VALUE, for example driver=570.86.15")
    if name in ALIASES:
        return name, _well_formed(name, raw.strip())
    spec = CATALOGUE.get(name)
    if spec is None:
        near = difflib.get_close_matches(name[:80], (*ALIASES, *CATALOGUE), n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise AssumptionError(f"there is no fact called {name!r}{hint}; `gpudoctor facts` lists them all")
    if raw.strip() == "none" and name not in NONE_IS_A_VALUE:
        return name, () if spec.type in (*LISTS, FactType.RECORDS) else None
    return name, _parse_value(name, spec.type, raw.strip())


def _well_formed(name: str, raw: str) -> str:
    """Return the value of a name that stands for many facts; raise `AssumptionError` for another form."""
    kind = NAMES.get(name)
    if raw == "none" or kind is None:
        return raw
    for part in raw.split(",") if name == "cc" else (raw,):
        require_form(name, kind, part.strip())
    return raw


def _parse_value(name: str, kind: FactType, raw: str) -> Value:
    if kind is FactType.FLAG:
        if raw.lower() not in ("true", "false", "yes", "no"):
            raise AssumptionError(f"{name} is a flag: true or false, not {raw!r}")
        return raw.lower() in ("true", "yes")
    if kind is FactType.INTEGER:
        require_form(name, kind, raw)
        return int(raw)
    if kind is FactType.NUMBER:
        require_form(name, kind, raw)
        return float(raw)
    if kind in LISTS:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    if kind is FactType.RECORDS:
        raise AssumptionError(
            f"{name} holds records and cannot be given on the command line; use --from SNAPSHOT")
    if kind.value.endswith(("_version", "_isa", "_capability")):
        require_form(name, kind, raw)
    return spelled(name, raw)


ALIASES: Mapping[str, Callable[[Snapshot, Value, Tables, str], Snapshot]] = {
    "driver": machines.driver, "cc": machines.cards, "python": machines.python, "glibc": machines.glibc,
    "release": releases, "card": machines.products, "gpu": machines.products,
}


def supposed(snapshot: Snapshot, pairs: Sequence[tuple[str, Value | None]], tables: Tables) -> Snapshot:
    """Return the machine as `--assume` says, with what follows; raise `AssumptionError`."""
    facts = assumed(pairs)
    require_cards(snapshot, facts)
    return supposed_facts(snapshot, facts, tables)


def supposed_facts(snapshot: Snapshot, facts: Mapping[str, Fact], tables: Tables) -> Snapshot:
    """Return the machine with assumed facts and what follows from them; raise `AssumptionError`."""
    laid = lay(unobserved(snapshot, facts, framework=None), facts, tables, source=ASSUMED)
    laid = with_own_parts(snapshot, laid, facts, tables, ASSUMED)
    if "release" in facts:
        laid = with_shared_files(laid, tables, ASSUMED)
    return with_consequences(laid, facts, ASSUMED)


def assumed(pairs: Sequence[tuple[str, Value | None]]) -> dict[str, Fact]:
    """Return `--assume` pairs as facts; each `cc` makes a card of its own, each `release` a framework."""
    facts: dict[str, Fact] = {}
    for name, value in pairs:
        before = facts.get(name)
        fact: Fact = Absent(source=ASSUMED) if value is None else Known(value=value, source=ASSUMED)
        if name in _REPEATABLE and isinstance(before, Known) and isinstance(fact, Known):
            fact = replace(before, value=(*items(before.value), *items(fact.value)))
        elif before is not None and before != fact:
            one, other = (some.value if isinstance(some, Known) else "none" for some in (before, fact))
            raise AssumptionError(f"{name}={one} and {name}={other} contradict one another: "
                                  "assume one of them")
        facts[name] = fact
    _pair_cards(facts)
    # what a driver does depends on the cards and the machine, and what a Python is called on its version:
    # they come first, whichever was written first
    ordered = sorted(facts, key=lambda name: (name != _BOARD, name not in _CARDS, name not in _BEFORE))
    return {name: facts[name] for name in ordered}


def _pair_cards(facts: dict[str, Fact]) -> None:
    """Give each card that is named the compute capability that stands in its place, where both are told.

    So a card can be named that no table has. Raise `AssumptionError` where they do not go together.
    """
    named = [name for name in _CARDS if name in facts]
    if len(named) < 2:
        return
    told = {name: [part.strip() for item in items(fact.value) for part in item.split(",")]
            if isinstance(fact := facts[name], Known) else [] for name in named}
    first, other = named[:2]
    is_none = "none" in (*told[first], *told[other])
    if first != "cc" or len(named) > 2 or is_none or len(told[first]) != len(told[other]):
        raise AssumptionError(f"{first} and {other} both say which cards there are: use one of them, or one "
                              "cc for each card")
    pairs = zip(told.pop("cc"), told[other], strict=True)
    facts[other] = Known(value=tuple(f"{card} (cc={capability})" for capability, card in pairs),
                         source=ASSUMED)
    del facts["cc"]


_CARDS = ("cc", "card", "gpu")
_REPEATABLE = (*_CARDS, "release")
_BOARD = "system.jetson"  # whether a card may be one of a Jetson hangs on it
_BEFORE = ("system.wsl", "system.architecture", "container.runtime", "gpu.pci_driver", "python")
