"""The card that frameworks see first, as the collectors' answers describe it, and why it is left alone."""

import uuid

ROOM_BYTES = 1 << 30  # the data and the context that the driver makes beside it, as in courses.py
_MODES = {1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
_MEMORY = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo")
_PROCESSES = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
_UUID = ("cuDeviceGetUuid_v2", "cuDeviceGetUuid")
_NO_PLACE = (2, 46)  # CUDA_ERROR_OUT_OF_MEMORY and CUDA_ERROR_DEVICE_UNAVAILABLE, to the checked kernel


def first(answers, hidden_by):
    """Return {"total", "free", "mode", "processes", "computes", "refused"} of it, None for what nobody says.

    `hidden_by` is what CUDA_VISIBLE_DEVICES says, None where it is not set. A MIG instance is no card:
    nothing is said of it.
    """
    ordinal, name = _named(_devices(answers, "cuda"), hidden_by)
    card = next((c for c in _members(answers, "nvml", "cards") if _value(c, "nvmlDeviceGetUUID") == name), {})
    memory, processes = _first_value(card, _MEMORY), _first_value(card, _PROCESSES)
    memory = memory if name and isinstance(memory, dict) else {}
    trials = [d.get("trial") for d in _devices(answers, "smoke") if d.get("ordinal") == ordinal]
    trials = [trial for trial in trials if isinstance(trial, dict)]
    return {
        "total": memory.get("total"), "free": memory.get("free"),
        "mode": _MODES.get(_value(card, "nvmlDeviceGetComputeMode")) if name else None,
        "processes": len(processes) if isinstance(processes, list) else None,
        "computes": any(trial.get("outcome") == "passed" for trial in trials),
        "refused": next((trial.get("reason") for trial in trials if _found_no_place(trial)), None)}


def _found_no_place(trial):
    """Say whether the kernel was turned away: not every NVML tells who uses a card, or its room."""
    answer = trial.get("answer")
    code = answer.get("code") if isinstance(answer, dict) else None
    return trial.get("outcome") == "skipped" and code in _NO_PLACE


def left_alone(card):
    """Return why nothing is to be run on the card, None when it may."""
    if card["mode"] == "prohibited":
        return "its compute mode prohibits computing"
    if card["mode"] and card["processes"] and not card["computes"]:  # with MPS there is room beside another
        return "its compute mode is %s and %d process(es) use it" % (card["mode"], card["processes"])
    if card["refused"]:
        return card["refused"]
    total, free = card["total"], card["free"]
    if isinstance(total, int) and isinstance(free, int) and free < ROOM_BYTES:
        return "no room on it: %d MiB of its %d MiB are free, %d MiB are needed" % (
            free >> 20, total >> 20, ROOM_BYTES >> 20)
    return None


def _named(devices, hidden_by):
    """Return the ordinal and UUID of the device that CUDA_VISIBLE_DEVICES names first."""
    wanted = "0" if hidden_by is None else hidden_by.split(",")[0].strip()
    for device in devices:
        digits = _first_value(device, _UUID)
        name = "GPU-%s" % uuid.UUID(digits) if isinstance(digits, str) and len(digits) == 32 else None
        if wanted == str(device.get("ordinal")):
            return device.get("ordinal"), name
        if name and wanted.startswith("GPU-") and name.lower().startswith(wanted.lower()):
            return device.get("ordinal"), name
    return None, None


def _devices(answers, collector):
    return _members(answers, collector, "devices")


def _members(answers, collector, key):
    """Return the objects of a list in a collector's answer; none where it has none."""
    data = answers.get(collector, {}).get("data")
    listed = data.get(key) if isinstance(data, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _value(holder, name):
    calls = holder.get("calls")
    answer = calls.get(name) if isinstance(calls, dict) else None
    return answer.get("value") if isinstance(answer, dict) and answer.get("code") == 0 else None


def _first_value(holder, names):
    return next((value for value in (_value(holder, name) for name in names) if value is not None), None)
