"""The machines, by name: what is in each, which environment is examined, and what is wrong with it.

Numbered names are the machines that the doctor was first built for; the others are ordinary ones of strangers.
A machine is built when it is asked for, because that needs a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.harness.machine import Machine
from tests.harness.nvidia import (
    A100, GTX_1080_TI, H100, L4, RTX_3090, RTX_4090, RTX_5090, V100, bare_machine, driverless_machine, nvidia_machine,
)
from tests.machines import parts

HEALTHY = "healthy"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One machine, the environment that is examined in it, and the right answer.

    cause: the slug of what is wrong, or HEALTHY. severity: how bad that is. needs_user: a user id to run as.
    """

    machine: Callable[[], Machine]
    patient: str
    cause: str = HEALTHY
    severity: str = "error"
    environment: Mapping[str, str] = field(default_factory=dict)

    def build(self) -> Machine:
        """Build the machine: on Debian 12, and with a loader cache of its own, not the host's."""
        machine = self.machine().adding(environment=self.environment)
        if "/etc/os-release" not in machine.files:
            machine = machine.adding(files={"/etc/os-release": parts.DEBIAN})
        return replace(machine, loader_cache=True)


def h100(driver: str = "580.95.05", cuda: int = 13000) -> Machine:
    """Return a machine with one H100, on R580 unless another driver is named."""
    return nvidia_machine(driver=driver, cuda=cuda, cards=[H100])


def l4() -> Machine:
    """Return a machine with one L4 on R580."""
    return nvidia_machine(driver="580.95.05", cuda=13000, cards=[L4])


FIRST: Mapping[str, Scenario] = {
    "1 no GPU, no driver": Scenario(
        machine=bare_machine, patient="torch for CUDA 13.2", cause="no-nvidia-gpu"),
    "2 H100, R580, CUDA 13.2": Scenario(machine=h100, patient="torch for CUDA 13.2"),
    "3 H100, R570, CUDA 13.2": Scenario(
        machine=lambda: h100("570.86.15", 12080), patient="torch for CUDA 13.2", cause="driver-too-old"),
    "4 nvidia-smi with the banner of 610": Scenario(
        machine=lambda: h100("610.43.02", 13030).adding(files=parts.NVIDIA_SMI_610), patient="torch for CUDA 13.2"),
    "4 no nvidia-smi": Scenario(machine=lambda: h100("610.43.02", 13030), patient="torch for CUDA 13.2"),
    "5 L4 without code of its own": Scenario(machine=l4, patient="torch for CUDA 13.2"),
    "5 RTX 4090 without code of its own": Scenario(
        machine=lambda: nvidia_machine(driver="580.95.05", cuda=13000, cards=[RTX_4090]),
        patient="torch for CUDA 13.2"),
    "6 V100, no code for it": Scenario(
        machine=lambda: nvidia_machine(driver="580.95.05", cuda=13000, cards=[V100], open_module=False),
        patient="torch for CUDA 13.2", cause="gpu-too-old-for-build"),
    "7 GPU and CPU-only torch": Scenario(
        machine=lambda: nvidia_machine(driver="580.95.05", cuda=13000, cards=[RTX_3090]),
        patient="torch without CUDA", cause="cpu-only-build"),
    "8 kernel module and libraries differ": Scenario(
        machine=parts.mismatched, patient="torch for CUDA 12.8", cause="driver-kernel-userspace-mismatch"),
    "9 libcuda absent": Scenario(
        machine=lambda: h100().without(*parts.libcuda_files("580.95.05")), patient="torch for CUDA 13.2",
        cause="libcuda-not-on-loader-path"),
    "10 plain tensorflow": Scenario(
        machine=l4, patient="tensorflow 2.21", cause="pip-nvidia-libs-not-installed"),
    "10 plain tensorflow, the release before": Scenario(
        machine=l4, patient="tensorflow 2.20", cause="pip-nvidia-libs-not-installed"),
    "11 CUDA_VISIBLE_DEVICES is empty": Scenario(
        machine=h100, patient="torch for CUDA 13.2", environment={"CUDA_VISIBLE_DEVICES": ""},
        cause="cuda-visible-devices"),
    "12 802 on a machine with NVSwitch": Scenario(
        machine=parts.nvswitch_machine, patient="torch for CUDA 13.2", cause="fabric-manager-missing"),
    "12 803 by cuda-compat": Scenario(
        machine=lambda: h100("570.86.15", 12080).adding(shim="compat.rc.cuInit=803"),
        patient="torch for CUDA 12.8", cause="cuda-compat-shadows-libcuda",
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/compat"}),
    "12 803 by an update without a reboot": Scenario(
        machine=lambda: parts.mismatched().without(*parts.nvml_files("570.124.06")),
        patient="torch for CUDA 12.8", cause="driver-kernel-userspace-mismatch"),
    "13 Python 3.13": Scenario(machine=h100, patient="torch for CUDA 13.2, Python 3.13"),
    "14 A100, R470, working cuda-compat": Scenario(
        machine=lambda: nvidia_machine(driver="470.256.02", cuda=11040, cards=[A100], open_module=False),
        patient="torch for CUDA 12.8", environment={"LD_LIBRARY_PATH": "/usr/local/cuda-12.8/compat"}),
}
