"""check --kernel: the same kernel that Jupyter would start, with the same Python and the same variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.patient import Patient as Chosen
from gpudoctor.transports import kernelspec, process
from tests.harness.jupyter import jupyter
from tests.harness.machine import Machine
from tests.harness.patient import Patient
from tests.hosts.beside import causes
from tests.hosts.in_process import Gpudoctor
from tests.hosts.looking import ROOT, look
from tests.hosts.test_processes import FAULT, HIDDEN_LIBCUDA, OFF_PATH

HOME = "/home/ana"
PLACES = (
    "/opt/named", "/opt/second", "/opt/data", "/opt/xdg/jupyter", "/opt/base/share/jupyter",
    "/opt/shared/jupyter", f"{HOME}/.local/share/jupyter", "/usr/local/share/jupyter", "/usr/share/jupyter",
    f"{HOME}/.ipython", "/opt/ipython",
)
# Which variables move a folder of the search, or the folders against one another.
ENVIRONMENTS: Mapping[str, dict[str, str]] = {
    "nothing set": {},
    "JUPYTER_PATH": {"JUPYTER_PATH": "/opt/named/:/opt/second"},
    "JUPYTER_DATA_DIR": {"JUPYTER_DATA_DIR": "/opt/data"},
    "XDG_DATA_HOME": {"XDG_DATA_HOME": "/opt/xdg"},
    "the user first": {"JUPYTER_PREFER_ENV_PATH": "no"},
    "the environment first": {"JUPYTER_PREFER_ENV_PATH": "1", "JUPYTER_PATH": "/opt/second"},
    "PYTHONUSERBASE": {"PYTHONUSERBASE": "/opt/base"},
    "platform folders": {"JUPYTER_PLATFORM_DIRS": "1", "XDG_DATA_DIRS": "/opt/shared:/usr/share"},
    "IPYTHONDIR": {"IPYTHONDIR": "/opt/ipython"},
    "conda": {"CONDA_PREFIX": "/opt", "CONDA_DEFAULT_ENV": "ml"},
}
OURS = """
import json, os
from gpudoctor.host import Host
from gpudoctor.patient import Patient
from gpudoctor.transports import kernelspec
default = Patient(executable="/usr/bin/nothing", because="")
jupyter = kernelspec.find_jupyter(os.environ, default, "/", Host())
folders = kernelspec.kernel_folders(jupyter, os.environ, "/", os.geteuid(), Host())
print(json.dumps(kernelspec.kernels(folders, Host())))
"""


def spec(program: str = "python", **more: Any) -> str:
    """Return a kernel.json."""
    argv = [program, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return json.dumps({"argv": argv, "display_name": "One", "language": "python", **more})


def crowded() -> Machine:
    """Return a machine with kernels in every place: one name in all of them, and one of each place's own."""
    files = {f"{place}/kernels/{name}/kernel.json": spec()
             for number, place in enumerate(PLACES) for name in ("Everywhere", f"only-{number}")}
    return Machine(files=files, directories={"/usr/share/jupyter/kernels/empty": 0o755})


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_kernels_are_found_where_jupyter_finds_them(name: str) -> None:
    """The list of the real command is ours, folder by folder, whatever moves them."""
    prefix = jupyter()
    environment = {"HOME": HOME, "PATH": f"{prefix}/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT),
                   **ENVIRONMENTS[name]}
    machine = crowded()
    listing = [str(prefix / "bin" / "jupyter"), "kernelspec", "list", "--json"]
    real = machine.run(listing, environment=environment)
    assert real.returncode == 0, real.stderr
    expected = {key: entry["resource_dir"] for key, entry in json.loads(real.stdout)["kernelspecs"].items()}
    ours = machine.run([sys.executable, "-c", OURS], environment=environment)
    assert json.loads(ours.stdout) == expected, ours.stderr
    assert len(expected) > 4


@pytest.mark.parametrize(("program", "added"), [
    ("python", {}),
    ("python3", {"LD_LIBRARY_PATH": "/opt/own:${LD_LIBRARY_PATH}", "X": "$$5 $UNSET ${HOME}"}),
    ("{resource_dir}/python", {"PATH": "{resource_dir}:$PATH"}), ("other", {"PATH": "{folder}:$PATH"}),
])
def test_interpreter_and_variables_are_those_that_jupyter_starts(
        tmp_path: Path, program: str, added: dict[str, str]) -> None:
    """Jupyter starts the kernel for real, and its process is held against what we read."""
    prefix = jupyter()
    folder = tmp_path / "kernels" / "one"
    folder.mkdir(parents=True)
    for name in ("python", "other"):
        (folder / name).symlink_to(prefix / "bin" / "python")
    filled = {name: value.replace("{folder}", str(folder)) for name, value in added.items()}
    # not every one of these Pythons has ipykernel: a kernel that stays is enough to be looked at
    argv = [program, "-c", "import time; time.sleep(60)"]
    staying = {**json.loads(spec(program, env=filled)), "argv": argv}
    (folder / "kernel.json").write_text(json.dumps(staying))
    environment = {
        "HOME": str(tmp_path), "PATH": f"{prefix}/bin:/usr/bin:/bin", "JUPYTER_PATH": str(tmp_path),
        "LD_LIBRARY_PATH": "/opt/shell", "LANG": "C.UTF-8",
        "PYTHONEXECUTABLE": str(prefix / "bin" / "python")}
    begun = started(prefix, environment)
    default = Chosen(executable=sys.executable, because="")
    ours = kernelspec.find("One", environment=environment, default=default, folder="/", user_id=os.geteuid())
    assert isinstance(ours, kernelspec.Kernel), ours
    assert os.path.realpath(ours.patient.executable) == begun["program"]
    if "/" in begun["argv"][0]:
        assert os.path.dirname(ours.patient.executable) == os.path.dirname(begun["argv"][0])
    theirs = {key: value for key, value in begun["environment"].items() if not key.startswith("JPY_")}
    assert dict(ours.environment) == theirs
    for name in added:
        assert name in ours.patient.because


