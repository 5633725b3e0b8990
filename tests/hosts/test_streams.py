"""Standard streams that are closed, full or read by nobody: one line and an exit code, no half reports."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.hosts.looking import COMMAND, HEALTHY, ROOT, RULES, arguments, looked

COMMANDS = (
    "check --from {snapshot}",
    "check --format json --from {snapshot}",
    "rules list",
    "facts",
    "--version",
    "check --help",
    "diff {snapshot} {snapshot}",
    "snapshot --timeout 5",
)


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run gpudoctor with a shell's redirections: the line is what follows the command's name."""
    command = f"exec {shlex.join(COMMAND)} {line}"
    environment = {**os.environ, "GPUDOCTOR_RULES": str(RULES)}
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("target", "reason"), [("/dev/full", "No space left on device"), ("&-", "it is closed")]
)
def test_standard_output_that_takes_nothing(command: str, target: str, reason: str, recorded: Path) -> None:
    """What cannot be written is no success: one line says so, with the exit code of an unusable file."""
    run = shell(f"{command.format(snapshot=recorded)} >{target}")
    if "--help" in command and target == "&-":
        assert run.returncode in (0, 4)  # click prints nothing on a stream that is not there
        return
    assert (run.returncode, run.stderr) == (4, f"gpudoctor: standard output cannot be written: {reason}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_reader_that_has_gone(command: str, recorded: Path) -> None:
    """A closed pipe ends the command in silence, with the exit code that a shell gives to SIGPIPE.

    Regression: --version called it a failure of gpudoctor, and --help ended with 1.
    """
    line = f"{shlex.join(COMMAND)} {command.format(snapshot=recorded)}"
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run(
            ["bash", "-c", f"exec {line}"],
            stdout=writing,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (141, b"")


@pytest.mark.parametrize(("command", "code"), [("check --from nowhere.json", 4), ("nonsense", 2),
                                               ("fix --from {snapshot}", 0)])
@pytest.mark.parametrize("target", ["2>/dev/full", "2> >(exec true)"])
def test_standard_error_that_takes_nothing(command: str, code: int, target: str, recorded: Path) -> None:
    """Regression: the exit code was 1 instead, which says that something is wrong with the machine."""
    run = shell(f"{command.format(snapshot=recorded)} {target}")
    assert (run.returncode, run.stderr) == (code, "")


def test_texts_are_closed_when_they_are_read(tmp_path: Path) -> None:
    """Regression: Python's development mode told of a file that was left open."""
    log = tmp_path / "train.log"
    log.write_text("CUDA error: out of memory\n")
    run = subprocess.run([COMMAND[0], "-X", "dev", *COMMAND[1:], "explain", str(log)], capture_output=True,
                         text=True, cwd=ROOT, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (1, "")


@pytest.mark.parametrize("redirection", ["<&-", "2>&-", "<&- 2>&-"])
def test_closed_streams_that_the_report_does_not_need(redirection: str) -> None:
    """A closed standard input or error changes nothing, and their numbers are given to no other file."""
    line = shlex.join(arguments())
    completed = HEALTHY.run(["sh", "-c", f"exec {line} {redirection}"], cwd=str(ROOT))
    assert looked(completed).report["verdict"] == "healthy"


def test_report_into_a_file_with_every_stream_closed() -> None:
    """--output needs no stream at all; nothing else ends up in the file."""
    line = shlex.join(arguments("--output", "/tmp/report.json"))
    script = f"(exec {line} <&- >&- 2>&-); code=$?; cat /tmp/report.json; exit $code"
    assert looked(HEALTHY.run(["sh", "-c", script], cwd=str(ROOT))).report["verdict"] == "healthy"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminal_that_cannot_say_every_character(encoding: str, recorded: Path) -> None:
    """What the output's encoding lacks is written as an escape instead of ending the command."""
    document = json.loads(recorded.read_text())
    document["snapshot"]["host"]["system.distribution"]["value"] = "d\u00e9bian \u6f22"
    run = subprocess.run(
        [*COMMAND, "check", "--from", "-"],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        encoding=encoding,
        timeout=60,
        check=False,
    )
    assert run.returncode in (0, 1, 3), run.stderr
    assert "\\u6f22" in run.stdout
