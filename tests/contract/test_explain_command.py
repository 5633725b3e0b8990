"""`gpudoctor explain` as a user runs it: inputs, formats, exit codes, pages, no escape of a terminal."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import jsonschema
import pytest

from tests.contract.checkout import ROOT, run_gpudoctor
from tests.explain.cranes import CRANE_RULES, HOOK, MYSTERY, SQUEAK, TORN

RULES = ("--rules", str(CRANE_RULES))
HEALTHY, FINDINGS, USAGE, UNDECIDED, INPUT = range(5)
INTERRUPTED = 130

Run = subprocess.CompletedProcess[str]


def explain(*arguments: str) -> Run:
    """Run the command with the crane's rules."""
    return run_gpudoctor("explain", *RULES, *arguments)


def explain_input(text: bytes, columns: int | str = 80) -> subprocess.CompletedProcess[bytes]:
    """Run the command on standard input."""
    return subprocess.run(
        [sys.executable, "-m", "gpudoctor", "explain", *RULES, "-"], input=text, cwd=ROOT,
        env={**os.environ, "COLUMNS": str(columns)}, capture_output=True, timeout=120, check=False)


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., str]:
    """Return `write(*lines)`, which writes a log and returns its name."""
    def write(*lines: str, name: str = "crane.log") -> str:
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)
    return write


@pytest.mark.parametrize(("lines", "code"), [
    ((HOOK,), FINDINGS), ((SQUEAK,), HEALTHY), ((MYSTERY,), UNDECIDED), (("all is well",), UNDECIDED),
    ((TORN,), HEALTHY),  # a warning, and --fail-on is error
])
def test_exit_codes_are_those_of_check(lines: tuple[str, ...], code: int, log: Callable[..., str]) -> None:
    """And the report says the same code."""
    run = explain("--format", "json", log(*lines))
    assert (run.returncode, run.stderr) == (code, "")
    report = json.loads(run.stdout)
    assert report["exit_code"] == code
    jsonschema.validate(report, json.loads((ROOT / "gpudoctor/schema/report-1.json").read_text()))


@pytest.mark.parametrize(("data", "reason"), [
    (b"", "is empty: there is nothing to explain"),
    (b" \n\0\t\n", "holds only blanks: there is nothing to explain"),
    (bytes(range(256)) * 40, "is binary, not a text"),
    (b"\x7fELF" + bytes(200), "is a program or a core file, not a text"),
])
def test_an_input_without_text_is_refused_in_one_line(data: bytes, reason: str, tmp_path: Path) -> None:
    """It is no text that speaks of no fault."""
    (tmp_path / "core").write_bytes(data)
    run = explain(str(tmp_path / "core"))
    assert (run.returncode, run.stdout) == (INPUT, "")
    assert run.stderr == f"gpudoctor: {tmp_path}/core: {reason}\n"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_without_an_end_is_refused_by_name_and_as_standard_input(device: str) -> None:
    """It was read until Ctrl-C."""
    named = explain(device)
    with open(device, "rb") as stream:
        given = subprocess.run([sys.executable, "-m", "gpudoctor", "explain", *RULES, "-"], stdin=stream,
                               cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    for run, name in ((named, device), (given, "standard input")):
        assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1)
        assert run.stderr.startswith(f"gpudoctor: {name}: is a device, which has no end")


def test_the_null_device_is_empty() -> None:
    """As everywhere."""
    run = explain(os.devnull)
    assert run.returncode == INPUT
    assert run.stderr == "gpudoctor: /dev/null: is empty: there is nothing to explain\n"


def test_a_socket_and_what_may_not_be_read_are_one_line_each(tmp_path: Path) -> None:
    """What they are, not what the system calls the error of opening them."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        run = explain(str(tmp_path / "socket"))
    assert (run.returncode, "is a socket" in run.stderr, run.stderr.count("\n")) == (INPUT, True, 1)
    run = explain("/proc/self/mem/x")
    assert (run.returncode, "cannot be read: Not a directory" in run.stderr) == (INPUT, True)


def test_a_pipe_by_its_name_is_read_to_its_end(tmp_path: Path) -> None:
    """Also one of which the writer comes late, and `<(command)` of a shell."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([sys.executable, "-m", "gpudoctor", "explain", *RULES, str(tmp_path / "pipe")],
                          cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        (tmp_path / "pipe").write_text(HOOK + "\n")
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, "hook-missing" in out) == (FINDINGS, True)


