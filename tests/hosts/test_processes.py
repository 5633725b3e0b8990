"""check --pid: what is examined is the process, and not the shell beside it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gpudoctor.transports import process
from tests.harness.interpreters import need_python
from tests.harness.nvidia import LIBRARY_FOLDER, driver_libraries, driver_links
from tests.harness.patient import Patient
from tests.hosts.beside import SLEEPER, UP, beside, causes, examined, said, sleeper
from tests.hosts.looking import COMMAND, CUDA, DRIVER, HEALTHY, LIBCUDA, arguments, as_user, look

NOBODY = 65534
OFF_PATH = "/usr/local/nvidia/lib64"
# The driver's libcuda lies where the loader finds it with LD_LIBRARY_PATH only.
ON_PATH = (LIBCUDA, f"{LIBRARY_FOLDER}/libcuda.so.1", f"{LIBRARY_FOLDER}/libcuda.so")
HIDDEN_LIBCUDA = HEALTHY.without(*ON_PATH).adding(
    libraries={f"{OFF_PATH}/libcuda.so.{DRIVER}": driver_libraries(DRIVER, CUDA)[LIBCUDA]},
    links={path: target for path, target in driver_links(DRIVER, OFF_PATH).items() if "libcuda" in path})
FAULT = "libcuda-not-on-loader-path"


def test_finding_is_about_the_process_and_not_about_the_shell(patient: Patient) -> None:
    """The shell has LD_LIBRARY_PATH and is healthy; the process was started without it and is not."""
    machine = HIDDEN_LIBCUDA.adding(environment={"LD_LIBRARY_PATH": OFF_PATH})
    shell = look(machine, "--python", str(patient.python), rules=None)
    assert FAULT not in causes(shell)
    assert shell.fact("process.id") == {"absent": "no process was named (--pid)"}
    seen = examined(machine, sleeper(patient.python))
    assert FAULT in causes(seen)
    assert seen.fact("loader.library_path") == {"absent": "environment variable LD_LIBRARY_PATH"}
    found = next(f for f in seen.report["findings"] if f["cause"] == FAULT)
    assert {"LD_LIBRARY_PATH": OFF_PATH} in [fix["env"] for fix in found["fixes"]]
    assert "tried" in {fix["proven"] for fix in found["fixes"]}


def test_process_that_is_healthy_in_a_shell_that_is_not(patient: Patient) -> None:
    """And the other way round, with the library that it has mapped."""
    seen = examined(
        HIDDEN_LIBCUDA, sleeper(patient.python, "libcuda.so.1"), environment={"LD_LIBRARY_PATH": OFF_PATH})
    assert FAULT not in causes(seen)
    assert seen.fact("loader.library_path")["value"] == [OFF_PATH]
    assert seen.fact("process.libraries")["value"] == [
        {"path": f"{OFF_PATH}/libcuda.so.{DRIVER}", "soname": "libcuda.so.1", "deleted": False}]
    assert seen.fact("process.command")["value"].startswith(f"{patient.python} {SLEEPER} pass")


def test_report_says_that_a_process_was_examined(patient: Patient) -> None:
    """Its number, its command, and what of it cannot be seen, before anything else."""
    text = [*COMMAND, "check", "--depth", "static"]
    done = beside(HEALTHY, sleeper(patient.python), doctor=text)
    lines = done.stdout.splitlines()
    row = next(line for line in lines if line.startswith("  process "))
    said = " ".join(line.strip() for line in lines)
    assert "sleeper.py" in said
    assert str(patient.python)[:20] in said
    assert "its environment is seen as it" in said
    assert lines.index(row) == 2


def test_library_that_was_replaced_under_its_feet(patient: Patient) -> None:
    """An update put another file in the place of the one it runs with: that is said, with the remedy."""
    library = "/opt/lib/libcudart.so.12"
    machine = HEALTHY.adding(libraries={library: driver_libraries(DRIVER, CUDA)[LIBCUDA]})
    command = sleeper(patient.python, library)
    update = f"cp {library} /opt/new; mv /opt/new {library}"
    seen = examined(machine, command, after=update)
    assert seen.fact("process.libraries")["value"] == [{"path": library, "deleted": True}]
    text = beside(machine, command, after=update, doctor=[*COMMAND, "check", "--depth", "static"])
    assert f"updated under its feet, start it anew: {library}" in " ".join(text.stdout.split())


def test_environment_by_the_command_line(patient: Patient, tmp_path: Path) -> None:
    """A virtual environment's python leads to the base program: how it was called says whose it is."""
    other = Patient.create(tmp_path / "other", python="3.11")
    for called in (str(patient.python), "python", f"./{patient.python.name}"):
        seen = examined(
            HEALTHY, sleeper(called), cwd=str(patient.prefix / "bin"),
            environment={"PATH": f"{patient.prefix}/bin", "VIRTUAL_ENV": str(other.prefix)})
        assert seen.fact("python.prefix")["value"] == str(patient.prefix)
        assert "its command line names it" in seen.fact("python.chosen_because")["value"]


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_process_of_another_python(version: str) -> None:
    """Its own interpreter is what asks, old or new."""
    seen = examined(HEALTHY, sleeper(need_python(version).resolve(), "libcuda.so.1"))
    assert seen.fact("python.version")["value"].startswith(f"{version}.")
    assert set(seen.outcomes.values()) == {"ok", "not-asked"}
    assert seen.fact("process.libraries")["value"][0]["soname"] == "libcuda.so.1"


