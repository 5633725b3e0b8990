"""The machines, by name: what is in each, which environment is examined, and what is wrong with it.

Numbered names are the machines that the doctor was first built for; the others are ordinary ones of
strangers. A machine is built when it is asked for, because that needs a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.harness.machine import Machine
from tests.harness.nvidia import (
    A100, B200, GTX_1080_TI, H100, L4, RTX_3090, RTX_4090, RTX_5090, T4, V100, Card, bare_machine,
    driverless_machine, nvidia_machine, uuid,
)
from tests.harness.patient import Patient
from tests.machines import parts
from tests.shim import build

HEALTHY = "healthy"
R580 = "580.95.05"
TORCH_CUDA_13 = "torch for CUDA 13.2"
TORCH_CUDA_12 = "torch for CUDA 12.8"
TENSORFLOW_2_21 = "tensorflow 2.21 and its libraries"
CUSOLVER_FOUND = {"LD_LIBRARY_PATH": "{site_packages}/nvidia/cusolver/lib"}
TENSORFLOW_2_20 = "tensorflow 2.20 and its libraries"
COMPAT_13 = "/usr/local/cuda-13.0/compat"
COMPAT_12 = "/usr/local/cuda-12.8/compat"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One machine, the environment that is examined in it, and the right answer.

    cause: the slug of what is wrong, or HEALTHY. severity: how bad that is. launcher: a command that starts
    the doctor with other rights. In environment, {site_packages} is the patient's folder.
    """

    machine: Callable[[], Machine]
    patient: str
    cause: str = HEALTHY
    severity: str = "error"
    launcher: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def build(self, patient: Patient) -> Machine:
        """Build the machine: on Debian 12, and with a loader cache of its own, not the host's."""
        environment = {
            name: value.replace("{site_packages}", str(patient.site_packages))
            for name, value in self.environment.items()}
        machine = self.machine().adding(environment=environment)
        if "/etc/os-release" not in machine.files:
            machine = machine.adding(files={"/etc/os-release": parts.DEBIAN})
        return replace(machine, loader_cache=True)


def r580(*cards: Card) -> Machine:
    """Return a machine with these cards under R580, which runs CUDA 13."""
    return nvidia_machine(driver=R580, cuda=13000, cards=cards)


def r570(*cards: Card) -> Machine:
    """Return a machine with these cards under R570, which runs CUDA 12.8."""
    return nvidia_machine(driver="570.86.15", cuda=12080, cards=cards)


def r535(*cards: Card) -> Machine:
    """Return a machine with these cards under R535, which runs CUDA 12.2."""
    return nvidia_machine(driver="535.261.03", cuda=12020, cards=cards)


def proprietary(driver: str, cuda: int, *cards: Card) -> Machine:
    """Return a machine with these cards under the proprietary module, which cards before Turing need."""
    return nvidia_machine(driver=driver, cuda=cuda, cards=cards, open_module=False)


def r610() -> Machine:
    """Return a machine with an H100 under R610, whose nvidia-smi words its banner anew."""
    return nvidia_machine(driver="610.43.02", cuda=13030, cards=[H100])


