"""Read what the driver API answered: which libcuda it is, whether it starts, and the devices it lists."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from typing import Any

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Facts, Known, Record, Scope, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import Cards, Library
from gpudoctor.probes.raw import Answer, known

LIBRARY = "libcuda.so.1"
NO_DEVICE = 100
_FAULTS = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")
_MIG = " MIG "  # what the driver puts into the name of an instance, before its profile
_UUID = ("cuDeviceGetUuid_v2", "cuDeviceGetUuid")


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the driver API promises."""
    data = calls.data_of(answer)
    ended = _ended(answer)
    if data is None:
        return {**dict.fromkeys(promised("cuda", Scope.HOST), calls.refused(answer)), "cuda.ended": ended}
    error = calls.load_error(data)
    facts: dict[str, Fact] = {"cuda.load_error": _load_error_fact(data), "cuda.ended": ended}
    if error:
        rest = set(promised("cuda", Scope.HOST)) - set(facts)
        return facts | dict.fromkeys(rest, Absent(source=error))
    facts["cuda.library"] = calls.loaded_file(data, LIBRARY)
    facts["cuda.library_version"] = _library_version(data)
    facts["cuda.init_code"] = init_code(data)
    facts["cuda.init_name"] = _init_name(data)
    facts["cuda.ceiling"] = _cuda(data).fact(data.get("calls"), "cuDriverGetVersion", calls.cuda_version)
    facts["cuda.device_count"] = device_count(data)
    facts["cuda.devices"] = _records(answer)
    return facts


def _ended(answer: Answer) -> Fact:
    """Return how asking libcuda ended; a child that was killed from outside (out of memory) tells nothing."""
    stuck = calls.stuck_in(calls.mapping(answer.data))
    if stuck:
        return Known(value="hung", source=f"{stuck} did not return")
    if answer.outcome == "ok":
        return Known(value="answered", source="the child that asked libcuda")
    if answer.outcome == "signal" and _signal(answer.detail) in _FAULTS:
        return Known(value="crashed", source=f"{_signal(answer.detail)} ended the child that asked libcuda")
    return answer.unknown


def _signal(detail: str) -> str:
    """Return the signal's name; a probe without gpudoctor says its number alone ("signal 11")."""
    number = re.match(r"signal ([0-9]+)", detail)
    try:
        return signal.Signals(int(number[1])).name if number else detail.partition(":")[0]
    except ValueError:
        return detail


def read_gpus(answer: Answer) -> Cards:
    """Return the CUDA devices; Absent when there is no libcuda. MIG instances of a card share its bus id."""
    data = calls.data_of(answer)
    if data is None:
        return calls.refused(answer)
    return cards(data, _device)


def cards(data: Mapping[str, Any], read_device: Any) -> Cards:
    """Return what `read_device(library, entry)` gives for each device; 100 from cuInit means none."""
    error = calls.load_error(data)
    if error:
        return Absent(source=error)
    number = device_count(data)
    if not isinstance(number, Known) or not isinstance(number.value, int):
        return number if isinstance(number, Unknown) else Unknown(reason="libcuda does not count devices")
    entries = calls.objects(data.get("devices"))
    if number.value > 0 and not entries:
        return Unknown(reason=_cuda(data).silence("cuDeviceGet"))
    return tuple(read_device(_cuda(data), entry) for entry in entries)


def init_code(data: Mapping[str, Any]) -> Fact:
    """Return what cuInit returned."""
    answer = calls.mapping(calls.mapping(data.get("calls")).get("cuInit"))
    code = calls.integer(answer.get("code"))
    if code is None:
        return _cuda(data).fact(data.get("calls"), "cuInit", calls.integer)
    return Known(value=code, source=f"libcuda {calls.failure('cuInit', answer)}")


def device_count(data: Mapping[str, Any]) -> Fact:
    """Return how many devices libcuda counts."""
    code = init_code(data)
    if not isinstance(code, Known):
        return code
    if code.value == NO_DEVICE:
        return Known(value=0, source=code.source)
    if code.value != 0:
        return Unknown(reason=code.source)
    return _cuda(data).fact(data.get("calls"), "cuDeviceGetCount", calls.count)


