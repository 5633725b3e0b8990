"""A shared snapshot names nobody, and gives the diagnosis that the machine itself gives."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.harness.interpreters import find_python
from tests.harness.machine import File
from tests.harness.nvidia import uuid
from tests.hosts.looking import COMMAND, HEALTHY, ROOT, RULES, arguments
from tests.shim import build

HOME = "/home/alice"
SECRETS = ("alice", "wonderland", uuid(0), uuid(0)[4:], "secret-flag", "looking-glass", "tea.party")
PARTED = "========"
SHIPPED_RULES = ROOT / "rules"


def patient_files() -> tuple[dict[str, str | bytes | File], dict[str, str]]:
    """Return the files and links of an environment in the home folder, with a CPU build of torch in it."""
    python = find_python("3.11")
    if python is None:
        pytest.skip("Python 3.11 is not installed here")
    venv = f"{HOME}/projects/wonderland/venv"
    packages = f"{venv}/lib/python3.11/site-packages"
    files: dict[str, str | bytes | File] = {
        f"{venv}/pyvenv.cfg": f"home = {python.parent}\n",
        f"{packages}/torch/__init__.py": "",
        f"{packages}/torch/version.py": "__version__ = '2.10.0+cpu'\ncuda = None\n",
        f"{packages}/torch-2.10.0+cpu.dist-info/METADATA": "Name: torch\nVersion: 2.10.0+cpu\n",
        f"{packages}/torch-2.10.0+cpu.dist-info/RECORD": "torch/version.py,,\n",
        f"{HOME}/projects/wonderland/random.py": "",
    }
    return files, {f"{venv}/bin/python": str(python.resolve())}


@cache
def snapshots() -> tuple[str, str]:
    """Return the snapshot of a machine as it is and as it is shared."""
    files, links = patient_files()
    machine = HEALTHY.adding(
        files=files,
        links=links,
        libraries={f"{HOME}/stubs/libcuda.so.1": build.stub_cuda()},
        environment={
            "HOME": HOME,
            "USER": "alice",
            "LD_LIBRARY_PATH": f"{HOME}/stubs:/usr/local/lib",
            "XLA_FLAGS": "secret-flag",
            "CUDA_VISIBLE_DEVICES": uuid(0),
            "CUDA_CACHE_PATH": "/srv/looking-glass/cache",
        },
    )
    machine = replace(machine, host_name="tea.party")
    options = f"--python {HOME}/projects/wonderland/venv --timeout 6"
    base = f"{shlex.join(COMMAND)} snapshot {options}"
    script = f"cd {HOME}/projects/wonderland; {base} && echo {PARTED} && {base} --share"
    done = machine.run(["sh", "-c", script], environment={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("redacted: ")  # of the second one
    whole, shared = done.stdout.split(PARTED)
    return whole, shared


def judged(snapshot: str, rules: Path) -> Mapping[str, Any]:
    """Return the report on a snapshot."""
    done = HEALTHY.adding(files={"/tmp/s.json": snapshot}).run(
        arguments("--from", "/tmp/s.json", rules=rules), cwd=str(ROOT)
    )
    assert done.returncode in (0, 1, 3), done.stderr
    report: Mapping[str, Any] = json.loads(done.stdout)
    return report


def outline(findings: list[dict[str, Any]]) -> list[Any]:
    """Return what a diagnosis says, without the paths it says it with."""
    return [
        (
            f["rule"],
            f["subject"],
            f["certainty"],
            f["severity"],
            [(x["kind"], x["risk"]) for x in f["fixes"]],
            outline(f["consequences"]),
        )
        for f in findings
    ]


def test_secrets_are_in_the_whole_snapshot() -> None:
    """The test of what is gone has something to find."""
    assert [secret for secret in SECRETS if secret not in snapshots()[0]] in ([], ["tea.party"])


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_private_is_left(secret: str) -> None:
    """Neither the user's name nor folders, UUIDs or values of variables are in a shared snapshot."""
    assert secret not in snapshots()[1]


@pytest.mark.parametrize("rules", [RULES, SHIPPED_RULES], ids=["of the tests", "shipped"])
def test_diagnosis_is_the_same(rules: Path) -> None:
    """The strangers who judge a shared snapshot come to the same findings and the same open questions."""
    whole, shared = (judged(snapshot, rules) for snapshot in snapshots())
    assert whole["findings"]
    assert outline(shared["findings"]) == outline(whole["findings"])
    assert shared["exit_code"] == whole["exit_code"]
    assert [(u["rule"], u["subject"]) for u in shared["undecided"]] == [
        (u["rule"], u["subject"]) for u in whole["undecided"]
    ]


def test_sharing_what_is_shared_changes_nothing_more() -> None:
    """The order of folders, and that two are the same, survives."""
    whole, shared = (json.loads(snapshot)["host"]["loader.library_path"]["value"] for snapshot in snapshots())
    assert len(whole) == len(shared)
    assert shared[1] == whole[1] == "/usr/local/lib"
    files = [record["path"] for record in json.loads(snapshots()[1])["host"]["loader.files"]["value"]]
    assert f"{shared[0]}/libcuda.so.1" in files
