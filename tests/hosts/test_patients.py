"""Patients that are no Python, an old one, or one that never answers: the rest of the machine is examined."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.interpreters import find_python
from tests.harness.machine import File, Machine
from tests.harness.patient import Patient
from tests.hosts.in_process import Gpudoctor
from tests.hosts.looking import COMMAND, HEALTHY, ROOT, Looked, changed, healthy, look, of_probe

OF_THE_PATIENT = of_probe("python", "frameworks") | {
    "loader.files",
    "loader.library_path",
    "require.without_wheel",
}
INPUT = 4
PROGRAMS = {
    "a shell script": File(content="#!/bin/sh\ntouch /tmp/harm\n", mode=0o755),
    "a text file": File(content="import torch\n", mode=0o755),
    "another program": File(content=Path("/bin/true").read_bytes(), mode=0o755),
}
# Named like an interpreter, so that they are started.
IMPOSTORS = {
    "one that never answers": "#!/bin/sh\nsleep 1000 & sleep 1000\n",
    "one that prints": "#!/bin/sh\nhead -c 50000000 /dev/zero | tr '\\0' x; exit 0\n",
    "one that fails": "#!/bin/sh\necho 'error: bad interpreter' >&2; exit 3\n",
    "one that dies": "#!/bin/sh\nkill -SEGV $$\n",
    "one without an interpreter": "#!/nowhere/python\n",
    "one that answers nonsense": "#!/bin/sh\necho '[1, {\"python\": 7}]' >/dev/fd/$3\n",
}


def without_patient(machine: Machine, *arguments: str, timeout_seconds: float = 6.0) -> Looked:
    """Look at a machine whose patient cannot be examined: all that is not the patient's is as ever."""
    seen = look(machine, *arguments, timeout_seconds=timeout_seconds)
    assert changed(healthy(), seen) <= OF_THE_PATIENT
    assert "unknown" in seen.fact("python.version")
    assert "unknown" in seen.report["snapshot"]["frameworks"]
    assert seen.fact("cuda.init_code") == healthy().fact("cuda.init_code")
    return seen


