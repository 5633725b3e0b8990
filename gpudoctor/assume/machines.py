"""A driver, cards, a Python, a C library: what one name of an assumption stands for on a machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.assume.laying import AssumptionError, require_version, with_host
from gpudoctor.assume.products import capability_of, names_of, told_apart
from gpudoctor.assume.releases import items
from gpudoctor.derive import branches, jetson
from gpudoctor.derive.products import NAMELESS
from gpudoctor.derive.view import as_records, as_texts, floor_row, text_in
from gpudoctor.facts import CATALOGUE, promised
from gpudoctor.model import (
    Absent, Fact, Facts, Known, Record, Row, Scope, Snapshot, Table, Tables, Unknown, Value, rows_of,
    value_of,
)

_BOARD = "Jetson "  # what the table of products calls them by
_NOT_ASKED = Unknown(reason="nothing was run", asked=False)


def driver(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    """Return the snapshot with a working driver of that version, or with none."""
    version = str(value)
    if version == "none":
        return _no_driver(snapshot, source)
    require_version("driver", version)
    table = tables.get("driver_branches")
    row = floor_row(table, "driver", version) if table is not None else None
    if row is None:
        raise AssumptionError(f"driver={version}: the rule database does not reach back to this driver")
    listed = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    states = [_under(card, version, snapshot, tables) for card in listed]
    cards, usable = len(states) - states.count(_RESERVED) - states.count(_REFUSED), states.count(_SERVED)
    others = as_texts(value_of(snapshot.host, "system.gpu_modules"))
    loaded = sorted({"nvidia", "nvidia_uvm", *(m for m in others if m.startswith("nvidia"))})
    files: tuple[Record, ...] = ({"path": "libcuda.so.1", "version": version, "version_source": source},)
    laid = with_host(snapshot, source, {
        "driver.kernel_version": version, "system.gpu_modules": tuple(loaded),
        "driver.libcuda_file_version": version, "driver.libcuda_files": files,
        "driver.libnvidia_ml_file_version": version, "driver.libnvidia_ml_files": files,
        "driver.uvm_node": True, "driver.denied_nodes": None, "driver.gpu_nodes": cards,
        "driver.proc_gpus": cards, "cuda.ended": "answered",
        "nvml.library": "libnvidia-ml.so.1", "nvml.init_code": 0, "nvml.driver_version": version,
        "nvml.gpu_count": cards,
        "cuda.library": "libcuda.so.1", "cuda.library_version": version, "cuda.load_error": None,
        **_initialised(usable, snapshot, refused=_REFUSED in states or _EMPTY in states)})
    board = snapshot.host.get("system.jetson")
    ceiling = (jetson.cuda_ceiling(str(board.value), tables) if isinstance(board, Known) else
               _ceiling(version, row, tables["driver_branches"], source))
    laid = replace(laid, host={**laid.host, **dict.fromkeys(("nvml.cuda_version", "cuda.ceiling"), ceiling)})
    if not isinstance(laid.gpus, Unknown):
        laid = replace(laid, gpus=tuple({**card, **_answers(state, source)}
                                        for card, state in zip(laid.gpus, states, strict=True)))
    return _bind(laid, source)


_RESERVED, _REFUSED, _EMPTY, _SERVED = "reserved", "refused", "empty", "served"


def _under(card: Facts, version: str, snapshot: Snapshot, tables: Tables) -> str:
    """Return what becomes of a card under a driver; one of a branch that has no code for it leaves it out.

    One in MIG mode without an instance is listed, and no program can use it, whatever the driver.
    """
    if _reserved(card):
        return _RESERVED
    fit = branches.fit(card, version, snapshot.host, tables)
    if isinstance(fit, Known) and fit.value != "serves":
        return _REFUSED
    is_empty = value_of(card, "gpu.mig_mode") is True and value_of(card, "gpu.mig_instances") == 0
    return _EMPTY if is_empty else _SERVED


def _answers(state: str, source: str) -> Facts:
    """Return what the driver's libraries say of a card in that state."""
    if state == _RESERVED:
        return {}
    values: dict[str, Value] = {
        "gpu.in_nvml": state != _REFUSED, "gpu.in_cuda": state == _SERVED, "gpu.lost": False,
        "gpu.nvml_code": 0, "gpu.pci_driver": "nvidia"}
    return {name: Known(value=value, source=source) for name, value in values.items()}


