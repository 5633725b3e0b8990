"""Where a pointer leads, as the driver and the memory itself say: the proof that a result lies on a card."""

import ctypes
import os

from .readable import readable_here

_MEMORY_TYPE, _DEVICE_ORDINAL = 2, 9  # CU_POINTER_ATTRIBUTE_...
DEVICE_MEMORY = 2
LIBRARY = "libcuda.so.1"


def examined(pointer):
    """Return {"memory_type", "ordinal", "readable_here"} of an address, or {"error": why nobody can say}.

    Only a driver library that the framework itself loaded is asked: loading one here would be our doing.
    """
    if not isinstance(pointer, int) or pointer == 0:
        return {"error": "the framework gives no pointer to its result"}
    try:
        driver = ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        ask = driver.cuPointerGetAttribute
    except (OSError, AttributeError):
        return {"error": "no %s with cuPointerGetAttribute is loaded in the framework's process" % LIBRARY}
    kind, ordinal = ctypes.c_uint(), ctypes.c_int(-1)
    code = ask(ctypes.byref(kind), _MEMORY_TYPE, ctypes.c_uint64(pointer))
    if code != 0:
        return {"error": "cuPointerGetAttribute answered %d" % code}
    proof = {"memory_type": kind.value, "readable_here": readable_here(pointer)}
    if ask(ctypes.byref(ordinal), _DEVICE_ORDINAL, ctypes.c_uint64(pointer)) == 0:
        proof["ordinal"] = ordinal.value
    return proof


def missing(proof):
    """Return what keeps `examined`'s answer from being a proof, "" when nothing does."""
    if "error" in proof:
        return proof["error"]
    if proof.get("memory_type") != DEVICE_MEMORY:
        return "the driver does not say that the result lies in a device's memory"
    if proof.get("readable_here") is not False:
        return "the result lies in memory that this process itself can read"
    return ""
