"""Every call of NVML and of the driver API that we make, failing with each documented code.

The codes are the rows of rules/tables/nvml_errors.toml and cuda_errors.toml. A call that is made for each
card fails on one of 64 cards with one code each, so that one run shows 64 rows; a call that is made once
fails in a run of its own, at most beside one that answers for other facts. Every call fails with each code
that a machine at fault gives (OF_A_MACHINE). The driver's other codes, of how a program captures, draws or
shares memory, fail at one call each: nothing of ours tells them apart, and there are more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle

from gpudoctor.compatible import tomllib
from tests.faults.doctor import ROOT, doctor_machine
from tests.faults.fault import Fault, Promise, keeps
from tests.faults.scene import Scene, Seen, Stage
from tests.harness.machine import Machine
from tests.harness.nvidia import H100, Card, nvidia_machine
from tests.hosts.looking import CUDA, DRIVER, of_probe

OF_A_MACHINE = frozenset({
    1, 2, 3, 4, 34, 46, 100, 101, 102, 200, 201, 209, 214, 216, 218, 220, 221, 222, 223, 300, 301, 302, 303,
    304, 400, 500, 700, 701, 702, 710, 715, 719, 800, 801, 802, 803, 804, 805, 806, 807, 808, 809, 999})
GROUP_NVML, GROUP_CUDA = "an NVML call", "a driver API call"
CARDS = 64  # as many as the scripted driver can have
NVML_NOT_SUPPORTED, NVML_FUNCTION_NOT_FOUND, NVML_GPU_IS_LOST = 3, 13, 15
NVML_EMPTY_SLOT = (2, 6)
MANY_SECONDS = 40.0
MIG = H100.having(mig=1, mig_instances=2, mig_max=7)

# What each call that is made for a card answers alone. Who the card is, the other library says as well.
NVML_OF_A_CARD: dict[str, frozenset[str]] = {function: frozenset(names.split()) for function, names in {
    "nvmlDeviceGetPciInfo": "gpu.bus_id",
    "nvmlDeviceGetUUID": "gpu.uuid",
    "nvmlDeviceGetName": "gpu.name",
    "nvmlDeviceGetCudaComputeCapability": "gpu.compute_capability",
    "nvmlDeviceGetBrand": "gpu.brand",
    "nvmlDeviceGetMigMode": "gpu.mig_mode gpu.mig_pending gpu.mig_instances",
    "nvmlDeviceGetComputeMode": "gpu.compute_mode",
    "nvmlDeviceGetPersistenceMode": "gpu.persistence",
    "nvmlDeviceGetEccMode": "gpu.ecc_mode",
    "nvmlDeviceGetTotalEccErrors": "gpu.ecc_uncorrected",
    "nvmlDeviceGetCurrPcieLinkGeneration": "gpu.pcie_generation",
    "nvmlDeviceGetMaxPcieLinkGeneration": "gpu.pcie_generation_max",
    "nvmlDeviceGetCurrPcieLinkWidth": "gpu.pcie_width",
    "nvmlDeviceGetMaxPcieLinkWidth": "gpu.pcie_width_max",
    "nvmlDeviceGetCurrentClocksEventReasons": "gpu.throttle_reasons",
    "nvmlDeviceGetMemoryInfo": "gpu.memory_total_bytes gpu.memory_used_bytes gpu.memory_reserved_bytes",
    "nvmlDeviceGetComputeRunningProcesses": "gpu.compute_processes",
    "nvmlDeviceGetGpuFabricInfo": "",
}.items()}
NVML_OF_MIG = {"nvmlDeviceGetMaxMigDeviceCount": frozenset({"gpu.mig_instances"}),
               "nvmlDeviceGetMigDeviceHandleByIndex": frozenset({"gpu.mig_instances"})}
CUDA_OF_A_DEVICE: dict[str, frozenset[str]] = {function: frozenset(names.split()) for function, names in {
    "cuDeviceGet": "gpu.in_cuda gpu.driver_kernel gpu.driver_kernel_answer",
    "cuDeviceGetName": "",
    "cuDeviceGetPCIBusId": "gpu.in_cuda gpu.driver_kernel gpu.driver_kernel_answer",
    "cuDeviceGetUuid": "",
    "cuDeviceGetAttribute": "",
    "cuDeviceTotalMem": "",
}.items()}
KERNEL = frozenset({"gpu.driver_kernel", "gpu.driver_kernel_answer"})
CUDA_OF_THE_KERNEL = dict.fromkeys((
    "cuCtxCreate", "cuModuleLoadData", "cuModuleGetFunction", "cuMemAlloc", "cuMemcpyHtoD", "cuLaunchKernel",
    "cuCtxSynchronize", "cuMemcpyDtoH", "cuPointerGetAttribute"), KERNEL)
CUDA_GIVING_BACK = dict.fromkeys(("cuMemFree", "cuModuleUnload", "cuCtxDestroy"), frozenset[str]())


@cache
def codes(table: str) -> dict[int, str]:
    """Return the documented error codes of a library with their names."""
    rows = tomllib.loads((ROOT / "rules" / "tables" / f"{table}.toml").read_text("utf-8"))["row"]
    return {row["code"]: row["name"] for row in rows if row["code"] != 0}


def codes_at_every_call(table: str) -> list[int]:
    """Return the codes with which each call fails."""
    return [code for code in codes(table) if table != "cuda_errors" or code in OF_A_MACHINE]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One call failing with one code on one card; `key` is how the script names the failure."""

    function: str
    code: int
    lost: frozenset[str]
    key: str


