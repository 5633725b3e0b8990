"""Run one small checked kernel on each CUDA device, one after the other, and prove that it ran there.

Outcomes: "passed" (right result, in memory that the driver calls a device's), "no-proof" (right result, but
no proof that it was made there), "wrong-result", "failed" (which call, which code) and "skipped" (why).
A neighbour's work is respected: an own context, less than 1 MB of data, all given back, also after errors.
"""

import ctypes
import math

from . import asking
from .cuda import opened
from .readable import readable_here

# Every driver can compile this text for every card: y[i] = a * x[i] + y[i] for i < n.
PTX = b"""
.version 4.0
.target sm_30
.address_size 64

.visible .entry gd_saxpy(
    .param .f32 gd_a,
    .param .u64 gd_x,
    .param .u64 gd_y,
    .param .u32 gd_n
)
{
    .reg .pred %outside;
    .reg .b32 %block, %width, %lane, %index, %count;
    .reg .b64 %x, %y, %offset;
    .reg .f32 %a, %left, %right, %sum;

    ld.param.f32 %a, [gd_a];
    ld.param.u64 %x, [gd_x];
    ld.param.u64 %y, [gd_y];
    ld.param.u32 %count, [gd_n];
    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %lane, %tid.x;
    mad.lo.u32 %index, %block, %width, %lane;
    setp.ge.u32 %outside, %index, %count;
    @%outside bra finished;
    cvta.to.global.u64 %x, %x;
    cvta.to.global.u64 %y, %y;
    mul.wide.u32 %offset, %index, 4;
    add.s64 %x, %x, %offset;
    add.s64 %y, %y, %offset;
    ld.global.f32 %left, [%x];
    ld.global.f32 %right, [%y];
    fma.rn.f32 %sum, %a, %left, %right;
    st.global.f32 [%y], %sum;
finished:
    ret;
}
"""
VALUES = (1 << 16) + 7  # not a multiple of the block, so that the last block's test is exercised
BLOCK = 128
FACTOR = 1.5
_BYTES = 4 * VALUES
_COMPUTE_MODE, _EXCLUSIVE_THREAD, _PROHIBITED, _EXCLUSIVE_PROCESS = 20, 1, 2, 3
_OUT_OF_MEMORY, _UNAVAILABLE, _COMPILING_DISABLED = 2, 46, 223
_MEMORY_TYPE, _DEVICE_MEMORY = 2, 2


def collect(request):
    """Return the outcome for each device; see the module's docstring."""
    return asking.by_deadline(_questions, request)


def _questions(notes):
    driver = opened(notes)
    if driver is None:
        return
    calls = notes["calls"] = {}
    devices = driver.start(calls)
    notes["devices"] = []
    for ordinal, device in devices:
        entry = {"ordinal": ordinal, "calls": {}}
        driver.identify(entry["calls"], ordinal, device)
        notes["devices"].append(entry)
    for (_, device), entry in zip(devices, notes["devices"]):
        entry["trial"] = _tried(_Trial(driver, device, entry["ordinal"])) if device is not None else {
            "outcome": "failed", "call": "cuDeviceGet", "answer": entry["calls"].get("cuDeviceGet")}


class _Ended(Exception):
    """The trial cannot go on; carries its result."""

    def __init__(self, result):
        Exception.__init__(self, result["outcome"])
        self.result = result


class _Trial:
    """One device, its driver, and what has to be given back (`undo`, newest last)."""

    def __init__(self, driver, device, ordinal):
        self.driver = driver
        self.device = device
        self.about = " of device %d" % ordinal
        self.compute_mode = driver.attribute({}, "compute_mode", _COMPUTE_MODE, device, self.about)
        self.undo = []

    def must(self, name, *arguments):
        """Call a function that the trial cannot do without."""
        calls = {}
        if not self.driver.ask(calls, name, *arguments, about=self.about):
            raise _Ended(self._outcome(name, calls[name]))

    def _outcome(self, name, answer):
        reason = None
        code = answer.get("code")
        if code == _UNAVAILABLE and self.compute_mode in (_EXCLUSIVE_THREAD, _EXCLUSIVE_PROCESS):
            reason = "the card is in an exclusive compute mode and taken"
        elif code == _OUT_OF_MEMORY:
            reason = "no room on the card"
        elif code == _COMPILING_DISABLED:  # the kernel is text; frameworks with machine code do not mind
            reason = "CUDA_DISABLE_PTX_JIT or CUDA_DISABLE_JIT forbids the driver to compile it"
        result = {"outcome": "skipped" if reason else "failed", "call": name, "answer": answer}
        if reason:
            result["reason"] = reason
        return result


