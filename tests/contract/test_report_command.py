"""`gpudoctor report`: many machines in one summary; its exit codes, formats, bounds, and Ctrl-C."""

from __future__ import annotations

import csv
import fcntl
import json
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.contract.checkout import run_gpudoctor, run_without_privilege
from tests.harness.fleet import OTHER, USUAL, encoded, machine, report, with_host, write_rack
from tests.harness.pages import assert_shows
from tools.build_schemas import render

RECORDED = Path(__file__).parents[1] / "gpu" / "recorded"
SECONDS = 120


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of machines."""
    return write_rack(tmp_path_factory.mktemp("many") / "rack")


def summary(*words: object) -> tuple[int, dict[str, Any]]:
    """Return exit code and summary, which obeys its schema and says the same code."""
    done = run_gpudoctor("report", "--format", "json", *map(str, words))
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, json.loads(render("summary-1.json")))
    assert found["exit_code"] == done.returncode
    return done.returncode, found


def test_a_rack(rack: Path) -> None:
    """Verdicts, causes and odd machines of fourteen reports; the odd driver is held beside the usual one."""
    code, found = summary(rack)
    assert (code, found["machines"], found["reports"], found["judged"]) == (1, 14, 14, 0)
    assert found["verdicts"] == {"healthy": 11, "findings": 3, "undecided": 0}
    assert "gpu-hardware-not-enumerated" in [one["cause"] for one in found["causes"] if one["machines"] == 2]
    apart = {tuple(one["names"]): one for peers in found["peers"] for one in peers["apart"]}
    assert [[Path(name).name for name in names] for names in apart] == [
        ["node07.json"], ["node03.json", "node09.json"]]
    differences = {d["fact"]: d for one in apart.values() for d in one["differences"]}
    assert differences["driver.kernel_version"] == {
        "fact": "driver.kernel_version", "value": [OTHER], "usual": [USUAL], "usual_machines": 11, "of": 12}
    assert {Path(one["typical"]).name for one in apart.values()} == {"node00.json"}


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("what", ["rack", "recorded"])
def test_the_text(rack: Path, what: str, columns: str, golden: Callable[[str, str], None],
                  monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person reads, of made-up machines and of those that were recorded on a card."""
    monkeypatch.setenv("COLUMNS", columns)
    folder = rack if what == "rack" else RECORDED
    done = run_gpudoctor("report", str(folder))
    assert (done.returncode, done.stderr) == (1, "")
    golden(f"report/{what}-{columns}.txt", done.stdout.replace(str(folder), f"{what}"))


def test_the_guide_shows_what_is_printed(rack: Path, monkeypatch: pytest.MonkeyPatch,
                                          updating: bool) -> None:
    """The example in the guide is this rack."""
    monkeypatch.setenv("COLUMNS", "100")
    done = run_gpudoctor("report", str(rack)).stdout.replace(str(rack), "reports")
    assert_shows("summary", f"```text\n$ gpudoctor report reports/\n{done}```\n", updating=updating)


def test_the_command_it_prints_works(rack: Path) -> None:
    """The diff of an odd machine beside a typical one, typed as it is told."""
    lines = run_gpudoctor("report", str(rack)).stdout.splitlines()
    first = next(line.split() for line in lines if line.strip().startswith("gpudoctor diff"))
    done = run_gpudoctor(*first[1:])
    assert (done.returncode, OTHER in done.stdout) == (0, True)


# -- exit codes --------------------------------------------------------------------------------------------


def test_all_healthy_is_0(tmp_path: Path) -> None:
    """Files that are none of ours change nothing, and are told."""
    (tmp_path / "a.json").write_text(report())
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "notes.txt").write_text("x")
    code, found = summary(tmp_path)
    assert (code, [(one["what"], one["files"]) for one in found["skipped"]]) == (
        0, [("no report or snapshot", 2)])


