"""Ask the doctor and TensorFlow in one machine, and say where they disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.frameworks.tensorflow_itself import Said, listed
from tests.harness.machine import Machine
from tests.harness.nvidia import L4, Card, nvidia_machine
from tests.harness.patient import Patient
from tests.machines import parts
from tests.machines.examination import Examination, assert_sound, commands_of, every, examine

R580 = "580.95.05"
DRIVERS_OWN = {"libcuda.so.1"}
VERSIONS = ("2.20", "2.21")
# What both releases open, and the package of each.
LIBRARIES: Mapping[str, str] = {
    "libcudart.so.12": "cuda_runtime",
    "libcublas.so.12": "cublas",
    "libcublasLt.so.12": "cublas",
    "libcufft.so.11": "cufft",
    "libcusolver.so.11": "cusolver",
    "libcusparse.so.12": "cusparse",
    "libcudnn.so.9": "cudnn",
}


def library_path(patient: Patient, soname: str) -> str:
    """Return where a library of NVIDIA's packages lies in an environment."""
    return f"{patient.site_packages}/nvidia/{LIBRARIES[soname]}/lib/{soname}"


def computer(patient: Patient, *, card: Card = L4, driver: str = R580, cuda: int = 13000) -> Machine:
    """Return a computer with one card on which this TensorFlow finds all its libraries.

    TensorFlow 2.21 does not find its cuSOLVER by itself, so LD_LIBRARY_PATH names the folder.
    """
    machine = nvidia_machine(driver=driver, cuda=cuda, cards=[card], loader_cache=True)
    return machine.adding(
        files={"/etc/os-release": parts.DEBIAN},
        environment={"LD_LIBRARY_PATH": f"{patient.site_packages}/nvidia/cusolver/lib"})


def hiding(machine: Machine, *paths: str) -> Machine:
    """Return the machine without these files of the host."""
    return replace(machine, hide=(*machine.hide, *paths))


def searching(machine: Machine, folder: str) -> Machine:
    """Return the machine with a folder in front of LD_LIBRARY_PATH."""
    before = machine.environment.get("LD_LIBRARY_PATH")
    return machine.adding(environment={"LD_LIBRARY_PATH": f"{folder}:{before}" if before else folder})


@dataclass(frozen=True, kw_only=True)
class Both:
    """The answers of the doctor and of TensorFlow in one machine."""

    doctor: Examination
    tensorflow: Said

    def fact(self, name: str) -> Any:
        """Return the value of a fact of the framework; None when it is not known."""
        (framework,) = self.doctor.report["snapshot"]["frameworks"]
        return framework[name].get("value")

    @property
    def predicted(self) -> dict[str, str]:
        """Library -> the file that the doctor says wins; empty for none."""
        return {record["soname"]: record["path"] for record in self.fact("framework.libraries")}

    @property
    def predicted_failures(self) -> set[str]:
        """The libraries that the doctor says are not found or cannot be loaded."""
        return set(self.fact("framework.libraries_missing")) | set(self.fact("framework.libraries_broken"))

    @property
    def text(self) -> str:
        """All that the findings say, fixes included."""
        said = []
        for finding in every(self.doctor.findings):
            said += [finding["rule"], finding["message"], *(str(e["saw"]) for e in finding["evidence"])]
            said += [commands_of(fix) for fix in finding["fixes"]]
        return "\n".join(said)

    def errors(self) -> list[str]:
        """Return the causes that the doctor calls errors."""
        return [finding["cause"] for finding in every(self.doctor.findings) if finding["severity"] == "error"]

    def assert_agree_on_files(self) -> None:
        """Hold each library's predicted file against the log and the memory map."""
        said = self.tensorflow
        assert self.predicted_failures == said.culprits, said.missed
        opened = said.opened - set(said.missed) - set(self.fact("framework.driver_libraries")) - DRIVERS_OWN
        mapped = {name: path for name, path in said.mapped.items() if name in self.predicted}
        assert opened <= set(mapped), (opened, mapped)
        assert mapped == {name: self.predicted[name] for name in mapped}

    def assert_agree_on_verdict(self) -> None:
        """Hold the doctor's exit code against the list of GPUs: no GPU without an error, and the reverse."""
        assert bool(self.tensorflow.gpus) == (not self.errors()), (self.tensorflow.gpus, self.text)


def ask_both(machine: Machine, patient: Patient) -> Both:
    """Run the real command line and TensorFlow itself in the same machine."""
    doctor = examine(machine, patient)
    assert_sound(doctor)
    return Both(doctor=doctor, tensorflow=listed(machine, patient))
