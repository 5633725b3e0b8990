"""What stands in for NVIDIA's container toolkit: a hook that mounts a scripted driver, or fails like it.

The engine calls it before the container's first program, as it calls the real one; it enters the container's
mount namespace and puts the libraries, the script and the nodes where the real one puts them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from tests.harness import nvidia
from tests.harness.engine import DRIVER

NOT_LOADED = "nvidia-container-cli: initialization error: nvml error: driver not loaded"
UNHEARD_OF = "nvidia-container-cli: something nobody has ever seen: frobnicated"
TOO_OLD = ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your "
           "driver to a newer version, or use an earlier cuda container")
_CUDA = 13000
_HOOK = '''#!/usr/bin/python3
import json, os, subprocess, sys, time
folder = {folder!r}
fails, hangs = os.path.join(folder, "fails"), os.path.join(folder, "hangs")
while os.path.exists(hangs):
    time.sleep(0.2)
if os.path.exists(fails):
    sys.exit(open(fails).read())
state = json.load(sys.stdin)
root = json.load(open(os.path.join(state["bundle"], "config.json")))["root"]["path"]
for source, target in json.load(open(os.path.join(folder, "mounts.json"))):
    place = root + target
    subprocess.check_call(["nsenter", "--target", str(state["pid"]), "--mount", "--", "sh", "-c",
                           'touch "$1" && mount --bind "$0" "$1"', source, place])
'''


class Toolkit:
    """A folder with the hook in it; `fails` makes it end with these words, `hangs` not end at all."""

    def __init__(self, folder: Path, card: nvidia.Card) -> None:
        self.programs = folder
        script = folder / "shim.cfg"
        script.write_text(nvidia.script(DRIVER, _CUDA, [card]))
        mounts = [(str(script), "/run/gpudoctor-shim.cfg")]
        for path, library in nvidia.driver_libraries(DRIVER, _CUDA).items():
            mounts.append((str(library), f"{path.removesuffix(DRIVER)}1"))
        mounts += [("/dev/null", f"/dev/{node}") for node in ("nvidia0", "nvidiactl", "nvidia-uvm")]
        (folder / "mounts.json").write_text(json.dumps(mounts))
        hook = folder / "nvidia-container-runtime-hook"
        hook.write_text(_HOOK.format(folder=str(folder)))
        hook.chmod(0o755)

    def fails(self, words: str | None) -> None:
        """Make it fail with these words from now on, or work."""
        file = self.programs / "fails"
        file.unlink(missing_ok=True)
        if words is not None:
            file.write_text(words)

    @contextlib.contextmanager
    def hangs(self) -> Iterator[None]:
        """Make it wait as long as the context lasts, as the real one does for a driver that is stuck."""
        file = self.programs / "hangs"
        file.touch()
        try:
            yield
        finally:
            file.unlink()
