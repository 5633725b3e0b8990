"""What was seen by running something holds of the machine as it was: a change takes it away."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Fact, Facts, Known, Scope, Snapshot, Unknown

RUNNING_PROBES = ("smoke", "stages")
_OBSERVED = {scope: tuple(spec.name for spec in CATALOGUE.values()
                          if spec.probe in RUNNING_PROBES and spec.scope is scope) for scope in Scope}

_INSTALLED_FOR_ONE = ("release", "python.planned_distributions")
_OF_THE_MACHINE = ("cc", "cuda", "driver", "gpu", "nvml")


def unobserved(snapshot: Snapshot, changed: Collection[str], *, framework: int | None) -> Snapshot:
    """Return the snapshot without what was seen by running, as far as the `changed` facts bear on it.

    A change of one framework's facts (`framework` is its position) leaves the others and the cards as seen.
    A change of the driver or the cards leaves an import as seen that failed: a CPU is all that it needs.
    """
    names = [name for name in changed if not seen_by_running(name)]
    if not names:
        return snapshot
    only = framework if all(_scope(name) is Scope.FRAMEWORK for name in names) else None
    frameworks, gpus = snapshot.frameworks, snapshot.gpus
    if not isinstance(frameworks, Unknown):
        machine = all(name.partition(".")[0] in _OF_THE_MACHINE for name in names)
        frameworks = tuple(_without(facts, Scope.FRAMEWORK)
                           if only in (None, position) and not (machine and _import_failed(facts)) else facts
                           for position, facts in enumerate(frameworks))
    if only is None and not isinstance(gpus, Unknown):
        gpus = tuple(_without(facts, Scope.GPU) for facts in gpus)
    return replace(snapshot, frameworks=frameworks, gpus=gpus)


def _import_failed(framework: Facts) -> bool:
    outcome = framework.get("framework.import_outcome")
    return isinstance(outcome, Known) and outcome.value != "passed"


def seen_by_running(name: str) -> bool:
    """Return whether a fact is known by running something alone."""
    return name in CATALOGUE and CATALOGUE[name].probe in RUNNING_PROBES


def _scope(name: str) -> Scope:
    if name in _INSTALLED_FOR_ONE:
        return Scope.FRAMEWORK
    return CATALOGUE[name].scope if name in CATALOGUE else Scope.HOST


def _without(facts: Facts, scope: Scope) -> Facts:
    gone: dict[str, Fact] = {
        name: Unknown(reason="nothing was run on the machine as it would be", asked=False)
        for name in _OBSERVED[scope] if name in facts}
    return {**facts, **gone}