def _tried(trial):
    if trial.compute_mode == _PROHIBITED:
        return {"outcome": "skipped", "reason": "the card's compute mode prohibits computing"}
    try:
        return _run(trial)
    except _Ended as ended:
        return ended.result
    finally:
        while trial.undo:
            name, arguments = trial.undo.pop()
            trial.driver.ask({}, name, *arguments, about=trial.about)


def _run(trial):
    context = ctypes.c_void_p()
    trial.must("cuCtxCreate_v2", ctypes.byref(context), 0, trial.device)
    trial.undo.append(("cuCtxDestroy_v2", (context,)))
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    trial.must("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
    trial.undo.append(("cuModuleUnload", (module,)))
    trial.must("cuModuleGetFunction", ctypes.byref(kernel), module, ctypes.c_char_p(b"gd_saxpy"))
    x, y = _x(), _y()
    on_card_x, on_card_y = _uploaded(trial, x), _uploaded(trial, y)
    _launch(trial, kernel, on_card_x, on_card_y)
    result = (ctypes.c_float * VALUES)()
    trial.must("cuMemcpyDtoH_v2", result, on_card_y, ctypes.c_size_t(_BYTES))
    return _judged(trial, result, x, y, on_card_y)


def _x():
    return (ctypes.c_float * VALUES)(*[(index % 4093) * 0.25 for index in range(VALUES)])


def _y():
    return (ctypes.c_float * VALUES)(*[(index % 257) * -0.125 for index in range(VALUES)])


def _uploaded(trial, values):
    pointer = ctypes.c_uint64()
    trial.must("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(_BYTES))
    trial.undo.append(("cuMemFree_v2", (pointer,)))
    trial.must("cuMemcpyHtoD_v2", pointer, values, ctypes.c_size_t(_BYTES))
    return pointer


def _launch(trial, kernel, x, y):
    parameters = (ctypes.c_float(FACTOR), x, y, ctypes.c_uint(VALUES))
    addresses = (ctypes.c_void_p * 4)(*[ctypes.addressof(parameter) for parameter in parameters])
    blocks = (VALUES + BLOCK - 1) // BLOCK
    trial.must("cuLaunchKernel", kernel, blocks, 1, 1, BLOCK, 1, 1, 0, None, addresses, None)
    trial.must("cuCtxSynchronize")


def _judged(trial, result, x, y, pointer):
    """Compare with the same sum done here: every value and every sum is exact in 32 bits."""
    errors = [abs(got - (FACTOR * left + right)) for got, left, right in zip(result, x, y)]
    wrong = sum(1 for error in errors if error != 0.0)  # NaN too: it differs from everything
    largest = max((error for error in errors if math.isfinite(error)), default=0.0)
    judged = {"values": VALUES, "wrong_values": wrong, "largest_error": largest}
    if wrong:
        judged["outcome"] = "wrong-result"
        return judged
    judged.update(_proof(trial, pointer))
    return judged


def _proof(trial, pointer):
    """Say whether the result lies on the device: the driver says so, and this process cannot read it.

    A stand-in for a driver that runs kernels on the host may claim the first; its memory is ordinary memory.
    """
    kind, calls, name = ctypes.c_uint(), {}, "cuPointerGetAttribute"
    asked = trial.driver.ask(calls, name, ctypes.byref(kind), _MEMORY_TYPE, pointer,
                             about=trial.about, value=lambda: kind.value)
    readable = readable_here(pointer.value)
    proof = {"outcome": "no-proof", "call": name, "answer": calls[name], "readable_here": readable}
    if not asked or kind.value != _DEVICE_MEMORY:
        proof["reason"] = "the driver does not say that the result lies in a device's memory"
    elif readable:
        proof["reason"] = "the result lies in memory that this process itself can read"
    else:
        proof["outcome"] = "passed"
    return proof
