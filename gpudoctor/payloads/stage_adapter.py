"""What the adapters of the four frameworks share.

An adapter has: `variables(request)`, set before the import; `load(request)`, which imports and returns the
version; `gpus()`, the framework's own list; `prepare()`, once before the first stage; `matmul`,
`convolution`, `compiled`, `reduced` and `all_reduce`, which take nested lists and return tensors on the
first listed GPU (`all_reduce`: one on each, or what other processes told of theirs), on the CPU when none is
listed; `listed`, `pointer` and `device` of a tensor; `close`. Whatever fails raises.
"""

import ctypes

from . import stage_proof

# Less would make torch.compile fail: to time its kernels it fills a buffer of up to 256 MiB.
MEMORY_LIMIT_BYTES = 512 << 20
WORDS_LIMIT = 2000


class Skipped(Exception):
    """A stage that cannot be done here, and why."""


class Told:
    """What can be said of a result in the process that holds it: its values, where it lies, and the proof."""

    def __init__(self, values, device, proof):
        self.values = values
        self.device = device
        self.proof = proof


class Adapter:
    """What is alike in all frameworks."""

    channels_first = True

    def __init__(self):
        self.cards = []

    def variables(self, request):
        """Return the environment variables that must be set before the import."""
        return {}

    def compiled(self, values):
        """Compute the curve in a function compiled for the card."""
        raise Skipped("this framework has no compiler of its own")

    def all_reduce(self, parts):
        """Add up one list from each card, on every card."""
        raise Skipped("gpudoctor has no all-reduce for this framework")

    def close(self):
        """Remove what was made on disk."""


def told(adapter, tensor):
    """Return what can be said of a result; only where a GPU is listed is it looked for on one."""
    values = adapter.listed(tensor)
    device, _ = _asked(adapter.device, tensor)
    if not adapter.cards:
        return Told(values, device or "", {})
    pointer, why_not = _asked(adapter.pointer, tensor)
    return Told(values, device or "", {"error": why_not} if why_not else stage_proof.examined(pointer))


def said(error):
    """Return what an exception says; saying so may itself fail."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a stranger's __str__ may raise anything
        text = "(its message cannot be shown)"
    return ("%s: %s" % (type(error).__name__, text))[:WORDS_LIMIT]


def _asked(question, tensor):
    """Return what a framework says of a tensor, and why it says nothing."""
    try:
        return question(tensor), ""
    except Exception as error:  # noqa: BLE001 - a right result is not made wrong by a framework without this
        return None, said(error)


def memory_limit_bytes(request):
    """Return how much memory of a card the framework may take."""
    limit = request.get("memory_limit_bytes")
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        limit = MEMORY_LIMIT_BYTES
    return int(min(limit, MEMORY_LIMIT_BYTES))


def memory_share(request):
    """Return the limit as a share of the smallest card of the stages, None where nobody knows its size."""
    total = request.get("card_memory_bytes")
    if isinstance(total, bool) or not isinstance(total, int) or total <= 0:
        return None
    return min(1.0, float(memory_limit_bytes(request)) / total)


class _Tensor(ctypes.Structure):
    """The beginning of DLPack's DLTensor, which a capsule named "dltensor" points to."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("dimensions", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


def pointer_in_capsule(capsule):
    """Return the address of the data that a DLPack capsule holds; the capsule still owns it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    return (tensor.data or 0) + tensor.byte_offset
