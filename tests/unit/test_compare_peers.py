"""The comparison with the peers: a verdict holds while its line is said, and one rule judges everybody."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from tests.machines.catalogue import FIRST, HEALTHY
from tools.peers import page, standin_nvidia_smi
from tools.peers.contestants import CONTESTANTS, DOCTOR
from tools.peers.environments import TORCH, architectures
from tools.peers.judging import (
    Cell, Judgement, doctor_version, judge_all, judged, judged_by_program, read_judgements, shortened,
)
from tools.peers.running import Outcome, load

BROKEN_MACHINE = "3 H100, R570, CUDA 13.2"
HEALTHY_MACHINE = "2 H100, R580, CUDA 13.2"


def outcome(said: str, *, tool: str = "env-doctor", codes: tuple[int | None, ...] = (0,)) -> Outcome:
    return Outcome(
        tool=tool, machine=BROKEN_MACHINE, exit_codes=codes, seconds=1.0, day="2026-11-20", said=said)


def judgement(quote: str) -> Judgement:
    return Judgement(tool="env-doctor", machine=BROKEN_MACHINE, verdict="right", quote=quote)


def report(verdict: str, *findings: tuple[str, str]) -> str:
    rows = [{"cause": cause, "severity": severity, "message": cause} for cause, severity in findings]
    printed = json.dumps({"verdict": verdict, "findings": rows}, indent=2)
    return f"$ gpudoctor check\n{printed}\n--- standard error\n{{}}\n"


def test_a_verdict_holds_while_its_line_is_said() -> None:
    """Folding of lines does not matter."""
    cell = judged(outcome("x\n  the driver is\n  too old  \ny"), judgement("the driver is too old"))
    assert (cell.verdict, cell.complaint) == ("right", "")


def test_a_verdict_whose_line_is_gone_is_not_printed() -> None:
    """An old judgement says nothing about a new output."""
    cell = judged(outcome("all is well"), judgement("the driver is too old"))
    assert (cell.verdict, cell.quote) == ("not judged", "")
    assert cell.complaint == "no longer said: the driver is too old"


def test_what_nobody_judged_says_so() -> None:
    """A new machine or tool has no verdict by itself."""
    assert judged(outcome("anything"), None).complaint == "nobody has judged this yet"


@pytest.mark.parametrize(("codes", "verdict"), [((0, None), "hang"), ((-11,), "crash")])
def test_a_hang_and_a_signal_need_no_reader(codes: tuple[int | None, ...], verdict: str) -> None:
    """They outrank a judgement, also gpudoctor's own."""
    for tool in ("env-doctor", DOCTOR):
        assert judged(outcome("the line", tool=tool, codes=codes), judgement("the line")).verdict == verdict


@pytest.mark.parametrize(("cause", "said", "verdict"), [
    ("driver-too-old", report("findings", ("driver-too-old", "error"), ("x", "warning")), "right"),
    ("driver-too-old", report("findings", ("driver-too-old", "error"), ("x", "error")), "partly"),
    ("driver-too-old", report("findings", ("driver-too-old", "warning")), "partly"),
    ("driver-too-old", report("findings", ("x", "error"), ("driver-too-old", "error")), "partly"),
    ("driver-too-old", report("findings", ("x", "error")), "wrong"),
    ("driver-too-old", report("healthy", ("x", "info")), "silent"),
    ("driver-too-old", report("undecided"), "could not tell"),
    ("driver-too-old", "Traceback ...", "wrong"),
    (HEALTHY, report("healthy", ("framework-not-installed", "info")), "right"),
    (HEALTHY, report("findings", ("x", "warning")), "wrong"),
    (HEALTHY, report("undecided"), "could not tell"),
])
def test_gpudoctor_is_judged_by_the_same_rule(cause: str, said: str, verdict: str) -> None:
    """Its causes are read by the program, and nothing is forgiven."""
    assert judged_by_program(said, cause)[0] == verdict


def test_every_peer_is_judged_on_every_machine() -> None:
    """The committed table is whole and names nothing that does not exist."""
    peers = {contestant.name for contestant in CONTESTANTS} - {DOCTOR}
    assert set(read_judgements()) == {(peer, machine) for peer in peers for machine in FIRST}


@pytest.mark.parametrize("change", [
    {"verdict": "splendid"}, {"machine": "99 none"}, {"tool": DOCTOR}, {"tool": "nobody"}])
def test_a_judgement_of_nothing_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    """A renamed machine shows at once; gpudoctor is not judged by hand."""
    row = {"tool": "env-doctor", "machine": BROKEN_MACHINE, "verdict": "right", "quote": "x", **change}
    path = tmp_path / "judgements.toml"
    lines = [f"{key} = {json.dumps(value)}" for key, value in row.items()]
    path.write_text("\n".join(["[[judgement]]", *lines]))
    with pytest.raises(ValueError, match="no such"):
        read_judgements(path)


def test_outcomes_are_kept(tmp_path: Path) -> None:
    """What was said once can be judged again without a run."""
    first = outcome("said", codes=(0, None))
    first.save(tmp_path)
    assert load(tmp_path) == {("env-doctor", BROKEN_MACHINE): first}


def cells(verdict: str) -> list[Cell]:
    return [
        Cell(tool=contestant.name, machine=machine, verdict=verdict, quote="a|b", exit_codes=(1,))
        for contestant in CONTESTANTS for machine in FIRST]