def _ceiling(version: str, row: Row, table: Table, source: str) -> Fact:
    """Return what a driver would answer for its CUDA; of a branch newer than the table nobody knows."""
    newest = max(versions.parse(str(known["driver"])).major for known in table.rows)
    if versions.parse(version).major > newest:
        return Unknown(reason=f"an assumed driver does not answer, and {version} is newer than the rules")
    return Known(value=row["cuda"], source=source)


def _initialised(cards: int, snapshot: Snapshot, *, refused: bool) -> Mapping[str, Value | None]:
    """Return what cuInit and the count of devices answer: where the driver has no card, that there is none.

    In a container and under WSL a card may show only once the driver works.
    """
    own = all(isinstance(snapshot.host.get(name), Absent) for name in ("container.runtime", "system.wsl"))
    on_bus = snapshot.host.get("system.pci_nvidia")
    empty = own and isinstance(on_bus, Known) and not on_bus.value
    if cards == 0 and (refused or empty):
        return {"cuda.init_code": 100, "cuda.init_name": "CUDA_ERROR_NO_DEVICE", "cuda.device_count": None}
    return {"cuda.init_code": 0, "cuda.init_name": "CUDA_SUCCESS", "cuda.device_count": cards}


def _reserved(card: Facts) -> bool:
    """Return whether a card is set aside for virtual machines: no driver gets it."""
    bound = card.get("gpu.pci_driver")
    return isinstance(bound, Known) and bound.value == branches.FOR_GUESTS


def _bind(snapshot: Snapshot, source: str) -> Snapshot:
    """Return the snapshot with the nvidia module bound to the NVIDIA cards that no guest is to have."""
    fact = snapshot.host.get("system.pci_nvidia")
    if not isinstance(fact, Known) or not isinstance(fact.value, tuple):
        return snapshot
    guests = branches.FOR_GUESTS
    bound = tuple({**record, "driver": guests if record.get("driver") == guests else "nvidia"}
                  for record in fact.value
                  if isinstance(record, Mapping) and str(record.get("class", "")).startswith("0x03"))
    rest = tuple(record for record in fact.value if isinstance(record, Mapping)
                 and not str(record.get("class", "")).startswith("0x03"))
    return with_host(snapshot, source, {"system.pci_nvidia": bound + rest})


def _no_driver(snapshot: Snapshot, source: str) -> Snapshot:
    names = [spec.name for spec in CATALOGUE.values()
             if spec.scope is Scope.HOST and spec.probe in ("driver", "nvml", "cuda")]
    values: dict[str, Value | None] = dict.fromkeys(names)
    values.update({
        "driver.gpu_nodes": 0, "driver.uvm_node": False, "driver.nvswitch": False, "system.gpu_modules": (),
        "cuda.load_error": "libcuda.so.1: cannot open shared object file: No such file or directory"})
    return with_host(snapshot, source, values)


