"""Real TensorFlow under drivers and cards that do not serve it: what it says, and what the doctor says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frameworks.agreement import R580, VERSIONS, ask_both, computer
from tests.frameworks.tensorflow_itself import listed
from tests.harness.nvidia import A100, B200, GTX_1080_TI, H100, K80, L4, RTX_3090, RTX_5090, T4, V100, Card
from tests.harness.patient import Patient
from tests.machines import parts
from tests.machines.examination import EXIT_HEALTHY

each_version = pytest.mark.parametrize("version", VERSIONS)
GTX_980 = K80.having(name="NVIDIA GeForce GTX 980", cc="5.2")


@pytest.fixture
def patient(version: str, environment: Callable[[str], Patient]) -> Patient:
    """Return the environment with TensorFlow and its CUDA libraries."""
    return environment(f"tensorflow-{version}")


@pytest.mark.parametrize(("code", "cause"), [
    (100, "gpu-hardware-not-enumerated"), (803, "driver-kernel-userspace-mismatch"),
    (804, "forward-compat-on-unsupported-gpu"), (999, "suspend-resume-uvm"),
])
@each_version
def test_cuinit_fails(version: str, patient: Patient, code: int, cause: str) -> None:
    """The doctor saw the error that TensorFlow's log names, and gives its cause."""
    both = ask_both(computer(patient).adding(shim=f"rc.cuInit={code}"), patient)
    (said,) = both.tensorflow.cuinit
    assert said.partition(":")[0] == both.doctor.host("cuda.init_name")
    assert both.doctor.host("cuda.init_code") == code
    assert (both.tensorflow.gpus, both.doctor.first["cause"]) == ((), cause), version


@each_version
def test_no_libcuda(version: str, patient: Patient) -> None:
    """TensorFlow names the library only at its highest verbosity; its log has an error without a name."""
    both = ask_both(computer(patient).without(*parts.libcuda_files(R580)), patient)
    assert both.tensorflow.cuinit == {"UNKNOWN ERROR (303)"}
    assert both.tensorflow.culprits == {"libcuda.so.1"}
    assert both.doctor.first["cause"] == "libcuda-not-on-loader-path", version
    assert "libcuda.so.1" in both.doctor.first["message"]


@pytest.mark.parametrize("version", ["2.20"])
def test_2_20_does_without_nvml(version: str, patient: Patient) -> None:
    """It never opens the library."""
    both = ask_both(computer(patient).without(*parts.nvml_files(R580)), patient)
    both.assert_agree_on_verdict()
    assert (len(both.tensorflow.gpus), both.doctor.exit_code) == (1, EXIT_HEALTHY), version


@pytest.mark.parametrize("version", ["2.21"])
def test_2_21_says_nothing_without_nvml(version: str, patient: Patient) -> None:
    """No GPU, and at the verbosity that users have not a line about it: the doctor names the library."""
    machine = computer(patient).without(*parts.nvml_files(R580))
    both = ask_both(machine, patient)
    both.assert_agree_on_verdict()
    assert both.tensorflow.culprits == {"libnvidia-ml.so.1"}, version
    assert "libnvidia-ml.so.1" in both.doctor.first["message"]
    as_users_have_it = listed(machine, patient, verbosity=0)
    assert as_users_have_it.gpus == ()
    assert "nvidia-ml" not in as_users_have_it.log
    assert "GPU" not in as_users_have_it.log.replace("cpu_feature_guard", "")


@pytest.mark.parametrize("card", [GTX_980, K80], ids=lambda card: str(card.name))
@each_version
def test_card_is_too_old(version: str, patient: Patient, card: Card) -> None:
    """TensorFlow promises to compile from PTX, though its PTX is for newer cards; the doctor does not."""
    both = ask_both(computer(patient, card=card), patient)
    assert both.tensorflow.architectures == {card.extra.get("cc", card.compute_capability)}
    assert len(both.tensorflow.gpus) == 1
    assert [f["cause"] for f in both.doctor.findings] == ["gpu-too-old-for-build"], version


@pytest.mark.parametrize("card", [B200, RTX_5090], ids=lambda card: str(card.name))
@each_version
def test_card_is_too_new(version: str, patient: Patient, card: Card) -> None:
    """TensorFlow warns and lists it."""
    both = ask_both(computer(patient, card=card), patient)
    assert both.tensorflow.architectures == {card.compute_capability}
    assert len(both.tensorflow.gpus) == 1
    assert [f["cause"] for f in both.doctor.findings] == ["gpu-too-new-for-build"], version


@pytest.mark.parametrize("card", [T4, A100, RTX_3090, L4, H100], ids=lambda card: str(card.name))
@each_version
def test_card_is_served(version: str, patient: Patient, card: Card) -> None:
    """Neither TensorFlow nor the doctor has anything to say."""
    both = ask_both(computer(patient, card=card), patient)
    assert (len(both.tensorflow.gpus), both.tensorflow.architectures) == (1, set())
    assert both.doctor.report["verdict"] == "healthy", version


@pytest.mark.parametrize("card", [V100, GTX_1080_TI], ids=lambda card: str(card.name))
@each_version
def test_card_that_cudnn_dropped(version: str, patient: Patient, card: Card) -> None:
    """TensorFlow has code for it and does not warn; the cuDNN beside it has none, which only shows later."""
    both = ask_both(computer(patient, card=card), patient)
    assert (len(both.tensorflow.gpus), both.tensorflow.architectures) == (1, set())
    assert [f["cause"] for f in both.doctor.findings] == ["cudnn-dropped-gpu"], version


@pytest.mark.parametrize(("driver", "cuda", "card", "cause"), [
    ("450.248.02", 11000, L4, "driver-too-old"), ("470.256.02", 11040, L4, "driver-too-old"),
    ("535.261.03", 12020, H100, "ptx-isa-newer-than-driver"),
])
@each_version
def test_driver_is_too_old(
    version: str, patient: Patient, driver: str, cuda: int, card: Card, cause: str
) -> None:
    """TensorFlow lists the GPU under a driver that cannot run its code; only the doctor says so."""
    both = ask_both(computer(patient, card=card, driver=driver, cuda=cuda), patient)
    both.assert_agree_on_files()
    assert (len(both.tensorflow.gpus), both.tensorflow.cuinit) == (1, set())
    assert [f["cause"] for f in both.doctor.findings] == [cause], version
