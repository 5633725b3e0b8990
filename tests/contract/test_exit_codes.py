"""Every exit code of the command line, each brought about for real (DESIGN.md, section 5)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import codec, ruledb
from tests.contract.checkout import PACKAGE, ROOT, RULES, run_gpudoctor
from tests.harness import namespace
from tests.harness.machine import Machine
from tests.harness.nvidia import H100, LIBRARY_FOLDER, nvidia_machine
from tests.harness.patient import Patient
from tests.machines.examination import assert_sound, every, examine
from tests.shim import build

HEALTHY, FINDINGS, USAGE, UNDECIDED, INPUT, BUG = range(6)
DRIVER = "580.95.05"
TAKEN = ("--assume", "gpu.compute_mode=exclusive-process", "--assume", "gpu.compute_processes=1")

Run = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the snapshot of the machine that cases of rules start from: an H100 and no framework."""
    path = tmp_path_factory.mktemp("snapshots") / "healthy.json"
    path.write_text(json.dumps(codec.encode_snapshot(ruledb.load().base)))
    return path


@pytest.fixture
def machines() -> None:
    """Skip, with the reason, where no machine can be built."""
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")


def judge(snapshot: Path, *options: str) -> Run:
    """Judge a snapshot."""
    return run_gpudoctor("check", "--format", "json", "--from", str(snapshot), *options)


def report_of(run: Run) -> dict[str, Any]:
    """Return the report on standard output; its own exit code is that of the command."""
    report: dict[str, Any] = json.loads(run.stdout)
    assert report["exit_code"] == run.returncode
    assert run.stderr == ""
    return report


def causes(report: dict[str, Any]) -> list[str]:
    """Return the causes that stand on their own, in their order."""
    return [finding["cause"] for finding in report["findings"]]


def assert_refused(run: Run, exit_code: int, *words: str) -> None:
    """Check for an exit code without a report: one message for people, nothing for machines, no traceback."""
    assert (run.returncode, run.stdout) == (exit_code, ""), run.stderr
    assert "Traceback" not in run.stderr
    for word in words:
        assert word in run.stderr


def test_0_nothing_is_wrong(healthy: Path) -> None:
    """Having no framework is information and no fault."""
    run = judge(healthy)
    report = report_of(run)
    assert (run.returncode, report["verdict"]) == (HEALTHY, "healthy")
    assert causes(report) == ["framework-not-installed"]


def test_1_something_is_wrong(healthy: Path) -> None:
    """A card without a driver, whatever the format."""
    run = judge(healthy, "--assume", "driver=none")
    report = report_of(run)
    assert (run.returncode, report["verdict"]) == (FINDINGS, "findings")
    assert causes(report)[0] == "driver-not-installed"
    text = run_gpudoctor("check", "--from", str(healthy), "--assume", "driver=none")
    assert (text.returncode, text.stderr) == (FINDINGS, "")


def test_1_from_which_severity_on_is_the_callers_choice(healthy: Path) -> None:
    """A warning is a finding, and a failure only with --fail-on warning; information with --fail-on info."""
    run = judge(healthy, *TAKEN)
    assert (run.returncode, report_of(run)["verdict"]) == (HEALTHY, "findings")
    assert causes(report_of(run))[0] == "compute-mode-exclusive"
    assert judge(healthy, *TAKEN, "--fail-on", "warning").returncode == FINDINGS
    assert judge(healthy, "--fail-on", "warning").returncode == HEALTHY
    assert judge(healthy, "--fail-on", "info").returncode == FINDINGS


@pytest.mark.parametrize(("requirement", "met"), [
    ("gpu>=1", True), ("gpu>=2", False), ("gpu==1", True), ("gpu<1", False),
    ("tensorflow>=2.15", False), ("tensorflow", False),
])
def test_1_a_requirement_is_not_met(requirement: str, met: bool, healthy: Path) -> None:
    """Where no cause is known the requirement stands alone."""
    run = judge(healthy, "--require", requirement)
    report = report_of(run)
    assert run.returncode == (HEALTHY if met else FINDINGS)
    assert ("requirement-not-met" in causes(report)) is not met
    if not met:
        [finding] = [f for f in report["findings"] if f["cause"] == "requirement-not-met"]
        assert requirement in finding["message"]


