"""The machine that files are judged for: the one that is named, and one that works where its GPU does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpudoctor import derive, versions
from gpudoctor.assume import lay, supposed_facts
from gpudoctor.candidates import drivers
from gpudoctor.candidates.ground import Ground, cards, ground_of
from gpudoctor.candidates.judging import faults
from gpudoctor.cli import sources, visits
from gpudoctor.frozen import frozen
from gpudoctor.manifests.judging import usual_python
from gpudoctor.model import Fact, Known, RuleDatabase, Scope, Snapshot, Unknown, Value

_OBSERVED = ("this machine", "as recorded")  # so begins what is said of a machine that was looked at
_NAMES_A_MACHINE = ("cc", "card", "gpu", "driver")  # assumptions that say which machine it is to be
_NONE = ("none", "0", None)


@frozen
class LintHost:
    """A machine on which files can be judged, and what it is in words.

    `faults` is what is wrong with the one that was named, where no GPU works on it: with its own rules
    silent, every file would look sound there.
    """

    machine: Snapshot
    in_words: Mapping[str, str]
    faults: tuple[str, ...] = ()

    @property
    def observed(self) -> bool:
        """Return whether the machine was looked at, not made up."""
        return self.in_words["kind"].startswith(_OBSERVED)


def names_a_gpu(pairs: Sequence[tuple[str, Value | None]]) -> bool:
    """Say whether somebody who assumes this means machines with a GPU."""
    return any(name.partition(".")[0] in _NAMES_A_MACHINE and value not in _NONE for name, value in pairs)


def lint_host(recorded: str | None, facts: Mapping[str, Fact], timeout: float, database: RuleDatabase
              ) -> LintHost:
    """Return the machine to judge for: recorded, assumed, or this one where its GPU works."""
    if recorded is not None:
        machine, kind = sources.read_snapshot(recorded), f"as recorded in {recorded}"
        if machine.assumed:
            kind = f"{kind}, with {', '.join(machine.assumed)} assumed"
    elif any(name in _NAMES_A_MACHINE for name in facts):
        machine, kind = ideal(database), "assumed"
    else:
        machine, kind = _here(timeout, database)
    if facts:
        machine = supposed_facts(machine, facts, database.tables)
    ground = None if _is_ready(machine, database) else ground_of(machine, database, usual_python(database))
    wrong = () if ground is None else tuple(f"{one.message} [{one.rule}]" for one in faults(ground))
    if ground is None or not wrong:  # no new environment hides the cards, as a shell may
        return LintHost(machine=machine, in_words=_in_words(machine, kind, database))
    driver = _working_driver(ground)
    if driver is None:
        machine, kind = ideal(database), f"any with a new driver (no GPU works on the machine {kind})"
    else:
        machine = _with_driver(machine, driver, database)
        kind = f"{kind}; no GPU works there, so judged as if driver {driver} drove it"
    return LintHost(machine=machine, in_words=_in_words(machine, kind, database), faults=wrong)


def _working_driver(ground: Ground) -> str | None:
    """Return the driver with which the cards would work: the machine's own, else the newest for them."""
    own = [] if ground.driver is None else [ground.driver]
    tried = (*own, *reversed(drivers.others(ground))) if cards(ground) else ()
    return next((one for one in tried if _is_ready(
        _with_driver(ground.snapshot, one, ground.database), ground.database)), None)


def _with_driver(machine: Snapshot, driver: str, database: RuleDatabase) -> Snapshot:
    facts: dict[str, Fact] = {"driver": Known(value=driver, source="a driver that serves the cards")}
    return supposed_facts(machine, facts, database.tables)


def _is_ready(machine: Snapshot, database: RuleDatabase) -> bool:
    ready = derive.subjects(replace(machine, frameworks=()), database)[Scope.HOST][0].fact("driver.ready")
    return isinstance(ready, Known) and ready.value is True


def _in_words(machine: Snapshot, kind: str, database: RuleDatabase) -> dict[str, str]:
    shown = derive.subjects(replace(machine, frameworks=()), database)[Scope.HOST][0]
    listed = () if isinstance(machine.gpus, Unknown) else machine.gpus
    capabilities = [str(fact.value) for card in listed
                    if isinstance(fact := card.get("gpu.compute_capability"), Known)]
    return {"kind": kind, "driver": _value(shown.fact("driver.version")),
            "cuda_ceiling": _value(shown.fact("driver.cuda_ceiling")),
            "cards": ", ".join(capabilities) or "any"}


def _value(fact: Fact) -> str:
    return str(fact.value) if isinstance(fact, Known) else "unknown"


def _here(timeout: float, database: RuleDatabase) -> tuple[Snapshot, str]:
    """Return this machine where its GPU works, else one on which everything would."""
    from gpudoctor.probes import snapshot as snapshots
    from gpudoctor.transports import local

    seen = snapshots.read(local.collect(visits.visit_here(None, "static", timeout)))
    if _is_ready(seen, database):
        return seen, "this machine"
    return ideal(database), ("any with a new driver (no GPU works here; name one: --assume driver=VERSION "
                             "--assume cc=CAPABILITY)")


def ideal(database: RuleDatabase) -> Snapshot:
    """Return a machine with the newest driver that is known and a card of which nothing is said."""
    table = database.tables["driver_lifecycle"]
    newest = max((str(row["first_release"]) for row in table.rows), key=versions.parse)
    facts: dict[str, Fact] = {"driver": Known(value=newest, source="the newest driver that is known")}
    machine = lay(database.base, facts, database.tables, source="a machine on which everything runs")
    silent = Unknown(reason="nobody said which card it is", asked=False)
    some = () if isinstance(machine.gpus, Unknown) else machine.gpus
    return replace(machine, gpus=tuple({**card, "gpu.compute_capability": silent} for card in some))
