"""Real TensorFlow where a library is there and what that one needs is not, or is another release."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frameworks.agreement import VERSIONS, ask_both, computer, hiding, library_path, searching
from tests.frameworks.tensorflow_itself import listed
from tests.harness.patient import Patient
from tests.machines.examination import EXIT_HEALTHY

NVJITLINK = "libnvJitLink.so.12"
each_version = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture
def patient(version: str, environment: Callable[[str], Patient]) -> Patient:
    """Return the environment with TensorFlow and its CUDA libraries."""
    return environment(f"tensorflow-{version}")


@pytest.fixture
def older(environment: Callable[[str], Patient]) -> Patient:
    """Return an environment with libraries of CUDA 12.1."""
    return environment("libraries of CUDA 12.1")


@each_version
def test_library_of_a_library_is_not_installed(version: str, patient: Patient) -> None:
    """cuSPARSE and cuSOLVER need nvJitLink, which TensorFlow never opens by itself."""
    metadata = patient.site_packages.glob("nvidia_nvjitlink_cu12-*.dist-info")
    machine = hiding(
        computer(patient), str(patient.site_packages / "nvidia" / "nvjitlink"), *map(str, metadata))
    both = ask_both(machine, patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert both.tensorflow.missed.keys() == {"libcusolver.so.11", "libcusparse.so.12"}
    assert both.tensorflow.culprits == {NVJITLINK}
    assert NVJITLINK in both.text, version


@each_version
def test_older_library_shadows_and_serves(version: str, patient: Patient, older: Patient) -> None:
    """TensorFlow takes the older CUDA runtime of LD_LIBRARY_PATH, and lists its GPU all the same."""
    folder = str(older.site_packages / "nvidia" / "cuda_runtime" / "lib")
    both = ask_both(searching(computer(patient), folder), patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert both.predicted["libcudart.so.12"] == f"{folder}/libcudart.so.12"
    assert both.fact("framework.libraries_shadowed") == ["libcudart.so.12"]
    assert both.doctor.exit_code == EXIT_HEALTHY, version


@each_version
def test_older_library_of_a_library_shadows(version: str, patient: Patient, older: Patient) -> None:
    """cuSPARSE asks nvJitLink for functions that the older one on LD_LIBRARY_PATH does not have."""
    folder = str(older.site_packages / "nvidia" / "nvjitlink" / "lib")
    both = ask_both(searching(computer(patient), folder), patient)
    both.assert_agree_on_files()
    assert both.tensorflow.culprits == {NVJITLINK}
    assert both.predicted[NVJITLINK] == f"{folder}/{NVJITLINK}"
    both.assert_agree_on_verdict()
    assert NVJITLINK in both.text, version
    assert folder in both.text


def test_2_21_does_not_find_its_own_cusolver(environment: Callable[[str], Patient]) -> None:
    """The fix that the doctor prints, applied word for word, makes TensorFlow list the GPU."""
    patient = environment("tensorflow-2.21")
    machine = computer(patient).adding(environment={"LD_LIBRARY_PATH": ""})
    both = ask_both(machine, patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert (both.tensorflow.gpus, both.tensorflow.culprits) == ((), {"libcusolver.so.11"})
    assert both.doctor.first["cause"] == "pip-nvidia-libs-not-found"
    assert "libcusolver.so.11" in both.doctor.first["message"]
    cured = listed(machine, patient, environment=both.doctor.fix["env"], whole=True)
    assert (len(cured.gpus), cured.missed) == (1, {})


def test_2_21_without_cudnn_and_without_its_own_cusolver(environment: Callable[[str], Patient]) -> None:
    """Both libraries are named, each with a fix; the second one alone would cure nothing."""
    patient = environment("tensorflow-2.21")
    machine = computer(patient).adding(environment={"LD_LIBRARY_PATH": ""})
    both = ask_both(hiding(machine, library_path(patient, "libcudnn.so.9")), patient)
    both.assert_agree_on_files()
    both.assert_agree_on_verdict()
    assert both.tensorflow.culprits == {"libcudnn.so.9", "libcusolver.so.11"}
    fixes = {finding["cause"]: bool(finding["fixes"]) for finding in both.doctor.findings}
    assert fixes == {"wheel-file-collision": True, "pip-nvidia-libs-not-found": True}
