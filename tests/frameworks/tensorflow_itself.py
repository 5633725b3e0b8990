"""Ask TensorFlow itself, in the same machine as the doctor: which GPUs it lists, what it opened and missed.

Its own log at the verbosity that names libraries is read, and the memory map of its process thereafter.
Nothing behind the listing is asked: there is no GPU.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.harness.patient import Patient

LIST_SECONDS = 120
# The runtime of the wheel without the public package around it, which takes seconds to import and adds only
# Python: keras, summaries, datasets. A test holds the two against each other.
RUNTIME_ONLY = """
import importlib.util, sys, types
package = types.ModuleType("tensorflow")
package.__path__ = list(importlib.util.find_spec("tensorflow").submodule_search_locations)
sys.modules["tensorflow"] = package
from tensorflow.python.eager import context
gpus = context.context().list_physical_devices("GPU")
"""
WHOLE = """
import tensorflow
gpus = tensorflow.config.list_physical_devices("GPU")
"""
ANSWER = """
import json
mapped = {line.split(" ", 5)[5].strip() for line in open("/proc/self/maps") if line.count("/") > 1}
print(json.dumps({"gpus": [gpu.name for gpu in gpus], "mapped": sorted(p for p in mapped if ".so" in p)}))
"""
OPENED = re.compile(r"Successfully opened dynamic library (\S+)")
MISSED = re.compile(r"Could not load dynamic library '([^']+)'; dlerror: ([^;\n]+)")
ARCHITECTURE = re.compile(r"kernel binaries compatible with compute capability (\d+\.\d+)")
CUINIT = re.compile(r"failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: (.+)")


@dataclass(frozen=True, kw_only=True)
class Said:
    """What TensorFlow said and did. missed: library -> the loader's words. mapped: file name -> path."""

    gpus: tuple[str, ...]
    opened: frozenset[str]
    missed: Mapping[str, str]
    mapped: Mapping[str, str]
    log: str

    @property
    def culprits(self) -> set[str]:
        """The files that the loader blames: libcusolver.so.11 is missed too where libcublas.so.12 is gone."""
        return {_blamed(words) for words in self.missed.values()}

    @property
    def architectures(self) -> set[str]:
        """The compute capabilities of which it warns that it has no code for them, without their letter."""
        return set(ARCHITECTURE.findall(self.log))

    @property
    def cuinit(self) -> set[str]:
        """What it says of a cuInit that failed."""
        return set(CUINIT.findall(self.log))


def _blamed(words: str) -> str:
    """Return the library that a message of the loader blames."""
    version = re.search(r"undefined symbol: .*, version (\S+)", words)
    return version[1] if version else words.partition(": ")[0].rpartition("/")[2]


def listed(
    machine: Machine, patient: Patient, *, whole: bool = False, verbosity: int = 1,
    environment: Mapping[str, str] | None = None,
) -> Said:
    """Let TensorFlow list its GPUs in a machine."""
    variables = {"TF_CPP_MAX_VLOG_LEVEL": str(verbosity), **(environment or {})}
    code = (WHOLE if whole else RUNTIME_ONLY) + ANSWER
    done = machine.run(
        [str(patient.python), "-c", code], environment=variables, timeout=LIST_SECONDS)
    return _said(done)


def _said(done: Completed) -> Said:
    assert done.returncode == 0, f"TensorFlow ended with {done.returncode}\n{done.stderr[-3000:]}"
    answer = json.loads(done.stdout.splitlines()[-1])
    return Said(
        gpus=tuple(answer["gpus"]),
        opened=frozenset(OPENED.findall(done.stderr)),
        missed=dict(MISSED.findall(done.stderr)),
        mapped={path.rpartition("/")[2]: path for path in answer["mapped"]},
        log=done.stderr,
    )