def test_virtual_env_of_a_base_interpreter_means_nothing(patient: Patient) -> None:
    """VIRTUAL_ENV is a word to shells: the base interpreter, called by its own name, never reads it."""
    base = need_python("3.11").resolve()
    seen = examined(HEALTHY, sleeper(base), environment={"VIRTUAL_ENV": str(patient.prefix)})
    assert seen.fact("python.executable")["value"] == str(base)
    assert seen.fact("python.environment")["value"] != "venv"


def test_environment_by_what_is_mapped(patient: Patient) -> None:
    """A base interpreter that was led into an environment, as tools do, has its extension modules mapped."""
    base = need_python("3.11").resolve()
    library = next(base.parent.parent.glob("lib/python3.11/lib-dynload/_json*.so"))
    patient.add_file("borrowed/__init__.py")
    shutil.copy(library, patient.site_packages / "borrowed" / library.name)
    folder = str(patient.site_packages / "borrowed")
    code = f"sys.path[:0] = [{folder!r}]; sys.modules.pop('_json', None); import _json"
    try:
        seen = examined(HEALTHY, sleeper(base, code=code))
    finally:
        patient.remove("borrowed")
    assert seen.fact("python.prefix")["value"] == str(patient.prefix)
    assert "extension modules" in seen.fact("python.chosen_because")["value"]


TITLE = """
fields = open("/proc/self/stat").read().rpartition(")")[2].split()
start, end = int(fields[45]), int(fields[46])
with open("/proc/self/mem", "r+b", 0) as memory:
    memory.seek(start)
    memory.write(b"worker 7".ljust(end - start, b"\\0"))
"""


def test_process_that_wrote_over_its_command_line(patient: Patient) -> None:
    """As servers do: then its VIRTUAL_ENV is the best word there is, if it leads to the program that runs."""
    seen = examined(HEALTHY, sleeper(patient.python, code=TITLE), environment={
        "VIRTUAL_ENV": str(patient.prefix), "PATH": "/usr/bin"})
    assert seen.fact("process.command")["value"] == "worker 7"
    assert seen.fact("python.prefix")["value"] == str(patient.prefix)
    assert "VIRTUAL_ENV" in seen.fact("python.chosen_because")["value"]


def test_script_folder_comes_first(patient: Patient) -> None:
    """A torch.py beside the script hides torch from it, wherever gpudoctor stands."""
    machine = HEALTHY.adding(files={"/opt/torch.py": "raise SystemExit(9)\n"})
    seen = examined(machine, sleeper(patient.python), cwd="/")
    assert seen.fact("python.shadowing_files")["value"] == ["/opt/torch.py"]


def test_shadowed_standard_library_does_not_stop_the_look(patient: Patient) -> None:
    """A json.py on the PYTHONPATH of the process is its own affair, and is not run."""
    machine = HEALTHY.adding(files={"/opt/site/json.py": "import os; os._exit(9)\n"})
    seen = examined(machine, sleeper(patient.python), environment={"PYTHONPATH": "/opt/site"})
    assert set(seen.outcomes.values()) == {"ok", "not-asked"}


CRASHING = """
import os, signal, sys
if "--collect" in getattr(sys, "orig_argv", sys.argv) or not hasattr(sys, "argv"):
    os.kill(os.getpid(), signal.SIGSEGV)
"""


def test_interpreter_that_crashes_at_its_start_says_nothing_of_libcuda() -> None:
    """It ends by the signal by which libcuda would end it, and has not come to asking libcuda."""
    machine = HEALTHY.adding(files={"/opt/site/sitecustomize.py": CRASHING})
    seen = examined(machine, sleeper(need_python("3.11").resolve()), environment={"PYTHONPATH": "/opt/site"})
    assert seen.outcomes["cuda"] == "not-started"
    assert "before its collector ran: SIGSEGV" in seen.fact("cuda.ended")["unknown"]
    assert (causes(seen), seen.exit_code) == (set(), 3)


