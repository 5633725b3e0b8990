"""Ask a library that may hang or lack functions: answers are noted one by one and given by a deadline.

The questions run in a thread. When one has not returned by the deadline, the answers noted so far are given,
and "stuck_in" names that question. ctypes lets other threads run while a foreign function does, but not while
it loads a library: one that hangs while it is being loaded costs the whole child.
"""

import ctypes
import os
import sys
import threading

from . import answering

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Optional

ANSWER_WITHIN_SECONDS = 8.0
_MAPS_LIMIT_BYTES = 16 << 20


def by_deadline(questions, request):
    """Return the dict that `questions(notes)` filled within `request["answer_within_seconds"]`."""
    seconds = request.get("answer_within_seconds") if isinstance(request, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 86400:
        seconds = ANSWER_WITHIN_SECONDS
    notes = {}
    worker = threading.Thread(target=_guarded, args=(questions, notes))
    worker.daemon = True
    try:
        worker.start()
    except RuntimeError:  # the limit on processes counts threads: then without a deadline of our own
        _guarded(questions, notes)
    else:
        worker.join(seconds)
    late = worker.is_alive()
    answer = _copy(notes)
    asking = answer.pop("asking", None)
    if late:
        answer["stuck_in"] = asking or "the first question"
    return answer


def _guarded(questions, notes):
    try:
        questions(notes)
    except BaseException as error:  # noqa: BLE001 - collecting is total, also where a module of theirs exits
        notes["error"] = "%s: %s" % (type(error).__name__, error)


def _copy(notes):
    for _ in range(10000):
        try:
            return answering.still(notes)
        except RuntimeError:  # the thread was writing just then
            continue
    return {"error": "the notes never stood still"}


def imported(name):
    """Import a module; what it imports itself is the standard library's, whatever stands on PYTHONPATH."""
    strangers = sys.path[:]
    standard = os.path.dirname(os.path.abspath(os.__file__))
    sys.path[:0] = [standard, os.path.join(standard, "lib-dynload")]
    try:
        __import__(name)
    finally:
        sys.path[:] = strangers
    return sys.modules[name]


def load(name, symbols):
    """Load a library as frameworks do; return it or None, and {"path": ...} or {"error": ...}."""
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        return None, {"error": str(error)}
    return library, loaded_file(library, symbols)


def loaded_file(library, symbols):
    """Return "path" of the real file that one of `symbols` lies in, and "found_by"; {} when nobody says."""
    for symbol in symbols:
        try:
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except AttributeError:
            continue
        if address is None:
            continue
        path = _mapping_at(address)
        if path:
            return {"path": path, "found_by": "/proc/self/maps"}
        path = _dladdr(address)
        if path:
            return {"path": os.path.realpath(path), "found_by": "dladdr"}
    return {}


def _mapping_at(address: int) -> "Optional[str]":
    try:
        with open("/proc/self/maps", "rb") as maps:
            lines = maps.read(_MAPS_LIMIT_BYTES).splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.split(None, 5)
        if len(fields) < 6 or not fields[5].startswith(b"/"):
            continue
        first, _, last = fields[0].partition(b"-")
        if int(first, 16) <= address < int(last, 16):
            return os.fsdecode(fields[5])
    return None


class _SymbolInformation(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def _dladdr(address: int) -> "Optional[str]":
    information = _SymbolInformation()
    try:
        found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(information))
    except (AttributeError, OSError):
        return None
    return os.fsdecode(information.file) if found and information.file else None
