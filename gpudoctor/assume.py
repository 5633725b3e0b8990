"""Lay facts over a snapshot: what a fix would change, what a case of a rule states, what `--assume` says.

Beside catalogued facts there are five names that stand for many at once: `driver` (a working driver of that
version, or "none"), `cc` (one healthy card of each compute capability, or "none"), `python`, `glibc`, and
`release` ("torch==2.15.0": that release, installed with its CUDA libraries as its table row says).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpudoctor import versions
from gpudoctor.derive.view import as_texts, floor_row
from gpudoctor.facts import CATALOGUE, LISTS, FactType, promised
from gpudoctor.model import Absent, Fact, Facts, Known, Record, Scope, Snapshot, Tables, Unknown, Value

_FOR_GUESTS = "vfio-pci"
_NOT_ASKED = Unknown(reason="nothing was run", asked=False)


class AssumptionError(ValueError):
    """An assumption cannot be made; one line that says why and what would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which subject `gpu.*` and `framework.*` facts belong to; None means all of them."""

    gpu: int | None = None
    framework: int | None = None


EVERYWHERE = Place()


def blank() -> Snapshot:
    """Return a machine on which every probe looked and found nothing; the base of all cases is laid on it."""
    facts: dict[str, Fact] = {spec.name: Absent(source="base machine") for spec in CATALOGUE.values()
                              if spec.scope is Scope.HOST and not spec.derived}
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


def parse_assumption(text: str) -> tuple[str, Value]:
    """Return (name, value) of `FACT=VALUE`, typed as the catalogue says; raise `AssumptionError`."""
    name, equals, raw = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise AssumptionError(f"{text!r}: write FACT=VALUE, for example driver=570.86.15")
    if name in ALIASES:
        return name, raw.strip()
    spec = CATALOGUE.get(name)
    if spec is None:
        raise AssumptionError(f"there is no fact called {name!r}; `gpudoctor facts` lists them all")
    return name, _parse_value(name, spec.type, raw.strip())


def _parse_value(name: str, kind: FactType, raw: str) -> Value:
    if kind is FactType.FLAG:
        if raw.lower() not in ("true", "false", "yes", "no"):
            raise AssumptionError(f"{name} is a flag: true or false, not {raw!r}")
        return raw.lower() in ("true", "yes")
    if kind is FactType.INTEGER:
        if re.fullmatch(r"-?[0-9]{1,18}", raw) is None:
            raise AssumptionError(f"{name} is a whole number, not {raw!r}")
        return int(raw)
    if kind in LISTS:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    if kind is FactType.RECORDS:
        raise AssumptionError(
            f"{name} holds records and cannot be given on the command line; use --from SNAPSHOT")
    if kind.value.endswith(("_version", "_isa", "_capability")):
        _require_version(name, raw)
    return raw


def _require_version(name: str, text: str) -> None:
    try:
        versions.parse(text)
    except versions.Incomparable:
        raise AssumptionError(f"{name}={text}: {text!r} is not a version") from None


# -- names that stand for many facts ---------------------------------------------------------------

def _host(snapshot: Snapshot, source: str, values: Mapping[str, Value | None]) -> Snapshot:
    """Return the snapshot with host facts set; None is "not there"."""
    facts: dict[str, Fact] = {
        name: Absent(source=source) if value is None else Known(value=value, source=source)
        for name, value in values.items()}
    return replace(snapshot, host={**snapshot.host, **facts})


def _driver(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    version = str(value)
    if version == "none":
        return _no_driver(snapshot, source)
    _require_version("driver", version)
    table = tables.get("driver_branches")
    row = floor_row(table, "driver", version) if table is not None else None
    if row is None:
        raise AssumptionError(f"driver={version}: the rule database does not reach back to this driver")
    cards = 0 if isinstance(snapshot.gpus, Unknown) else sum(not _reserved(card) for card in snapshot.gpus)
    modules = snapshot.host.get("system.gpu_modules")
    others = as_texts(modules.value) if isinstance(modules, Known) else ()
    loaded = sorted({"nvidia", "nvidia_uvm", *(m for m in others if m.startswith("nvidia"))})
    files: tuple[Record, ...] = ({"path": "libcuda.so.1", "version": version, "version_source": source},)
    listed = _host(snapshot, source, {
        "driver.kernel_version": version, "system.gpu_modules": tuple(loaded),
        "driver.libcuda_file_version": version, "driver.libcuda_files": files,
        "driver.libnvidia_ml_file_version": version, "driver.libnvidia_ml_files": files,
        "driver.uvm_node": True, "driver.denied_nodes": None,
        "driver.gpu_nodes": cards, "driver.proc_gpus": cards,
        "nvml.library": "libnvidia-ml.so.1", "nvml.init_code": 0, "nvml.driver_version": version,
        "nvml.cuda_version": row["cuda"], "nvml.gpu_count": cards,
        "cuda.library": "libcuda.so.1", "cuda.library_version": version, "cuda.load_error": None, "cuda.ended": "answered",
        "cuda.init_code": 0, "cuda.init_name": "CUDA_SUCCESS", "cuda.ceiling": row["cuda"],
        "cuda.device_count": cards})
    working: dict[str, Fact] = {name: Known(value=flag, source=source) for name, flag in
                                (("gpu.in_nvml", True), ("gpu.in_cuda", True), ("gpu.lost", False))}
    working["gpu.nvml_code"] = Known(value=0, source=source)
    working["gpu.pci_driver"] = Known(value="nvidia", source=source)
    if not isinstance(listed.gpus, Unknown):
        listed = replace(listed, gpus=tuple(card if _reserved(card) else {**card, **working}
                                            for card in listed.gpus))
    return _bind(listed, source)


def _reserved(card: Facts) -> bool:
    """Return whether a card is set aside for virtual machines: no driver gets it."""
    bound = card.get("gpu.pci_driver")
    return isinstance(bound, Known) and bound.value == _FOR_GUESTS


def _bind(snapshot: Snapshot, source: str) -> Snapshot:
    """Return the snapshot with the nvidia module bound to the NVIDIA cards that no guest is to have."""
    fact = snapshot.host.get("system.pci_nvidia")
    if not isinstance(fact, Known) or not isinstance(fact.value, tuple):
        return snapshot
    bound = tuple({**record, "driver": _FOR_GUESTS if record.get("driver") == _FOR_GUESTS else "nvidia"}
                  for record in fact.value
                  if isinstance(record, Mapping) and str(record.get("class", "")).startswith("0x03"))
    rest = tuple(record for record in fact.value if isinstance(record, Mapping)
                 and not str(record.get("class", "")).startswith("0x03"))
    return _host(snapshot, source, {"system.pci_nvidia": bound + rest})


def _no_driver(snapshot: Snapshot, source: str) -> Snapshot:
    names = [spec.name for spec in CATALOGUE.values()
             if spec.scope is Scope.HOST and spec.probe in ("driver", "nvml", "cuda")]
    values: dict[str, Value | None] = dict.fromkeys(names)
    values.update({
        "driver.gpu_nodes": 0, "driver.uvm_node": False, "driver.nvswitch": False, "system.gpu_modules": (),
        "cuda.load_error": "libcuda.so.1: cannot open shared object file: No such file or directory"})
    return _host(snapshot, source, values)


def _cards(snapshot: Snapshot, value: Value, _: Tables, source: str) -> Snapshot:
    listed = () if value == "none" else _items(value)
    capabilities = [part.strip() for item in listed for part in item.split(",")]
    for capability in capabilities:
        _require_version("cc", capability)
    gpus = tuple(_card(index, capability, source) for index, capability in enumerate(capabilities))
    works = snapshot.host.get("cuda.init_code")
    count: dict[str, Value | None] = {} if gpus else {"system.pci_nvidia": ()}
    if not gpus or (isinstance(works, Known) and works.value == 0):
        count.update(dict.fromkeys(("nvml.gpu_count", "cuda.device_count", "driver.proc_gpus"), len(gpus)))
    return _host(replace(snapshot, gpus=gpus), source, count)


def _card(index: int, capability: str, source: str) -> Facts:
    facts: dict[str, Fact] = {spec.name: Absent(source=source) for spec in CATALOGUE.values()
                              if spec.scope is Scope.GPU and not spec.derived}
    known: dict[str, Value] = {
        "gpu.index": index, "gpu.name": "assumed GPU",
        "gpu.compute_capability": capability, "gpu.in_nvml": True, "gpu.in_cuda": True, "gpu.lost": False,
        "gpu.nvml_code": 0, "gpu.mig_mode": False, "gpu.mig_instances": 0, "gpu.compute_mode": "default",
        "gpu.compute_processes": 0, "gpu.pci_driver": "nvidia"}
    facts.update({name: Known(value=value, source=source) for name, value in known.items()})
    facts.update(dict.fromkeys(promised("smoke", Scope.GPU), _NOT_ASKED))
    silent = f"{source}: a compute capability does not tell the memory"
    facts["gpu.memory_total_bytes"] = Unknown(reason=silent)
    return facts


def _python(snapshot: Snapshot, value: Value, _: Tables, source: str) -> Snapshot:
    version = str(value)
    _require_version("python", version)
    return _host(snapshot, source, {"python.version": version,
                                    "python.abi": "cp" + "".join(version.split(".")[:2])})


def _glibc(snapshot: Snapshot, value: Value, _: Tables, source: str) -> Snapshot:
    _require_version("glibc", str(value))
    return _host(snapshot, source, {"system.glibc": str(value)})


def _releases(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    for release in _items(value):
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
    planned = as_texts(row.get("requires_nvidia"))
    before = host.get("python.planned_distributions")
    kept = as_texts(before.value) if isinstance(before, Known) else ()
    return _host(replace(snapshot, frameworks=(*others, facts)), source,
                 {"python.planned_distributions": tuple(dict.fromkeys((*kept, *planned)))})


def _release_facts(name: str, row: Mapping[str, Value], snapshot: Snapshot, source: str) -> Facts:
    facts: dict[str, Fact] = {spec.name: Absent(source=source) for spec in CATALOGUE.values()
                              if spec.scope is Scope.FRAMEWORK and not spec.derived}
    packages = snapshot.host.get("python.site_packages")
    folders = as_texts(packages.value) if isinstance(packages, Known) else ()
    requires = as_texts(row.get("requires_nvidia"))
    always, extra = ((), requires) if name == "tensorflow" else (requires, ())
    values: dict[str, Value | None] = {
        "framework.name": name, "framework.distribution": name, "framework.version": row["version"],
        "framework.location": folders[0] if folders else "site-packages", "framework.installer": "pip",
        "framework.build": row.get("build"), "framework.cuda": row.get("cuda"),
        "framework.cudnn": row.get("cudnn"), "framework.requires_nvidia": always,
        "framework.extra_requires_nvidia": extra, "framework.other_distributions": ()}
    facts.update({n: Known(value=v, source=source) for n, v in values.items() if v is not None})
    return facts


ALIASES: Mapping[str, Callable[[Snapshot, Value, Tables, str], Snapshot]] = {
    "driver": _driver, "cc": _cards, "python": _python, "glibc": _glibc, "release": _releases,
}


def assumed(pairs: Sequence[tuple[str, Value]]) -> dict[str, Fact]:
    """Return `--assume` pairs as facts; each `cc` makes a card of its own, each `release` a framework."""
    facts: dict[str, Fact] = {}
    for name, value in pairs:
        before = facts.get(name)
        if name in _REPEATABLE and isinstance(before, Known):
            facts[name] = replace(before, value=(*_items(before.value), *_items(value)))
        else:
            facts[name] = Known(value=value, source="assumed")
    return facts


_REPEATABLE = ("cc", "release")


def _items(value: Value) -> tuple[str, ...]:
    return as_texts(value) if isinstance(value, tuple) else (str(value),)
