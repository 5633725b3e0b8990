"""One thing that is broken on a machine that worked: what the probes then see, and the first cause.

A breakage of the host is the same whatever framework is installed: what the kernel, the driver's libraries
and the environment then answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudoctor.model import Unknown
from tests.laws.described import NOT_THERE, Facts
from tests.laws.working import Machine, at_least

# What is then seen of a machine, and the cause that must be named first; None where it cannot break in this
# way. The number is drawn: it says which of several like things is the broken one.
Breakage = Callable[[Machine, int], tuple[Facts, str] | None]
HUNG = Unknown(reason="the call never returned")


def always(facts: Facts, cause: str) -> Breakage:
    """Return a breakage that is the same on every machine."""
    return lambda *_: (facts, cause)


def where(broken: Callable[[Machine], Facts | None], cause: str) -> Breakage:
    """Return a breakage that looks different on each machine, or is impossible on some."""
    def breakage(machine: Machine, _: int) -> tuple[Facts, str] | None:
        facts = broken(machine)
        return None if facts is None else (facts, cause)
    return breakage


def refused(code: int) -> Facts:
    """Return what is seen where cuInit fails with a code."""
    return {"cuda.init_code": code, "cuda.init_name": NOT_THERE, "cuda.device_count": NOT_THERE,
            "cuda.devices": NOT_THERE, "gpu.in_cuda": False}


NO_LIBCUDA: Facts = {
    **refused(0), "cuda.init_code": NOT_THERE, "cuda.library": NOT_THERE, "cuda.library_version": NOT_THERE,
    "cuda.ceiling": NOT_THERE, "cuda.load_error": "libcuda.so.1: cannot open shared object file",
    "driver.libcuda_files": NOT_THERE, "driver.libcuda_file_version": NOT_THERE}
NO_NVML: Facts = {
    "nvml.library": NOT_THERE, "nvml.init_code": NOT_THERE, "nvml.driver_version": NOT_THERE,
    "nvml.cuda_version": NOT_THERE, "nvml.gpu_count": NOT_THERE, "driver.libnvidia_ml_files": NOT_THERE,
    "driver.libnvidia_ml_file_version": NOT_THERE, "gpu.in_nvml": False}
SILENT_NVML: Facts = {
    "nvml.init_code": 9, "nvml.driver_version": NOT_THERE, "nvml.cuda_version": NOT_THERE,
    "nvml.gpu_count": NOT_THERE, "gpu.in_nvml": False}
NO_MODULE: Facts = {
    **refused(100), **SILENT_NVML, "driver.kernel_version": NOT_THERE, "driver.kernel_flavour": NOT_THERE,
    "system.gpu_modules": (), "driver.gpu_nodes": 0, "driver.uvm_node": False, "driver.proc_gpus": NOT_THERE,
    "gpu.pci_driver": NOT_THERE}
NO_NODES: Facts = {"driver.gpu_nodes": 0, "driver.uvm_node": False}
IN_DOCKER: Facts = {"container.runtime": "docker", "driver.module_kernels": NOT_THERE}


def _on_bus(machine: Machine, driver: str) -> Facts:
    """Return the card on the PCI bus in the hands of a driver."""
    return {"gpu.pci_driver": driver,
            "system.pci_nvidia": ({"address": "0000:01:00.0", "device": machine.card.device,
                                   "class": "0x030200", "driver": driver},)}


def _nouveau(machine: Machine) -> Facts:
    return {**NO_MODULE, **_on_bus(machine, "nouveau"), "system.gpu_modules": ("nouveau",)}


def _for_guests(machine: Machine) -> Facts:
    return {**NO_MODULE, **_on_bus(machine, "vfio-pci"), "system.gpu_modules": ("nvidia",),
            "driver.kernel_version": machine.driver}


COMPAT_FOLDER = "/usr/local/cuda/compat"
COMPAT: Facts = {
    **refused(803), "cuda.library": f"{COMPAT_FOLDER}/libcuda.so.1", "cuda.library_version": "999.1",
    "container.compat_folders": (COMPAT_FOLDER,), "container.runtime": "docker"}


FULL: Facts = {"gpu.memory_used_bytes": 24 * 2**30 - 2**29, "gpu.compute_processes": 1}


def _no_avx(machine: Machine) -> Facts | None:
    if machine.build.framework != "tensorflow" or machine.build.platform != "linux_x86_64":
        return None
    return {"system.cpu_flags": ("sse4_1", "sse4_2")}


def _old_glibc(machine: Machine) -> Facts | None:
    return {"system.glibc": "2.3"} if "glibc" in machine.build.row else None  # the oldest do not say


def _mig(machine: Machine) -> Facts | None:
    empty: Facts = {"gpu.mig_mode": True, "gpu.mig_instances": 0}
    return empty if at_least(machine.card.capability, "8.0") else None


HOST: Mapping[str, Breakage] = {
    "no driver": always({"driver": "none"}, "driver-not-installed"),
    "every card hidden by -1": always(
        {"environment.CUDA_VISIBLE_DEVICES": "-1"}, "cuda-visible-devices"),
    "every card hidden by nothing": always(
        {"environment.CUDA_VISIBLE_DEVICES": ""}, "cuda-visible-devices"),
    "a card that is not there": always(
        {"environment.CUDA_VISIBLE_DEVICES": "4"}, "cuda-visible-devices"),
    "a card named twice": always(
        {"environment.CUDA_VISIBLE_DEVICES": "0,0"}, "cuda-visible-devices"),
    "a card that is lost": always({"gpu.lost": True}, "gpu-fell-off-bus"),
    "a driver that was updated under the kernel": always(
        {"nvml.init_code": 18, "driver.libnvidia_ml_file_version": "999.1", **refused(803),
         "driver.libcuda_file_version": "999.1", "cuda.library_version": "999.1"},
        "driver-kernel-userspace-mismatch"),
    "a module for unified memory that is not loaded": always(
        {**refused(999), "system.gpu_modules": ("nvidia",), "driver.uvm_node": False}, "nvidia-uvm-missing"),
    "device nodes that are another's": always(
        {**refused(100), "driver.denied_nodes": ("/dev/nvidia0", "/dev/nvidiactl"), "nvml.init_code": 4,
         "nvml.gpu_count": NOT_THERE, "nvml.driver_version": NOT_THERE}, "device-permission"),
    "no fabric manager": always({**refused(802), "driver.nvswitch": True}, "fabric-manager-missing"),
    "a fabric manager that does not run": always(
        {**refused(802), "driver.nvswitch": True, "driver.fabric_manager": "installed"},
        "fabric-manager-missing"),
    "a C library from long ago": where(_old_glibc, "glibc-too-old"),
    "a card that somebody has to himself": always(
        {"gpu.compute_mode": "exclusive-process", "gpu.compute_processes": 1}, "compute-mode-exclusive"),
    "a card that nobody may use": always({"gpu.compute_mode": "prohibited"}, "compute-mode-exclusive"),
    "a card that is full": always(FULL, "gpu-memory-in-use"),
    "MIG without an instance": where(_mig, "mig-misconfigured"),
    "a stub of libcuda": always(
        {**refused(34), "cuda.library": "/usr/local/cuda/lib64/stubs/libcuda.so.1"}, "libcuda-stub-loaded"),
    "a cuda-compat that the driver refuses": always(COMPAT, "cuda-compat-shadows-libcuda"),
    "forward compatibility on a card without it": always(refused(804), "forward-compat-on-unsupported-gpu"),
    "no libcuda": always(NO_LIBCUDA, "libcuda-not-on-loader-path"),
    "a module for another kernel": always(
        {**NO_MODULE, "driver.module_kernels": ("6.1.0-1-other",)}, "driver-module-not-loaded"),
    "a module that nobody built": always(
        {**NO_MODULE, "driver.module_kernels": NOT_THERE}, "driver-module-not-loaded"),
    "a module that Secure Boot refuses": always(
        {**NO_MODULE, "system.secure_boot": True}, "secure-boot-unsigned-module"),
    "nouveau": where(_nouveau, "nouveau-conflict"),
    "a card for virtual machines": where(_for_guests, "gpu-reserved-for-virtual-machine"),
    "a container without cards": always(
        {**IN_DOCKER, **NO_LIBCUDA, **NO_NVML, **NO_NODES}, "docker-no-gpu-flag"),
    "a container without the driver's libraries": always(
        {**IN_DOCKER, **NO_LIBCUDA, "environment.NVIDIA_DRIVER_CAPABILITIES": "utility"},
        "docker-driver-capabilities"),
    "Apptainer without the driver's libraries": always(
        {**NO_LIBCUDA, **NO_NVML, "container.runtime": "apptainer"}, "singularity-no-nv"),
    "a container whose cards were taken away": always(
        {**IN_DOCKER, **refused(999), "nvml.init_code": 999, "nvml.gpu_count": NOT_THERE,
         "nvml.driver_version": NOT_THERE}, "docker-nvml-lost-after-reload"),
    "the first WSL": always({"system.wsl": 1, **NO_LIBCUDA, **NO_NVML, **NO_MODULE,
                               "system.pci_nvidia": ()}, "wsl1-not-wsl2"),
    "MPS that does not answer": always(refused(805), "mps-daemon"),
    "a limit of memory": always(
        {**refused(2), "system.address_space_limit_bytes": 2**32}, "host-memory-limit"),
    "a virtual GPU without a licence": always(refused(102), "vgpu-config"),
    "a driver that never answers": always(
        {**refused(0), "cuda.init_code": HUNG, "cuda.ended": "hung", "cuda.device_count": HUNG},
        "libcuda-no-answer"),
    "a machine that slept": always(refused(999), "suspend-resume-uvm"),
    "a processor without AVX": where(_no_avx, "cpu-no-avx"),
    "machine code that is ignored": always(
        {"environment.CUDA_FORCE_PTX_JIT": "1"}, "ptx-jit-environment"),
}
ALWAYS = ("no driver", "a card that is not there", "a card that is lost", "no libcuda", "nouveau",
          "a driver that was updated under the kernel", "a container without cards", "a stub of libcuda")
