"""What changed between two snapshots, in words: the first question when something worked yesterday. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.facts import CATALOGUE, FactType
from gpudoctor.frozen import frozen
from gpudoctor.model import Fact, Facts, Known, Snapshot, Unknown
from gpudoctor.share import share
from gpudoctor.stand_ins import as_numbered_in
from gpudoctor.words import show_fact

RESTLESS = frozenset({
    "gpu.memory_used_bytes", "gpu.throttle_reasons", "gpu.pcie_generation", "gpu.compute_processes",
    "system.gpu_kernel_log", "python.chosen_because"})
_WIDTH = "gpu.pcie_width"
_NEVER_LOOKED = Unknown(reason="not in this snapshot")


@frozen
class Change:
    """One difference: `subject` is host, a card or a framework; `name` a fact, or "" for all of it."""

    subject: str
    name: str
    before: str
    after: str


def is_restless(name: str, facts: Facts) -> bool:
    """Say whether a reading may be another in a moment without meaning anything.

    NVIDIA says of a link's generation and of its width that both may be reduced while the card is not in use
    (nvidia-smi --help-query-gpu). A link whose generation is at its most does not rest, so its width counts.
    """
    if name != _WIDTH:
        return name in RESTLESS
    now, most = facts.get("gpu.pcie_generation"), facts.get("gpu.pcie_generation_max")
    return not (isinstance(now, Known) and isinstance(most, Known) and now.value == most.value)


def differences(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """Return what differs, restless readings (memory in use, clocks) left out.

    Where one of them was made to be shared, the other is compared as it would be: stand-ins are no change.
    """
    if before.redacted or after.redacted:
        before, after = (one if one.redacted else share(one) for one in (before, after))
        before = as_numbered_in(before, after)
    changes = list(_facts("host", before.host, after.host))
    changes += _scope("GPU", before.gpus, after.gpus)
    changes += _scope("framework", before.frameworks, after.frameworks)
    return tuple(changes)


def _facts(subject: str, before: Facts, after: Facts) -> Iterator[Change]:
    for name, spec in CATALOGUE.items():
        if name not in before and name not in after:
            continue
        if is_restless(name, before) or is_restless(name, after):
            continue
        old, new = before.get(name, _NEVER_LOOKED), after.get(name, _NEVER_LOOKED)
        if spec.type is FactType.RECORDS and isinstance(old, Known) and isinstance(new, Known):
            if old.value != new.value:
                yield Change(subject=subject, name=name, before=_count(old), after=_count(new))
        elif show_fact(old) != show_fact(new):
            yield Change(subject=subject, name=name, before=show_fact(old), after=show_fact(new))


def _count(fact: Fact) -> str:
    size = len(fact.value) if isinstance(fact, Known) and isinstance(fact.value, tuple) else 0
    return f"{size} entries"


def _scope(kind: str, before: tuple[Facts, ...] | Unknown,
           after: tuple[Facts, ...] | Unknown) -> Iterator[Change]:
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        if type(before) is not type(after):
            yield Change(subject=f"every {kind}", name="", before=_listing(before), after=_listing(after))
        return
    old, new = _by_name(kind, before), _by_name(kind, after)
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield Change(subject=name, name="", before="there", after="gone")
        elif name not in old:
            yield Change(subject=name, name="", before="not there", after="new")
        else:
            yield from _facts(name, old[name], new[name])


def _listing(scope: tuple[Facts, ...] | Unknown) -> str:
    return f"could not be listed ({scope.reason})" if isinstance(scope, Unknown) else f"{len(scope)} listed"


def _by_name(kind: str, scope: tuple[Facts, ...]) -> Mapping[str, Facts]:
    """Name cards by bus id (an index moves when a card is added) and frameworks by name."""
    named: dict[str, Facts] = {}
    for position, facts in enumerate(scope):
        label = facts.get("gpu.bus_id") if kind == "GPU" else facts.get("framework.name")
        name = str(label.value) if isinstance(label, Known) else str(position)
        named[f"{kind} {name}" if kind == "GPU" else name] = facts
    return named
