"""Framework releases as assumptions: `release` = "torch==2.15.0", or "jax[cuda12]==0.12.0.1".

"torch==2.14.1+cu126" is the build for that CUDA on PyTorch's own index; "tensorflow-gpu==2.0.0" a release
under another name.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.assume.laying import AssumptionError, with_host
from gpudoctor.assume.observed import RUNNING_PROBES
from gpudoctor.derive import other_builds, planned, published
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import (
    Absent, Fact, Facts, Known, Record, Row, Scope, Snapshot, Tables, Unknown, Value, value_of,
)
from gpudoctor.versions import distribution_name

_PLANNED = "python.planned_distributions"
_COLLISIONS, _COLLIDING = "python.collisions", "python.colliding_distributions"
_FORM = re.compile(
    r"\s*([A-Za-z0-9][\w.-]{0,80}?)\s*(?:\[\s*([\w.-]{1,40})\s*\])?\s*==\s*(\S{1,80})\s*", re.ASCII)
_EXTRAS = {"tensorflow": "and-cuda"}  # which its release is assumed with in any case


def releases(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    """Return the snapshot with these releases and their CUDA libraries installed, as their rows say."""
    for release in items(value):
        snapshot = _release(snapshot, release, tables, source)
    return snapshot


def _release(snapshot: Snapshot, value: str, tables: Tables, source: str) -> Snapshot:
    name, row = _row(value, _platform(snapshot), tables)
    return with_build(snapshot, name, row, source)


def with_build(snapshot: Snapshot, name: str, row: Row, source: str) -> Snapshot:
    """Return the snapshot with the build of a framework that a row describes, and its CUDA libraries."""
    facts = _release_facts(name, row, snapshot, source)
    if name == "jax":
        facts.update(_jax_facts(row, facts, source))
    installed = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    others = [facts for facts in installed if value_of(facts, "framework.name") != name]
    asked = (*as_texts(row.get("requires_nvidia")), *as_texts(row.get("requires")))
    kept = as_texts(value_of(snapshot.host, _PLANNED))
    return with_host(replace(snapshot, frameworks=(*others, facts)), source,
                     {_PLANNED: tuple(dict.fromkeys((*kept, *asked)))})


def with_shared_files(snapshot: Snapshot, tables: Tables, source: str) -> Snapshot:
    """Return the snapshot with the files that a package of assumed releases and another one both write."""
    platform = _platform(snapshot)
    every = tables.get(published.nvidia_table(platform))
    if every is None:
        return snapshot
    table = published.for_platform(every, platform)
    texts = as_texts(value_of(snapshot.host, _PLANNED))
    names = planned.names(texts)
    here = [f"{record['name']}=={record['version']}"
            for record in as_records(value_of(snapshot.host, "python.nvidia_distributions"))
            if record["name"] not in names]
    owners: dict[str, list[str]] = {}
    folder = next(iter(as_texts(value_of(snapshot.host, "python.site_packages"))), "site-packages")
    for path, record in planned.files(planned.together((*texts, *here), table), folder, table):
        owners.setdefault(path, []).append(str(record["distribution"]))
    shared = {path: some for path, some in owners.items()
              if len(some) > 1 and not set(names).isdisjoint(some)}
    if not shared:
        return snapshot
    records: tuple[Record, ...] = tuple(
        {"file": path, "owners": tuple(some), "matches": "undecided", "decided_by": ""}
        for path, some in shared.items())
    known = {name: value_of(snapshot.host, name) for name in (_COLLISIONS, _COLLIDING)}
    sharing = dict.fromkeys((*as_texts(known[_COLLIDING]), *itertools.chain(*shared.values())))
    return with_host(snapshot, source, {
        _COLLISIONS: (*as_records(known[_COLLISIONS]), *records), _COLLIDING: tuple(sharing)})


def _platform(snapshot: Snapshot) -> str:
    found = (snapshot.host.get("system.os"), snapshot.host.get("system.architecture"))
    return "_".join(str(fact.value).lower() if isinstance(fact, Known) else "" for fact in found)


def _row(value: str, platform: str, tables: Tables) -> tuple[str, Row]:
    """Return a release's framework and the row that says what it is."""
    match = _FORM.fullmatch(value)
    called, extra = (distribution_name(match[1]), planned.extra_name(match[2] or "")) if match else ("", "")
    version = match[3] if match else ""
    if called == "jax" and extra.startswith("cuda"):
        row = published.jax_whole(extra.removeprefix("cuda"), version, platform, tables)
        return "jax", _there(row, value, platform, published.jax_rows(platform, tables))
    name = called if published.is_listed(called, tables) else published.framework_of(called, tables)
    if name is None or extra not in ("", _EXTRAS.get(name)):
        raise AssumptionError(f"release={value}: write NAME==VERSION of tensorflow, or another name of it as "
                              "tensorflow-gpu, torch or paddle, torch==VERSION+cu126, jax[cuda12]==VERSION")
    every = published.rows(name, tables) if name == called else published.rows_under(called, name, tables)
    unread = [row for row in other_builds.on_own_index(name, tables) if row["platform"] == platform
              and called in (name, row["distribution"])]
    listed = (published.indexed_rows(name, platform, tables) if "+" in version else
              [*(row for row in every if row["platform"] == platform), *unread])
    alike = [row for row in listed if row["version"] == version] or [
        row for row in unread if f"{row['version']}+{published.label(row)}" == version] or [
        row for row in listed if _is_same(str(row["version"]), version)]
    row = _in_common(alike) or _unlabelled(version, every, platform)
    return name, _there(row, value, platform, listed)


