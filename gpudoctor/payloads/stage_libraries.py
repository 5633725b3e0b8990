"""Which GPU libraries are mapped into this process, and whether the driver's PTX compiler has come."""

import os
import re
import threading

# NVIDIA's, as they are called on disk; libcurl, libcups and libcunit only sound like them.
_NAME = re.compile(r"lib(cu(?!rl|ps|nit)|nvidia-|nccl|nvJitLink|nvrtc|nvptxcompiler|nvshmem)")
# What the driver loads when it must compile PTX; before 570 the second is part of the first.
_COMPILER = re.compile(r"libnvidia-(ptxjitcompiler|nvvm)[0-9]*\.so")
_MAPS = "/proc/self/maps"
_LOOK_EVERY_SECONDS = 0.5


def mapped_files():
    """Return the paths of the files mapped into this process; none where there is no /proc."""
    try:
        with open(_MAPS, "rb") as maps:
            lines = maps.read().splitlines()
    except (OSError, MemoryError):
        return []
    fields = [line.split(None, 5) for line in lines]
    return sorted({os.fsdecode(line[5]) for line in fields if len(line) == 6 and line[5].startswith(b"/")})


def gpu_libraries():
    """Return the paths of the mapped GPU libraries."""
    return [path for path in mapped_files() if _NAME.match(os.path.basename(path)) and ".so" in path]


class Watch:
    """A thread that tells `found(path)` once of each mapped PTX compiler, until `end`."""

    def __init__(self, found):
        self._found = found
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.daemon = True

    def start(self):
        """Begin to look; without a thread (the limit on processes counts them) nothing is seen."""
        try:
            self._thread.start()
        except RuntimeError:
            pass

    def end(self):
        """Stop looking."""
        self._over.set()

    def _look(self):
        told = set()
        while not self._over.wait(_LOOK_EVERY_SECONDS):
            for path in mapped_files():
                if path not in told and _COMPILER.match(os.path.basename(path)):
                    told.add(path)
                    self._found(path)