@pytest.mark.parametrize(("bound", "exit_code"), [(">=40GiB", HEALTHY), (">=4096GiB", FINDINGS)])
def test_1_memory_is_required(bound: str, exit_code: int, healthy: Path) -> None:
    """Of every card, with the unit that was written."""
    memory = ("--assume", f"gpu.memory_total_bytes={80 << 30}")
    run = judge(healthy, *memory, "--require", f"gpu.memory{bound}")
    assert run.returncode == exit_code, run.stdout


def test_1_no_wheel_for_this_python(healthy: Path) -> None:
    """The cause is told, and what was required is folded under it."""
    run = judge(healthy, "--assume", "python=3.8", "--require", "tensorflow>=2.15")
    report = report_of(run)
    assert run.returncode == FINDINGS
    assert causes(report)[0] == "python-version-unsupported"
    assert "requirement-not-met" not in causes(report)
    assert "requirement-not-met" in [f["cause"] for f in every(report["findings"])]


@pytest.mark.usefixtures("machines")
def test_1_no_wheel_for_the_patients_python(tmp_path: Path) -> None:
    """A real Python 3.8 on a healthy machine."""
    patient = Patient.create(tmp_path / "venv", python="3.8")
    machine = nvidia_machine(driver=DRIVER, cuda=13000, cards=[H100], loader_cache=True)
    examination = examine(machine, patient, "--require", "tensorflow>=2.15")
    assert_sound(examination)
    assert (examination.exit_code, examination.first["cause"]) == (FINDINGS, "python-version-unsupported")
    assert "3.8" in examination.first["message"]


@pytest.mark.parametrize("arguments", [
    ["check", "--no-such-option"],
    ["check", "--depth", "deep"],
    ["check", "--format", "yaml"],
    ["check", "--timeout", "0"],
    ["check", "--smoke-timeout", "0"],
    ["check", "--stages", "matmul,sorting"],
    ["check", "--stages", ","],
    ["check", "--gpu", " "],
    ["check", "--gpu", "9x"],
    ["check", "--assume", "cc=8.9", "--gpu", "9x"],
    ["check", "--assume", "cc=8.9", "--gpu", "7"],
    ["fix", "--assume", "cc=8.9", "--stages", "matmul"],
    ["check", "--depth", "static", "--stages", "matmul"],
    ["check", "--depth", "import", "--gpu", "0"],
    ["check", "--from", "machine.json", "--smoke-timeout", "5"],
    ["check", "--from", "machine.json", "--gpu", "0"],
    ["check", "--fail-on", "nothing"],
    ["check", "surplus"],
    ["check", "--image", "a b@@"],
    ["check", "--image", "../containers"],
    ["check", "--image", "Foo:1"],
    ["check", "--image", "a\nRUN x"],
    ["no-such-command"],
    ["rules", "show"],
])
def test_2_wrong_usage(arguments: list[str]) -> None:
    """The message names what was wrong; nothing was looked at."""
    assert_refused(run_gpudoctor(*arguments), USAGE)


@pytest.mark.parametrize("option", ["--depth", "--fail-on", "--format"])
def test_2_is_said_in_our_words(option: str) -> None:
    """A choice that does not exist was a "Value error" of a library's."""
    run = run_gpudoctor("check", option, "nonsense")
    assert "Value error" not in run.stderr
    assert f"'{option}': 'nonsense' is not one of" in run.stderr


@pytest.mark.parametrize(("option", "written", "meant"), [
    ("--depth", "statc", "static"), ("--fail-on", "waring", "warning"), ("--format", "jsn", "json"),
    ("--stages", "convolutions", "convolution"), ("--require", "tensorflw>=2", "tensorflow")])
def test_2_names_what_was_probably_meant(option: str, written: str, meant: str) -> None:
    """Of a choice, a stage and a framework alike."""
    run = run_gpudoctor("check", option, written)
    assert_refused(run, USAGE)
    assert f"did you mean {meant}?" in run.stderr


