"""Ask NVML, through nvidia-ml-py, about the driver and each card: a code, and a value when it is 0.

Each call stands alone: {"code": 0, "value": ...}, {"code": 15, "text": ...}, {"missing_function": true}
(the library is too old for it) or {"missing_binding": true} (nvidia-ml-py is). Who the cards are is asked
before all else, so that a call that hangs later costs little.
"""

import ctypes

from . import asking

LIBRARY = "libnvidia-ml.so.1"
CARD_LIMIT = 256
MIG_LIMIT = 64
PROCESS_LIMIT = 256
_FUNCTION_NOT_FOUND = 13
_UNCORRECTED, _SINCE_RESET = 1, 0
_HANDLE = "nvmlDeviceGetHandleByIndex"


def collect(request):
    """Return what NVML says; see the module's docstring."""
    return asking.by_deadline(_questions, request)


def _questions(notes):
    notes["asking"] = "loading " + LIBRARY
    library, notes["load"] = asking.load(LIBRARY, ("nvmlInit_v2", "nvmlInit", "nvmlShutdown"))
    notes["calls"] = {}
    if library is None:
        return  # before the binding is imported, which takes longer than all of this
    try:
        pynvml = asking.imported("pynvml")
    except BaseException as error:  # noqa: BLE001 - what stands in nvidia-ml-py's place may exit
        notes["binding"] = {"error": "%s: %s" % (type(error).__name__, error)}
        return
    notes["binding"] = {"path": getattr(pynvml, "__file__", None)}
    nvml = _Nvml(pynvml, notes)
    if not _initialised(nvml, library):
        return
    nvml.ask(notes["calls"], "nvmlSystemGetDriverVersion")
    nvml.ask_newest(notes["calls"], "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
    count = nvml.ask(notes["calls"], "nvmlDeviceGetCount") or 0
    _ask_cards(nvml, notes, min(count, CARD_LIMIT))


def _initialised(nvml, library):
    calls = nvml.notes["calls"]
    nvml.ask(calls, "nvmlInit")
    if calls["nvmlInit"].get("missing_function") and hasattr(library, "nvmlInit_v2"):
        # A driver from before nvmlInitWithFlags, which is what the binding calls.
        nvml.notes["asking"] = "nvmlInit_v2"
        calls["nvmlInit"] = {"code": library.nvmlInit_v2()}
    return calls["nvmlInit"].get("code") == 0


class _Nvml:
    """The binding, and the notes that say what is being asked."""

    def __init__(self, binding, notes):
        self.binding = binding
        self.notes = notes
        self.about = ""

    def ask(self, calls, name, arguments=(), simplify=None, key=None):
        """Call the binding's function `name`, note its answer in `calls`, and return the value or None."""
        key = key or name
        function = getattr(self.binding, name, None)
        if function is None:
            calls[key] = {"missing_binding": True}
            return None
        self.notes["asking"] = key + self.about
        try:
            value = function(*arguments)
            calls[key] = {"code": 0, "value": simplify(value) if simplify else value}
            return value
        except self.binding.NVMLError as error:
            calls[key] = _failure(error)
        except Exception as error:  # noqa: BLE001 - what the library answered cannot even be decoded
            calls[key] = {"error": "%s: %s" % (type(error).__name__, error)}
        return None

    def ask_newest(self, calls, newer, older, arguments=(), simplify=None):
        """Ask `newer`, and `older` only where that does not exist."""
        value = self.ask(calls, newer, arguments, simplify)
        if calls[newer].get("missing_function") or calls[newer].get("missing_binding"):
            value = self.ask(calls, older, arguments, simplify)
        return value


def _failure(error):
    code = getattr(error, "value", None)
    if code == _FUNCTION_NOT_FOUND:
        return {"missing_function": True}
    return {"code": code, "text": str(error)}


def _ask_cards(nvml, notes, count):
    notes["cards"] = []
    handles = []
    for index in range(count):
        card = {"index": index, "calls": {}}
        nvml.about = " of card %d" % index
        notes["cards"].append(card)
        handle = nvml.ask(card["calls"], _HANDLE, (index,), lambda value: None)
        if handle is not None:
            handles.append((index, card, handle))
            _ask_identity(nvml, card["calls"], handle)
    for index, card, handle in handles:
        nvml.about = " of card %d" % index
        _ask_state(nvml, card["calls"], handle)
        _ask_memory(nvml, card["calls"], handle)
        _ask_mig(nvml, card, handle)
        nvml.ask_newest(card["calls"], "nvmlDeviceGetComputeRunningProcesses_v3",
                        "nvmlDeviceGetComputeRunningProcesses_v2", (handle,), _processes)
        _ask_fabric(nvml, card["calls"], handle)


def _ask_identity(nvml, calls, handle):
    nvml.ask(calls, "nvmlDeviceGetPciInfo", (handle,), _pci)
    nvml.ask(calls, "nvmlDeviceGetUUID", (handle,))
    nvml.ask(calls, "nvmlDeviceGetName", (handle,))
    nvml.ask(calls, "nvmlDeviceGetBrand", (handle,))
    nvml.ask(calls, "nvmlDeviceGetCudaComputeCapability", (handle,), list)


def _ask_state(nvml, calls, handle):
    nvml.ask(calls, "nvmlDeviceGetMigMode", (handle,), list)
    nvml.ask(calls, "nvmlDeviceGetComputeMode", (handle,))
    nvml.ask(calls, "nvmlDeviceGetPersistenceMode", (handle,))
    nvml.ask(calls, "nvmlDeviceGetEccMode", (handle,), list)
    nvml.ask(calls, "nvmlDeviceGetTotalEccErrors", (handle, _UNCORRECTED, _SINCE_RESET))
    for name in ("CurrPcieLinkGeneration", "MaxPcieLinkGeneration", "CurrPcieLinkWidth", "MaxPcieLinkWidth"):
        nvml.ask(calls, "nvmlDeviceGet" + name, (handle,))
    nvml.ask_newest(calls, "nvmlDeviceGetCurrentClocksEventReasons",
                    "nvmlDeviceGetCurrentClocksThrottleReasons", (handle,))


def _ask_memory(nvml, calls, handle):
    version = getattr(nvml.binding, "nvmlMemory_v2", None)
    newer = "nvmlDeviceGetMemoryInfo_v2"
    if version is not None:
        nvml.ask(calls, "nvmlDeviceGetMemoryInfo", (handle, version), _memory, key=newer)
    if "value" not in calls.get(newer, {}):
        nvml.ask(calls, "nvmlDeviceGetMemoryInfo", (handle,), _memory)


def _ask_mig(nvml, card, handle):
    """Note each MIG slot's handle code and UUID; only with MIG mode on, for else no slot can be filled."""
    mode = card["calls"]["nvmlDeviceGetMigMode"].get("value")
    if not mode or mode[0] != 1:
        return
    most = nvml.ask(card["calls"], "nvmlDeviceGetMaxMigDeviceCount", (handle,)) or 0
    slots = []
    for slot in range(min(most, MIG_LIMIT)):
        calls = {}
        instance = nvml.ask(calls, "nvmlDeviceGetMigDeviceHandleByIndex", (handle, slot), lambda value: None)
        if instance is not None:
            nvml.ask(calls, "nvmlDeviceGetUUID", (instance,))
        slots.append(calls)
    card["mig_slots"] = slots


def _ask_fabric(nvml, calls, handle):
    structure = getattr(nvml.binding, "c_nvmlGpuFabricInfo_t", None)
    if structure is None:
        return
    fabric = structure()
    nvml.ask(calls, "nvmlDeviceGetGpuFabricInfo", (handle, ctypes.byref(fabric)),
             lambda value: {"state": fabric.state, "status": fabric.status})


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _pci(value):
    return {"bus_id": _text(value.busId), "device_id": value.pciDeviceId}


def _memory(value):
    return {"total": value.total, "free": value.free, "used": value.used,
            "reserved": getattr(value, "reserved", 0)}  # the older call counts it as used


def _processes(values):
    return [{"pid": value.pid, "memory": value.usedGpuMemory} for value in values[:PROCESS_LIMIT]]
