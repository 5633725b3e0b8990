"""Read the PCI functions that the system and driver collectors list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.model import Absent, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.shapes import failure, text_at, texts

SOURCE = "/sys/bus/pci/devices"
NVIDIA = "0x10de"
_DISPLAY, _BRIDGE, _PROCESSING = "0x03", "0x0680", "0x12"
_STORAGE, _NETWORK, _HOST_BRIDGE = "0x01", "0x02", "0x06"

Function = Mapping[str, Any]


def functions(answer: Any) -> tuple[Function, ...] | Absent | Unknown:
    """Return the listed functions; Absent without a PCI bus; Unknown if unread ones may hide a card."""
    listed = calls.mapping(answer).get("devices")
    if not isinstance(listed, list):
        return failure(answer, SOURCE)
    unread = texts(calls.mapping(answer).get("unread"))
    found = tuple(calls.objects(listed))
    if unread and not any(is_nvidia(function) for function in found):
        return Unknown(reason=f"{SOURCE}: {unread[0]}")
    return found


def is_nvidia(function: Function) -> bool:
    """Return whether the function is NVIDIA's."""
    return function.get("vendor") == NVIDIA


def is_card(function: Function) -> bool:
    """Return whether the function is NVIDIA's display or 3D controller, not the audio or USB side of one."""
    return is_nvidia(function) and _class_of(function).startswith(_DISPLAY)


def is_nvswitch(function: Function) -> bool:
    """Return whether the function is an NVSwitch; NVIDIA's old mainboards have chips of that class, too."""
    return (is_nvidia(function) and _class_of(function).startswith(_BRIDGE)
            and function.get("driver") in (None, "nvidia", "nvidia-nvswitch", "vfio-pci"))


def other_vendor(function: Function) -> str | None:
    """Return whose accelerator the function is, when it is one of another vendor."""
    kind, vendor = _class_of(function), function.get("vendor")
    if vendor == "0x1002" and kind.startswith((_DISPLAY, _PROCESSING)):
        return "amd"
    if vendor == "0x8086" and kind.startswith((_DISPLAY, _PROCESSING)):
        return "intel"
    if vendor == "0x1ae0" and not kind.startswith((_STORAGE, _NETWORK, _HOST_BRIDGE)):
        return "google-tpu"
    if vendor == "0x1da3" and kind.startswith(_PROCESSING):
        return "habana"
    return None


def device_id(function: Function) -> str | None:
    """Return the device id as four hex digits."""
    found = text_at(function, "device")
    return found.strip().lower().removeprefix("0x") if found else None


def _class_of(function: Function) -> str:
    return (text_at(function, "class") or "").strip()
