"""Which GPU libraries are mapped into this process, and whether the driver's PTX compiler is at work."""

import os
import re
import threading
import time

# NVIDIA's, as they are called on disk; libcurl, libcups and libcunit only sound like them.
_NAME = re.compile(r"lib(cu(?!rl|ps|nit)|nvidia-|nccl|nvJitLink|nvrtc|nvptxcompiler|nvshmem)")
# What the driver loads when it must compile PTX; before 570 the second is part of the first.
_COMPILER = re.compile(r"libnvidia-(ptxjitcompiler|nvvm)[0-9]*\.so")
_MAPS = "/proc/self/maps"
_LOOK_EVERY_SECONDS, _LOOKS_IN_A_LIMIT = 0.5, 60
_BOOT_TIME = 7  # CLOCK_BOOTTIME, which Python names from 3.7 on


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


def process_seconds():
    """Return how long ago this process was started; 0 where nobody says."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            after_name = stat.read().rpartition(b")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(_BOOT_TIME) - int(after_name[19]) / ticks)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def ptx_compiler():
    """Return the path of the driver's PTX compiler if it is mapped here, else None."""
    return next((path for path in mapped_files() if _COMPILER.match(os.path.basename(path))), None)


class Watch:
    """A thread that tells again and again how a stage goes while the PTX compiler is mapped, until `end`.

    It calls `found(stage, path, seconds, busy_seconds)`: since the stage began, of the clock and of the
    processor. The compiler stays mapped once it has come, so that only the processor's time tells whether
    there is work. Time in the kernel does not count: who waits for a card may ask again and again and yields.
    """

    def __init__(self, found, limit_seconds):
        self._found = found
        self._every_seconds = max(_LOOK_EVERY_SECONDS, limit_seconds / _LOOKS_IN_A_LIMIT)
        self._stage = ("", 0.0, 0.0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.daemon = True

    def start(self):
        """Begin to look; without a thread (the limit on processes counts them) nothing is seen."""
        try:
            self._thread.start()
        except RuntimeError:
            pass

    def begin(self, stage):
        """Count from now on, for this stage."""
        self._stage = (stage, time.monotonic(), os.times()[0])

    def end(self):
        """Stop looking."""
        self._over.set()

    def _look(self):
        while not self._over.wait(self._every_seconds):
            path = ptx_compiler() if self._stage[0] else None
            if path:
                stage, begun_at, busy_before = self._stage
                self._found(stage, path, time.monotonic() - begun_at, os.times()[0] - busy_before)
