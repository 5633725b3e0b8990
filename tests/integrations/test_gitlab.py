"""integrations/gitlab: the template as GitLab reads it, and its script on machines."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.harness.nvidia import H100
from tests.integrations.services import complaints, copied, document, of_pip
from tests.machines import parts
from tests.machines.catalogue import r580

TEMPLATE = document("integrations/gitlab/preflight.yml")
JOB = TEMPLATE[".gpudoctor-preflight"]
TESTS = "/tmp/job/gpudoctor-preflight.xml"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    checkout = copied(tmp_path_factory.mktemp("checkout"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder)]
    ran = subprocess.run([*command, str(checkout)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=300, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return next(folder.glob("*.whl"))


def run(machine: Machine, **variables: str) -> Completed:
    """Run the script in a folder of a machine as a runner does: in one shell, until it fails."""
    given = {**of_pip(), "GITLAB_CI": "true", **JOB["variables"], **variables}
    script = "\n".join(["set -e", "mkdir /tmp/job && cd /tmp/job", *JOB["script"], "echo went on"])
    return machine.run(["sh", "-c", script], environment=given, collect=[TESTS], timeout=240)


def test_gitlab_takes_the_file() -> None:
    """By its own schema, with a job that extends the template; it would refuse an unknown report."""
    whole = {**TEMPLATE, "gpu": {"extends": ".gpudoctor-preflight", "stage": ".pre", "tags": ["gpu"]}}
    assert complaints("gitlab-ci", whole) == []
    wrong = {"job": {**JOB, "artifacts": {"reports": {"jnit": "x"}}}}
    assert complaints("gitlab-ci", wrong)


@pytest.mark.parametrize(("machine", "options", "code", "failures"), [
    (lambda: r580(H100), "--require gpu>=1", 0, 0), (parts.mismatched, "--depth static", 1, 2),
    (lambda: r580(H100), "--require gpu>=2 --depth static", 1, 2),
], ids=["healthy", "broken", "a card too few"])
def test_the_job_ends_as_the_look_does(wheel: Path, machine: Callable[[], Machine], options: str, code: int,
                                       failures: int) -> None:
    """And leaves the file that the template names."""
    done = run(machine(), GPUDOCTOR_PACKAGE=str(wheel), GPUDOCTOR_OPTIONS=options)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.endswith("went on\n") == (code == 0)
    assert Path(TESTS).name == JOB["artifacts"]["reports"]["junit"]
    suite = ET.fromstring((done.files or {})[TESTS]).find("testsuite")
    assert suite is not None
    assert int(suite.attrib["failures"]) == failures  # the verdict is one of them


def test_what_cannot_be_installed_stops_the_job() -> None:
    done = run(r580(H100), GPUDOCTOR_PACKAGE="/opt/not/there.whl")
    assert done.returncode == 4
    assert "gpudoctor did not look: /opt/not/there.whl cannot be installed here" in done.stdout
