"""What stands in for NVIDIA's container toolkit: a hook that mounts a scripted driver, or fails like it.

The engine calls it before the container's first program, as it calls the real one; it enters the container's
mount namespace and puts the libraries, the script and the nodes where the real one puts them. An engine that
does not know it is given a runtime of the name nvidia: runc, with the hook written into each container that
asks for cards by NVIDIA_VISIBLE_DEVICES.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.harness import nvidia
from tests.harness.engine import CUDA, DRIVER

NOT_LOADED = "nvidia-container-cli: initialization error: nvml error: driver not loaded"
UNHEARD_OF = "nvidia-container-cli: something nobody has ever seen: frobnicated"
TOO_OLD = ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your "
           "driver to a newer version, or use an earlier cuda container")
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
                           'mkdir -p "${{1%/*}}" && touch "$1" && mount --bind "$0" "$1"', source, place])
'''
_RUNTIME = '''#!/usr/bin/python3
import json, os, sys
folder, words = {folder!r}, sys.argv[1:]
if "create" in words:
    file = os.path.join(words[words.index("--bundle") + 1], "config.json")
    container = json.load(open(file))
    process, is_deaf = container["process"], os.path.exists(os.path.join(folder, "deaf"))
    # a machine within a machine may not guard processes from the kernel's search for memory, as kubelet asks
    process["oomScoreAdj"] = max(0, process.get("oomScoreAdj") or 0)
    if "NVIDIA_VISIBLE_DEVICES=all" in process["env"] and not is_deaf:
        hook = os.path.join(folder, "nvidia-container-runtime-hook")
        container.setdefault("hooks", {{}}).setdefault("prestart", []).append(
            {{"path": hook, "args": [hook, "prestart"]}})
    json.dump(container, open(file, "w"))
os.execvp("runc", ["runc", *words])
'''


class Toolkit:
    """A folder with the programs; `fails` makes the hook end with these words, `hangs` not end at all."""

    def __init__(self, folder: Path, card: nvidia.Card) -> None:
        self.programs = folder
        script = folder / "shim.cfg"
        script.write_text(nvidia.script(DRIVER, CUDA, [card]))
        mounts = [(str(script), "/run/gpudoctor-shim.cfg")]
        for path, library in nvidia.driver_libraries(DRIVER, CUDA).items():
            mounts.append((str(library), f"{path.removesuffix(DRIVER)}1"))
        mounts += [("/dev/null", f"/dev/{node}") for node in ("nvidia0", "nvidiactl", "nvidia-uvm")]
        (folder / "mounts.json").write_text(json.dumps(mounts))
        for name, text in (("nvidia-container-runtime-hook", _HOOK), (self.runtime.name, _RUNTIME)):
            (folder / name).write_text(text.format(folder=str(folder)))
            (folder / name).chmod(0o755)

    @property
    def runtime(self) -> Path:
        """Return what an engine's configuration names as the runtime nvidia."""
        return self.programs / "nvidia-container-runtime"

    def fails(self, words: str | None) -> None:
        """Make it fail with these words from now on, or work."""
        file = self.programs / "fails"
        file.unlink(missing_ok=True)
        if words is not None:
            file.write_text(words)

    def hangs(self) -> AbstractContextManager[None]:
        """Make it wait as long as the context lasts, as the real one does for a driver that is stuck."""
        return self._marked("hangs")

    def deaf(self) -> AbstractContextManager[None]:
        """Let the runtime heed no variable, as the real one does where its settings say so."""
        return self._marked("deaf")

    @contextlib.contextmanager
    def _marked(self, name: str) -> Iterator[None]:
        file = self.programs / name
        file.touch()
        try:
            yield
        finally:
            file.unlink()