START = """
import json, os
from jupyter_client import KernelManager
manager = KernelManager(kernel_name="one")
manager.start_kernel()
number = manager.provisioner.pid
read = lambda name: open(f"/proc/{number}/{name}", "rb").read().decode().split("\\0")
pairs = (entry.partition("=") for entry in read("environ") if entry)
program = os.readlink(f"/proc/{number}/exe")
variables = {name: value for name, _, value in pairs}
print(json.dumps({"argv": read("cmdline"), "program": program, "environment": variables}))
manager.shutdown_kernel(now=True)
"""


def started(prefix: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Have the real jupyter_client start the kernel; return its command line and its environment."""
    done = subprocess.run([str(prefix / "bin" / "python"), "-c", START], env=environment, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_finding_is_about_the_kernel_and_not_about_the_shell(patient: Patient) -> None:
    """A kernelspec that replaces LD_LIBRARY_PATH hides the driver that the shell finds."""
    kernel = "/usr/share/jupyter/kernels/gpu/kernel.json"
    machine = HIDDEN_LIBCUDA.adding(environment={"LD_LIBRARY_PATH": OFF_PATH}, files={
        kernel: spec(str(patient.python), env={"LD_LIBRARY_PATH": "/opt/own"}),
        "/usr/share/jupyter/kernels/adds/kernel.json": spec(
            str(patient.python), env={"LD_LIBRARY_PATH": "/opt/own:$LD_LIBRARY_PATH"})})
    seen = look(machine, "--kernel", "GPU", rules=None)
    assert FAULT in causes(seen)
    assert seen.fact("loader.library_path")["value"] == ["/opt/own"]
    assert seen.fact("python.prefix")["value"] == str(patient.prefix)
    because = seen.fact("python.chosen_because")["value"]
    assert f"{kernel} starts it" in because
    assert "it sets LD_LIBRARY_PATH" in because
    assert FAULT not in causes(look(machine, "--kernel", "adds", rules=None))


BROKEN = {
    "half a file": ('{"argv": ["python",\n', "kernel.json:2: not valid JSON"),
    "no program": ('{"argv": []}', 'needs "argv"'),
    "a list": ("[]", 'needs "argv"'),
    "a number for a variable": (spec(env={"A": 5}), '"env" must give variables texts'),
    "a name with an equals sign": (spec(env={"A=B": "x"}), '"env" must give variables texts'),
    "too deep": ("[" * 100_000, "nested too deeply"),
    "huge": ('{"argv": "' + "x" * (2 << 20), "larger than any kernelspec is"),
    "gone": (spec("/nowhere/bin/python"), "there is no /nowhere/bin/python"),
    "another program": (spec("/bin/sh"), "/bin/sh is no Python"),
    "a program that is nowhere": (spec("micromamba"), "no micromamba on PATH"),
    "escapes for a terminal": (spec("/nowhere/\x1b[2J\n"), "\\x1b[2J\\n"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_kernelspec_that_cannot_be_used(gpudoctor: Gpudoctor, tmp_path: Path, kind: str) -> None:
    """Exit 4 and one line: the file, what is wrong, what to do."""
    text, words = BROKEN[kind]
    place = tmp_path / "kernels" / "mine"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(text)
    done = gpudoctor("check", "--kernel", "mine", JUPYTER_PATH=str(tmp_path), HOME=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1), done.stderr
    assert str(place / "kernel.json") in done.stderr
    assert words in done.stderr
    assert "ipykernel install" in done.stderr or "--pid" in done.stderr


def test_kernel_that_is_not_there(gpudoctor: Gpudoctor, tmp_path: Path) -> None:
    """Which there are, and where was looked."""
    for name in ("Alpha", "beta"):
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "kernel.json").write_text(spec())
    done = gpudoctor("check", "--kernel", "gamma", JUPYTER_PATH=str(tmp_path), HOME=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert f"no Jupyter kernel gamma; found: alpha, beta; looked in {tmp_path}/kernels, " in done.stderr


CLASHES = [
    (["--pid", "1", "--kernel", "a"], ("--kernel", "--pid")),
    (["--python", "python3", "--pid", "1"], ("--python", "--pid")),
    (["--python", "python3", "--kernel", "a"], ("--python", "--kernel")),
    (["--from", "x.json", "--pid", "1"], ("--from", "--pid")),
    (["--from", "x.json", "--kernel", "a"], ("--from", "--kernel")),
    (["--from", "x.json", "--python", "python3"], ("--from", "--python")),
    (["--from", "x.json", "--depth", "smoke"], ("--from", "--depth")),
]


@pytest.mark.parametrize(("options", "named"), CLASHES)
def test_options_that_exclude_one_another(
        gpudoctor: Gpudoctor, options: list[str], named: tuple[str, str]) -> None:
    """Exit 2 and one line with both, before any file is opened."""
    done = gpudoctor("check", *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert all(name in done.stderr for name in named)


def test_number_of_a_process_that_is_none(gpudoctor: Gpudoctor) -> None:
    """Zero and words are wrong usage; a number that nobody has is an input that is not there."""
    assert gpudoctor("check", "--pid", "0").returncode == 2
    assert gpudoctor("check", "--pid", "me").returncode == 2
    assert gpudoctor("check", "--pid", str(1 << 40)).returncode == 4
    found = process.find(1 << 40, as_root="", is_root=True)
    assert isinstance(found, process.NoProcess)
