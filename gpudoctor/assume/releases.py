"""Framework releases as assumptions: `release` = "torch==2.15.0"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor.assume.laying import AssumptionError, with_host
from gpudoctor.assume.observed import RUNNING_PROBES
from gpudoctor.derive.view import as_texts
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Snapshot, Tables, Unknown, Value


def releases(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    """Return the snapshot with these releases and their CUDA libraries installed, as their rows say."""
    for release in items(value):
        snapshot = _release(snapshot, release, tables, source)
    return snapshot


def _release(snapshot: Snapshot, value: str, tables: Tables, source: str) -> Snapshot:
    name, equals, version = value.partition("==")
    if not equals or name not in tables:
        raise AssumptionError(f"release={value}: write NAME==VERSION of tensorflow or torch")
    host = snapshot.host
    system, machine = host.get("system.os"), host.get("system.architecture")
    platform = "_".join(str(f.value).lower() if isinstance(f, Known) else "" for f in (system, machine))
    row = next((r for r in tables[name].rows if r["version"] == version and r["platform"] == platform), None)
    if row is None:
        raise AssumptionError(f"release={value}: the rule database has no such release for {platform}")
    facts = _release_facts(name, row, snapshot, source)
    installed = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    others = [facts for facts in installed
              if not (isinstance(n := facts.get("framework.name"), Known) and n.value == name)]
    planned = (*as_texts(row.get("requires_nvidia")), *as_texts(row.get("requires")))
    before = host.get("python.planned_distributions")
    kept = as_texts(before.value) if isinstance(before, Known) else ()
    return with_host(replace(snapshot, frameworks=(*others, facts)), source,
                 {"python.planned_distributions": tuple(dict.fromkeys((*kept, *planned)))})


def _release_facts(name: str, row: Mapping[str, Value], snapshot: Snapshot, source: str) -> Facts:
    facts: dict[str, Fact] = {spec.name: Absent(source=source) for spec in CATALOGUE.values()
                              if spec.scope is Scope.FRAMEWORK and not spec.derived}
    not_run = Unknown(reason="a release that is assumed cannot be run", asked=False)
    facts.update((spec.name, not_run) for spec in CATALOGUE.values()
                 if spec.scope is Scope.FRAMEWORK and spec.probe in RUNNING_PROBES)
    packages = snapshot.host.get("python.site_packages")
    folders = as_texts(packages.value) if isinstance(packages, Known) else ()
    facts["framework.location"] = Known(value=folders[0] if folders else "site-packages", source=source)
    return {**facts, **published(name, row, source)}


def published(name: str, row: Mapping[str, Value], source: str) -> Facts:
    """Return the facts of a framework that a release's row tells, whatever machine it is installed on."""
    requires = as_texts(row.get("requires_nvidia"))
    always, extra = ((), requires) if name == "tensorflow" else (requires, ())
    values: dict[str, Value | None] = {
        "framework.name": name, "framework.distribution": name, "framework.version": row["version"],
        "framework.installer": "pip", "framework.build": row.get("build"), "framework.cuda": row.get("cuda"),
        "framework.cudnn": row.get("cudnn"), "framework.requires_nvidia": always,
        "framework.extra_requires_nvidia": extra, "framework.other_distributions": ()}
    return {fact: Known(value=value, source=source) for fact, value in values.items() if value is not None}


def items(value: Value) -> tuple[str, ...]:
    """Return the texts of a value that may be one text or several."""
    return as_texts(value) if isinstance(value, tuple) else (str(value),)
