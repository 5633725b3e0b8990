"""Fixes to the environment for what only a run of the framework shows, on the whole command."""

from __future__ import annotations

import json

from tests.faults.doctor import COMMAND, SITE_PACKAGES
from tests.faults.running import IN_IMPORT, machine

LOADER = ("libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12")
SHADOWED = IN_IMPORT.format(f"if os.environ.get('LD_LIBRARY_PATH'): raise ImportError('{LOADER}')")
CUDA_BUILD = {
    f"{SITE_PACKAGES}/torch/version.py": "__version__ = '2.10.0+cu128'\ncuda = '12.8'\n",
    f"{SITE_PACKAGES}/torch-2.10.0+cpu.dist-info/METADATA": "Name: torch\nVersion: 2.10.0+cu128\n",
}


def test_the_variable_to_unset_is_printed() -> None:
    """Looking again without a run cannot tell whether it helps: that is no word against the fix."""
    there = machine(SHADOWED).adding(environment={"LD_LIBRARY_PATH": "/opt/other"}, files=CUDA_BUILD)
    done = there.run([*COMMAND, "check", "--stages", "matmul", "--format", "json"], timeout=100)
    first = json.loads(done.stdout)["findings"][0]
    assert first["cause"] == "nvjitlink-mismatch", done.stderr
    fix = first["fixes"][0]
    assert (fix["commands"], fix["proven"]) == (["unset LD_LIBRARY_PATH"], "model")
