"""Read what NVML answered: the driver, and the cards it lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import Cards, Library
from gpudoctor.probes.raw import Answer

LIBRARY = "libnvidia-ml.so.1"
DRIVER_NOT_LOADED = 9
GPU_IS_LOST = 15
CARD_LIMIT = 256
_HANDLE = "nvmlDeviceGetHandleByIndex"
_MEMORY = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo")
_MIG_SLOT = "nvmlDeviceGetMigDeviceHandleByIndex"
_EMPTY_SLOT_CODES = (2, 6)  # "invalid argument" and "not found"
_BRANDS = ("unknown", "quadro", "tesla", "nvs", "grid", "geforce", "titan")
_THROTTLE_REASONS = {
    0x1: "gpu-idle",
    0x2: "applications-clocks-setting",
    0x4: "sw-power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal-slowdown",
    0x40: "hw-thermal-slowdown",
    0x80: "hw-power-brake-slowdown",
    0x100: "display-clock-setting",
}


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that NVML promises."""
    data = calls.data_of(answer)
    if data is None:
        return dict.fromkeys(promised("nvml", Scope.HOST), calls.refused(answer))
    asked = calls.mapping(data.get("calls"))
    error = calls.load_error(data)
    facts: dict[str, Fact] = {
        "nvml.library": Absent(source=error) if error else calls.loaded_file(data, LIBRARY),
        "nvml.init_code": _init_code(data),
    }
    for name, functions, reader in (
        ("nvml.driver_version", "nvmlSystemGetDriverVersion", calls.release),
        ("nvml.cuda_version", ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"),
         calls.cuda_version),
        ("nvml.gpu_count", "nvmlDeviceGetCount", calls.count),
    ):
        facts[name] = _obstacle(data) or _nvml(data).fact(asked, functions, reader)
    return facts


def read_gpus(answer: Answer) -> Cards:
    """Return the cards that NVML lists; Absent when there is no NVML or no driver behind it."""
    data = calls.data_of(answer)
    if data is None:
        return calls.refused(answer)
    obstacle = _obstacle(data)
    if obstacle is not None:
        return obstacle
    asked = calls.mapping(data.get("calls"))
    number = _nvml(data).fact(asked, "nvmlDeviceGetCount", calls.count)
    if not isinstance(number, Known) or not isinstance(number.value, int):
        return Unknown(reason=number.reason if isinstance(number, Unknown) else "NVML does not count cards")
    cards = {calls.count(card.get("index")): card for card in calls.objects(data.get("cards"))}
    return tuple(_card(data, index, cards.get(index, {})) for index in range(min(number.value, CARD_LIMIT)))


def _nvml(data: Mapping[str, Any]) -> Library:
    return Library(name="NVML", not_supported=calls.NVML_NOT_SUPPORTED, stuck_in=calls.stuck_in(data))


def _init_code(data: Mapping[str, Any]) -> Fact:
    error = calls.load_error(data)
    if error:
        return Absent(source=error)
    binding = calls.text(calls.mapping(data.get("binding")).get("error"))
    if binding:
        return Unknown(reason=f"nvidia-ml-py cannot be imported: {binding}")
    answer = calls.mapping(calls.mapping(data.get("calls")).get("nvmlInit"))
    code = calls.integer(answer.get("code"))
    if code is not None:
        return Known(value=code, source=f"NVML {calls.failure('nvmlInit', answer)}")
    return _nvml(data).fact(data.get("calls"), "nvmlInit", calls.integer)


def _obstacle(data: Mapping[str, Any]) -> Absent | Unknown | None:
    """Return why no question but nvmlInit can have been answered; None when all could be asked."""
    code = _init_code(data)
    if not isinstance(code, Known):
        return code
    if code.value == 0:
        return None
    if code.value == DRIVER_NOT_LOADED:
        return Absent(source=code.source)
    return Unknown(reason=code.source)


def _card(data: Mapping[str, Any], index: int, card: Mapping[str, Any]) -> Facts:
    asked = calls.mapping(card.get("calls"))
    handle = calls.mapping(asked.get(_HANDLE))
    code = calls.integer(handle.get("code"))
    reached = code == 0
    nvml = _nvml(data)
    facts: dict[str, Fact] = {
        "gpu.index": Known(value=index, source="NVML"),
        "gpu.in_nvml": Known(value=True, source="NVML nvmlDeviceGetCount"),
        "gpu.lost": _lost(nvml, asked),
    }
    why = Unknown(reason=calls.failure(_HANDLE, handle) if handle else nvml.silence(_HANDLE))
    facts["gpu.nvml_code"] = why if code is None else Known(value=code, source=f"NVML {why.reason}")
    for name, (functions, reader) in _FACTS.items():
        facts[name] = nvml.fact(asked, functions, reader) if reached else why
    facts["gpu.mig_instances"] = _mig_instances(nvml, facts["gpu.mig_mode"], card) if reached else why
    return facts


