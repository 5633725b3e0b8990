"""Where a pointer leads, as the driver and the memory itself say: the proof that a result lies on a card."""

import ctypes
import os
import uuid

from .readable import readable_here

_MEMORY_TYPE, _IS_MANAGED, _DEVICE_ORDINAL = 2, 8, 9  # CU_POINTER_ATTRIBUTE_...
_INVALID_CONTEXT = 201
DEVICE_MEMORY = 2
LIBRARY = "libcuda.so.1"


def examined(pointer):
    """Return "memory_type", "managed", "ordinal", "uuid", "readable_here" of an address, or {"error": why}.

    Only a driver library that the framework itself loaded is asked: loading one here would be our doing.
    """
    if not isinstance(pointer, int) or pointer == 0:
        return {"error": "the framework gives no pointer to its result"}
    try:
        driver = ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        ask = driver.cuPointerGetAttribute
    except (OSError, AttributeError):
        return {"error": "no %s with cuPointerGetAttribute is loaded in the framework's process" % LIBRARY}
    proof = _attributes(ask, pointer)
    if proof.get("code") == _INVALID_CONTEXT and _enter_context(driver):
        proof = _attributes(ask, pointer)
        driver.cuCtxSetCurrent(None)
    if "ordinal" in proof:
        proof["uuid"] = _uuid(driver, proof["ordinal"])
    return proof


def _uuid(driver, ordinal):
    """Return the UUID of a device as CUDA_VISIBLE_DEVICES takes it, None where the driver does not say."""
    device, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    try:
        asked = driver.cuDeviceGet(ctypes.byref(device), ordinal) or driver.cuDeviceGetUuid(raw, device)
    except AttributeError:
        return None
    return None if asked != 0 else "GPU-" + str(uuid.UUID(bytes=bytes(raw)))


def _attributes(ask, pointer):
    kind, managed, ordinal = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_int(-1)
    code = ask(ctypes.byref(kind), _MEMORY_TYPE, ctypes.c_uint64(pointer))
    if code != 0:
        return {"error": "cuPointerGetAttribute answered %d" % code, "code": code}
    proof = {"memory_type": kind.value, "readable_here": readable_here(pointer)}
    if ask(ctypes.byref(managed), _IS_MANAGED, ctypes.c_uint64(pointer)) == 0:
        proof["managed"] = managed.value != 0
    if ask(ctypes.byref(ordinal), _DEVICE_ORDINAL, ctypes.c_uint64(pointer)) == 0:
        proof["ordinal"] = ordinal.value
    return proof


def _enter_context(driver):
    """Make the first device's own context this thread's; frameworks may have theirs in other threads."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    try:
        return (driver.cuDeviceGet(ctypes.byref(device), 0) == 0
                and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
                and driver.cuCtxSetCurrent(context) == 0)
    except AttributeError:
        return False


def missing(proof):
    """Return what keeps `examined`'s answer from being a proof, "" when nothing does."""
    if "error" in proof:
        return proof["error"]
    if proof.get("memory_type") != DEVICE_MEMORY:
        return "the driver does not say that the result lies in a device's memory"
    if proof.get("readable_here") is not False:
        managed = ", which the driver moves to and fro" if proof.get("managed") else ""
        return "the result lies in memory that this process itself can read" + managed
    return ""


def elsewhere(proof, visible):
    """Return why a result does not lie on the first of the visible cards, "" when it does or nobody can say.

    `visible` is what CUDA_VISIBLE_DEVICES was set to for the stage, in order; empty where it was left alone.
    """
    ordinal, card = proof.get("ordinal"), proof.get("uuid")
    if not visible or ordinal is None:
        return ""
    if ordinal != 0:
        return "the result lies on CUDA device %d, and the stage was for device 0" % ordinal
    if card and _is_whole(visible[0]) and visible[0].lower() != card.lower():
        return "the result lies on the card %s, and the stage was for %s" % (card, visible[0])
    return ""


def _is_whole(name):
    """Say whether a card is named by its whole UUID; a number says less, and a MIG instance has another."""
    return name.startswith("GPU-") and len(name) == len("GPU-") + 36


def not_on_every_card(proofs, cards):
    """Return why the results do not lie on one card each, "" when they do."""
    ordinals = [proof.get("ordinal") for proof in proofs]
    if None in ordinals:
        return "the driver does not say on which card each of the results lies"
    if len(set(ordinals)) != cards:
        found = ", ".join(str(ordinal) for ordinal in sorted(ordinals))
        return "the results lie on the CUDA devices %s, and each of %d must hold one" % (found, cards)
    return ""
