"""Real TensorFlow without one of its CUDA libraries: the doctor names what TensorFlow's own log names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frameworks.agreement import (
    LIBRARIES, VERSIONS, ask_both, computer, hiding, library_path, searching,
)
from tests.frameworks.tensorflow_itself import listed
from tests.harness.patient import Patient
from tests.machines.examination import EXIT_HEALTHY
from tests.shim import build

each_version = pytest.mark.parametrize("version", VERSIONS)
each_library = pytest.mark.parametrize("library", LIBRARIES)
OTHER = "/opt/other"
# libcublas, which is opened before it, has a DT_RPATH to its own folder, and that outranks LD_LIBRARY_PATH.
FOUND_BY_A_NEIGHBOUR = {"libcublasLt.so.12"}


@pytest.fixture
def patient(version: str, environment: Callable[[str], Patient]) -> Patient:
    """Return the environment with TensorFlow and its CUDA libraries."""
    return environment(f"tensorflow-{version}")


@each_version
def test_everything_is_found(version: str, patient: Patient) -> None:
    """TensorFlow lists the GPU and opens the files that the doctor says it opens."""
    both = ask_both(computer(patient), patient)
    both.assert_agree_on_files()
    assert (len(both.tensorflow.gpus), both.tensorflow.missed) == (1, {})
    assert set(LIBRARIES) <= both.tensorflow.opened & set(both.predicted)
    assert both.doctor.report["verdict"] == "healthy", version


@each_version
def test_the_runtime_alone_says_what_the_whole_package_says(version: str, patient: Patient) -> None:
    """So that the other tests may leave out seconds of Python imports."""
    machine = hiding(computer(patient), library_path(patient, "libcufft.so.11"))
    alone, whole = listed(machine, patient), listed(machine, patient, whole=True)
    assert (alone.gpus, alone.opened, alone.missed) == (whole.gpus, whole.opened, whole.missed), version
    assert alone.missed.keys() == {"libcufft.so.11"}


@each_library
@each_version
def test_file_is_gone(version: str, patient: Patient, library: str) -> None:
    """The package is installed but one of its files is not there."""
    both = ask_both(hiding(computer(patient), library_path(patient, library)), patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert both.tensorflow.culprits == {library}
    assert LIBRARIES[library].replace("_", "-") in both.text, version


@each_library
@each_version
def test_package_is_not_installed(version: str, patient: Patient, library: str) -> None:
    """Neither files nor metadata are there."""
    package = LIBRARIES[library]
    metadata = patient.site_packages.glob(f"nvidia_{package}_cu12-*.dist-info")
    paths = [str(patient.site_packages / "nvidia" / package), *map(str, metadata)]
    both = ask_both(hiding(computer(patient), *paths), patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert library in both.text, version


@each_library
@each_version
def test_file_is_empty(version: str, patient: Patient, library: str) -> None:
    """A full disk or a broken copy leaves a file without content."""
    machine = computer(patient).adding(libraries={library_path(patient, library): build.empty()})
    both = ask_both(machine, patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert library in both.text, version
    assert all(words.endswith("file too short") for words in both.tensorflow.missed.values())


@each_library
@each_version
def test_empty_file_shadows(version: str, patient: Patient, library: str) -> None:
    """The loader does not go on to the next folder when the first file is no library."""
    machine = searching(computer(patient), OTHER).adding(libraries={f"{OTHER}/{library}": build.empty()})
    both = ask_both(machine, patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    if library in FOUND_BY_A_NEIGHBOUR:
        assert (len(both.tensorflow.gpus), both.doctor.exit_code) == (1, EXIT_HEALTHY), version
    else:
        assert both.tensorflow.culprits == {library}
        assert library in both.text
        assert OTHER in both.text