def test_the_totals_count_what_is_right_and_gpudoctor_comes_last() -> None:
    """One verdict more is one more in its column alone."""
    all_cells = cells("wrong")
    last = max(number for number, cell in enumerate(all_cells) if cell.machine == HEALTHY_MACHINE)
    all_cells[last] = Cell(tool=DOCTOR, machine=HEALTHY_MACHINE, verdict="right")
    table = page.overview(all_cells)
    assert table[0].endswith(f"| {DOCTOR} |")
    healthy = [name for name in FIRST if FIRST[name].cause == HEALTHY]
    counts = "** | | **0** | **0** | **0** | **0** | **1** |"
    assert f"| **healthy machines right, of {len(healthy)}{counts}" in table
    assert f"| **right, of {len(FIRST)}{counts}" in table


def test_only_what_is_between_the_marks_changes() -> None:
    """The text around it is a person's; quotes do not break the table."""
    text = page.rendered(cells("wrong"), "0.1.0")
    before = f"mine\n{page.BEGIN}\nyesterday\n{page.END}\nmine too\n"
    after = page.replaced(before, text)
    assert after.startswith(f"mine\n{page.BEGIN}\n")
    assert after.endswith(f"{page.END}\nmine too\n")
    assert "yesterday" not in after
    assert "`a\\|b`" in after
    with pytest.raises(ValueError, match="no marks"):
        page.replaced("mine", text)


def test_each_day_has_the_tools_that_ran_then() -> None:
    """Seconds of different days do not compare."""
    early = [replace(cell, day="2026-11-20") for cell in cells("right")]
    assert page.rendered(early, "0.1.0").startswith("Run on 2026-11-20. ")
    later = [replace(cell, day="2026-11-28") if cell.tool == DOCTOR else cell for cell in early]
    others = ", ".join(one.name for one in CONTESTANTS if one.name != DOCTOR)
    assert page.rendered(later, "0.1.0").startswith(
        f"Run on 2026-11-20 ({others}) and 2026-11-28 ({DOCTOR}). ")


def test_a_tool_that_never_ran_says_so() -> None:
    """No verdict is made up for it."""
    assert {cell.verdict for cell in judge_all({}, {})} == {"not run"}
    assert doctor_version({}) == "not run"


def test_a_long_quote_is_shortened_visibly() -> None:
    """A reader sees that there was more."""
    assert shortened("a \n b") == "a b"
    assert shortened("x" * 500) == "x" * 119 + "…"


def card() -> standin_nvidia_smi.Card:
    values = {
        "index": 0, "count": 1, "name": "NVIDIA L4", "uuid": "GPU-1", "driver": "580.95.05",
        "bus_id": "00000000:01:00.0", "compute_capability": "8.9", "memory_mib": [23034, 22584, 450]}
    return cast("standin_nvidia_smi.Card", SimpleNamespace(**values))


def test_the_stand_in_of_nvidia_smi_prints_the_real_formats() -> None:
    """Every line of the banner is as wide as the real one's; the names changed with driver 610."""
    old = standin_nvidia_smi.banner("580.95.05", "13.0", [card()])
    assert {len(line) for line in old.splitlines() if line} == {91}
    assert "Driver Version: 580.95.05" in old
    new = standin_nvidia_smi.banner("610.43.02", None, [card()])
    assert "KMD Version: 610.43.02 " in new
    assert "CUDA UMD Version: N/A" in new
    assert " CUDA Version" not in new
    root = ET.fromstring(standin_nvidia_smi.document("580.95.05", "13.0", [card()]))
    assert (root.findtext("driver_version"), root.findtext("gpu/product_name")) == ("580.95.05", "NVIDIA L4")


def test_the_stand_in_of_nvidia_smi_answers_queries(capsys: pytest.CaptureFixture[str]) -> None:
    """As CSV, with and without units; an unknown field is refused with the real code."""
    ask = standin_nvidia_smi.query
    assert ask("index, name,memory.total", "csv,noheader", [card()]) == "0, NVIDIA L4, 23034 MiB"
    assert ask("memory.total", "csv,nounits", [card()]) == "memory.total\n23034"
    with pytest.raises(SystemExit, match="2"):
        ask("index,nothing", "csv", [card()])
    assert capsys.readouterr().out == 'Field "nothing" is not a valid field to query.\n'


def test_architectures_are_those_of_the_release() -> None:
    """The names that torch gives them, from the table of measured wheels; none for a CPU build."""
    assert {"sm_75", "sm_90", "sm_120"} <= set(architectures("2.15.0"))
    assert "sm_70" not in architectures("2.15.0")
    assert architectures("2.13.0+cpu") == []


def test_the_stand_in_of_torch_finds_no_gpu_without_a_driver(tmp_path: Path) -> None:
    """It answers from the machine, not from wishes; a build without CUDA never has one."""
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(TORCH.read_text())
    (package / "standin.json").write_text('["sm_80", "compute_90"]')
    program = """
import ctypes, json, torch, warnings
warnings.simplefilter("ignore")
def none(name, **options): raise OSError(name)
ctypes.CDLL = none
kernels = [torch._has_kernel(capability) for capability in ((7, 5), (8, 9), (9, 0), (10, 0))]
print(json.dumps([torch.cuda.is_available(), torch.cuda.get_arch_list(), kernels]))
"""
    for cuda in ('"13.2"', "None"):
        (package / "version.py").write_text(f'__version__ = "2"\ncuda = {cuda}\n')
        done = subprocess.run(
            [sys.executable, "-B", "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True)
        found: Any = json.loads(done.stdout)
        assert found == [False, [], [False, True, True, True]]