@pytest.mark.usefixtures("machines")
def test_4_a_card_that_is_not_there(tmp_path: Path) -> None:
    """The line names those that are; a card that is there is taken by its index."""
    patient = Patient.create(tmp_path / "venv", python=None)
    patient.install("torch", "2.10.0", libraries="none")
    machine = nvidia_machine(driver=DRIVER, cuda=13000, cards=[H100])
    command = [sys.executable, "-m", "gpudoctor", "check", "--python", str(patient.python), "--gpu"]
    refused = machine.run([*command, "7"], cwd=str(ROOT), timeout=120)
    assert (refused.returncode, refused.stdout) == (INPUT, "")
    assert "--gpu 7: no such card; cards here: 0 (NVIDIA H100" in refused.stderr
    broken = machine.adding(shim="rc.nvmlInit=999\nrc.cuInit=999")  # nobody numbers the cards there
    diagnosed = broken.run([*command, "0"], cwd=str(ROOT), timeout=120)
    assert (diagnosed.returncode, "cuInit returned 999" in diagnosed.stdout) == (FINDINGS, True)
    taken = machine.run([*command, "0"], cwd=str(ROOT), timeout=120)
    assert taken.returncode in (HEALTHY, FINDINGS, UNDECIDED)



@pytest.mark.parametrize("assumption", [
    "driver", "driver=new", "no.such.fact=1", "cc=", "gpu.lost=perhaps", "nvml.gpu_count=two", "=1",
    "system.pci_nvidia=x", "pair.code=native",
])
def test_2_what_cannot_be_assumed(assumption: str, healthy: Path) -> None:
    """Each in one line that says what would do."""
    run = judge(healthy, "--assume", assumption)
    assert_refused(run, USAGE)
    assert len(run.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("requirement", ["", "gpu>=many", "numpy>=2", "gpu.memory>=40 bananas", "torch>=",
                                         "gpu.memory>=40", "gpu.memory", "gpu>=2GiB"])
def test_2_what_cannot_be_required(requirement: str, healthy: Path) -> None:
    """The message says what can be."""
    assert_refused(judge(healthy, "--require", requirement), USAGE, "tensorflow>=2.15")


def crashing_machine() -> Machine:
    """Return a machine whose two driver libraries both crash while they are being loaded."""
    machine = nvidia_machine(driver=DRIVER, cuda=13000, cards=[H100], loader_cache=True)
    return machine.adding(libraries={
        f"{LIBRARY_FOLDER}/{stem}.so.{DRIVER}": build.crashing(soname=f"{stem}.so.1")
        for stem in ("libcuda", "libnvidia-ml")})


@pytest.mark.usefixtures("machines")
def test_3_what_matters_cannot_be_judged(tmp_path: Path) -> None:
    """Who asks is killed from outside: no cause is seen, and health is not claimed; or 0 by an option."""
    patient = Patient.create(tmp_path / "venv")
    patient.install("torch", "2.15.0")
    machine = nvidia_machine(driver=DRIVER, cuda=13000, cards=[H100], loader_cache=True)
    killed = machine.adding(shim="crash.cuInit=kill\ncrash.nvmlInit=kill")
    examination = examine(killed, patient)
    assert (examination.exit_code, examination.report["verdict"]) == (UNDECIDED, "undecided")
    outcomes = {probe["probe"]: probe["outcome"] for probe in examination.report["snapshot"]["probes"]}
    assert (outcomes["nvml"], outcomes["cuda"]) == ("signal", "signal")
    assert examination.undecided
    allowed = examine(killed, patient, "--allow-undecided")
    assert (allowed.exit_code, allowed.report["verdict"]) == (HEALTHY, "undecided")


@pytest.mark.usefixtures("machines")
def test_1_libcuda_crashes(tmp_path: Path) -> None:
    """Every CUDA program ends like the child that asked it, so that is a finding and not blindness."""
    patient = Patient.create(tmp_path / "venv")
    patient.install("torch", "2.15.0")
    examination = examine(crashing_machine(), patient)
    assert (examination.exit_code, examination.first["cause"]) == (FINDINGS, "libcuda-no-answer")


def test_3_is_outranked_by_1_and_what_was_not_asked_does_not_count(healthy: Path, tmp_path: Path) -> None:
    """A finding is a finding, also beside blindness."""
    snapshot = json.loads(healthy.read_text())
    snapshot["host"]["cuda.init_code"] = {"unknown": "the child was killed by SIGSEGV"}
    snapshot["host"]["cuda.library"] = {"unknown": "the child was killed by SIGSEGV"}
    blind = tmp_path / "blind.json"
    blind.write_text(json.dumps(snapshot))
    assert judge(blind).returncode == UNDECIDED
    assert judge(blind, "--allow-undecided").returncode == HEALTHY
    assert judge(blind, "--require", "gpu>=2").returncode == FINDINGS
    snapshot["host"]["cuda.init_code"] = {"not_asked": "nobody wanted to"}
    snapshot["host"]["cuda.library"] = {"not_asked": "nobody wanted to"}
    blind.write_text(json.dumps(snapshot))
    assert judge(blind).returncode == HEALTHY


@pytest.mark.parametrize(("content", "words"), [
    ("", ["not valid JSON"]),
    ("nonsense", ["not valid JSON"]),
    ("[1, 2]", ["no gpudoctor snapshot"]),
    ('{"schema": "gpudoctor.snapshot/99", "host": {}}', ["newer", "update gpudoctor"]),
    ('{"schema": "gpudoctor.report/1"}', ["holds no snapshot"]),
    ('{"schema": "somebody.else/1"}', ["somebody.else/1"]),
    ('{"schema": "gpudoctor.snapshot/1", "host": {"system.os": {"value": 7, "source": "x"}}}', ["system.os"]),
])
def test_4_the_snapshot_cannot_be_used(content: str, words: list[str], tmp_path: Path) -> None:
    """The message names the file and what is wrong with it."""
    path = tmp_path / "snapshot.json"
    path.write_text(content)
    assert_refused(judge(path), INPUT, str(path), *words)


def test_4_the_snapshot_is_not_there(tmp_path: Path) -> None:
    """Nor is a folder one."""
    assert_refused(judge(tmp_path / "missing.json"), INPUT, "missing.json", "no such file")
    assert_refused(judge(tmp_path), INPUT, str(tmp_path))


def test_4_the_rules_are_not_there(healthy: Path, tmp_path: Path) -> None:
    """The message names the folder and says what belongs there; the shipped rules do not step in silently."""
    missing = tmp_path / "rules"
    assert_refused(judge(healthy, "--rules", str(missing)), INPUT, str(missing), "GPUDOCTOR_RULES")
    missing.mkdir()
    assert_refused(judge(healthy, "--rules", str(missing)), INPUT, str(missing), "rule page")
    from_environment = run_gpudoctor(
        "check", "--from", str(healthy), environment={"GPUDOCTOR_RULES": str(tmp_path / "gone")})
    assert_refused(from_environment, INPUT, str(tmp_path / "gone"))


@pytest.mark.parametrize(("line", "word"), [
    ('severity = "terrible"', "severity"), ("severity = error", ".md:4: "), ("surplus = 1", "surplus"),
])
def test_4_a_rule_page_is_broken(line: str, word: str, healthy: Path, tmp_path: Path) -> None:
    """The message names the page, and the line or the key."""
    folder = tmp_path / "rules"
    (folder / "driver").mkdir(parents=True)
    text = (RULES / "driver" / "GPD2010-driver-too-old.md").read_text("utf-8")
    page = folder / "driver" / "GPD2010-driver-too-old.md"
    page.write_text(text.replace('severity = "error"', line, 1))
    assert page.read_text() != text
    assert_refused(judge(healthy, "--rules", str(folder)), INPUT, "driver/GPD2010-driver-too-old.md", word)


def test_4_the_output_cannot_be_written(healthy: Path, tmp_path: Path) -> None:
    """The report was wanted there and not elsewhere."""
    output = tmp_path / "no" / "such" / "folder" / "report.json"
    assert_refused(judge(healthy, "--output", str(output)), INPUT, str(output))


@pytest.mark.parametrize(("module", "line"), [
    ("engine.py", 'raise RuntimeError("a planted defect")'),
    ("examine.py", 'def examine(*_):\n    raise RuntimeError("a planted defect")'),
    ("versions.py", "import no_such_dependency_of_ours  # a planted defect"),
])
def test_5_gpudoctor_itself_fails(module: str, line: str, healthy: Path, tmp_path: Path) -> None:
    """A defect of the program or its installation (planted in a copy): one line, and where to report it."""
    shutil.copytree(PACKAGE, tmp_path / "gpudoctor", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(RULES, tmp_path / "rules")
    planted = tmp_path / "gpudoctor" / module
    planted.write_text(planted.read_text("utf-8") + f"\n{line}\n")
    command = [sys.executable, "-m", "gpudoctor", "check", "--from", str(healthy)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert_refused(run, BUG, "report it at")
    assert re.search("a planted defect|no_such_dependency_of_ours", run.stderr)
    assert len(run.stderr.strip().splitlines()) == 1


def test_every_exit_code_of_the_design_is_here() -> None:
    """The README's table and this file speak of the same six."""
    readme = (ROOT / "README.md").read_text("utf-8")
    for code in range(6):
        assert f"| {code} |" in readme