@dataclass(frozen=True, kw_only=True)
class Lot:
    """Up to 64 cells that one run shows, on cards of one kind."""

    name: str
    card: Card
    depth: str
    cells: Sequence[Cell]

    def machine(self, *, broken: bool) -> Machine:
        """Return the machine with a card for each cell."""
        cards = [self.card] * len(self.cells)
        machine = nvidia_machine(driver=DRIVER, cuda=CUDA, cards=cards)
        lines = [f"gpu.{index}.{cell.key}={cell.code}" for index, cell in enumerate(self.cells)]
        return in_doctor(machine).adding(shim="\n".join(lines) if broken else "")

    def scene(self, *, broken: bool) -> Scene:
        """Return the run; unbroken, lots of one size on one kind of card are the same."""
        key = f"calls {self.name}" if broken else f"unbroken {len(self.cells)} {self.card.extra} {self.depth}"
        return Scene(key=key, machine=partial(self.machine, broken=broken), depth=self.depth,
                     timeout_seconds=MANY_SECONDS)


def in_doctor(machine: Machine) -> Machine:
    """Return a machine with gpudoctor's environment in it."""
    doctor = doctor_machine()
    return machine.adding(
        files={path: file for path, file in doctor.files.items() if path.startswith("/opt/doctor/")},
        libraries={path: file for path, file in doctor.libraries.items() if path.startswith("/opt/doctor/")})


def cells(functions: dict[str, frozenset[str]], table: str) -> Iterator[Cell]:
    """Yield every function with every code that each call fails with."""
    for function, lost in functions.items():
        for code in codes_at_every_call(table):
            yield Cell(function=function, code=code, lost=lost, key=f"rc.{function}")


def in_turn(functions: dict[str, frozenset[str]], table: str) -> Iterator[Cell]:
    """Yield each of the other codes with one function, another one each time."""
    rest = [code for code in codes(table) if code not in codes_at_every_call(table)]
    for code, (function, lost) in zip(rest, cycle(functions.items()), strict=False):
        yield Cell(function=function, code=code, lost=lost, key=f"rc.{function}")


def lots(name: str, found: Sequence[Cell], *, card: Card = H100, depth: str = "static") -> Iterator[Lot]:
    """Cut cells into lots."""
    for number, start in enumerate(range(0, len(found), CARDS)):
        yield Lot(name=f"{name} {number}", card=card, depth=depth, cells=found[start : start + CARDS])


