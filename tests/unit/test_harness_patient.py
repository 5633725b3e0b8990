"""A patient is a real environment with the metadata of real wheels, and stand-ins for large libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.elf import place_standin
from tests.harness.interpreters import find_python
from tests.harness.machine import Machine
from tests.harness.patient import Patient


def output(*command: str) -> str:
    """Run a command on the host and return what it prints; it must succeed."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_a_stand_in_has_the_originals_dynamic_section(tmp_path: Path) -> None:
    """SONAME, RUNPATH and NEEDED can be read and are obeyed; the size is stretched without using space."""
    library = tmp_path / "lib" / "libfirst.so.2"
    place_standin(library, runpath="$ORIGIN/../other", needed=("libsecond.so.1",), size_bytes=500_000_000)
    place_standin(tmp_path / "other" / "libsecond.so.1")
    dynamic = output("readelf", "-d", str(library))
    for expected in ("RUNPATH", "[$ORIGIN/../other]", "[libsecond.so.1]", "soname: [libfirst.so.2]"):
        assert expected in dynamic
    assert (library.stat().st_size, library.stat().st_blocks < 100) == (500_000_000, True)
    program = f"import ctypes; print(ctypes.CDLL({str(library)!r}).gpudoctor_standin())"
    assert output(sys.executable, "-c", program) == "1\n"
    place_standin(library, rpath="/x")
    assert "(RPATH)" in output("readelf", "-d", str(library))


def test_a_patient_has_the_real_metadata(tmp_path: Path) -> None:
    """importlib.metadata in the patient's own Python sees the published version, its needs and its files."""
    patient = Patient.create(tmp_path / "venv", python="3.11")
    patient.install("nvidia-cublas-cu12", "12.9.1.4")
    program = """
import importlib.metadata as m, json, os
d = m.distribution("nvidia-cublas-cu12")
library = next(f for f in d.files if f.name == "libcublas.so.12")
print(json.dumps([d.version, d.requires, str(library), library.size == os.stat(library.locate()).st_size,
                  d.read_text("INSTALLER")]))
"""
    version, _, library, same_size, installer = json.loads(output(str(patient.python), "-c", program))
    assert (version, library) == ("12.9.1.4", "nvidia/cublas/lib/libcublas.so.12")
    assert (same_size, installer) == (True, "pip\n")


def test_a_patient_with_tensorflow_and_its_libraries(tmp_path: Path) -> None:
    """The extra's pins are followed, build_info.py is the published one, a machine sees it all."""
    patient = Patient.create(tmp_path / "venv", python="3.11")
    installed = patient.install_with_dependencies("tensorflow", "2.19.1", extras=("and-cuda",))
    assert installed["nvidia-cublas-cu12"] == "12.5.3.2"
    build_info = patient.site_packages / "tensorflow/python/platform/build_info.py"
    assert "is_cuda_build" in build_info.read_text()
    assert (patient.site_packages / "nvidia/cusolver/lib/libcusolver.so.11").exists()
    program = "import importlib.metadata as m; print(m.version('tensorflow'))"
    assert Machine().run([str(patient.python), "-c", program]).stdout == "2.19.1\n"


def test_a_patient_without_libraries_and_without_extras(tmp_path: Path) -> None:
    """libraries="none" leaves the metadata alone; a plain install brings no nvidia package."""
    patient = Patient.create(tmp_path / "venv", python="3.11")
    installed = patient.install_with_dependencies("tensorflow", "2.19.1", libraries="none", only="nvidia.*")
    assert installed == {"tensorflow": "2.19.1"}
    assert not list(patient.site_packages.glob("tensorflow/*.so*"))


def test_a_patient_whose_python_has_no_wheel(tmp_path: Path) -> None:
    """Where pip finds no matching distribution, so does the patient."""
    if find_python("3.13") is None:
        pytest.skip("Python 3.13 is not installed here")
    patient = Patient.create(tmp_path / "venv", python="3.13")
    with pytest.raises(LookupError, match=r"no wheel fits ==2\.19\.1 on Python 3\.13"):
        patient.install("tensorflow", "2.19.1")