def _in_common(some: Sequence[Row]) -> Row | None:
    """Return what rows of one release agree on: which CUDA it is for, a version alone may leave open."""
    return {column: value for column, value in some[0].items()
            if all(row.get(column) == value for row in some)} if some else None


def _is_same(one: str, other: str) -> bool:
    return versions.is_version(other) and versions.parse(one) == versions.parse(other)


def _unlabelled(version: str, every: Sequence[Row], platform: str) -> Row | None:
    """Return the default index's row of a release whose label names the CUDA of that build: 2.10.0+cu128."""
    public, _, label = version.partition("+")
    return next((row for row in every if row["platform"] == platform and row["version"] == public and label
                 and f"cu{versions.minor_of(str(row.get('cuda', '0.0'))).replace('.', '')}" == label), None)


def _there(row: Row | None, value: str, platform: str, known: Sequence[Row]) -> Row:
    if row is None:
        newest = max((str(r["version"]) for r in known), key=versions.parse, default="none")
        raise AssumptionError(f"release={value}: the rule database has no such release for {platform}; its "
                              f"newest is {newest} (newer rules: pip install --upgrade gpudoctor-rules)")
    return row


@functools.cache
def _names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the facts of a framework that are no derived ones, and those that only running it shows."""
    of_framework = [spec for spec in CATALOGUE.values() if spec.scope is Scope.FRAMEWORK]
    return (tuple(spec.name for spec in of_framework if not spec.derived),
            tuple(spec.name for spec in of_framework if spec.probe in RUNNING_PROBES))


def _release_facts(name: str, row: Row, snapshot: Snapshot, source: str) -> dict[str, Fact]:
    seen, run = _names()
    not_run = Unknown(reason="a release that is assumed cannot be run", asked=False)
    facts: dict[str, Fact] = {**dict.fromkeys(seen, Absent(source=source)), **dict.fromkeys(run, not_run)}
    if "index" in row and "code" in row:  # what is known of such a build is its row: no wheel was read
        facts["framework.code"] = Known(value=row["code"], source=str(row["source"]))
        facts["framework.tags"] = Known(value=(_manylinux(row),), source=str(row["source"]))
    else:  # whoever assumes another version as well has none of its code
        facts["framework.code"] = Unknown(reason="the rule database has no device code of this release")
    if "cuda" not in row:
        facts["framework.cuda"] = Unknown(reason="the rule database does not say which CUDA it was built for")
    folders = as_texts(value_of(snapshot.host, "python.site_packages"))
    facts["framework.location"] = Known(value=folders[0] if folders else "site-packages", source=source)
    return {**facts, **facts_of_row(name, row, source)}


def _manylinux(row: Row) -> str:
    """Return the platform tag of a wheel for the row's glibc."""
    return "manylinux_" + str(row.get("glibc", "")).replace(".", "_") + "_"


def facts_of_row(name: str, row: Row, source: str) -> Facts:
    """Return the facts of a framework that a release's row tells, whatever machine it is installed on."""
    requires = as_texts(row.get("requires_nvidia"))
    always, extra = ((), requires) if name in ("tensorflow", "jax") else (requires, ())
    values: dict[str, Value | None] = {
        "framework.name": name, "framework.distribution": published.name_of(name, row),
        "framework.version": row["version"], "framework.installer": "pip",
        "framework.build": row.get("build"), "framework.cuda": row.get("cuda"),
        "framework.cudnn": row.get("cudnn"), "framework.requires_nvidia": always,
        "framework.extra_requires_nvidia": extra, "framework.other_distributions": ()}
    return {fact: Known(value=value, source=source) for fact, value in values.items() if value is not None}


def _jax_facts(row: Row, facts: Facts, source: str) -> Facts:
    """Return what JAX has besides: its plugins, and the library of them that opens CUDA's."""
    version, location = str(row["version"]), facts["framework.location"]
    names = ("jaxlib", str(row["distribution"]), str(row["distribution"]).replace("-pjrt", "-plugin"))
    plugins: tuple[Record, ...] = tuple({"name": name, "version": version} for name in names)
    values: dict[str, Value] = {"framework.plugins": plugins}
    if "code_library" in row and isinstance(location, Known):
        values.update({
            "framework.loader": f"{location.value}/{row['code_library']}", "framework.loader_needed": (),
            "framework.loader_rpath": as_texts(row.get("rpath")),
            "framework.loader_runpath": as_texts(row.get("runpath"))})
    return {name: Known(value=value, source=source) for name, value in values.items()}


def items(value: Value) -> tuple[str, ...]:
    """Return the texts of a value that may be one text or several."""
    return as_texts(value) if isinstance(value, tuple) else (str(value),)