def test_ctrl_c_ends_the_wait_for_a_pipe_that_nobody_writes(tmp_path: Path) -> None:
    """Nothing was read, so there is nothing to tell. Regression: it ended like a file that cannot be used."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([sys.executable, "-m", "gpudoctor", "explain", *RULES, str(tmp_path / "pipe")],
                          cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        _wait_until_it_opens(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (INTERRUPTED, "gpudoctor: interrupted\n")


def _wait_until_it_opens(pid: int) -> None:
    """Wait until a process waits for the other end of a pipe."""
    deadline = time.monotonic() + 60
    while "wait_for_partner" not in Path(f"/proc/{pid}/wchan").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_empty_input_beside_a_log_is_named_and_the_log_explained(log: Callable[..., str]) -> None:
    """One of several files is enough."""
    run = explain(log(name="empty.log"), log(HOOK))
    assert run.returncode == FINDINGS
    assert "empty.log: holds only blanks" in run.stderr


def test_what_is_a_failure_can_be_chosen(log: Callable[..., str]) -> None:
    """As for a check."""
    assert explain("--fail-on", "warning", log(TORN)).returncode == FINDINGS
    assert explain("--allow-undecided", log(MYSTERY)).returncode == HEALTHY


def test_standard_input_and_several_files_are_one_text(log: Callable[..., str]) -> None:
    """Each line is quoted with the file that it stands in."""
    first, second = log(SQUEAK, name="a.log"), log("", HOOK, name="b.log")
    found = json.loads(explain("--format", "json", first, second).stdout)["findings"]
    assert [finding["cause"] for finding in found] == ["hook-missing", "hook-of-other-make", "benign-squeak"]
    assert found[0]["evidence"][0]["source"] == f"{second}:2, crane-hook-missing"
    piped = explain_input(HOOK.encode())
    assert (piped.returncode, b"standard input:1" in piped.stdout) == (FINDINGS, True)


def test_any_encoding_is_read() -> None:
    """UTF-16 from PowerShell, gzip, colours, carriage returns and broken bytes."""
    coloured = f"\x1b[31m2026-11-20 10:00:00 {HOOK}\x1b[0m\r\n".encode()
    for data in (HOOK.encode("utf-16"), gzip.compress(HOOK.encode()), coloured, b"\xff\0\n" + HOOK.encode()):
        assert explain_input(data).returncode == FINDINGS, data


def test_nothing_that_a_terminal_obeys_is_printed(log: Callable[..., str]) -> None:
    """Neither from a known line nor from an unknown one; nor markup."""
    lines = (HOOK + " \x1b]0;owned\x07\x9b31m [red]x[/red] \u202e", "Error: \x1b[2J\x1b]8;;http://x\x07 boom")
    for run in (explain(log(lines[0])), explain(log(lines[1])), explain(log(*lines), "--format", "json")):
        assert not any(ord(c) < 32 and c != "\n" for c in run.stdout + run.stderr)
        assert not set("\x7f\x9b\u202e") & set(run.stdout + run.stderr)


@pytest.mark.parametrize("columns", ["\u00b2\u00b2", "9" * 5000, "-1", "wide", ""])
def test_a_width_that_is_none_is_another(columns: str) -> None:
    """Regression: every command ended with exit code 5 where COLUMNS was no number that Python reads."""
    assert explain_input(HOOK.encode(), columns).returncode == FINDINGS


def _wait_until_read(pipe: IO[bytes]) -> None:
    """Wait until nothing is left in a pipe, and its reader waits for more."""
    deadline = time.monotonic() + 60
    while int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.5)


@pytest.mark.parametrize(("line", "code", "last"), [
    (HOOK, FINDINGS, "2 candidates"), (SQUEAK, UNDECIDED, "Undecided: the text was not read to its end"),
])
def test_ctrl_c_gives_what_was_found_so_far(line: str, code: int, last: str) -> None:
    """Where that is no fault, nobody knows what was still to come."""
    with subprocess.Popen([sys.executable, "-m", "gpudoctor", "explain", *RULES, "-"], cwd=ROOT,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
        _wait_until_read(process.stdin)
        process.send_signal(signal.SIGINT)
        out, said = (stream.decode() for stream in process.communicate(timeout=60))
    assert (process.returncode, line in " ".join(out.split()), last in out) == (code, True, True)
    assert "interrupted after 1 lines" in said


def test_the_report_can_be_written_to_a_file(log: Callable[..., str], tmp_path: Path) -> None:
    """Then nothing is printed."""
    run = explain(log(HOOK), "-o", str(tmp_path / "report.txt"))
    assert (run.returncode, run.stdout) == (FINDINGS, "")
    assert "hook-missing" in (tmp_path / "report.txt").read_text()


@pytest.mark.parametrize("name", ["GPD9910", "gpd9910", "hook-missing", "Hook_Missing"])
def test_a_rule_by_its_id_or_cause_is_its_page(name: str) -> None:
    """It is no input that would have to be explained."""
    run = explain(name)
    assert (run.returncode, run.stdout.splitlines()[0]) == (HEALTHY, "# Install the hook")


@pytest.mark.parametrize(("arguments", "code", "says"), [
    (("no-such-cause",), INPUT, "no such file, and no such rule"),
    (("hook-mising",), INPUT, "no such file, and no such rule; did you mean hook-missing?;"),
    (("hook_mising",), INPUT, "did you mean hook-missing?;"),
    (("hookmissings",), INPUT, "did you mean hook-missing?;"),
    (("nowhere.log",), INPUT, "no such file"),
    ((".",), INPUT, "is a folder"), (("-", "-"), USAGE, "only once"), ((), USAGE, "Missing argument"),
    (("hook-missing", __file__), USAGE, "is a page"),
    ((__file__, "-o", "/nowhere/report"), INPUT, "no such folder"),
])
def test_what_cannot_be_followed_is_one_line(arguments: tuple[str, ...], code: int, says: str) -> None:
    """Before anything is read."""
    run = explain(*arguments)
    assert (run.returncode, run.stdout) == (code, "")
    assert says in run.stderr


@pytest.mark.parametrize("width", [80, 200])
def test_reports_on_texts_look_as_agreed(width: int, golden: Callable[[str, str], None]) -> None:
    """One with candidates beside a harmless line, one that is certain, one that nothing explains."""
    texts = {"candidates": (SQUEAK, HOOK, "cuda: 11.2", "gpu: RTX 3090"), "certain": (TORN,),
             "harmless": (SQUEAK,), "unknown": (MYSTERY, "Error: no such crane")}
    told = ""
    for name, lines in texts.items():
        run = explain_input("\n".join(lines).encode(), width)
        told += f"== {name}\n{run.stdout.decode()}\n"
    golden(f"explain-{width}.txt", told)
