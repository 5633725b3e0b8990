"""Every machine of the catalogue is diagnosed right, and the first fix of the first ones is the right one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from packaging.version import Version

from tests.machines.catalogue import SCENARIOS
from tests.machines.examination import Examination, assert_right, assert_sound, commands_of
from tests.machines.parts import NVIDIA_SMI_MARK
from tests.machines.patients import Patients, machine_code, release

Diagnose = Callable[[str], Examination]
INSTALLS_DRIVER = re.compile(r"nvidia-(driver|open)|cuda-drivers|nvidia\.com/drivers", re.IGNORECASE)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_right_cause_comes_first(name: str, diagnose: Diagnose) -> None:
    """And nothing else that is as bad; a healthy machine has no fault at all."""
    examination = diagnose(name)
    assert_sound(examination)
    assert_right(SCENARIOS[name], examination)


def test_1_nothing_is_to_be_installed_where_no_card_is(diagnose: Diagnose) -> None:
    """No driver and no other torch would help: the machine has no GPU."""
    for fix in diagnose("1 no GPU, no driver").first["fixes"]:
        assert not INSTALLS_DRIVER.search(commands_of(fix))
        assert "pip install" not in commands_of(fix)


def test_3_the_driver_is_updated_and_far_enough(diagnose: Diagnose) -> None:
    """CUDA 13 begins with R580: the fix names a driver of that branch, and then reboots."""
    fix = diagnose("3 H100, R570, CUDA 13.2").fix
    assert fix["kind"] == "driver"
    named = re.findall(r"\b(\d{3})(?:\.\d+)*\b", commands_of(fix))
    assert named
    assert min(map(int, named)) >= 580
    assert "reboot" in commands_of(fix)


def test_4_nvidia_smi_is_not_asked(diagnose: Diagnose) -> None:
    """The one with the new banner leaves a mark when it is run; the versions are known all the same."""
    examination = diagnose("4 nvidia-smi with the banner of 610")
    assert NVIDIA_SMI_MARK not in examination.files
    assert examination.host("driver.nvidia_smi") == "/usr/bin/nvidia-smi"
    without = diagnose("4 no nvidia-smi")
    assert without.host("driver.nvidia_smi") is None
    for one in (examination, without):
        assert (one.host("driver.version"), one.host("driver.cuda_ceiling")) == ("610.43.02", "13.3")


def test_6_the_fix_is_a_build_that_has_code_for_the_card(diagnose: Diagnose) -> None:
    """A final release for an older CUDA, whose wheel holds machine code for 7.0; no driver, no nightly."""
    examination = diagnose("6 V100, no code for it")
    fix = examination.fix
    assert fix["kind"] == "pip"
    assert not INSTALLS_DRIVER.search(commands_of(fix))
    assert not re.search(r"nightly|--pre\b", commands_of(fix))
    named = re.search(r"\btorch==([\w.+]+)", "\n".join(fix["commands"]))
    assert named is not None
    assert not Version(named[1]).is_prerelease
    cuda, cards = machine_code(named[1])
    assert Version(cuda) < Version("13")
    assert "7.0" in cards


def test_7_the_cuda_build_takes_the_cpu_builds_place(diagnose: Diagnose) -> None:
    """The same package from the index, and the CPU build does not satisfy the command."""
    fix = diagnose("7 GPU and CPU-only torch").fix
    assert fix["kind"] == "pip"
    assert re.search(r"\btorch\b", "\n".join(fix["commands"]))
    assert "+cpu" not in "\n".join(fix["commands"])


@pytest.mark.parametrize(
    "name", ["8 kernel module and libraries differ", "12 803 by an update without a reboot"])
def test_8_reboot_and_no_reinstallation(name: str, diagnose: Diagnose) -> None:
    """Both halves of the driver are there; only the running one is old."""
    fix = diagnose(name).fix
    assert fix["kind"] == "restart"
    assert "reboot" in commands_of(fix).lower()
    assert not re.search(r"\b(re)?install(ing)?\b", commands_of(fix), re.IGNORECASE)
    for version in ("570.86.15", "570.124.06"):
        assert version in diagnose(name).first["message"]


def test_9_the_library_that_is_missing_is_named(diagnose: Diagnose) -> None:
    """It is libcuda that is not found, while NVML answers."""
    examination = diagnose("9 libcuda absent")
    assert "libcuda.so.1" in examination.first["message"]
    assert examination.host("nvml.init_code") == 0
    assert "580" in commands_of(examination.fix) or "libcuda" in commands_of(examination.fix)


@pytest.mark.parametrize(("name", "version"), [
    ("10 plain tensorflow", "2.21.0"), ("10 plain tensorflow, the release before", "2.20.0")])
def test_10_the_libraries_are_named_and_installed(name: str, version: str, diagnose: Diagnose) -> None:
    """The CUDA extra of that very release; what the release itself gets wrong is set right, too."""
    first = diagnose(name).first
    for library in ("libcudart.so.12", "libcublas.so.12", "libcudnn.so.9"):
        assert library in first["message"]
    fix = diagnose(name).fix
    assert re.search(rf"tensorflow\[and-cuda\]=={re.escape(version)}", "\n".join(fix["commands"]))
    assert fix["proven"] in ("model", "tried")
    if version == "2.21.0":  # it does not look where its own extra puts cuSOLVER
        assert "nvidia/cusolver/lib" in commands_of(fix)


def test_11_the_variable_is_unset(diagnose: Diagnose) -> None:
    """Nothing else is to be done."""
    fix = diagnose("11 CUDA_VISIBLE_DEVICES is empty").fix
    assert (fix["kind"], fix["commands"]) == ("environment", ["unset CUDA_VISIBLE_DEVICES"])


def test_12_the_fabric_manager_is_started(diagnose: Diagnose) -> None:
    """It is installed and does not run: neither a driver nor a framework is to be installed."""
    fix = diagnose("12 802 on a machine with NVSwitch").fix
    assert re.search(r"systemctl .*(start|enable).*nvidia-fabricmanager", "\n".join(fix["commands"]))
    assert not INSTALLS_DRIVER.search(commands_of(fix))


def test_12_the_compat_library_is_taken_off_the_path(diagnose: Diagnose) -> None:
    """The driver and its own libcuda fit one another: the folder in front of them is the fault."""
    fix = diagnose("12 803 by cuda-compat").fix
    assert fix["kind"] == "environment"
    assert "LD_LIBRARY_PATH" in commands_of(fix)
    assert not INSTALLS_DRIVER.search(commands_of(fix))


def test_14_the_ceiling_is_that_of_the_compat_library(diagnose: Diagnose) -> None:
    """R470 alone runs CUDA 11.4; the libcuda that is loaded runs 12.8."""
    examination = diagnose("14 A100, R470, working cuda-compat")
    assert examination.host("driver.version") == "470.256.02"
    assert examination.host("driver.cuda_ceiling") == "12.8"
    assert examination.host("cuda.library_kind") == "compat"


@pytest.mark.parametrize("name", ["V100, R450, torch for CUDA 12.4", "V100 without a driver"])
def test_cards_before_turing_get_no_open_module(name: str, diagnose: Diagnose) -> None:
    """NVIDIA's open kernel module does not drive Volta: no command may install it there."""
    assert diagnose(name).fix["kind"] == "driver"
    for fix in diagnose(name).first["fixes"]:
        assert not re.search(r"nvidia-open|-open\b|open-dkms", commands_of(fix))