def test_libcuda_that_crashes_is_named_where_the_process_lives() -> None:
    """The same signal, from within libcuda."""
    machine = HEALTHY.adding(shim="crash.cuInit=11")
    seen = examined(machine, sleeper(need_python("3.11").resolve()))
    assert seen.outcomes["cuda"] == "signal"
    assert seen.fact("cuda.ended")["value"] == "crashed"
    assert "libcuda-no-answer" in causes(seen)


SITE = """
import os
with open("/tmp/uids", "a") as file:
    file.write("%d %d\\n" % (os.getuid(), os.geteuid()))
"""
USUAL_PATH = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}


def test_root_runs_nothing_of_another_users_process_as_root() -> None:
    """Its PYTHONPATH and its interpreter are that user's word: they are followed as that user only."""
    become = as_user(NOBODY)
    machine = HEALTHY.adding(files={"/opt/site/sitecustomize.py": SITE})
    command = [*become, "env", "PYTHONPATH=/opt/site", *sleeper(need_python("3.11").resolve())]
    doctor = f'{" ".join(arguments(rules=None))} "$@" >/tmp/report; cat /tmp/uids'
    done = beside(machine, command, environment=USUAL_PATH, after="chmod 666 /tmp/uids",
                  doctor=["sh", "-c", doctor, "sh"])
    users = set(done.stdout.split("\n")) - {""}
    assert users == {f"{NOBODY} {NOBODY}"}, done.stderr
    assert done.stdout.count("\n") > 5


def test_device_nodes_are_judged_for_the_user_of_the_process() -> None:
    """Root may open everything; the process may not, and that is what keeps it from the card."""
    become = as_user(NOBODY)
    python = need_python("3.11").resolve()
    done = examined(HEALTHY, [*become, *sleeper(python)], environment=USUAL_PATH,
                    before=["sh", "-c", 'chmod 600 /dev/nvidia* && exec "$@"', "sh"])
    assert done.fact("system.user_id")["value"] == NOBODY
    assert "/dev/nvidia0" in done.fact("driver.denied_nodes")["value"]


def test_refused_process_of_another_user() -> None:
    """One line: whose it is, and the command to type."""
    become = as_user(NOBODY)
    line = said(beside(HEALTHY, sleeper(need_python("3.11").resolve()), before=become))
    assert "of user 0 cannot be looked into" in line
    assert "sudo " in line
    assert "check --pid" in line


def test_refused_root_of_its_own_to_an_ordinary_user() -> None:
    """Entering another mount namespace takes root: that is said before anything is tried."""
    become = as_user(NOBODY)
    command = ["unshare", "--mount", *become, *sleeper(need_python("3.11").resolve())]
    line = said(beside(HEALTHY, command, before=become, environment=USUAL_PATH))
    assert all(word in line for word in ("mount namespace of its own", "only root can enter", "sudo "))


@pytest.mark.parametrize(("command", "words"), [
    (["sh", "-c", f"touch {UP}; sleep 300 & wait"], ["runs no Python", "/bin/dash"]),
    ([SLEEPER], ["there is no process"]),
])
def test_refused_what_is_no_python(command: list[str], words: list[str]) -> None:
    """A shell, or a number that nobody has any more: exit 4 and one line."""
    line = said(beside(HEALTHY, command, after="kill -0 $pid 2>/dev/null || wait $pid"))
    assert all(word in line for word in words), line


PARENT = f"""
import os, time
child = os.fork() or os._exit(0)
with open("{UP}.new", "w") as file:
    file.write(str(child))
os.rename("{UP}.new", "{UP}")
time.sleep(300)
"""


def test_refused_process_that_has_ended() -> None:
    """A zombie has a number and nothing else."""
    done = beside(HEALTHY, [str(need_python("3.11").resolve()), "-c", PARENT],
                  doctor=["sh", "-c", f'{" ".join(arguments())} --pid $(cat {UP})', "sh"])
    assert "has ended" in said(done)


def test_refused_thread_of_the_kernel() -> None:
    """What has no program has no environment."""
    threads = [name for name in os.listdir("/proc") if name.isdigit() and is_kernel_thread(name)]
    if not threads:
        pytest.skip("no thread of the kernel can be seen here")
    found = process.find(int(threads[0]), as_root="sudo gpudoctor", is_root=True)
    assert isinstance(found, process.NoProcess)
    assert "thread of the kernel" in found.reason


def is_kernel_thread(number: str) -> bool:
    """Return whether a process is one, by the flags that the kernel keeps."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return bool(int(fields[6]) & 0x00200000)