def _lost(nvml: Library, asked: Mapping[str, Any]) -> Fact:
    """Return whether any call said that the card is lost, and which."""
    for function, answer in asked.items():
        if calls.integer(calls.mapping(answer).get("code")) == GPU_IS_LOST:
            return Known(value=True, source=f"NVML {calls.failure(function, answer)}")
    if _HANDLE not in asked:
        return Unknown(reason=nvml.silence(_HANDLE))
    return Known(value=False, source="NVML")


def _mig_instances(nvml: Library, mode: Fact, card: Mapping[str, Any]) -> Fact:
    if not isinstance(mode, Known):
        return mode
    if not mode.value:
        return Known(value=0, source=mode.source)
    asked = calls.mapping(card.get("calls"))
    most = nvml.fact(asked, "nvmlDeviceGetMaxMigDeviceCount", calls.count)
    if not isinstance(most, Known):
        return most
    if not isinstance(card.get("mig_slots"), list):
        return Unknown(reason=nvml.silence(_MIG_SLOT))
    filled = 0
    for slot in calls.objects(card["mig_slots"]):
        answer = calls.mapping(slot.get(_MIG_SLOT))
        code = calls.integer(answer.get("code"))
        filled += code == 0
        if code not in (0, *_EMPTY_SLOT_CODES):
            return nvml.fact(slot, _MIG_SLOT, calls.integer)
    return Known(value=filled, source=f"NVML {_MIG_SLOT}")


def _compute_capability(value: Any) -> str | None:
    major, minor = calls.item(0, calls.count)(value), calls.item(1, calls.count)(value)
    return None if major is None or minor is None else f"{major}.{minor}"


def _brand(value: Any) -> str | None:
    """Return a brand as NVIDIA's container toolkit names it (libnvidia-container, src/driver.c)."""
    number = calls.count(value)
    return None if number is None else _BRANDS[number] if number < len(_BRANDS) else _BRANDS[0]


def _throttle_reasons(value: Any) -> tuple[str, ...] | None:
    bits = calls.count(value)
    if bits is None:
        return None
    return tuple(_THROTTLE_REASONS.get(1 << bit, f"bit-{bit}") for bit in range(64) if bits >> bit & 1)


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


_FACTS = {
    "gpu.name": ("nvmlDeviceGetName", calls.text),
    "gpu.brand": ("nvmlDeviceGetBrand", _brand),
    "gpu.uuid": ("nvmlDeviceGetUUID", calls.text),
    "gpu.bus_id": ("nvmlDeviceGetPciInfo", calls.field("bus_id", calls.bus_id)),
    "gpu.compute_capability": ("nvmlDeviceGetCudaComputeCapability", _compute_capability),
    "gpu.memory_total_bytes": (_MEMORY, calls.field("total", calls.count)),
    "gpu.memory_used_bytes": (_MEMORY, calls.field("used", calls.count)),
    "gpu.memory_reserved_bytes": (_MEMORY, calls.field("reserved", calls.count)),
    "gpu.mig_mode": ("nvmlDeviceGetMigMode", calls.item(0, calls.flag)),
    "gpu.mig_pending": ("nvmlDeviceGetMigMode", calls.item(1, calls.flag)),
    "gpu.ecc_mode": ("nvmlDeviceGetEccMode", calls.item(0, calls.flag)),
    "gpu.ecc_uncorrected": ("nvmlDeviceGetTotalEccErrors", calls.count),
    "gpu.pcie_generation": ("nvmlDeviceGetCurrPcieLinkGeneration", calls.count),
    "gpu.pcie_generation_max": ("nvmlDeviceGetMaxPcieLinkGeneration", calls.count),
    "gpu.pcie_width": ("nvmlDeviceGetCurrPcieLinkWidth", calls.count),
    "gpu.pcie_width_max": ("nvmlDeviceGetMaxPcieLinkWidth", calls.count),
    "gpu.throttle_reasons": (
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        _throttle_reasons,
    ),
    "gpu.compute_mode": ("nvmlDeviceGetComputeMode", calls.compute_mode),
    "gpu.persistence": ("nvmlDeviceGetPersistenceMode", calls.flag),
    "gpu.compute_processes": (
        ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
        _length,
    ),
}