def test_the_cudnn_that_is_installed_serves_the_card(diagnose: Diagnose) -> None:
    """What TensorFlow's extra would bring today has dropped Volta: the fix holds cuDNN back."""
    fix = diagnose("V100 and plain tensorflow").fix
    assert re.search(r"nvidia-cudnn-cu12<=9\.10\b|nvidia-cudnn-cu12==9\.(\d|10)\.", commands_of(fix))


def test_the_plugin_fits_the_driver(diagnose: Diagnose) -> None:
    """R570 runs CUDA 12: the plugin for CUDA 13 is not offered there."""
    commands = [commands_of(fix) for fix in diagnose("jax without its CUDA plugin, R570").first["fixes"]]
    assert commands
    for command in commands:
        assert "cuda12" in command
        assert "cuda13" not in command


def test_compat_is_left_out_where_the_driver_does_without(diagnose: Diagnose) -> None:
    """This torch runs on the driver as it is: the safe fix comes before an update of the driver."""
    fix = diagnose("cuda-compat on a GeForce").fix
    assert (fix["kind"], fix["risk"]) == ("environment", "safe")


def test_a_lost_card_does_not_hide_the_other(diagnose: Diagnose) -> None:
    """It is named by its place on the bus; the facts of the healthy one are all there."""
    examination = diagnose("card lost midway")
    assert "0000:11:00.0" in examination.first["message"]
    cards = examination.report["snapshot"]["gpus"]
    whole = [card for card in cards if card["gpu.bus_id"].get("value") == "0000:01:00.0"]
    assert [card["gpu.compute_capability"]["value"] for card in whole] == ["9.0"]


