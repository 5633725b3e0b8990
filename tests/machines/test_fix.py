"""`fix` and `env` on machines: what they plan there, and what really is repaired."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.contract.checkout import ROOT
from tests.harness import namespace
from tests.harness.namespace import Completed
from tests.harness.patient import Patient
from tests.machines import local_wheels
from tests.machines.catalogue import HEALTHY, SCENARIOS
from tests.machines.patients import Patients

SCHEMA = json.loads((ROOT / "gpudoctor" / "schema" / "plan-1.json").read_text("utf-8"))
DOCTOR = (sys.executable, "-m", "gpudoctor")
STATIC = ("--depth", "static")
ROBBED = "one distribution took the other's cuDNN along"
LOG = "/run/fix.log"
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
VARIABLES = ("11 CUDA_VISIBLE_DEVICES is empty", "12 803 by cuda-compat", "stub libcuda first",
             "cuda-compat on a GeForce", "TensorFlow 2.21 does not find its cuSOLVER")


@pytest.fixture(scope="module", autouse=True)
def _machines() -> None:
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")


def run(name: str, patients: Patients, *command: str, environment: Mapping[str, str] | None = None,
        collect: tuple[str, ...] = ()) -> Completed:
    """Run a command in a machine of the catalogue; {python} stands for its patient."""
    scenario = SCENARIOS[name]
    patient = patients(scenario.patient)
    argv = [word.replace("{python}", str(patient.python)) for word in (*scenario.launcher, *command)]
    return scenario.build(patient).run(argv, timeout=180, cwd=str(ROOT), environment=environment,
                                       collect=collect)


def planned(name: str, patients: Patients, *options: str) -> dict[str, Any]:
    """Return the plan for a machine of the catalogue; it obeys the schema."""
    done = run(name, patients, *DOCTOR, "fix", *STATIC, "--format", "json", "--python", "{python}", *options)
    assert done.stderr == ""
    plan: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(plan, SCHEMA)
    assert plan["exit_code"] == done.returncode
    return plan


def log_of(done: Completed) -> str:
    """Return what was logged in the machine."""
    assert done.files is not None
    return done.files[LOG].decode()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_plan_is_for_what_is_wrong(name: str, patients: Patients) -> None:
    """The machine's own cause is cured first or named as left; a healthy machine has nothing to fix."""
    scenario, plan = SCENARIOS[name], planned(name, patients)
    cured = [fault["cause"] for step in plan["steps"] for fault in step["cures"]]
    if scenario.cause == HEALTHY or scenario.severity == "info":
        assert (plan["steps"], plan["left"]) == ([], [])
    else:
        assert scenario.cause in (*cured, *(fault["cause"] for fault in plan["left"]))
    assert plan["later"] == []
    assert all(step["undo"]["commands"] or step["undo"]["note"] for step in plan["steps"])


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_were_tried(name: str, patients: Patients) -> None:
    """In a child that has them; and only a shell can set them."""
    steps = planned(name, patients)["steps"]
    assert [(step["done_by"], step["proven"], step["commands"]) for step in steps] == [("shell", "tried", [])]


@pytest.mark.parametrize("name", VARIABLES)
def test_a_shell_is_repaired_by_its_variables(name: str, patients: Patients) -> None:
    """`eval "$(gpudoctor env)"` in a real shell: the same check is healthy then, and again says nothing."""
    check = f"{' '.join(DOCTOR)} check {' '.join(STATIC)} --python {{python}}"
    env = f"{' '.join(DOCTOR)} env --python {{python}}"
    script = (f'{check} >/dev/null; echo "before $?"; eval "$({env})"; echo "env $?"; {check} | tail -1; '
              f'printf "again <%s>\\n" "$({env})"; eval "$({env})"; {check} >/dev/null; echo "after $?"')
    done = run(name, patients, "sh", "-c", script)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-2:]) == ("before 1", ["again <>", "after 0"]), done.stdout + done.stderr
    assert "ealthy" in lines[-3]


def test_what_is_for_the_shell_is_not_called_done(patients: Patients) -> None:
    """No program changes the environment of its caller: --apply says so, and the finding is still there."""
    name = "11 CUDA_VISIBLE_DEVICES is empty"
    done = run(name, patients, *DOCTOR, "fix", *STATIC, "--apply", "--python", "{python}", "--log", LOG)
    assert done.returncode == 1
    assert "for your shell" in done.stdout
    assert "Nothing was run." in done.stdout
    assert "worked" not in done.stdout


def test_nothing_is_run_as_root_without_a_yes(patients: Patients) -> None:
    """Without a terminal nobody is asked: the module is not loaded, and the log says what was not run."""
    name = "nvidia-uvm missing"
    done = run(name, patients, *DOCTOR, "fix", *STATIC, "--apply", "--python", "{python}", "--log", LOG,
               collect=(LOG,))
    assert done.returncode == 1
    assert "not run: not allowed: admin; there is no terminal to ask on" in done.stdout
    assert done.stderr == ""
    assert "$ " not in log_of(done)
    assert "step 1 was not run (not-allowed" in log_of(done)


