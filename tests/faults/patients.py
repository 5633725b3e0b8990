"""Hostile patients: environments that print, exit, hang or fork when Python starts, lie or are broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tests.faults.doctor import PYTHON, PYVENV
from tests.faults.doctor import SITE_PACKAGES as OF_DOCTOR
from tests.faults.doctor import TORCH, doctor_machine, real_python
from tests.faults.fault import Fault, Promise, survived_with
from tests.faults.probes import FOUND, OF_STAGES, UNDECIDED, of_framework
from tests.faults.scene import FRAMEWORKS, Scene
from tests.faults.surroundings import ALL
from tests.harness.machine import File, Machine
from tests.hosts.looking import of_probe

PREFIX = "/opt/patient"
SITE_PACKAGES = OF_DOCTOR.replace("/opt/doctor", PREFIX)
SECONDS = 4.0
OF_PATIENT = frozenset(of_probe("python") | of_framework("frameworks") | OF_STAGES | {FRAMEWORKS})
CUBLAS = "nvidia_cublas_cu12-12.8.4.1.dist-info"
Files = Mapping[str, str | bytes | File]


def patient_machine(files: Files | None = None, links: Mapping[str, str] | None = None) -> Machine:
    """Return the machine with a patient that has a torch, and what makes it hostile."""
    torch = {path.replace(OF_DOCTOR, SITE_PACKAGES): content for path, content in TORCH.items()}
    own: Files = {
        f"{PREFIX}/pyvenv.cfg": PYVENV.format(real_python().rpartition("/")[0]),
        **torch,
        f"{SITE_PACKAGES}/{CUBLAS}/METADATA": "Name: nvidia-cublas-cu12\nVersion: 12.8.4.1\n",
        **{_placed(path): content for path, content in (files or {}).items()},
    }
    python = {f"{PREFIX}/bin/python": real_python()}
    return doctor_machine().adding(
        files=own, links={**python, **{_placed(path): target for path, target in (links or {}).items()}}
    )


def _placed(path: str) -> str:
    return path if path.startswith("/") else f"{SITE_PACKAGES}/{path}"


WHOLE = Scene(key="unbroken patient", machine=patient_machine, options=("--python", PREFIX))


def row(
    subject: str,
    kind: str,
    *,
    files: Files | None = None,
    links: Mapping[str, str] | None = None,
    script: str = "",
    lost: bool = False,
    codes: Sequence[int] | None = None,
    says: str = "",
    may_lose: frozenset[str] = frozenset(),
    changed: Sequence[str] = (),
    **more: Any,
) -> Fault:
    """Return a fault of a patient: its files, and a script that makes what is too many for a list."""
    scene = replace(
        WHOLE, key=f"patient {subject} {kind}", machine=partial(patient_machine, files, links), **more
    )
    if script:
        scene = replace(scene, before=(sys.executable, "-c", _MAKING.format(site=SITE_PACKAGES) + script))
    usual = (UNDECIDED,) if lost else (FOUND,)
    promise = Promise(
        exit_codes=frozenset(codes or usual),
        may_lose=may_lose | (OF_PATIENT if lost else frozenset()),
        may_change=frozenset(changed),
        says=says,
    )
    return Fault(
        group="a hostile patient",
        subject=subject,
        kind=kind,
        scenes=(WHOLE, scene),
        survive=survived_with(promise, scene, WHOLE),
    )


_MAKING = "import os, sys\nos.chdir({site!r})\ndef go_on(): os.execvp(sys.argv[1], sys.argv[1:])\n"
HANG = f"no end within {SECONDS:g} s"
STARTING: dict[str, tuple[str, dict[str, Any]]] = {
    "prints": ("print('hello'); import sys; print('hello', file=sys.stderr)", {}),
    "prints 30 MB": (
        "import sys\nfor _ in range(300): print('x' * 100000); print('x' * 99, file=sys.stderr)",
        {},
    ),
    "prints JSON": ("print('{\"python\": 7}')", {}),
    "raises an exception": ("raise RuntimeError('hello')", {}),
    "exits with 0": ("import os; os._exit(0)", {"lost": True, "says": "no answer"}),
    "exits with 3": ("raise SystemExit(3)", {"lost": True, "says": "SystemExit: 3"}),
    "sleeps": ("import time; time.sleep(1000)", {"lost": True, "says": HANG, "timeout_seconds": SECONDS}),
    "sleeps for a second": ("import time; time.sleep(1)", {}),
    "forks a child that sleeps": ("import os, time\nif not os.fork(): time.sleep(1000)", {}),
    "forks a daemon": (
        (
            "import os, time\nif not os.fork():\n    os.setsid()\n"
            "    if not os.fork(): time.sleep(1000)\n    os._exit(0)"
        ),
        {},
    ),
    "forks ten children": (
        "import os, time\nfor _ in range(10):\n    if not os.fork(): time.sleep(1000)",
        {},
    ),
    "crashes": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", {"lost": True, "says": "SIGSEGV"}),
    "closes every descriptor": (
        "import os; os.closerange(3, 256)",
        {"lost": True, "says": "Bad file descriptor"},
    ),
    "writes into every descriptor": (
        "import os\nfor n in range(3, 64):\n    try: os.write(n, b'junk')\n    except OSError: pass",
        {"lost": True, "says": "no JSON document"},
    ),
    "takes json away": ("import sys; sys.modules['json'] = None", {"lost": True, "says": "exit status 1"}),
    "takes open away": (
        "import builtins; builtins.open = None",
        {"may_lose": frozenset(of_probe("cuda")), "codes": (UNDECIDED,), "says": "TypeError"},
    ),
    "clears sys.path": (
        "import sys; sys.path.clear()",
        {"may_lose": OF_PATIENT, "codes": (UNDECIDED,), "says": "sys.path names no folder that exists"},
    ),
    "fills sys.path with rubbish": (
        "import sys; sys.path += [f'/nowhere/{n}' for n in range(10000)] + ['/dev/zero', '\\0', '']",
        {},
    ),
    "fills the front of sys.path with rubbish": (
        "import sys; sys.path[:0] = [f'/nowhere/{n}' for n in range(10000)] + ['/dev/zero', '\\0', '']",
        {},
    ),
    "makes sys.path longer than is looked at": (
        "import sys; sys.path += ['/nowhere'] * 100000",
        {"may_lose": OF_PATIENT, "codes": (UNDECIDED,), "says": "sys.path has 10000"},
    ),
    "puts numbers into sys.path": ("import sys; sys.path[:0] = [7, None, b'/x']", {}),
    "clears the environment": ("import os; os.environ.clear()", {}),
    "changes the current folder": ("import os; os.chdir('/dev')", {}),
    "leaves a thread that never ends": (
        "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()",
        {"timeout_seconds": SECONDS},
    ),
    "forbids opening files": (
        (
            "import sys\ndef hook(event, _):\n    if event == 'open': raise PermissionError('no')\n"
            "sys.addaudithook(hook)"
        ),
        {"lost": True, "says": "exit status"},
    ),
    "lowers the recursion limit": (
        "import sys; sys.setrecursionlimit(60)",
        {},
    ),
    "ignores every signal": (
        (
            "import signal, time\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n"
            "    except OSError: pass\ntime.sleep(1000)"
        ),
        {"lost": True, "says": HANG, "timeout_seconds": SECONDS},
    ),
    "sets an alarm": (
        "import signal; signal.setitimer(signal.ITIMER_REAL, 0.01); import time; time.sleep(1)",
        {"lost": True, "says": "SIGALRM"},
    ),
    "lies about the version": (
        "import sys; sys.version_info = (99, 'x')",
        {"may_lose": OF_PATIENT, "codes": (UNDECIDED,), "says": "the interpreter did not say its sys.path"},
    ),
    "eats memory": ("x = bytearray(300_000_000)", {}),
}
# Names of the standard library, put before it by PYTHONPATH. Python itself starts without these.
SHADOWED = (
    "json",
    "re",
    "ctypes",
    "typing",
    "threading",
    "subprocess",
    "random",
    "glob",
    "struct",
    "hashlib",
    "base64",
    "binascii",
    "importlib",
    "platform",
    "stat",
    "signal",
)
WITHOUT_ENVIRONMENT = (PYTHON, "-E", "-m", "gpudoctor")
VARIABLES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "PYTHONHOME leads nowhere": (
        {"PYTHONHOME": "/nowhere"},
        {"may_lose": ALL | OF_PATIENT, "codes": (UNDECIDED,), "says": "exit status 1"},
    ),
    "PYTHONHASHSEED is junk": (
        {"PYTHONHASHSEED": "junk"},
        {"may_lose": ALL | OF_PATIENT, "codes": (UNDECIDED,), "says": "exit status 1"},
    ),
    "PYTHONWARNINGS=error": ({"PYTHONWARNINGS": "error"}, {}),
    "PYTHONVERBOSE": ({"PYTHONVERBOSE": "2"}, {}),
    "PYTHONINSPECT": ({"PYTHONINSPECT": "1"}, {}),
    "PYTHONOPTIMIZE": ({"PYTHONOPTIMIZE": "2"}, {}),
    "PYTHONDEVMODE": ({"PYTHONDEVMODE": "1"}, {}),
    "PYTHONMALLOC=debug": ({"PYTHONMALLOC": "debug"}, {}),
    "PYTHONIOENCODING=utf-16": ({"PYTHONIOENCODING": "utf-16"}, {}),
    "PYTHONUTF8=0 under LC_ALL=C": ({"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, {}),
    "PYTHONINTMAXSTRDIGITS=640": ({"PYTHONINTMAXSTRDIGITS": "640"}, {}),
    "PYTHONTRACEMALLOC": ({"PYTHONTRACEMALLOC": "1"}, {}),
    "PYTHONPROFILEIMPORTTIME": ({"PYTHONPROFILEIMPORTTIME": "1"}, {}),
    "PYTHONSAFEPATH": ({"PYTHONSAFEPATH": "1"}, {}),
    "PYTHONSTARTUP": ({"PYTHONSTARTUP": "/etc/passwd"}, {}),
    "PYTHONPYCACHEPREFIX leads nowhere": ({"PYTHONPYCACHEPREFIX": "/proc/nowhere"}, {}),
    "LC_ALL names no locale": ({"LC_ALL": "xx_YY.junk"}, {}),
    "TZ names no zone": ({"TZ": ":/dev/zero"}, {}),
    "a variable of 100 KB": ({"JUNK": "x" * 100_000}, {}),
    "a thousand variables": ({f"JUNK{n}": "x" for n in range(1000)}, {}),
    "MALLOC_ARENA_MAX is junk": ({"MALLOC_ARENA_MAX": "junk", "GLIBC_TUNABLES": "junk=junk"}, {}),
}


def faults() -> Iterator[Fault]:
    """Yield all of them."""
    for kind, (code, more) in STARTING.items():
        yield row("sitecustomize", kind, files={"sitecustomize.py": code + "\n"}, **more)
    for name in SHADOWED:
        yield row(
            "PYTHONPATH",
            f"has a {name}.py that exits",
            files={f"/opt/shadow/{name}.py": "raise SystemExit(99)\n"},
            environment={"PYTHONPATH": "/opt/shadow"},
            command=WITHOUT_ENVIRONMENT,
            changed=["environment.PYTHONPATH", "python.shadowing_files"],
        )
    for kind, (variables, more) in VARIABLES.items():
        yield row(
            "the environment",
            kind,
            environment=variables,
            command=WITHOUT_ENVIRONMENT,
            changed=[f"environment.{name}" for name in variables],
            **more,
        )
