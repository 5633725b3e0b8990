"""Scripts that a shell is given by a document, by YAML or by JSON: what stands in them, and where."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

POD = """kind: Pod
spec:
  containers:
  - image: python:3.12-slim
    command: [sh, -c]
    args:
    - {}
    resources:
      limits: {{nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize("shell", ["bash -ex", "/bin/bash -euo pipefail", "sh", "bash -s", "bash -l",
                                   "sh -ei", "bash --norc -O extglob -o errexit -", ""])
def test_a_document_is_a_shells_script_whatever_its_options(shell: str) -> None:
    """Regression: with options it was not read, and nothing was said."""
    script = ("set -e", "pip install numpy>=1.26", "EOF")
    found = judged(docker("FROM python:3.12-slim", f"RUN <<EOF {shell}", *script))
    assert [(str(one.place), one.finding.cause) for one in found.findings] == [
        ("Dockerfile:4:13", "requirement-not-quoted")]


@pytest.mark.parametrize("shell", ["cat > /x", "bash -c 'echo hi'", "python3", "bash x.sh",
                                   "bash -l x.sh", "bash --rcfile x"])
def test_what_a_shell_does_not_run_is_no_script(shell: str) -> None:
    found = judged(docker("FROM python:3.12-slim", f"RUN {shell} <<EOF", "pip install numpy>=1.26", "EOF"))
    assert causes(found) == []


@pytest.mark.parametrize(("script", "places"), [
    ("|\n      set -e\n        true\n      pip install tensorflow==2.17.0 numpy>=1.26\n", ["10:19", "10:38"]),
    (">-\n      pip install\n      tensorflow==2.17.0\n      numpy>=1.26\n", ["9:7", "10:7"]),
    ('"pip install \\"tensorflow==2.17.0\\" numpy>=1.26"', ["7:21", "7:43"]),
    ('"set -e\\npip install tensorflow==2.17.0 numpy>=1.26"', ["7:28", "7:47"]),
    ("pip install tensorflow==2.17.0 numpy>=1.26", ["7:19", "7:38"]),
])
def test_each_word_of_a_script_in_yaml_has_its_place(script: str, places: list[str]) -> None:
    """Regression: all words of a block stood where it begins, and one of two findings there was lost."""
    found = judged({"pod.yaml": POD.format(script)})
    assert [f"{one.place.line}:{one.place.column}" for one in found.findings] == places
    assert causes(found) == ["pip-nvidia-libs-not-installed", "requirement-not-quoted"]
