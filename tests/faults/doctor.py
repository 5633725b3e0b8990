"""A machine with a healthy GPU in which gpudoctor lies in an environment of its own, /opt/doctor.

How a probe is broken here without touching our code: every probe's child is started by the interpreter that
runs gpudoctor, so the one in /opt/doctor/bin is a real program (interpreter.c) that misbehaves while the
collector runs that /run/gpudoctor-fault names, and is the real Python otherwise. That is what a broken
machine does to a child: it crashes, hangs or answers nonsense, and nobody tells us which. The same
environment is the patient, with a torch in it, because `python -m gpudoctor` examines its own interpreter.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import threading
from functools import cache
from pathlib import Path

from tests.harness.machine import File, Machine
from tests.harness.nvidia import H100, nvidia_machine
from tests.hosts.looking import CUDA, DRIVER
from tests.shim.build import cache_folder

ROOT = Path(__file__).parents[2]
PREFIX = "/opt/doctor"
PYTHON = f"{PREFIX}/bin/python"
SITE_PACKAGES = f"{PREFIX}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
PYVENV = "home = {}\ninclude-system-site-packages = false\n"
FAULT_FILE = "/run/gpudoctor-fault"
SPOIL_SCRIPT = f"{PREFIX}/spoil.py"
COMMAND = (PYTHON, "-m", "gpudoctor")
HERE = Path(__file__).parent


def compiled(source: str, *, defines: tuple[str, ...] = (), shared: bool = False) -> Path:
    """Compile one of the C files beside this one, unless the cache has it."""
    text = (HERE / source).read_bytes()
    key = hashlib.sha256("\0".join([source, str(shared), *defines]).encode() + text).hexdigest()[:24]
    finished = cache_folder("faults") / f"{key}-{Path(source).stem}"
    if not finished.exists():
        part = finished.with_name(f".{finished.name}.{os.getpid()}.{threading.get_ident()}")
        flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", *(f"-D{define}" for define in defines)]
        kind = ["-shared", "-fPIC", "-ldl"] if shared else []
        subprocess.run(["gcc", *flags, str(HERE / source), *kind, "-o", str(part)], check=True)
        part.replace(finished)
    return finished


def real_python() -> str:
    """Return the interpreter that stands behind the one of this environment."""
    return os.path.realpath(sys.executable)


@cache
def doctor_machine() -> Machine:
    """Return the machine, with nothing broken in it."""
    interpreter = compiled(
        "interpreter.c",
        defines=(f'REAL_PYTHON="{real_python()}"', f'SPOIL_SCRIPT="{SPOIL_SCRIPT}"'),
    )
    files: dict[str, str | bytes | File] = {
        f"{PREFIX}/pyvenv.cfg": PYVENV.format(os.path.dirname(real_python())),
        f"{SITE_PACKAGES}/gpudoctor.pth": f"{ROOT}\n{sysconfig.get_paths()['purelib']}\n",
        SPOIL_SCRIPT: (HERE / "spoil.py").read_bytes(),
    }
    machine = nvidia_machine(driver=DRIVER, cuda=CUDA, cards=[H100])
    return machine.adding(files=files, libraries={PYTHON: interpreter})


TORCH: dict[str, str | bytes | File] = {
    f"{SITE_PACKAGES}/torch/__init__.py": (HERE / "standin_torch.py").read_bytes(),
    f"{SITE_PACKAGES}/torch/version.py": "__version__ = '2.10.0+cpu'\ncuda = None\n",
    f"{SITE_PACKAGES}/torch-2.10.0+cpu.dist-info/METADATA": "Name: torch\nVersion: 2.10.0+cpu\n",
    f"{SITE_PACKAGES}/torch-2.10.0+cpu.dist-info/RECORD": "torch/version.py,,\n",
}


def with_broken(collector: str, kind: str, number: int = 0) -> Machine:
    """Return the machine on which the child of one collector misbehaves."""
    return doctor_machine().adding(files={FAULT_FILE: f"{collector} {kind} {number}\n"})