@pytest.mark.parametrize("kind", PROGRAMS)
def test_patient_that_is_no_python(kind: str) -> None:
    """What is no Python is not started: one line, as for every other input that cannot be used."""
    machine = HEALTHY.adding(files={"/opt/patient": PROGRAMS[kind]})
    ended = machine.run([*COMMAND, "check", "--python", "/opt/patient"], cwd=str(ROOT), timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (INPUT, "", 1), ended.stderr
    assert "/opt/patient is no Python" in ended.stderr


@pytest.mark.parametrize("command", ["check", "fix", "env", "recommend", "snapshot"])
@pytest.mark.parametrize("path", ["/etc", "/nowhere/python", "/dev/null"])
def test_patient_that_is_nothing_of_the_kind(path: str, command: str, gpudoctor: Gpudoctor) -> None:
    """A folder without an environment, a path that leads nowhere, a device: said, and not opened.

    A report that said at its end that "something could not be seen" was taken for one about that Python.
    """
    ended = gpudoctor(command, "--python", path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (INPUT, "", 1), ended.stderr
    assert path in ended.stderr


@pytest.mark.parametrize("kind", IMPOSTORS)
def test_patient_that_only_looks_like_python(kind: str) -> None:
    """A program of Python's name that does something else costs its own facts and at most one limit."""
    machine = HEALTHY.adding(files={"/opt/python3": File(content=IMPOSTORS[kind], mode=0o755)})
    seen = without_patient(machine, "--python", "/opt/python3", timeout_seconds=3)
    expected = {
        "one that never answers": "timeout",
        "one that prints": "garbled",
        "one that fails": "exit",
        "one that dies": "not-started",  # it had not come to the collector
        "one without an interpreter": "not-started",
    }
    assert seen.outcomes["frameworks"] == expected.get(kind, "ok")
    if kind == "one that fails":
        assert "bad interpreter" in seen.fact("python.version")["unknown"]


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.13"])
def test_patient_of_another_age(version: str) -> None:
    """Python 3.6 is examined like any other; Python 2 is said to be too old, in words."""
    interpreter = find_python(version)
    if interpreter is None:
        pytest.skip(f"Python {version} is not installed here")
    seen = look(HEALTHY, "--python", str(interpreter))
    assert changed(healthy(), seen) <= OF_THE_PATIENT
    assert seen.fact("cuda.init_code") == healthy().fact("cuda.init_code")
    if version == "2.7":
        assert "this is Python 2.7" in seen.fact("python.version")["unknown"]
    else:
        assert seen.fact("python.version")["value"].startswith(version + ".")
        assert seen.report["snapshot"]["frameworks"] == []


HARM = "raise SystemExit(99)\n"  # whoever runs it instead of reading it ends then and there


def test_patient_full_of_junk(patient: Patient) -> None:
    """Half-removed and hostile packages are read as far as they can be, and nothing of them is run."""
    junk(patient)
    try:
        running = look(HEALTHY, "--python", str(patient.python), timeout_seconds=10)
        assert changed(healthy(), running) <= OF_THE_PATIENT
        assert running.outcomes["frameworks"] == "ok"
        assert running.fact("python.version")["value"].startswith("3.11.")
        named = {
            facts["framework.name"]["value"]: facts for facts in running.report["snapshot"]["frameworks"]
        }
        assert named["tensorflow"]["framework.version"]["value"] == "2.20.0"
        assert named["torch"]["framework.version"]["value"] == "2.10.0"
        assert "build_info" not in json.dumps(named["tensorflow"]["framework.build"].get("value", ""))
    finally:
        for name in os.listdir(patient.site_packages):
            path = patient.site_packages / name
            patient.remove(name) if path.is_dir() or path.is_file() else path.unlink()


def junk(patient: Patient) -> None:
    """Fill an environment with what interrupted installations and unkind people leave."""
    add = patient.add_file
    add("no_metadata-1.0.dist-info/INSTALLER", "pip\n")
    add("nvidia_cudnn_cu12-9.1.dist-info/METADATA", b"\xff\xfe\x00junk\n" * 1000)
    add("nvidia_cublas_cu12-.dist-info/METADATA", "")
    add("-1.0.dist-info/METADATA", "Name: \n")
    add("~orch-2.9.0.dist-info/METADATA", "Name: torch\nVersion: 2.9.0\n")
    add("torch-2.10.0.dist-info/METADATA", "Name: torch\nVersion: 2.10.0\n\n" + "x" * 50_000_000)
    add(
        "torch-2.10.0.dist-info/RECORD",
        "torch/version.py,sha256=nonsense,\xff\ntorch/lib/libtorch_cuda.so,,\n,,,\n",
    )
    add("torch/__init__.py", HARM)
    add("torch/version.py", HARM + "__version__ = '2.10.0'\ncuda = '12.8'\n")
    add("tensorflow-2.20.0.dist-info/METADATA", "Name: tensorflow\nVersion: 2.20.0\n")
    os.mkfifo(patient.site_packages / "tensorflow-2.20.0.dist-info" / "RECORD")
    add("tensorflow/__init__.py", HARM)
    add(
        "tensorflow/python/platform/build_info.py",
        HARM + "build_info = {'cuda_version': __import__('os').getcwd()}\n",
    )
    add("tensorflow/libtensorflow_framework.so.2", b"\x7fELF" + b"\xff" * 60)
    add("nvidia/cudnn/lib/libcudnn.so.9", b"\x7fELF" + b"\0" * 5)
    (patient.site_packages / "nvidia" / "loop").symlink_to("..")
    (patient.site_packages / "nvidia" / "self").symlink_to("self")
    (patient.site_packages / "jax").symlink_to("/dev/zero")
    add("sitecustomize.py", "import sys\nsys.stderr.write('hello from sitecustomize\\n')\n")
    add("broken.pth", "/nowhere\nimport nonsense_that_is_not_there\n")


def test_patient_that_cannot_start(tmp_path: Path) -> None:
    """An environment whose own files stop Python is said to be that, with Python's own last words."""
    broken = Patient.create(tmp_path / "venv", python="3.11")
    broken.add_file("broken.pth", b"\xff\xfe\n")
    seen = without_patient(HEALTHY, "--python", str(broken.python))
    assert seen.outcomes["frameworks"] == "exit"
    assert "UnicodeDecodeError" in seen.fact("python.version")["unknown"]


def test_patient_without_ctypes_costs_no_driver_facts(tmp_path: Path) -> None:
    """A Python that was built without libffi cannot load libcuda; the doctor's own asks in its place."""
    patient = Patient.create(tmp_path / "venv", python="3.11")
    patient.add_file("sitecustomize.py", b"import sys\nsys.modules['_ctypes'] = None\n")
    seen = look(HEALTHY, "--python", str(patient.python))
    assert changed(healthy(), seen) <= OF_THE_PATIENT
    assert seen.fact("python.version")["value"].startswith("3.11")
    assert seen.fact("cuda.init_code") == healthy().fact("cuda.init_code")
