"""Broken and hostile site-packages: metadata that is junk, endless or full of escapes, loops, multitudes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.faults.fault import Fault
from tests.faults.patients import HANG, SECONDS, WITHOUT_ENVIRONMENT, row
from tests.faults.probes import UNDECIDED
from tests.harness.machine import File

METADATA = "torch-2.10.0+cpu.dist-info/METADATA"
RECORD = "torch-2.10.0+cpu.dist-info/RECORD"
JUNK = bytes(range(256)) * 400
WITHOUT_METADATA: dict[str, Any] = {
    "may_lose": frozenset({"torch framework.requires_nvidia", "torch framework.extra_requires_nvidia"}),
    "says": "METADATA: not a regular file",
}
# Without version.py it is not known that this is a CPU build, in which nobody looks for device code.
WITHOUT_BUILD: dict[str, Any] = {
    "may_lose": frozenset({"torch framework.build", "torch framework.cuda", "torch framework.cudnn"}),
    "changed": ["torch framework.code"],
    "codes": (UNDECIDED,),
    "says": "version.py",
}
# Their names come before those of torch and of NVIDIA's packages, so that a list cut short loses those first.
MANY = (
    "os.makedirs({folder!r}, exist_ok=True)\n"
    "for n in range({number}):\n"
    "    made = {folder!r} + '/aaa%05d-1.0.dist-info' % n\n"
    "    os.mkdir(made)\n"
    "    if n % 10 == 0:\n"
    "        with open(made + '/METADATA', 'w') as out: out.write('Name: aaa%05d\\nVersion: 1.0\\n' % n)\n"
)
BEFORE_IT: dict[str, Any] = {
    "environment": {"PYTHONPATH": "/opt/many"},
    "command": WITHOUT_ENVIRONMENT,
    "changed": ["environment.PYTHONPATH", "python.site_packages"],
}
DISTRIBUTIONS: dict[str, dict[str, Any]] = {
    "METADATA has terminal escapes": {
        "files": {METADATA: "Name: torch\x1b[2J\x1b]0;x\x07\nVersion: 2.10.0\x1b[31m\u202e\n"},
        "may_lose": frozenset({"torch framework.version"}),
        "says": "is no version",
    },
    "METADATA is junk": {"files": {METADATA: JUNK}},
    "METADATA is empty": {"files": {METADATA: ""}},
    "METADATA is 50 MB": {
        "script": "f = open('torch-2.10.0+cpu.dist-info/METADATA', 'a')\nf.write('x' * 50000000)\n"
        "f.close()\ngo_on()"
    },
    "METADATA is one line of 5 MB": {
        "files": {METADATA: "Name: torch\nVersion: 2.10.0+cpu\nX: " + "x" * 5_000_000}
    },
    "METADATA is a folder": {
        "script": "os.remove('torch-2.10.0+cpu.dist-info/METADATA')\n"
        "os.mkdir('torch-2.10.0+cpu.dist-info/METADATA')\ngo_on()",
        **WITHOUT_METADATA,
    },
    "METADATA is a pipe": {
        "script": "os.remove('torch-2.10.0+cpu.dist-info/METADATA')\n"
        "os.mkfifo('torch-2.10.0+cpu.dist-info/METADATA')\ngo_on()",
        **WITHOUT_METADATA,
    },
    "METADATA may not be read": {
        "files": {METADATA: File(content="Name: torch\n", mode=0)},
    },
    "RECORD has a million lines": {
        "script": "f = open('torch-2.10.0+cpu.dist-info/RECORD', 'a')\n"
        "for n in range(1000000): f.write('torch/x%07d.py,,\\n' % n)\n"
        "f.close()\ngo_on()",
    },
    "RECORD is junk": {"files": {RECORD: JUNK}},
    "RECORD leads out of the environment": {
        "files": {
            RECORD: "torch/version.py,,\n../../../../../../etc/shadow,,\n/dev/zero,,\n/proc/self/mem,,\n"
        }
    },
    "RECORD is one line of 10 MB": {"files": {RECORD: "torch/version.py,," + "x" * 10_000_000}},
    "RECORD names itself": {"files": {RECORD: f"{RECORD},sha256=x,1\n" * 1000 + "torch/version.py,,\n"}},
    "RECORD is a pipe": {
        "script": "os.remove('torch-2.10.0+cpu.dist-info/RECORD')\n"
        "os.mkfifo('torch-2.10.0+cpu.dist-info/RECORD')\ngo_on()",
    },
    "RECORD is an endless file": {
        "script": "os.remove('torch-2.10.0+cpu.dist-info/RECORD')\n"
        "os.symlink('/dev/zero', 'torch-2.10.0+cpu.dist-info/RECORD')\ngo_on()",
    },
    "50 000 distributions": {"script": MANY.format(number=50_000, folder=".") + "go_on()"},
    "50 000 distributions in a folder before it": {
        "script": MANY.format(number=50_000, folder="/opt/many") + "go_on()",
        **BEFORE_IT,
    },
    "6 000 distributions in a folder before it": {
        "script": MANY.format(number=6_000, folder="/opt/many") + "go_on()",
        **BEFORE_IT,
    },
    "50 000 other files": {"script": "for n in range(50000): open('file%05d.py' % n, 'w').close()\ngo_on()"},
    "links that lead to themselves": {
        "links": {
            "loop": "loop",
            "up": "..",
            "nvidia": "nvidia",
            "a.dist-info": "a.dist-info",
            "jax": "/dev/zero",
            "tensorflow": "tensorflow",
        }
    },
    "links to the environment in itself": {"links": {"nvidia/self": "..", "nvidia/cudnn/lib/up": "../../.."}},
    "folders 100 deep": {"files": {"/".join(["nvidia", *["deep"] * 100, "libcudnn.so.9"]): ""}},
    "names that are no UTF-8": {
        "script": "os.mkdir(b'\\xff\\xfe-1.0.dist-info'); open(b'\\xff.py', 'w').close()\n"
        "os.mkdir(b'nvidia_\\xff-1.0.dist-info')\ngo_on()",
        "changed": ["python.nvidia_distributions"],
    },
    "names with escapes": {
        "script": "os.mkdir('nvidia_\\x1b[2J-1.0.dist-info'); os.mkdir('x\\n-1.0.dist-info')\ngo_on()",
        "changed": ["python.nvidia_distributions"],
    },
    "dist-info that is a file": {
        "files": {"nvidia_cudnn_cu12-9.1.dist-info": "junk"},
        "changed": ["python.nvidia_distributions"],
    },
    "a distribution without a version": {
        "files": {"nvidia_cudnn_cu12.dist-info/METADATA": ""},
        "changed": ["python.nvidia_distributions"],
    },
    "a .pth file that is junk": {"files": {"junk.pth": JUNK}, "lost": True, "says": "exit status"},
    "a .pth file that exits": {
        "files": {"exit.pth": "import os; os._exit(7)\n"},
        "lost": True,
        "says": "exit status 7",
    },
    "a .pth file that hangs": {
        "files": {"hang.pth": "import time; time.sleep(1000)\n"},
        "lost": True,
        "says": HANG,
        "timeout_seconds": SECONDS,
    },
    "a .pth file of 100 000 lines": {"files": {"long.pth": "/nowhere\n" * 100_000}},
    "version.py that is junk": {
        "files": {"torch/version.py": JUNK},
        **WITHOUT_BUILD,
    },
    "version.py that is nested deeply": {
        "files": {"torch/version.py": "__version__ = " + "(" * 5000 + ")" * 5000},
        **WITHOUT_BUILD,
    },
    "version.py that would do harm": {
        "files": {"torch/version.py": "import os; os._exit(9)\n__version__ = '2.10.0+cpu'\ncuda = None\n"}
    },
}


def faults() -> Iterator[Fault]:
    """Yield all of them."""
    for kind, parts in DISTRIBUTIONS.items():
        yield row("site-packages", kind, **parts)