def nvml_lots() -> Iterator[Lot]:
    """Yield the runs in which an NVML call fails on a card."""
    every = of_probe("nvml") - {"gpu.index", "gpu.in_nvml"}
    handle = frozenset(name.removeprefix("0 ") for name in every)
    of_handle = [Cell(function="nvmlDeviceGetHandleByIndex", code=code, lost=handle, key="handle_rc")
                 for code in codes("nvml_errors")]
    yield from lots("nvml", [*cells(NVML_OF_A_CARD, "nvml_errors"), *of_handle])
    yield from lots("nvml mig", list(cells(NVML_OF_MIG, "nvml_errors")), card=MIG)


def cuda_lots() -> Iterator[Lot]:
    """Yield the runs in which a driver API call fails on a device."""
    functions = {**CUDA_OF_A_DEVICE, **CUDA_OF_THE_KERNEL, **CUDA_GIVING_BACK}
    found = [*cells(functions, "cuda_errors"), *in_turn(functions, "cuda_errors")]
    yield from lots("cuda", found, depth="smoke")


def card_facts(seen: Seen, index: int) -> dict[str, object]:
    """Return the facts of the host and of one card, that card being called 0."""
    mine = f"{index} "
    return {("0 " + name.removeprefix(mine) if name.startswith(mine) else name): fact
            for name, fact in seen.facts.items() if name.startswith(mine) or not name[0].isdigit()}


def survive_cell(lot: Lot, index: int, stage: Stage) -> None:
    """Hold one card of a lot to what is promised: its own facts alone are lost, and the code is named."""
    cell = lot.cells[index]
    before, seen = (stage.seen(lot.scene(broken=broken)) for broken in (False, True))
    was, now = card_facts(before, index), card_facts(seen, index)
    differing = {name for name in {*was, *now} if was.get(name, "-") != now.get(name, "-")}
    is_lost = cell.function.startswith("nvml") and cell.code == NVML_GPU_IS_LOST
    changed = {"0 gpu.lost"} if is_lost else set()
    outcome = {f"0 {name}" for name in KERNEL} if cell.function.startswith("cu") else set()
    index_of_it = {"cuda.devices", "0 gpu.nvml_code"}
    excess = differing - {f"0 {name}" for name in cell.lost} - changed - index_of_it
    assert excess == set(), {name: (was.get(name), now.get(name)) for name in excess}
    if cell.function == "nvmlDeviceGetMigDeviceHandleByIndex" and cell.code in NVML_EMPTY_SLOT:
        changed.add("0 gpu.mig_instances")
    absent = cell.function.startswith("nvml") and cell.code in (NVML_NOT_SUPPORTED, NVML_FUNCTION_NOT_FOUND)
    expected = {"absent", "unknown"} if absent else {"unknown"}
    others = {name: now.get(name, "unknown") for name in differing - changed - index_of_it - outcome}
    assert {name: fact for name, fact in others.items() if fact not in expected} == {}
    holder = seen.looked.report["snapshot"]["gpus"][index]
    reasons = [str(fact.get("unknown", fact.get("source", ""))) for name, fact in holder.items()
               if f"0 {name}" in differing]
    # Of several devices that cannot be named nobody knows which is which, so one of them is quoted for all.
    code = "" if cell.function == "cuDeviceGet" else str(cell.code)
    assert absent or not differing - index_of_it - changed or any(
        f"returned {code}" in reason for reason in reasons), reasons
    assert seen.exit_code in (0, 1, 3)


def faults_of(group: str, found: Iterator[Lot]) -> Iterator[Fault]:
    """Yield a fault for every cell of the lots."""
    for lot in found:
        for index, cell in enumerate(lot.cells):
            yield Fault(
                group=group, subject=cell.function, kind=f"returns {cell.code}",
                scenes=(lot.scene(broken=False), lot.scene(broken=True)),
                survive=partial(survive_cell, lot, index))


