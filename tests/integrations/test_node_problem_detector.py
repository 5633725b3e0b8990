"""integrations/kubernetes under node-problem-detector itself: the condition that it gives a node.

No package that tests can install has it. Where the program `node-problem-detector` is found on PATH, it is
run; where not, these tests are skipped, and nothing of them is shown (tests/integrations/test_kubernetes.py
holds the monitor against its rules as they were read).
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable

import pytest

from tests.harness.machine import File, Machine
from tests.harness.nvidia import H100
from tests.integrations import node_conditions
from tests.integrations.test_kubernetes import FOLDER, MONITOR, PLUGIN
from tests.machines import parts
from tests.machines.catalogue import r580

PROGRAM = shutil.which("node-problem-detector")
PLACE = "/etc/node-problem-detector"
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="node-problem-detector is not on PATH: the monitor was not tried under it")


@pytest.mark.parametrize(("machine", "status", "reason", "said"), [
    (lambda: r580(H100), "False", "NoGPUFaultSeen", MONITOR["conditions"][0]["message"]),
    (parts.mismatched, "True", "GPUBroken", "driver-kernel-userspace-mismatch [host]: "),
    (lambda: r580(H100).adding(shim="crash.nvmlInit=1"), "Unknown", "NoGPUFaultSeen", "could not look: "),
], ids=["healthy", "broken", "undecided"])
def test_the_condition_of_a_node(machine: Callable[[], Machine], status: str, reason: str, said: str) -> None:
    """By the files as they are, and by the first look: nothing is said before it."""
    assert PROGRAM is not None
    node = machine().adding(files={
        f"{PLACE}/{PLUGIN.name}": File(content=PLUGIN.read_text(), mode=0o755),
        f"{PLACE}/gpudoctor-node.json": (FOLDER / "gpudoctor-node.json").read_text()})
    done = node.run([sys.executable, str(node_conditions.__file__), "GPUProblem", PROGRAM,
                     f"--config.custom-plugin-monitor={PLACE}/gpudoctor-node.json"],
                    environment={"GPUDOCTOR_PYTHON": sys.executable}, timeout=120)
    assert done.returncode == 0, done.stderr
    condition = json.loads(done.stdout)
    assert (condition["status"], condition["reason"]) == (status, reason)
    assert condition["message"].startswith(said)