def test_root_is_told_commands_without_sudo(patients: Patients) -> None:
    """Root in a container may have none."""
    [step] = planned("nvidia-uvm missing", patients)["steps"]
    assert step["commands"][0] == "modprobe nvidia_uvm"
    assert "sudo" not in "".join(step["commands"] + step["undo"]["commands"])


@pytest.fixture(scope="module")
def robbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Patients, Patient, Path]:
    """Return an environment with a pip of its own whose cuDNN is gone, and a folder with a wheel of it."""
    patients = Patients(tmp_path_factory.mktemp("fix"))
    patient = patients(SCENARIOS[ROBBED].patient)
    subprocess.run([str(patient.python), "-m", "ensurepip"], check=True, capture_output=True)
    [information] = patient.site_packages.glob("nvidia_cudnn_cu12-*.dist-info")
    listed = [line.partition(",")[0] for line in (information / "RECORD").read_text("utf-8").splitlines()]
    wheels = tmp_path_factory.mktemp("wheels")
    local_wheels.build(wheels, "nvidia-cudnn-cu12", information.name.split("-")[1].removesuffix(".dist"),
                       {path: Path(path).name for path in listed if ".so" in path})
    return patients, patient, wheels


def test_pip_really_repairs(robbed: tuple[Patients, Patient, Path]) -> None:
    """The patient's own pip lays down the wheel, without a question: the next look finds nothing."""
    patients, _, wheels = robbed
    done = run(ROBBED, patients, *DOCTOR, "fix", *STATIC, "--apply", "--python", "{python}", "--log", LOG,
               environment={**OFFLINE, "PIP_FIND_LINKS": str(wheels)}, collect=(LOG,))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "It worked" in done.stdout
    assert "Looked again: healthy." in done.stdout
    log = log_of(done)
    assert "-m pip install --force-reinstall --no-deps nvidia-cudnn-cu12==" in log
    assert "  | Successfully installed nvidia-cudnn-cu12" in log
    assert "ended with exit code 0" in log


def test_pip_that_fails_is_told(robbed: tuple[Patients, Patient, Path], tmp_path: Path) -> None:
    """Without the wheel nothing is repaired, and nothing is called so."""
    patients, _, _ = robbed
    done = run(ROBBED, patients, *DOCTOR, "fix", *STATIC, "--apply", "--format", "json", "--log", LOG,
               "--python", "{python}", collect=(LOG,),
               environment={**OFFLINE, "PIP_FIND_LINKS": str(tmp_path)})
    plan = json.loads(done.stdout)
    jsonschema.validate(plan, SCHEMA)
    assert (done.returncode, plan["exit_code"]) == (1, 1)
    [end] = plan["applied"]["steps"]
    assert end["outcome"] == "failed"
    assert "ended with exit code 1" in end["detail"]
    [found] = plan["applied"]["after"]["steps"]
    assert [fault["cause"] for fault in found["cures"]] == ["wheel-file-collision"]
    assert "No matching distribution" in log_of(done)
    assert plan["applied"]["undo"] == ["# step 1: pip left every version as it was"]


def test_a_failure_in_the_middle_of_a_real_step_leaves_the_way_back(tmp_path: Path) -> None:
    """The first command really removes a package, the second finds none; what is printed brings it back.

    A folder with the record gone was taken for the package, and the step itself pointed at `fix --apply`.
    """
    name = "tensorflow-cpu"
    patients = Patients(tmp_path)
    patient = patients(SCENARIOS[name].patient)
    subprocess.run([str(patient.python), "-m", "ensurepip"], check=True, capture_output=True)
    [information] = patient.site_packages.glob("tensorflow_cpu-*.dist-info")
    version = information.name.split("-")[1].removesuffix(".dist")
    local_wheels.build(tmp_path / "wheels", "tensorflow-cpu", version, {}, texts={"tensorflow/back.py": ""})
    argv = [*DOCTOR, "fix", *STATIC, "--apply", "--log", LOG, "--python", str(patient.python)]
    at_terminal = shlex.join([sys.executable, "-c", f"import pty; pty.spawn({argv!r})"])
    undo = f"{patient.python} -m pip install --no-deps tensorflow-cpu=={version}"
    metadata = shlex.quote(str(information / "METADATA"))
    done = run(name, patients, "sh", "-c", f"echo y | {at_terminal}; ls {metadata}; {undo} && ls {metadata}",
               environment={**OFFLINE, "PIP_FIND_LINKS": str(tmp_path / "wheels")}, collect=(LOG,))
    assert "step 1   FAILED:" in done.stdout, done.stdout + done.stderr
    assert f"TO UNDO WHAT WAS DONE, in this order\n    {undo}\n\n" in done.stdout
    assert undo in log_of(done)
    assert (done.returncode, done.stderr.count("No such file")) == (0, 1)
    assert done.stdout.splitlines()[-1] == str(information / "METADATA")
