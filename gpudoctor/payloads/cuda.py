"""Ask the driver API (libcuda.so.1, loaded as frameworks load it) what it is, whether it starts, its devices.

Raw answers, each on its own: {"code": 0, "value": ...}, {"code": 802, "name": ..., "text": ...} or
{"missing_function": true}. The caller takes CUDA_VISIBLE_DEVICES away; "environment" says what there was.
"""

import binascii
import ctypes
import os

from . import asking

LIBRARY = "libcuda.so.1"
DEVICE_LIMIT = 256
ATTRIBUTES = {
    "compute_capability_major": 75,
    "compute_capability_minor": 76,
    "compute_mode": 20,
    "integrated": 18,
}
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_PIPE_DIRECTORY", "LD_LIBRARY_PATH")
_TEXT_BYTES = 256


def collect(request):
    """Return what libcuda says; see the module's docstring."""
    return asking.by_deadline(_questions, request)


def _questions(notes):
    driver = opened(notes)
    if driver is None:
        return
    calls = notes["calls"] = {}
    version = ctypes.c_int()  # before cuInit, because it needs no cuInit and that may hang
    driver.ask(calls, "cuDriverGetVersion", ctypes.byref(version), value=lambda: version.value)
    devices = driver.start(calls)
    notes["devices"] = []
    for ordinal, device in devices:
        entry = {"ordinal": ordinal, "calls": {}}
        notes["devices"].append(entry)
        driver.identify(entry["calls"], ordinal, device)
        driver.describe(entry["calls"], ordinal, device)


def opened(notes):
    """Load the library, note how that went, and return a `Driver` or None."""
    notes["environment"] = {name: os.environ.get(name) for name in _VARIABLES}
    notes["asking"] = "loading " + LIBRARY
    library, notes["load"] = asking.load(LIBRARY, ("cuInit", "cuDriverGetVersion", "cuDeviceGetCount"))
    if library is None:
        return None
    path = notes["load"].get("path")
    notes["asking"] = "reading the version of " + LIBRARY
    notes["library_version"] = _release(path) if path else {"error": "no path is known"}
    return Driver(library, notes)


def _release(path):
    """Return what the bytes of the library say; the regular expressions for that are slow to import."""
    return asking.imported(__package__ + ".library_version").read_version(path)


class Driver:
    """The loaded library, and the notes that say what is being asked."""

    def __init__(self, library, notes):
        self.library = library
        self.notes = notes

    def ask(self, calls, name, *arguments, **options):
        """Call the function `name`, note its answer in `calls`, and return whether it succeeded.

        Options: `value`, a function that gives the value on success; `about`, which device; `key`, another
        name for the note.
        """
        key = options.get("key", name)
        function = getattr(self.library, name, None)
        if function is None:
            calls[key] = {"missing_function": True}
            return False
        self.notes["asking"] = key + options.get("about", "")
        code = function(*arguments)
        if code == 0:
            value = options.get("value")
            calls[key] = {"code": 0, "value": value()} if value else {"code": 0}
        else:
            calls[key] = self._failure(code)
        return code == 0

    def _failure(self, code):
        answer = {"code": code}
        for key, name in (("name", "cuGetErrorName"), ("text", "cuGetErrorString")):
            function = getattr(self.library, name, None)
            text = ctypes.c_char_p()
            if function is not None and function(code, ctypes.byref(text)) == 0 and text.value:
                answer[key] = text.value.decode("utf-8", "replace")
        return answer

    def start(self, calls):
        """Call cuInit and list the devices as (ordinal, handle or None); empty when it fails."""
        count = ctypes.c_int()
        if not self.ask(calls, "cuInit", 0):
            return []
        if not self.ask(calls, "cuDeviceGetCount", ctypes.byref(count), value=lambda: count.value):
            return []
        return [(ordinal, self._device(ordinal)) for ordinal in range(min(count.value, DEVICE_LIMIT))]

    def _device(self, ordinal):
        device = ctypes.c_int()
        calls = {}
        about = " of device %d" % ordinal
        return device if self.ask(calls, "cuDeviceGet", ctypes.byref(device), ordinal, about=about) else None

    def identify(self, calls, ordinal, device):
        """Note name, UUID (as hexadecimal digits) and PCI bus id of a device."""
        about = " of device %d" % ordinal
        if device is None:  # asked again, so that the answer is noted where it belongs
            self.ask(calls, "cuDeviceGet", ctypes.byref(ctypes.c_int()), ordinal, about=about)
            return
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        for name in ("cuDeviceGetName", "cuDeviceGetPCIBusId"):
            self.ask(calls, name, text, _TEXT_BYTES, device, about=about, value=lambda: _decoded(text))
        uuid = ctypes.create_string_buffer(16)
        for name in ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"):  # only the newer one knows MIG instances apart
            if self.ask(calls, name, uuid, device, about=about, value=lambda: _hexadecimal(uuid)):
                break

    def describe(self, calls, ordinal, device):
        """Note attributes and total memory of a device."""
        if device is None:
            return
        about = " of device %d" % ordinal
        for key, attribute in sorted(ATTRIBUTES.items()):
            self.attribute(calls, key, attribute, device, about)
        memory = ctypes.c_size_t()
        self.ask(calls, "cuDeviceTotalMem_v2", ctypes.byref(memory), device,
                 about=about, value=lambda: memory.value)

    def attribute(self, calls, key, attribute, device, about):
        """Note and return one attribute of a device; None when it cannot be had."""
        value = ctypes.c_int()
        good = self.ask(calls, "cuDeviceGetAttribute", ctypes.byref(value), attribute, device,
                        key=key, about=about, value=lambda: value.value)
        return value.value if good else None


def _decoded(text):
    return text.value.decode("utf-8", "replace")


def _hexadecimal(buffer):
    return binascii.hexlify(buffer.raw).decode("ascii")