def cards(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    """Return the snapshot with one healthy card of each compute capability, in place of its own."""
    listed = () if value == "none" else items(value)
    capabilities = [part.strip() for item in listed for part in item.split(",")]
    for capability in capabilities:
        require_version("cc", capability)
    gpus = tuple(_card(index, capability, source) for index, capability in enumerate(capabilities))
    works = snapshot.host.get("cuda.init_code")
    count: dict[str, Value | None] = {} if gpus else {"system.pci_nvidia": ()}
    if not gpus or (isinstance(works, Known) and works.value == 0):
        count.update(dict.fromkeys(("nvml.gpu_count", "cuda.device_count", "driver.proc_gpus"), len(gpus)))
    host = {**snapshot.host, **_on_bus(snapshot, gpus, tables)}
    return with_host(replace(snapshot, gpus=gpus, host=host), source, count)


def products(snapshot: Snapshot, value: Value, tables: Tables, source: str) -> Snapshot:
    """Return the snapshot with one healthy card of each product, in place of its own."""
    capabilities = tuple(capability_of(item, tables) for item in items(value))
    names = [told_apart(item)[0] for item in items(value)]
    for name, capability in zip(names, capabilities, strict=True):
        _require_board(name, capability, snapshot, tables)
    laid = cards(snapshot, capabilities, tables, source)
    assert not isinstance(laid.gpus, Unknown)
    return replace(laid, gpus=tuple({**card, "gpu.name": Known(value=name, source=source)}
                                    for card, name in zip(laid.gpus, names, strict=True)))


def _require_board(name: str, capability: str, snapshot: Snapshot, tables: Tables) -> None:
    """Raise `AssumptionError` for the GPU of a Jetson in a machine that is none: its JetPack decides."""
    called = names_of(name, tables)
    is_board = called and all(product.startswith(_BOARD) for product in called)
    if not is_board or isinstance(snapshot.host.get("system.jetson"), Known):
        return
    known = [str(row["l4t"]) for row in rows_of(tables, "jetpack") if capability in as_texts(row["cards"])]
    example = f"={max(known, key=versions.parse)}" if known else ""
    raise AssumptionError(f"card={name}: this is a Jetson, where the JetPack decides what fits; say which "
                          f"by the release of its Jetson Linux (L4T): --assume system.jetson{example}")


def _on_bus(snapshot: Snapshot, gpus: tuple[Facts, ...], tables: Tables) -> dict[str, Fact]:
    """Return what the bus shows: a device of another generation than all of these cards is none of them."""
    name = "system.pci_nvidia"
    fact = snapshot.host.get(name)
    if not isinstance(fact, Known):
        return {}
    generations = {row["generation"] for card in gpus if (row := branches.row_of_card(card, tables))}
    kept = tuple(record if _is_of(record, generations, tables) else
                 {key: value for key, value in record.items() if key != "device"}
                 for record in as_records(fact.value))
    return {name: replace(fact, value=kept)}


def _is_of(record: Record, generations: Collection[Value], tables: Tables) -> bool:
    """Return whether a device may be a card of these generations, or is no card."""
    if not text_in(record, "class").startswith(branches.DISPLAY_CLASS) or "kernel_modules" not in tables:
        return True
    row = branches.of_device(tables["kernel_modules"], text_in(record, "device"))
    return not generations or row is None or row["generation"] in generations


def _card(index: int, capability: str, source: str) -> Facts:
    facts: dict[str, Fact] = {spec.name: Absent(source=source) for spec in CATALOGUE.values()
                              if spec.scope is Scope.GPU and not spec.derived}
    known: dict[str, Value] = {
        "gpu.index": index, "gpu.name": NAMELESS,
        "gpu.compute_capability": capability, "gpu.in_nvml": True, "gpu.in_cuda": True, "gpu.lost": False,
        "gpu.nvml_code": 0, "gpu.mig_mode": False, "gpu.mig_instances": 0, "gpu.compute_mode": "default",
        "gpu.compute_processes": 0, "gpu.pci_driver": "nvidia"}
    facts.update({name: Known(value=value, source=source) for name, value in known.items()})
    facts.update(dict.fromkeys(promised("smoke", Scope.GPU), _NOT_ASKED))
    for name, untold in (("gpu.memory_total_bytes", "memory"), ("gpu.brand", "brand")):
        facts[name] = Unknown(reason=f"{source}: a compute capability does not tell the {untold}")
    return facts


def python(snapshot: Snapshot, value: Value, _: Tables, source: str) -> Snapshot:
    """Return the snapshot with a patient of that Python version."""
    version = str(value)
    require_version("python", version)
    return with_host(snapshot, source, {"python.version": version,
                                    "python.abi": "cp" + "".join(version.split(".")[:2])})


def glibc(snapshot: Snapshot, value: Value, _: Tables, source: str) -> Snapshot:
    """Return the snapshot with that version of the C library; "none" where another one is in its place."""
    if value != "none":
        require_version("glibc", str(value))
    return with_host(snapshot, source, {"system.glibc": None if value == "none" else str(value)})
