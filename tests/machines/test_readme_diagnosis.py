"""README.md opens with the diagnosis of a broken machine, in the words that the command prints today."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.harness import namespace
from tests.harness.interpreters import need_python
from tests.machines.catalogue import SCENARIOS
from tests.machines.patients import Patients

ROOT = Path(__file__).parents[2]
MACHINE = "10 plain tensorflow"
VENV = "/home/ana/venv"
_SHOWN = re.compile(r"<!-- diagnosis: begin -->\n```text\n(.*?)```\n<!-- diagnosis: end -->", re.DOTALL)


def printed(patients: Patients) -> str:
    """Return what the command prints on the machine, without the tester's kernel and patch level."""
    scenario = SCENARIOS[MACHINE]
    patient = patients(scenario.patient)
    machine = scenario.build(patient).adding(links={VENV: str(patient.prefix)})
    run = machine.run([sys.executable, "-m", "gpudoctor", "check", "--depth", "static",
                       "--python", f"{VENV}/bin/python"],
                      timeout=120, cwd=str(ROOT), environment={"COLUMNS": "80"})
    assert run.returncode == 1, run.stderr
    kernel = re.sub(r"kernel \d\S*,", "kernel 6.1.0-28-amd64,", run.stdout)
    return re.sub(r"(python +3\.12)\.\d+", r"\1.1", kernel)


def test_readme_opens_with_what_is_printed(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest,
) -> None:
    """`--update-golden` writes it anew."""
    need_python("3.12")  # the page shows one
    reason = namespace.unavailable()
    if reason:
        pytest.skip(f"no machine can be built here: {reason}")
    text = printed(Patients(tmp_path_factory.mktemp("patients")))
    readme = ROOT / "README.md"
    page = readme.read_text("utf-8")
    if request.config.getoption("--update-golden"):
        shown_text = f"```text\n$ gpudoctor check --depth static\n{text}```"
        block = f"<!-- diagnosis: begin -->\n{shown_text}\n<!-- diagnosis: end -->"
        start, end = page.index("<!-- diagnosis: begin -->"), page.index("<!-- diagnosis: end -->")
        readme.write_text(page[:start] + block + page[end + len("<!-- diagnosis: end -->"):], "utf-8")
        return
    shown = _SHOWN.search(page)
    assert shown is not None, "README.md shows no diagnosis between its markers"
    assert shown[1] == f"$ gpudoctor check --depth static\n{text}"
