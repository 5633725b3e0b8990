"""`fix` and `env` keep to the contract of exit codes and streams."""

from __future__ import annotations

import json
import shlex
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from gpudoctor import codec, ruledb
from tests.contract.checkout import run_gpudoctor

SCHEMA = json.loads((files("gpudoctor") / "schema" / "plan-1.json").read_text("utf-8"))
HEALTHY, FINDINGS, USAGE, UNDECIDED, INPUT = range(5)
REMEMBERED = (  # for what --shell conda-deactivate prints
    'if [ -z "${_GPUDOCTOR_BEFORE_CUDA_VISIBLE_DEVICES+x}" ]; then export '
    '_GPUDOCTOR_BEFORE_CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES+x}${CUDA_VISIBLE_DEVICES-}"; fi\n')
HIDDEN = ("--assume", "environment.CUDA_VISIBLE_DEVICES=")
NO_DRIVER = ("--assume", "driver=none")
TAKEN = ("--assume", "gpu.compute_mode=exclusive-process", "--assume", "gpu.compute_processes=1")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the options that name a recorded machine that is healthy."""
    path = tmp_path_factory.mktemp("snapshots") / "healthy.json"
    path.write_text(json.dumps(codec.encode_snapshot(ruledb.load().base)))
    return "--from", str(path)


@pytest.mark.parametrize(("options", "code", "steps"), [
    ((), HEALTHY, 0), (HIDDEN, FINDINGS, 1), (NO_DRIVER, FINDINGS, 2), ((*NO_DRIVER, *HIDDEN), FINDINGS, 3),
    (TAKEN, HEALTHY, 1), ((*TAKEN, "--fail-on", "warning"), FINDINGS, 1),
    (("--require", "gpu>=9"), FINDINGS, 0),
])
def test_fix_ends_as_its_check(
    options: tuple[str, ...], code: int, steps: int, machine: tuple[str, str],
) -> None:
    """The document obeys the schema, and has the exit code in it."""
    run = run_gpudoctor("fix", "--format", "json", *machine, *options)
    assert (run.returncode, run.stderr) == (code, "")
    document = json.loads(run.stdout)
    jsonschema.validate(document, SCHEMA)
    assert (document["exit_code"], len(document["steps"]), document["applied"]) == (code, steps, None)
    check = run_gpudoctor("check", *machine, *options)
    assert check.returncode == code


def test_what_is_foreseen_behind_a_step_is_named(machine: tuple[str, str]) -> None:
    """Without a driver nobody asks whether a framework finds its libraries; with it somebody will."""
    words = (*machine, *NO_DRIVER, "--assume", "release=tensorflow==2.21.0")
    document = json.loads(run_gpudoctor("fix", "--format", "json", *words).stdout)
    assert "pip-nvidia-libs-not-found" in [fault["cause"] for fault in document["later"]]
    assert "FORESEEN" in run_gpudoctor("fix", *words).stdout


@pytest.mark.parametrize(("options", "code", "lines"), [
    ((), HEALTHY, ""), (HIDDEN, HEALTHY, "unset CUDA_VISIBLE_DEVICES\n"), (NO_DRIVER, FINDINGS, ""),
    ((*NO_DRIVER, *HIDDEN), FINDINGS, ""), (TAKEN, HEALTHY, ""),
    ((*TAKEN, "--fail-on", "warning"), FINDINGS, ""),
])
def test_env_prints_lines_alone(
    options: tuple[str, ...], code: int, lines: str, machine: tuple[str, str],
) -> None:
    """What they leave is for people, beside; the exit code is that of a check behind them."""
    run = run_gpudoctor("env", *machine, *options)
    assert (run.returncode, run.stdout) == (code, lines)
    assert ("not cured by variables" in run.stderr) == (options not in ((), HIDDEN))


def test_the_plan_that_env_names_is_for_the_same_machine(machine: tuple[str, str]) -> None:
    """It named `gpudoctor fix` alone: the plan for this machine, for what was found on another."""
    run = run_gpudoctor("env", *machine, "--require", "gpu>=9", *NO_DRIVER)
    (command,) = [line for line in run.stderr.splitlines() if "the plan for all of it" in line]
    words = shlex.split(command.partition("the plan for all of it: ")[2])
    assert words == ["gpudoctor", "fix", *machine, "--require", "gpu>=9", *NO_DRIVER]
    assert "NVIDIA driver" in run_gpudoctor(*words[1:]).stdout


@pytest.mark.parametrize(("shell", "text"), [
    ("fish", "set -q CUDA_VISIBLE_DEVICES; and set -e CUDA_VISIBLE_DEVICES; or true;\n"),
    ("powershell", "Remove-Item -LiteralPath Env:CUDA_VISIBLE_DEVICES -ErrorAction SilentlyContinue\n"),
    ("conda", f"{REMEMBERED}unset CUDA_VISIBLE_DEVICES\n"),
    ("systemd", "[Service]\nUnsetEnvironment=CUDA_VISIBLE_DEVICES\n"),
])
def test_each_shell_has_its_words(shell: str, text: str, machine: tuple[str, str]) -> None:
    """On standard output alone; where they belong is said beside."""
    run = run_gpudoctor("env", "--shell", shell, *machine, *HIDDEN)
    assert (run.returncode, run.stdout) == (HEALTHY, text)


def test_what_cannot_be_written_is_a_failure(machine: tuple[str, str]) -> None:
    """A Dockerfile cannot unset; the reason and the way around are said."""
    run = run_gpudoctor("env", "--shell", "dockerfile", *machine, *HIDDEN)
    assert (run.returncode, run.stdout) == (FINDINGS, "")
    assert "env -u CUDA_VISIBLE_DEVICES" in run.stderr


def test_lines_go_to_a_file_whole(machine: tuple[str, str], tmp_path: Path) -> None:
    """As reports do."""
    target = tmp_path / "lines"
    run = run_gpudoctor("env", *machine, *HIDDEN, "-o", str(target))
    assert (run.returncode, run.stdout, target.read_text()) == (HEALTHY, "", "unset CUDA_VISIBLE_DEVICES\n")


@pytest.mark.parametrize("shell", ["sh", "conda", "systemd"])
def test_no_file_without_lines(shell: str, machine: tuple[str, str], tmp_path: Path) -> None:
    """An empty file was written, over the lines of the shell in which they are set by now."""
    target = tmp_path / "lines"
    target.write_text("unset CUDA_VISIBLE_DEVICES\n")
    run = run_gpudoctor("env", *machine, "--shell", shell, "-o", str(target))
    assert (run.returncode, run.stdout, target.read_text()) == (HEALTHY, "", "unset CUDA_VISIBLE_DEVICES\n")
    assert run.stderr == f"gpudoctor: there is nothing to set, so {target} is not written\n"


@pytest.mark.parametrize("command", ["check", "fix"])
def test_root_is_told_no_sudo_and_others_are(command: str, machine: tuple[str, str]) -> None:
    """`check` named sudo to root, who has none in many a container, and `fix` did not."""
    for number in (0, 1000):
        run = run_gpudoctor(command, *machine, *NO_DRIVER, "--assume", f"system.user_id={number}")
        assert "apt-get install nvidia-driver" in run.stdout
        assert ("sudo " in run.stdout) == (number != 0)


@pytest.mark.parametrize("command", ["fix", "env"])
def test_what_cannot_be_used_is_one_line(command: str, tmp_path: Path) -> None:
    """Wrong usage is 2, a snapshot that is none 4; nothing is printed."""
    for words, code in (
        (["--from", str(tmp_path / "none.json")], INPUT), (["--assume", "nonsense=1"], USAGE),
        (["--what"], USAGE), (["--from", "-", "--python", "x"], USAGE),
    ):
        run = run_gpudoctor(command, *words)
        assert (run.returncode, run.stdout) == (code, ""), words
        assert "Traceback" not in run.stderr


@pytest.mark.parametrize("width", ["80", "200"])
def test_a_plan_fits_its_columns(width: str, machine: tuple[str, str]) -> None:
    """But for commands, which are never broken."""
    run = run_gpudoctor("fix", *machine, *HIDDEN, *TAKEN, environment={"COLUMNS": width})
    commands = ("    run ", "    gpudoctor env", "     ")
    assert max(len(line) for line in run.stdout.splitlines() if not line.startswith(commands)) <= int(width)
    assert "\x1b" not in run.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_a_shell_that_reads_the_same_lines_may_be_named(shell: str, machine: tuple[str, str]) -> None:
    """Whoever has zsh does not look for `sh`."""
    words = (*machine, *HIDDEN)
    assert run_gpudoctor("env", *words, "--shell", shell).stdout == run_gpudoctor("env", *words).stdout != ""


def test_a_plan_for_another_machine_says_which(machine: tuple[str, str]) -> None:
    """Of one step it was said "They are for another machine", and its variables were evaluated here."""
    said = " ".join(run_gpudoctor("fix", *machine, *HIDDEN).stdout.split())
    assert "It is for the machine that was recorded, not for this one." in said
    assert "eval" not in said
    assert "# prints the variables, to be set there" in said
    assert "gpudoctor fix --apply" not in said


def test_what_is_missing_is_no_command_on_the_machine() -> None:
    """The plan for a machine without a card spoke of something that is "done to the hardware"."""
    said = " ".join(run_gpudoctor("fix", "--assume", "cc=none", "--assume", "driver=none").stdout.split())
    assert "STEP 1 Run this on a machine" in said
    assert "no command does it here: it is about the machine itself, or which one is used" in said
    assert "It is for a machine that is partly assumed, not for this one." in said


def test_under_wsl_nothing_of_a_driver_is_run_or_undone_inside(machine: tuple[str, str]) -> None:
    """Its undoing spoke of the package manager, which must not have a driver there."""
    words = ("--assume", "cc=8.9", "--assume", "driver=470.57.02", "--assume", "release=torch==2.10.0",
             "--assume", "system.wsl=2")
    [step] = json.loads(run_gpudoctor("fix", "--format", "json", *machine, *words).stdout)["steps"]
    assert (step["kind"], step["done_by"], step["commands"]) == ("driver", "hand", ["wsl.exe --shutdown"])
    assert step["undo"] == {"commands": [], "note": "it is undone where it was done: in Windows"}