def identity(cuda: Library, entry: Mapping[str, Any]) -> dict[str, Fact]:
    """Return name, UUID and bus id of one device. The UUID of a MIG instance is not that of its card."""
    asked = calls.mapping(entry.get("calls"))
    if "cuDeviceGet" in asked:  # noted only where it failed, and then nothing else could be asked
        why = Unknown(reason=calls.failure("cuDeviceGet", asked["cuDeviceGet"]))
        return dict.fromkeys(("gpu.name", "gpu.uuid", "gpu.bus_id"), why)
    name = cuda.fact(asked, "cuDeviceGetName", calls.text)
    uuid = cuda.fact(asked, _UUID, _uuid)
    if is_mig(name):
        uuid = Absent(source="libcuda lists a MIG instance of the card")
    return {
        "gpu.name": name,
        "gpu.uuid": uuid,
        "gpu.bus_id": cuda.fact(asked, "cuDeviceGetPCIBusId", calls.bus_id),
    }


def is_mig(name: Fact) -> bool:
    """Return whether a device of this name is a MIG instance."""
    return isinstance(name, Known) and _MIG in str(name.value)


def _cuda(data: Mapping[str, Any]) -> Library:
    return Library(name="libcuda", stuck_in=calls.stuck_in(data))


def _device(cuda: Library, entry: Mapping[str, Any]) -> Facts:
    asked = calls.mapping(entry.get("calls"))
    facts: dict[str, Fact] = {"gpu.in_cuda": Known(value=True, source="libcuda cuDeviceGetCount")}
    facts |= identity(cuda, entry)
    facts["gpu.compute_capability"] = _compute_capability(cuda, asked)
    facts["gpu.compute_mode"] = cuda.fact(asked, "compute_mode", calls.compute_mode)
    facts["gpu.memory_total_bytes"] = cuda.fact(asked, "cuDeviceTotalMem_v2", calls.count)
    if is_mig(facts["gpu.name"]):
        facts["gpu.memory_total_bytes"] = Absent(source="libcuda lists a MIG instance of the card")
    return facts


def _compute_capability(cuda: Library, asked: Mapping[str, Any]) -> Fact:
    major = cuda.fact(asked, "compute_capability_major", calls.count)
    minor = cuda.fact(asked, "compute_capability_minor", calls.count)
    if not isinstance(major, Known):
        return major
    if not isinstance(minor, Known):
        return minor
    return Known(value=f"{major.value}.{minor.value}", source="libcuda cuDeviceGetAttribute")


def _uuid(value: Any, kind: str = "GPU") -> str | None:
    digits = calls.text(value) or ""
    if not re.fullmatch(r"[0-9a-f]{32}", digits) or not digits.strip("0"):
        return None
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"{kind}-{'-'.join(parts)}"


def _records(answer: Answer) -> Fact:
    """Return the devices in libcuda's order; what is not known of one is left out of its record."""
    devices = read_gpus(answer)
    if not isinstance(devices, tuple):
        return devices
    entries = calls.objects(calls.mapping(answer.data).get("devices"))
    return Known(value=tuple(map(_record, devices, entries)), source="libcuda")


def _record(facts: Facts, entry: Mapping[str, Any]) -> Record:
    asked = calls.mapping(entry.get("calls"))
    record: dict[str, str] = {}
    for key in ("uuid", "bus_id", "name", "compute_capability"):
        fact = facts[f"gpu.{key}"]
        if isinstance(fact, Known):
            record[key] = str(fact.value)
    if is_mig(facts["gpu.name"]):
        uuid = _uuid(calls.mapping(asked.get(_UUID[0])).get("value"), "MIG")
        record |= {"uuid": uuid} if uuid else {}
    return record


def _load_error_fact(data: Mapping[str, Any]) -> Fact:
    error = calls.load_error(data)
    if error:
        return Known(value=error, source="the dynamic loader")
    if not isinstance(data.get("load"), Mapping):
        return Unknown(reason=_cuda(data).silence(f"loading {LIBRARY}"))
    return Absent(source=f"{LIBRARY} could be loaded")


def _library_version(data: Mapping[str, Any]) -> Fact:
    answer = calls.mapping(data.get("library_version"))
    path = calls.text(answer.get("real_path")) or LIBRARY
    version = calls.release(answer.get("version"))
    if version:
        where = "name" if answer.get("version_source") == "name" else "bytes"
        return Known(value=version, source=f"the {where} of {path}")
    if not answer or answer.get("error"):
        return Unknown(reason=f"{path}: {calls.text(answer.get('error')) or 'its version was not read'}")
    return Absent(source=f"{path} names no driver release")


def _init_name(data: Mapping[str, Any]) -> Fact:
    code = init_code(data)
    if not isinstance(code, Known):
        return code
    if code.value == 0:
        return Known(value="CUDA_SUCCESS", source="libcuda cuInit")
    answer = calls.mapping(calls.mapping(data.get("calls")).get("cuInit"))
    # A stub or an old library names nothing.
    return known(calls.text(answer.get("name")), "libcuda cuGetErrorName")