@pytest.mark.parametrize(("broken", "why"), [
    ("{", "not valid JSON"), ("", "is empty"), ('{"schema": "gpudoctor.report/1"}', "must be lists"),
    ('{"schema": "gpudoctor.report/2"}', "newer"), ('{"schema": "gpudoctor.snapshot/1"}', "host"),
    ('{"schema": "gpudoctor.raw/1"}', "probes")])
def test_a_machine_that_cannot_be_read_is_not_fine(tmp_path: Path, broken: str, why: str) -> None:
    """Of it nothing is known: 3, or 0 where that is allowed; what could be read is told."""
    (tmp_path / "a.json").write_text(report())
    (tmp_path / "b.json").write_text(broken)
    code, found = summary(tmp_path)
    assert (code, found["machines"], found["refused"]["files"]) == (3, 1, 1)
    assert why in found["refused"]["first"][0]["reason"]
    assert summary(tmp_path, "--allow-undecided")[0] == 0


@pytest.mark.parametrize("options", [[], ["--fail-on", "warning"]])
def test_findings_are_1_from_a_severity_on(options: list[str], tmp_path: Path) -> None:
    """A warning is a failure only for who says so."""
    raw = json.loads(report())
    found = {"rule": "GPD7050", "cause": "gpu-memory-in-use", "severity": "warning", "consequences": []}
    (tmp_path / "a.json").write_text(json.dumps({**raw, "verdict": "findings", "findings": [found]}))
    assert summary(tmp_path, *options)[0] == (1 if options else 0)


def test_undecided_is_3(tmp_path: Path) -> None:
    """A snapshot of which something that matters is not known, judged now."""
    blind = with_host(machine(), {"cuda.init_code": None, "cuda.ended": None})
    (tmp_path / "a.json").write_text(json.dumps(encoded(blind)))
    code, found = summary(tmp_path)
    assert (code, found["verdicts"]["undecided"], found["judged"]) == (3, 1, 1)
    assert summary(tmp_path, "--allow-undecided")[0] == 0