FIRST: Mapping[str, Scenario] = {
    "1 no GPU, no driver": Scenario(
        machine=bare_machine, patient=TORCH_CUDA_13, cause="no-nvidia-gpu"),
    "2 H100, R580, CUDA 13.2": Scenario(machine=lambda: r580(H100), patient=TORCH_CUDA_13),
    "3 H100, R570, CUDA 13.2": Scenario(
        machine=lambda: r570(H100), patient=TORCH_CUDA_13, cause="driver-too-old"),
    "4 nvidia-smi with the banner of 610": Scenario(
        machine=lambda: r610().adding(files=parts.NVIDIA_SMI_610), patient=TORCH_CUDA_13),
    "4 no nvidia-smi": Scenario(machine=r610, patient=TORCH_CUDA_13),
    "5 L4 without code of its own": Scenario(machine=lambda: r580(L4), patient=TORCH_CUDA_13),
    "5 RTX 4090 without code of its own": Scenario(
        machine=lambda: r580(RTX_4090),
        patient=TORCH_CUDA_13),
    "6 V100, no code for it": Scenario(
        machine=lambda: proprietary(R580, 13000, V100),
        patient=TORCH_CUDA_13, cause="gpu-too-old-for-build"),
    "7 GPU and CPU-only torch": Scenario(
        machine=lambda: r580(RTX_3090),
        patient="torch without CUDA", cause="cpu-only-build"),
    "8 kernel module and libraries differ": Scenario(
        machine=parts.mismatched, patient=TORCH_CUDA_12, cause="driver-kernel-userspace-mismatch"),
    "9 libcuda absent": Scenario(
        machine=lambda: r580(H100).without(*parts.libcuda_files(R580)), patient=TORCH_CUDA_13,
        cause="libcuda-not-on-loader-path"),
    "10 plain tensorflow": Scenario(
        machine=lambda: r580(L4), patient="tensorflow 2.21", cause="pip-nvidia-libs-not-installed"),
    "10 plain tensorflow, the release before": Scenario(
        machine=lambda: r580(L4), patient="tensorflow 2.20", cause="pip-nvidia-libs-not-installed"),
    "11 CUDA_VISIBLE_DEVICES is empty": Scenario(
        machine=lambda: r580(H100), patient=TORCH_CUDA_13, environment={"CUDA_VISIBLE_DEVICES": ""},
        cause="cuda-visible-devices"),
    "12 802 on a machine with NVSwitch": Scenario(
        machine=parts.nvswitch_machine, patient=TORCH_CUDA_13, cause="fabric-manager-missing"),
    "12 803 by cuda-compat": Scenario(
        machine=lambda: parts.with_compat(
            r570(H100).adding(shim="compat.rc.cuInit=803"), COMPAT_13, R580,
            13000),
        patient=TORCH_CUDA_12, cause="cuda-compat-shadows-libcuda",
        environment={"LD_LIBRARY_PATH": COMPAT_13}),
    "12 803 by an update without a reboot": Scenario(
        machine=lambda: parts.mismatched().without(*parts.nvml_files("570.124.06")),
        patient=TORCH_CUDA_12, cause="driver-kernel-userspace-mismatch"),
    "13 Python 3.13": Scenario(machine=lambda: r580(H100), patient="torch for CUDA 13.2, Python 3.13"),
    "14 A100, R470, working cuda-compat": Scenario(
        machine=lambda: parts.with_compat(
            proprietary("470.256.02", 11040, A100),
            COMPAT_12, "570.86.15", 12080),
        patient=TORCH_CUDA_12, environment={"LD_LIBRARY_PATH": COMPAT_12}),
}

