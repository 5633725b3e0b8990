"""The table of faults is whole, and docs/reliability.md counts its rows."""

from __future__ import annotations

import re
from collections import Counter

from gpudoctor.probes.snapshot import COLLECTORS
from tests.faults import calls
from tests.faults.calls import in_doctor
from tests.faults.doctor import COMMAND
from tests.faults.others import OTHERS
from tests.faults.probes import PAYLOADS, PROBES
from tests.faults.table import PAGE, all_faults, faults_on, line_of
from tests.harness.nvidia import H100, nvidia_machine
from tests.hosts.looking import CUDA, DRIVER

# What starts a child: the payload's own door, and the stand-alone payload, which tests/hosts breaks.
# What befalls a stage's own helper is in tests/frameworks/test_stages_on_cpu.py, with a real Paddle.
# In containers: tests/engines/test_examined_images.py.
NO_CHILD_OF_CHECK = {"__main__", "in_memory", "standalone", "stage_peer"}
# They say what a code means, are asked of a code and not of a card, and their failure has a test of its own.
ABOUT_CODES = {"cuGetErrorName", "cuGetErrorString", "nvmlErrorString"}


def test_page_counts_the_rows_of_the_table() -> None:
    """As many faults in each line as there are tests; `python -m tests.faults` writes the page."""
    assert faults_on(PAGE.read_text("utf-8")) == dict(Counter(map(line_of, all_faults())))


def test_page_sums_up_its_own_lines() -> None:
    """The totals of the groups, and the one of all, are those of the lines below them."""
    page = PAGE.read_text("utf-8")
    of_groups: Counter[str] = Counter()
    for (group, _), number in faults_on(page).items():
        of_groups[group] += number
    summary = page.partition("<!-- counted -->")[2].partition("###")[0]
    rows = re.findall(r"^\| (.+) \| (\d+) \| \d+ \| \d+ \|$", summary, re.MULTILINE)
    assert {group: int(number) for group, number in rows} == dict(of_groups)
    assert re.findall(r"^Together: (\d+) faults", summary, re.MULTILINE) == [str(of_groups.total())]


def test_names_are_unique() -> None:
    """No fault hides another one."""
    names = Counter((fault.group, fault.name) for fault in all_faults())
    assert [name for name, number in names.items() if number > 1] == []


def test_at_least_100_faults() -> None:
    """What was asked for."""
    assert len(all_faults()) > 100


def test_every_collector_is_broken() -> None:
    """A payload module that is run as a child is in the table, whoever runs it."""
    run = {path.stem for path in PAYLOADS.glob("*.py")
           if re.search(r"^def (collect|journal|main)\(", path.read_text("utf-8"), re.MULTILINE)}
    assert set(COLLECTORS) <= run
    assert run - NO_CHILD_OF_CHECK == {*PROBES, *(other.name for other in OTHERS)}


def test_every_call_that_is_made_is_made_to_fail() -> None:
    """What the scripted driver was asked for, also with MIG, is what the table has."""
    machine = in_doctor(nvidia_machine(driver=DRIVER, cuda=CUDA, cards=[calls.MIG, H100]))
    done = machine.run([*COMMAND, "check", "--format", "json"])
    assert done.returncode in (0, 1, 3), done.stderr
    tables = (calls.NVML_OF_A_CARD, calls.NVML_OF_MIG, calls.CUDA_OF_A_DEVICE, calls.CUDA_OF_THE_KERNEL,
              calls.CUDA_GIVING_BACK, calls.ONCE, {"nvmlDeviceGetHandleByIndex": frozenset[str]()})
    known = {name for table in tables for name in table}
    asked = {call.partition("_v")[0].replace("WithFlags", "") for call in done.calls}
    assert asked - known - ABOUT_CODES == set()
