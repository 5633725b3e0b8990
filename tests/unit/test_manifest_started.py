"""What a container installs when it starts, who is given a GPU by a claim, and files that are templates."""

from __future__ import annotations

import pytest

from gpudoctor.manifests.spans import ManifestError
from tests.unit.test_manifest_troubles import CPU_IMAGE, CUDA_12, L4, SLIM, causes, docker, judged

MISSING = ["release-not-published"]
COMPOSE = """services:
  a:
    image: python:3.12-slim
    gpus: all
    {}
"""
POD = """kind: Pod
spec:
  containers:
  - image: {image}
    resources: {{claims: [{{name: gpu}}]}}
    args: [sh, -c, {script}]
  resourceClaims:
  - name: gpu
    resourceClaimTemplateName: one
---
kind: ResourceClaimTemplate
metadata: {{name: one}}
spec: {{spec: {{devices: {{requests: [{{name: a, exactly: {{deviceClassName: {name}}}}}]}}}}}}
"""


@pytest.mark.parametrize("line", [
    "CMD cd /app && pip install torch==2.4.7", "CMD pip install torch==2.4.7",
    'ENTRYPOINT ["sh", "-c", "cd /app; exec pip install torch==2.4.7"]',
    'ENTRYPOINT ["pip", "install"]\nCMD ["torch==2.4.7"]'])
def test_every_command_of_a_start_is_read(line: str) -> None:
    assert causes(judged(docker(CUDA_12, line))) == MISSING


def test_an_entrypoint_in_a_shell_is_given_no_command() -> None:
    assert causes(judged(docker(CUDA_12, "ENTRYPOINT exec top", "CMD pip install torch==2.4.7"))) == []


@pytest.mark.parametrize("line", [
    'command: bash -c "pip install torch==2.4.7 && python a.py"',
    'command: ["pip", "install", "torch==2.4.7"]', "command: pip install torch==2.4.7",
    "entrypoint: [sh, -c, 'cd /a && pip install torch==2.4.7']"])
def test_the_command_of_a_service_is_read(line: str) -> None:
    found = judged({"compose.yaml": COMPOSE.format(line)})
    assert causes(found) == MISSING
    assert found.findings[0].place.line == 5
    assert found.findings[0].place.column == len("    ") + line.index("torch") + 1


def test_a_dollar_that_compose_has_twice_is_the_shells() -> None:
    line = 'command: ["bash", "-c", "A=$${B} pip install torch==2.4.7"]'
    assert causes(judged({"compose.yaml": COMPOSE.format(line)})) == MISSING


def test_the_command_of_a_service_stands_in_for_that_of_its_dockerfile() -> None:
    compose = "services:\n  a:\n    build: .\n    command: {}\n"
    dockerfile = docker(SLIM, "CMD pip install torch==2.4.7")["Dockerfile"]
    own, other = ["compose.yaml"], ["Dockerfile"]
    for command, files in (("top", []), ("null", other), ("pip install torch==2.4.8", own)):
        found = judged({"compose.yaml": compose.format(command), "Dockerfile": dockerfile})
        assert [(one.finding.cause, one.place.file) for one in found.findings] == [
            (MISSING[0], file) for file in files]


def test_a_pod_is_given_a_gpu_by_a_claim() -> None:
    def pod(name: str) -> list[str]:
        return causes(judged({"pod.yaml": POD.format(image=CPU_IMAGE, script="top", name=name)}, *L4))

    assert pod("gpu.nvidia.com") == ["cpu-only-build"]
    assert pod("nic.example.com") == []
    assert causes(judged({"pod.yaml": POD.format(
        image="python:3.12", script="pip install torch==2.4.7", name="gpu.nvidia.com")})) == MISSING


def test_a_claim_that_stands_elsewhere_is_said_not_to_be_judged() -> None:
    alone = POD.partition("---")[0].format(image=CPU_IMAGE, script="top")
    assert [note.said for note in judged({"pod.yaml": alone}).notes] == [
        "what the claim gpu is on was not judged: one is not in this file"]


@pytest.mark.parametrize(("text", "place"), [
    ("kind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n  {{- with .Values.labels }}\n  a: b\n", "3:9"),
    ('{{- include "chart.pod" . }}\n', "1:1"), ("{% set version = '1' %}\npackage:\n  name: a\n", "1:1"),
    ("kind: Pod\nspec:\n  containers:\n  - image: {{ .Values.image }}\n", "4:12")])
def test_a_template_is_called_one(text: str, place: str) -> None:
    with pytest.raises(ManifestError, match=rf"pod.yaml:{place}: is a template, and no YAML before"):
        judged({"pod.yaml": text})


def test_braces_in_quotes_are_no_template() -> None:
    with pytest.raises(ManifestError, match="is no YAML"):
        judged({"pod.yaml": 'a: "{{ b }}"\nc: [\n'})