# Calls that are made once: which facts each costs. Two of them share a run where their facts are apart.
ONCE: dict[str, frozenset[str]] = {
    "nvmlInit": frozenset(of_probe("nvml")),
    "nvmlDeviceGetCount": frozenset(of_probe("nvml") - {"nvml.init_code", "nvml.library"}),
    "nvmlSystemGetDriverVersion": frozenset({"nvml.driver_version"}),
    "nvmlSystemGetCudaDriverVersion": frozenset({"nvml.cuda_version"}),
    "cuInit": frozenset(of_probe("cuda") - {"cuda.ceiling"}),
    "cuDeviceGetCount": frozenset({"cuda.device_count", "cuda.devices", "0 gpu.in_cuda"}),
    "cuDriverGetVersion": frozenset({"cuda.ceiling"}),
}
TOGETHER = (("nvmlInit",), ("cuInit",), ("cuDeviceGetCount", "cuDriverGetVersion"),
            ("nvmlDeviceGetCount", "nvmlSystemGetDriverVersion", "nvmlSystemGetCudaDriverVersion"))
# What the answer itself is, or what the other library then says.
TOLD = {"nvmlInit": {"nvml.init_code"}, "cuInit": {"cuda.init_code", "cuda.init_name"}}
WHOLE = Scene(key="unbroken static", machine=doctor_machine)


def once() -> Iterator[Fault]:
    """Yield the calls that are made once, with each code."""
    for together in TOGETHER:
        tables = {name: "nvml_errors" if name.startswith("nvml") else "cuda_errors" for name in together}
        lists = {name: codes_at_every_call(table) for name, table in tables.items()}
        for number in range(max(map(len, lists.values()))):
            failing = {name: listed[number] for name, listed in lists.items() if number < len(listed)}
            yield from _of_one_run(failing)


def _of_one_run(failing: dict[str, int]) -> Iterator[Fault]:
    lines = "\n".join(f"rc.{name}={code}" for name, code in failing.items())
    scene = Scene(key=f"calls {failing}", machine=lambda: doctor_machine().adding(shim=lines))
    for name, code in failing.items():
        yield Fault(group=GROUP_NVML if name.startswith("nvml") else GROUP_CUDA, subject=name,
                    kind=f"returns {code}", scenes=(WHOLE, scene),
                    survive=_surviving(scene, name, code, failing))


def _surviving(scene: Scene, name: str, code: int, failing: dict[str, int]) -> Callable[[Stage], None]:
    silent = name.startswith("nvml") and code in (NVML_NOT_SUPPORTED, NVML_FUNCTION_NOT_FOUND, 9)
    told = {fact for other in failing for fact in TOLD.get(other, set())}
    lost = frozenset(fact for other in failing for fact in ONCE[other])
    # "Not supported", "no such function", "driver not loaded" and "no device" are answers: nothing is there.
    answered = any(failing.get(other) in (3, 9, 13) for other in failing if other.startswith("nvml"))
    answered = answered or failing.get("cuInit") == 100
    changed = frozenset(told | (lost if answered else set()))
    promise = Promise(
        exit_codes=frozenset({0, 1, 3}), may_lose=lost, may_change=changed,
        says="" if silent or name in TOLD else f"returned {code}")

    def survive(stage: Stage) -> None:
        seen = stage.seen(scene)
        keeps(promise, seen, stage.seen(WHOLE))
        if name in TOLD and not silent:
            told_fact = seen.looked.fact("nvml.init_code" if name == "nvmlInit" else "cuda.init_code")
            assert told_fact.get("value") == code, told_fact

    return survive


def faults() -> Iterator[Fault]:
    """Yield every call with every code."""
    yield from faults_of(GROUP_NVML, nvml_lots())
    yield from faults_of(GROUP_CUDA, cuda_lots())
    yield from once()