@pytest.mark.parametrize("content", [None, "{", '{"a": 1}'])
def test_nothing_that_can_be_read_is_4(tmp_path: Path, content: str | None) -> None:
    """One line says what there was, and nothing is printed."""
    if content is not None:
        (tmp_path / "a.json").write_text(content)
    done = run_gpudoctor("report", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert str(tmp_path) in done.stderr


def test_usage() -> None:
    """Something has to be named, and standard input is there once."""
    assert run_gpudoctor("report").returncode == 2
    assert run_gpudoctor("report", "-", "-").returncode == 2


# -- documents ---------------------------------------------------------------------------------------------


def test_a_snapshot_is_judged_as_check_judges_it() -> None:
    """The same causes as `check --from` of the same file."""
    file = RECORDED / "h200-580.159.04-2026-11-20-masked-tensorflow-2.21.json"
    one = json.loads(run_gpudoctor("check", "--from", str(file), "--format", "json").stdout)
    _, found = summary(file)
    assert sorted(cause["cause"] for cause in found["causes"]) == sorted({
        finding["cause"] for finding in one["findings"]})
    assert found["rules"] == one["rules"]


def test_judge_judges_reports_anew(tmp_path: Path) -> None:
    """What a report says of itself does not count then, and editions are one."""
    raw = json.loads(report(OTHER))
    lie = {**raw, "verdict": "healthy", "findings": [], "rules": {**raw["rules"], "version": "2001.1.0"}}
    (tmp_path / "a.json").write_text(json.dumps(lie))
    (tmp_path / "b.json").write_text(report())
    assert (summary(tmp_path)[0], len(summary(tmp_path)[1]["editions"])) == (0, 2)
    code, found = summary(tmp_path, "--judge")
    assert (code, len(found["editions"]), found["judged"]) == (1, 1, 2)


# -- formats -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "json", "csv", "markdown", "html"])
def test_every_format_names_the_odd_machine(rack: Path, kind: str, tmp_path: Path) -> None:
    """On standard output and, whole, in a file; the exit code is the same."""
    file = tmp_path / "summary"
    shown = run_gpudoctor("report", str(rack), "--format", kind)
    done = run_gpudoctor("report", str(rack), "--format", kind, "-o", str(file))
    assert (shown.returncode, done.returncode, done.stdout) == (1, 1, "")
    assert file.read_text() == shown.stdout
    plain = shown.stdout.replace("\\", "")
    assert ["node07.json" in plain, OTHER in plain, "gpu-hardware-not-enumerated" in plain] == [True] * 3


def test_the_table_is_one_that_can_be_read(rack: Path) -> None:
    """Each row has all columns; a cause is found by them."""
    rows = [*csv.DictReader(run_gpudoctor("report", str(rack), "--format", "csv").stdout.splitlines())]
    assert [row["machines"] for row in rows if "gpu-hardware-not-enumerated" in row["what"]] == ["2"]


# -- bounds ------------------------------------------------------------------------------------------------

_PEAK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
from gpudoctor.cli import run
sys.argv[0] = "gpudoctor"
code = run()
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        sys.stderr.write(line.split()[1])
sys.exit(code)
"""


def peak_kilobytes(folder: Path) -> tuple[int, int]:
    """Return how many machines a child added up, and the peak of its memory."""
    done = subprocess.run([sys.executable, "-c", _PEAK, "report", "--format", "json", str(folder)], text=True,
                          capture_output=True, timeout=SECONDS, check=False)
    return json.loads(done.stdout)["machines"], int(done.stderr)


def test_memory_does_not_grow_with_the_number(tmp_path: Path) -> None:
    """3000 machines, each with values of its own, take as much as 300, but for a few megabytes."""
    raw = json.loads(report())
    small = {**raw, "snapshot": {**raw["snapshot"], "frameworks": []}}
    few, many = tmp_path / "few", tmp_path / "many"
    for folder, number in ((few, 300), (many, 3000)):
        folder.mkdir()
        for index in range(number):
            small["snapshot"]["host"]["system.kernel"] = {"value": f"6.1.{index}", "source": "x"}
            (folder / f"n{index:04}.json").write_text(json.dumps(small))
    (some, first), (all_, second) = peak_kilobytes(few), peak_kilobytes(many)
    assert (some, all_) == (300, 3000)
    assert second < first + 4096
    assert second < 100_000


def test_ctrl_c_tells_what_was_read() -> None:
    """The sums until then, marked as such; never 0, whatever is allowed."""
    with subprocess.Popen([sys.executable, "-m", "gpudoctor", "report", "-", "--format", "json",
                           "--allow-undecided"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        for _ in range(5):
            process.stdin.write(report().encode() + b"\n")
        process.stdin.flush()
        _await_idle(process.pid, process.stdin.fileno())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    found = json.loads(out)
    assert (process.returncode, found["interrupted"], found["machines"], err) == (3, True, 4, b"")


def test_ctrl_c_before_any_machine_is_no_file_that_cannot_be_used() -> None:
    """Regression: what was half read was called no report, with the exit code for that."""
    with subprocess.Popen([sys.executable, "-m", "gpudoctor", "report", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(report().encode()[:100])
        process.stdin.flush()
        _await_idle(process.pid, process.stdin.fileno())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"gpudoctor: interrupted\n")


def _await_idle(process: int, pipe: int) -> None:
    """Wait until a process has read all that is in the pipe and sleeps."""
    idle, deadline = 0, time.monotonic() + SECONDS
    while idle < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
        (left,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        idle = idle + 1 if left == 0 and state == "S" else 0


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    """It is one line and a count, and the others are read."""
    (tmp_path / "a.json").write_text(report())
    (tmp_path / "b.json").write_text(report())
    (tmp_path / "b.json").chmod(0)
    done = run_without_privilege("report", "--format", "json", str(tmp_path))
    found = json.loads(done.stdout)
    assert (done.returncode, found["machines"], found["refused"]["files"]) == (3, 1, 1)
    assert "Permission denied" in found["refused"]["first"][0]["reason"]
