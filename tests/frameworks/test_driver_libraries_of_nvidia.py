"""NVIDIA's own libcuda, libnvidia-ml and nvidia-smi on machines whose kernel module is not loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.frameworks import nvidia_packages
from tests.frameworks.agreement import hiding
from tests.frameworks.environments import Unavailable
from tests.frameworks.nvidia_packages import SUITES, Driver
from tests.frameworks.tensorflow_itself import listed
from tests.harness.machine import File, Machine
from tests.harness.nvidia import LIBRARY_FOLDER, RTX_3090, bare_machine, driverless_machine, module_files
from tests.harness.patient import Patient
from tests.machines import parts
from tests.machines.examination import EXIT_FINDINGS, Examination, assert_sound, examine

CEILINGS = {"535": "12.2", "550": "12.4"}
# Debian, with a kernel log that can be read and says nothing of a card.
SYSTEM = {
    "/etc/os-release": parts.DEBIAN,
    "/var/log/kern.log": f"kernel: [    0.000000] Linux version {parts.running_kernel()}\n",
}
NO_DEVICE, DRIVER_NOT_LOADED = 100, 9
pytestmark = pytest.mark.parametrize("branch", SUITES)


@pytest.fixture
def driver(branch: str) -> Driver:
    """Return the unpacked packages of a branch."""
    try:
        return nvidia_packages.driver(branch)
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def patient(environment: Callable[[str], Patient]) -> Patient:
    """Return an environment with a framework that asks for a GPU."""
    return environment("tensorflow-2.20")


def with_libraries(machine: Machine, driver: Driver) -> Machine:
    """Return the machine with the driver's user space, as Debian's packages leave it behind."""
    names = {stem: f"{LIBRARY_FOLDER}/{stem}.so.{driver.version}" for stem in ("libcuda", "libnvidia-ml")}
    links = {f"{LIBRARY_FOLDER}/{stem}.so.1": f"{stem}.so.{driver.version}" for stem in names}
    return replace(
        machine.adding(
            files={
                **SYSTEM, "/usr/bin/nvidia-smi": File(content=driver.nvidia_smi.read_bytes(), mode=0o755)},
            libraries={path: driver.library(stem) for stem, path in names.items()}, links=links),
        loader_cache=True)


def assert_real_answers(examination: Examination, branch: str, driver: Driver) -> None:
    """Check what NVIDIA's own functions answer without their kernel module."""
    assert_sound(examination)
    assert examination.host("cuda.init_code") == NO_DEVICE
    assert examination.host("cuda.init_name") == "CUDA_ERROR_NO_DEVICE"
    assert examination.host("nvml.init_code") == DRIVER_NOT_LOADED
    assert examination.host("cuda.ceiling") == CEILINGS[branch]
    assert examination.host("driver.libcuda_file_version") == driver.version
    assert examination.host("driver.libnvidia_ml_file_version") == driver.version
    assert examination.host("cuda.library_version") == driver.version


def test_module_is_not_loaded(branch: str, driver: Driver, patient: Patient) -> None:
    """A card, its whole user space, and no kernel module: the cause is said, by TensorFlow the bare code."""
    machine = with_libraries(driverless_machine([RTX_3090]), driver)
    examination = examine(machine, patient)
    assert_real_answers(examination, branch, driver)
    assert examination.exit_code == EXIT_FINDINGS
    assert examination.first["cause"] == "driver-module-not-loaded"
    assert examination.fix
    said = listed(machine, patient)
    assert (said.gpus, {words.partition(":")[0] for words in said.cuinit}) == ((), {"CUDA_ERROR_NO_DEVICE"})


def test_no_card(branch: str, driver: Driver, patient: Patient) -> None:
    """The packages alone make no GPU."""
    examination = examine(with_libraries(bare_machine(), driver), patient)
    assert_real_answers(examination, branch, driver)
    assert examination.first["cause"] == "no-nvidia-gpu"


def test_version_is_in_the_bytes(branch: str, driver: Driver, patient: Patient) -> None:
    """Files whose names give nothing away, as containers and hand-made copies have them."""
    machine = driverless_machine([RTX_3090]).adding(files=SYSTEM, libraries={
        f"{LIBRARY_FOLDER}/{stem}.so.1": driver.library(stem) for stem in ("libcuda", "libnvidia-ml")})
    examination = examine(replace(machine, loader_cache=True), patient)
    assert_real_answers(examination, branch, driver)


def test_module_of_another_release_is_loaded(branch: str, driver: Driver, patient: Patient) -> None:
    """Updated without a reboot: two releases are named, each from where it was read."""
    cards = [RTX_3090]
    loaded = "570.86.15"
    machine = with_libraries(driverless_machine(cards), driver).adding(
        files=module_files(loaded, cards, open_module=False))
    examination = examine(machine, patient)
    assert examination.first["cause"] == "driver-kernel-userspace-mismatch", branch
    assert loaded in examination.first["message"]
    assert driver.version in examination.first["message"]


def test_looking_leaves_no_device_node(branch: str, driver: Driver, patient: Patient) -> None:
    """NVIDIA's libraries make /dev/nvidiactl for root, which the next look must not take for a driver."""
    machine = hiding(with_libraries(driverless_machine([RTX_3090]), driver), "/usr/bin/nvidia-modprobe")
    code = "import ctypes, os; print(ctypes.CDLL('libcuda.so.1').cuInit(0), os.path.exists('/dev/nvidiactl'))"
    made = machine.run([str(patient.python), "-c", code]).stdout.split()
    assert made[0] == str(NO_DEVICE), branch
    examination = examine(machine, patient)
    assert examination.host("driver.device_nodes") in (None, [], ())


def test_nvidia_smi(branch: str, driver: Driver, patient: Patient) -> None:
    """NVIDIA's program ends with 9 and says that it cannot reach the driver; the doctor names the cause."""
    machine = with_libraries(driverless_machine([RTX_3090]), driver)
    said = machine.run(["/usr/bin/nvidia-smi"])
    assert said.returncode == DRIVER_NOT_LOADED, (branch, said.stderr)
    assert "couldn't communicate with the NVIDIA driver" in said.stdout + said.stderr
    assert examine(machine, patient).first["cause"] == "driver-module-not-loaded"
