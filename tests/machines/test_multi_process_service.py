"""Each code by which libcuda says that MPS fails, said by a scripted libcuda to the whole command."""

from __future__ import annotations

import json
import sys

import pytest

from tests.harness.nvidia import H100
from tests.hosts.looking import ROOT
from tests.machines.catalogue import r580

CODES = (805, 806, 807, 808, 809)
REMOVE, RESTART = "Remove the pipe folder", "Restart the MPS daemon"
# With the variable, going without it is tried first, and as this libcuda fails again, it is not shown.
WAYS = [("/tmp/nvidia-mps-42", code, RESTART) for code in CODES]
WAYS += [("", code, REMOVE if code == 805 else RESTART) for code in CODES]


@pytest.mark.parametrize("code", CODES)
def test_the_service_that_turns_only_contexts_away_is_named(code: int) -> None:
    """cuInit works: then the kernel alone shows it, and the driver is not to blame."""
    machine = r580(H100).adding(shim=f"rc.cuCtxCreate={code}")
    command = [sys.executable, "-m", "gpudoctor", "check", "--format", "json"]
    done = machine.run(command, timeout=60, cwd=str(ROOT))
    causes = [finding["cause"] for finding in json.loads(done.stdout)["findings"]]
    assert (done.returncode, causes[0]) == (1, "mps-daemon"), done.stderr
    assert "driver-bug-regression" not in causes


@pytest.mark.parametrize(("folder", "code", "title"), WAYS)
def test_the_service_is_named_with_the_way_out(folder: str, code: int, title: str) -> None:
    """A folder that was left behind can only be meant by 805, and at its usual place without a variable."""
    environment = {"CUDA_MPS_PIPE_DIRECTORY": folder} if folder else {}
    machine = r580(H100).adding(shim=f"rc.cuInit={code}", environment=environment)
    command = [sys.executable, "-m", "gpudoctor", "check", "--format", "json", "--depth", "static"]
    done = machine.run(command, timeout=60, cwd=str(ROOT))
    found = {finding["cause"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1, done.stderr
    titles = [fix["title"] for fix in found["mps-daemon"]["fixes"]]
    assert titles[0].startswith(title), titles
    removing = [known for known in titles if known.startswith(REMOVE)]
    assert len(removing) == (title == REMOVE)
