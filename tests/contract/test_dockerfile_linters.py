"""What is generated passes the linters of others: hadolint the Dockerfiles, what stands beside them Compose
itself and the schema that Kubernetes publishes of its interface.

`tests/golden/dockerfile` holds what `gpudoctor dockerfile` writes (test_dockerfile_command.py).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import GOLDEN
from tests.contract.checkout import run_gpudoctor
from tests.harness.programs import HADOLINT, installed, pod_schemas, yaml_as_json

WRITTEN = sorted((GOLDEN / "dockerfile").glob("*.txt"))


def hadolint(text: str) -> str:
    """Return what hadolint says, from where no settings of anybody are found."""
    program = installed(HADOLINT) / "bin" / "hadolint"
    ran = subprocess.run([str(program), "--no-color", "-"], input=text, env={"LC_ALL": "C.UTF-8"},
                         cwd=program.parent, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_hadolint_says_nothing(path: Path) -> None:
    assert hadolint(path.read_text()) == ""


def test_hadolint_would_say_something() -> None:
    """It is the real one."""
    said = hadolint("FROM python\nRUN pip install torch\nRUN cd /x && apt-get install -y gcc\n")
    assert {"DL3006", "DL3013", "DL3042", "DL3008", "DL3003"} <= set(said.replace(":", " ").split())


@pytest.mark.parametrize("path", [*WRITTEN, *sorted((GOLDEN / "dockerfile").glob("*.yaml"))],
                         ids=lambda path: path.stem)
def test_our_own_linter_finds_nothing(path: Path, tmp_path: Path) -> None:
    """What one command recommends for a machine another one has nothing against on that machine."""
    file = tmp_path / ("Dockerfile" if path in WRITTEN else path.name)
    file.write_text(path.read_text())
    (tmp_path / "gpu.Dockerfile").write_text(WRITTEN[0].read_text())  # that compose builds
    run = run_gpudoctor("lint", str(file), "--gpu", "--assume", "driver=535.104.05", "--assume", "cc=8.9")
    assert (run.returncode, run.stderr) == (0, ""), run.stdout


def document(name: str) -> Any:
    return json.loads(yaml_as_json((GOLDEN / "dockerfile" / name).read_text()))


def test_the_pod_looks_before_it_starts() -> None:
    """As Kubernetes reads it: both containers ask for the card, nobody is root, /dev/shm is memory."""
    pod = document("pod.yaml")
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    spec = pod["spec"]
    (look,), (program,) = spec["initContainers"], spec["containers"]
    assert look["command"] == ["/opt/gpudoctor/bin/gpudoctor", "check", "--python", "/opt/venv/bin/python",
                               "--require", "gpu>=1", "--depth", "smoke"]
    for container in (look, program):
        assert container["image"] == "a/b:1"
        assert container["resources"] == {"limits": {"nvidia.com/gpu": 1}}
        assert container["securityContext"] == {"allowPrivilegeEscalation": False,
                                                "capabilities": {"drop": ["ALL"]}}
    assert program["env"] == [{"name": "GPUDOCTOR_PREFLIGHT", "value": "off"}]  # a text, not YAML's false
    (mount,), (volume,) = program["volumeMounts"], spec["volumes"]
    assert look["volumeMounts"] == [mount]  # which sums over several cards by NCCL
    assert (mount["name"], mount["mountPath"]) == (volume["name"], "/dev/shm")
    assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001


@pytest.fixture(scope="module", params=[0, 1], ids=["oldest", "newest"])
def kubernetes(request: pytest.FixtureRequest) -> jsonschema.Draft202012Validator:
    position: int = request.param
    return pod_schemas()[position]


def test_kubernetes_takes_the_pod(kubernetes: jsonschema.Draft202012Validator) -> None:
    """No field is unknown to it and none is of another type; it would say so."""
    pod = document("pod.yaml")
    assert [error.message for error in kubernetes.iter_errors(pod)] == []
    pod["spec"]["securityContext"]["runAsNonRot"] = True
    pod["spec"]["containers"][0]["env"] = [{"name": "GPUDOCTOR_PREFLIGHT", "value": False}]
    said = " ".join(error.message for error in kubernetes.iter_errors(pod))
    assert "runAsNonRot" in said
    assert "False is not" in said


@pytest.mark.parametrize(("wrong", "right"), [("", True), ('"gpu"', False)])
def test_compose_itself_takes_the_file(wrong: str, right: bool, tmp_path: Path) -> None:
    """And would not take a capability that is a number."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed")
    text = (GOLDEN / "dockerfile" / "compose.yaml").read_text()
    (tmp_path / "compose.yaml").write_text(text.replace(wrong, "5") if wrong else text)
    ran = subprocess.run([program, "config"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False)
    assert (ran.returncode == 0) == right, ran.stderr
    assert ("gpu.Dockerfile" in ran.stdout) == right


def test_compose_hands_the_cards_in() -> None:
    """By the reservation that Compose knows; the Dockerfile is the one beside it."""
    service = document("compose.yaml")["services"]["app"]
    (device,) = service["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}
    assert service["build"] == {"context": ".", "dockerfile": "gpu.Dockerfile"}
    assert (service["image"], service["shm_size"]) == ("a/b:1", "8g")