def test_an_old_card_beside_a_new_one_is_told_apart(diagnose: Diagnose) -> None:
    """Only the GTX 1080 Ti is without code; the build that is named has code for both."""
    examination = diagnose("two cards, one too old")
    assert ["GTX 1080 Ti" in f["message"] for f in examination.findings if f["severity"] == "error"] == [True]
    named = re.search(r"\btorch==([\w.+]+)", "\n".join(examination.fix["commands"]))
    assert named is not None
    _, carried = machine_code(named[1])
    assert {"6.0", "6.1"} & carried
    assert {"8.0", "8.6", "8.9"} & carried


def test_tensorflow_on_blackwell_has_a_way_out(diagnose: Diagnose) -> None:
    """No wheel that was read has code for the card, and the message says so; NVIDIA's image has."""
    examination = diagnose("TensorFlow on a Blackwell card")
    message = examination.first["message"]
    assert re.search("No tensorflow wheel that these rules .* have read has machine code", message)
    assert examination.fix["kind"] == "image"
    assert "tensorflow:25.02" in commands_of(examination.fix)


def test_two_frameworks_with_the_same_files_are_parted(diagnose: Diagnose) -> None:
    """The one of the older CUDA gets an environment of its own; what stays is laid down again."""
    commands = diagnose("two distributions own cuDNN").fix["commands"]
    assert commands[0].endswith("/bin/python -m venv separate-environment")
    assert "tensorflow[and-cuda]==2.20.0" in commands[1]
    assert "nvidia-cudnn-cu13==" in commands[3]


@pytest.mark.parametrize("name", [
    "3 H100, R570, CUDA 13.2", "TensorFlow's PTX is newer than R535", "V100, R450, torch for CUDA 12.4"])
def test_a_driver_comes_from_a_branch_that_is_maintained(name: str, diagnose: Diagnose) -> None:
    """Debian has none new enough: NVIDIA's repository is added before anything is installed from it."""
    commands = diagnose(name).fix["commands"]
    assert "cuda-keyring" in commands[0]
    assert "nvidia-driver-pinning-580" in commands[1]


def test_what_the_patients_hold_is_what_was_published(patients: Patients) -> None:
    """The stand-in through which torch opens CUDA has the published library's search path and needs."""
    patient = patients("torch for CUDA 13.2")
    row = release("torch", "2.15.0")
    library = patient.site_packages / row["loader"]
    described = library.read_bytes()
    for text in (*row["loads"], ":".join(row["rpath"])):
        assert text.encode() in described