OTHERS: Mapping[str, Scenario] = {
    "card without a driver": Scenario(
        machine=lambda: driverless_machine([RTX_3090]), patient=TORCH_CUDA_13, cause="driver-not-installed"),
    "WSL2": Scenario(machine=lambda: parts.wsl([RTX_4090]), patient=TORCH_CUDA_13),
    "container with a GPU": Scenario(
        machine=lambda: parts.container(
            r580(H100), NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility"),
        patient=TORCH_CUDA_13),
    "container without --gpus": Scenario(
        machine=lambda: parts.container_without_gpu([H100]), patient=TORCH_CUDA_13,
        cause="docker-no-gpu-flag"),
    "container on a machine without a GPU": Scenario(
        machine=lambda: parts.container(bare_machine()), patient=TORCH_CUDA_13, cause="no-nvidia-gpu"),
    "container without compute": Scenario(
        machine=lambda: parts.container(
            r580(H100).without(*parts.libcuda_files(R580)), NVIDIA_VISIBLE_DEVICES="all",
            NVIDIA_DRIVER_CAPABILITIES="utility"),
        patient=TORCH_CUDA_13, cause="docker-driver-capabilities"),
    "container without utility": Scenario(
        machine=lambda: parts.container(
            r580(H100).without(*parts.nvml_files(R580)), NVIDIA_VISIBLE_DEVICES="all",
            NVIDIA_DRIVER_CAPABILITIES="compute"),
        patient=TENSORFLOW_2_21, cause="docker-driver-capabilities", environment=CUSOLVER_FOUND),
    "MIG with two instances": Scenario(
        machine=lambda: r580(A100.having(mig=1, mig_max=7, mig_instances=2)),
        patient=TORCH_CUDA_13),
    "MIG without instances": Scenario(
        machine=lambda: r580(A100.having(mig=1, mig_max=7, mig_instances=0)),
        patient=TORCH_CUDA_13, cause="mig-misconfigured"),
    "two cards, one too old": Scenario(
        machine=lambda: proprietary(R580, 13000, RTX_4090, GTX_1080_TI),
        patient=TORCH_CUDA_13, cause="gpu-too-old-for-build"),
    "card lost midway": Scenario(
        machine=lambda: r580(H100, H100).adding(
            shim="gpu.1.lost_after=nvmlDeviceGetUUID\ngpu.1.cuda_hidden=1"),
        patient=TORCH_CUDA_13, cause="gpu-fell-off-bus"),
    "card on nouveau, without a driver": Scenario(
        machine=lambda: parts.held_by(driverless_machine([RTX_3090]), "nouveau"), patient=TORCH_CUDA_13,
        cause="driver-not-installed"),
    "nouveau holds the card": Scenario(
        machine=lambda: parts.held_by(
            parts.without_module([RTX_3090], on_disk_for=parts.running_kernel()), "nouveau"),
        patient=TORCH_CUDA_12, cause="nouveau-conflict"),
    "module for another kernel": Scenario(
        machine=lambda: parts.without_module([RTX_3090], on_disk_for="6.1.0-9-amd64"),
        patient=TORCH_CUDA_12, cause="driver-module-not-loaded"),
    "Secure Boot refuses the module": Scenario(
        machine=lambda: parts.without_module([RTX_3090], on_disk_for=parts.running_kernel()).adding(
            files=parts.secure_boot(on=True)),
        patient=TORCH_CUDA_12, cause="secure-boot-unsigned-module"),
    "nvidia-uvm missing": Scenario(
        machine=parts.without_uvm, patient=TORCH_CUDA_13, cause="nvidia-uvm-missing"),
    "nodes not permitted": Scenario(
        machine=lambda: parts.denied(r580(H100), [H100]), patient=TORCH_CUDA_13, cause="device-permission",
        launcher=parts.WITHOUT_PRIVILEGE),
    "stub libcuda first": Scenario(
        machine=lambda: r580(H100).adding(
            libraries={"/usr/local/cuda-13.0/lib64/stubs/libcuda.so.1": build.stub_cuda()},
            environment={"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64/stubs"}),
        patient=TORCH_CUDA_13, cause="libcuda-stub-loaded"),
    "cuda-compat on a GeForce": Scenario(
        machine=lambda: parts.with_compat(
            r570(RTX_4090).adding(shim="compat.rc.cuInit=804"), COMPAT_13, R580, 13000),
        patient=TORCH_CUDA_12, environment={"LD_LIBRARY_PATH": COMPAT_13},
        cause="forward-compat-on-unsupported-gpu"),
    "TensorFlow 2.20 and its libraries": Scenario(machine=lambda: r580(L4), patient=TENSORFLOW_2_20),
    "TensorFlow 2.21 does not find its cuSOLVER": Scenario(
        machine=lambda: r580(L4), patient=TENSORFLOW_2_21,
        cause="pip-nvidia-libs-not-found"),
    "TensorFlow's PTX is newer than R535": Scenario(
        machine=lambda: r535(H100),
        patient=TENSORFLOW_2_20, cause="ptx-isa-newer-than-driver"),
    "TensorFlow on a Blackwell card": Scenario(
        machine=lambda: r580(RTX_5090),
        patient=TENSORFLOW_2_20, cause="gpu-too-new-for-build"),
    "torch for CUDA 12.4 on a Blackwell card": Scenario(
        machine=lambda: r580(RTX_5090),
        patient="torch for CUDA 12.4", cause="gpu-too-new-for-build"),
    "two distributions own cuDNN": Scenario(
        machine=lambda: r580(L4), patient="tensorflow 2.20 and torch 2.15", cause="wheel-file-collision",
        severity="warning"),
    "one distribution took the other's cuDNN along": Scenario(
        machine=lambda: r580(L4), patient="tensorflow 2.20 without its cuDNN files",
        cause="wheel-file-collision"),
    "V100, R450, torch for CUDA 12.4": Scenario(
        machine=lambda: proprietary("450.248.02", 11000, V100), patient="torch for CUDA 12.4",
        cause="driver-too-old"),
    "V100 without a driver": Scenario(
        machine=lambda: driverless_machine([V100]), patient=TORCH_CUDA_13, cause="driver-not-installed"),
    "V100 and plain tensorflow": Scenario(
        machine=lambda: proprietary(R580, 13000, V100), patient="tensorflow 2.20",
        cause="pip-nvidia-libs-not-installed"),
    "V100 and a fresh TensorFlow": Scenario(
        machine=lambda: proprietary(R580, 13000, V100), patient=TENSORFLOW_2_20, cause="cudnn-dropped-gpu"),
    "cuDNN 9 under a TensorFlow for cuDNN 8": Scenario(
        machine=lambda: r580(T4), patient="tensorflow 2.17 with cuDNN 9", cause="cudnn-wrong-major"),
    "no framework": Scenario(
        machine=lambda: r580(H100), patient="nothing", cause="framework-not-installed", severity="info"),
    "only an AMD card": Scenario(machine=parts.amd_machine, patient=TORCH_CUDA_13, cause="no-nvidia-gpu"),
    "CUDA_VISIBLE_DEVICES names no card": Scenario(
        machine=lambda: r580(H100, H100),
        patient=TORCH_CUDA_13, environment={"CUDA_VISIBLE_DEVICES": "5"}, cause="cuda-visible-devices"),
    "CUDA_VISIBLE_DEVICES names one card of two": Scenario(
        machine=lambda: r580(H100, H100),
        patient=TORCH_CUDA_13, environment={"CUDA_VISIBLE_DEVICES": "1"}),
    "an exclusive card is taken": Scenario(
        machine=lambda: r580(H100.having(compute_mode=3, processes="812:4294967296")),
        patient=TORCH_CUDA_13, cause="compute-mode-exclusive", severity="warning"),
    "jax without its CUDA plugin": Scenario(
        machine=lambda: r580(H100), patient="jax alone", cause="jax-cuda-plugin-missing"),
    "jax without its CUDA plugin, R570": Scenario(
        machine=lambda: r570(A100), patient="jax alone", cause="jax-cuda-plugin-missing"),
    "Ubuntu, RTX 3090, R535, torch for CUDA 13.2": Scenario(
        machine=lambda: r535(RTX_3090).adding(files={"/etc/os-release": parts.UBUNTU}), patient=TORCH_CUDA_13,
        cause="driver-too-old"),
    "LXC container without the GPU": Scenario(
        machine=lambda: parts.container_without_gpu([A100]).without("/.dockerenv").adding(
            environment={"container": "lxc"}),
        patient=TORCH_CUDA_13, cause="docker-no-gpu-flag"),
    "tensorflow-cpu": Scenario(machine=lambda: r580(L4), patient="tensorflow-cpu", cause="cpu-only-build"),
}

# What is in order, however odd it looks: a doctor that finds a fault here is wrong.
IN_ORDER: Mapping[str, Scenario] = {
    "RTX 5090 and torch with code for it": Scenario(machine=lambda: r580(RTX_5090), patient=TORCH_CUDA_13),
    "B200 and torch with code for it": Scenario(machine=lambda: r580(B200, B200), patient=TORCH_CUDA_13),
    "A100, R535, torch for CUDA 12.4": Scenario(
        machine=lambda: r535(A100), patient="torch for CUDA 12.4"),
    "T4 runs TensorFlow's code for 7.0": Scenario(machine=lambda: r580(T4), patient=TENSORFLOW_2_20),
    "TensorFlow 2.21 whose cuSOLVER is named": Scenario(
        machine=lambda: r580(L4), patient=TENSORFLOW_2_21, environment=CUSOLVER_FOUND),
    "A100, R535, TensorFlow with code for 8.0": Scenario(
        machine=lambda: r535(A100), patient=TENSORFLOW_2_20),
    "jax with its CUDA plugin": Scenario(machine=lambda: r580(H100), patient="jax and its plugin"),
    "jax with its CUDA plugin alone": Scenario(
        machine=lambda: r580(H100), patient="jax and its plugin alone",
        cause="pip-nvidia-libs-not-installed"),
    "torch, NVIDIA's packages in another folder": Scenario(
        machine=lambda: r580(H100), patient="torch and its libraries apart"),
    "toolkit on LD_LIBRARY_PATH, torch": Scenario(
        machine=lambda: parts.with_toolkit(r580(H100), "13.0", "13"), patient=TORCH_CUDA_13,
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/lib64"}),
    "toolkit on LD_LIBRARY_PATH, TensorFlow": Scenario(
        machine=lambda: parts.with_toolkit(r580(L4), "12.8", "12"), patient=TENSORFLOW_2_20,
        environment={"LD_LIBRARY_PATH": "/usr/local/cuda-12.8/lib64"}),
    "container with an unused cuda-compat": Scenario(
        machine=lambda: parts.with_compat(
            parts.container(r580(H100), NVIDIA_VISIBLE_DEVICES="all",
                            LD_LIBRARY_PATH="/usr/local/nvidia/lib:/usr/local/nvidia/lib64"),
            COMPAT_13, "580.65.06", 13000),
        patient=TORCH_CUDA_13),
    "laptop with an Intel GPU beside": Scenario(
        machine=lambda: parts.with_intel_graphics(r580(RTX_4090)), patient=TORCH_CUDA_13),
    "CUDA_VISIBLE_DEVICES by UUID": Scenario(
        machine=lambda: r580(H100, H100), patient=TORCH_CUDA_13,
        environment={"CUDA_VISIBLE_DEVICES": uuid(1)}),
}

SCENARIOS: Mapping[str, Scenario] = {**FIRST, **OTHERS, **IN_ORDER}
