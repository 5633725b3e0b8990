"""conda-meta/history tells whose an environment is and which number its present state has.

The texts are written as the tools write them: conda in `conda/history.py` (write_head, write_changes,
write_specs; github.com/conda/conda, 0f64223), libmamba in `History::add_entry` (github.com/mamba-org/mamba,
03564bf).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import planning, ruledb
from gpudoctor.assume import lay
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.payloads import conda_history
from gpudoctor.probes import python
from tests.unit.file_answers import good
from tests.unit.test_planning import C, fix, rule

CONDA = """\
==> 2026-03-01 09:00:00 <==
# cmd: /opt/conda/bin/conda create -n work python=3.12
# conda version: 26.1.0
+conda-forge/linux-64::python-3.12.9-h9e4cc4f_1_cpython
+conda-forge/noarch::tzdata-2025b-h78e105d_0
# update specs: ['python=3.12']
==> 2026-03-02 09:00:00 <==
# cmd: /opt/conda/bin/conda install -n work --update-specs python=3.12
# conda version: 26.1.0
# update specs: ['python=3.12']
==> 2026-03-03 09:00:00 <==
# cmd: /opt/conda/bin/conda install -n work pytorch
# conda version: 26.1.0
-conda-forge/noarch::tzdata-2025b-h78e105d_0
+conda-forge/linux-64::pytorch-2.6.0-cpu_generic_py312_h4444444_0
+conda-forge/noarch::tzdata-2025c-h78e105d_0
# update specs: ['pytorch']
"""
MICROMAMBA = CONDA.replace("/opt/conda/bin/conda", "/home/ana/bin/micromamba").replace("26.1.0", "3.8.0")


def told(folder: Path, text: str | bytes | None) -> tuple[Fact, Fact]:
    """Return the tool and the number that a history tells, None being one that is not there."""
    path = folder / "history"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    facts = python.read(good({"python": {
        "prefix": "/env", "conda_packages": [], "conda_history": conda_history.describe(str(path))}}))
    return facts["python.conda_tool"], facts["python.conda_revision"]


@pytest.mark.parametrize(("text", "tool", "number"), [
    (CONDA, "conda", 2),  # every entry counts
    (CONDA.replace("\n", "\r\n"), "conda", 2),
    (MICROMAMBA, "micromamba", 1),  # libmamba passes over an entry that changed nothing
    (MICROMAMBA.replace("bin/micromamba", "bin/mamba"), "mamba", 1),
    (CONDA.replace("bin/conda", "bin/mamba"), "conda", 2),  # Mamba 1 is conda's own code
    (MICROMAMBA + CONDA, "conda", 5),  # who wrote last
    ("==> 2026-03-01 09:00:00 <==\n", "conda", 0),
])
def test_the_number_of_the_present_state(tmp_path: Path, text: str, tool: str, number: int) -> None:
    """As the tool that wrote last counts, which is the one to be asked."""
    kept_by, revision = told(tmp_path, text)
    assert isinstance(kept_by, Known)
    assert isinstance(revision, Known)
    assert (kept_by.value, revision.value) == (tool, number)


@pytest.mark.parametrize("text", [None, "", "# a comment before any state\n", "+x::y-1-0\n", b"\xff\x00\xfe"])
def test_no_state_no_number(tmp_path: Path, text: str | bytes | None) -> None:
    """What a history does not say is not known."""
    assert isinstance(told(tmp_path, text)[1], Unknown)


def test_a_history_beyond_bounds_is_not_counted_in_part(tmp_path: Path) -> None:
    """The number of the last state that was read would be a wrong one."""
    text = b"==> 2026-03-01 09:00:00 <==\n" + b"+" * conda_history.LIMIT_BYTES
    assert all(isinstance(fact, Unknown) for fact in told(tmp_path, text))


def test_elsewhere_than_in_condas_environments_there_is_none() -> None:
    """A venv has neither."""
    facts = python.read(good({"python": {
        "prefix": "/env", "conda_packages": None, "conda_history": {"missing": True}}}))
    assert isinstance(facts["python.conda_tool"], Absent)
    assert isinstance(facts["python.conda_revision"], Absent)


@pytest.mark.parametrize(("facts", "undo", "words"), [
    ({"python.conda_tool": "conda", "python.conda_revision": 2},
     ("conda install --prefix '/opt/my env' --revision 2",), "revision 2 is the environment as it is now"),
    ({"python.conda_tool": "micromamba", "python.conda_revision": 0},
     ("micromamba install --prefix '/opt/my env' --revision 0",), "what micromamba changes"),
    ({}, (), "conda list --prefix '/opt/my env' --revisions"),
])
def test_a_plan_names_the_state_to_go_back_to(
    facts: dict[str, Any], undo: tuple[str, ...], words: str
) -> None:
    """Where the number is not known, it says how to see it."""
    shipped = ruledb.load_shipped()
    command = "{python.conda_command} -c conda-forge 'pytorch=*=cuda*'"
    rules = replace(shipped, rules=(rule(1, {C: "bad"}, fix("x", {C: None}, command, kind="pip")),))
    laid = {C: "bad", "python.prefix": "/opt/my env", **facts}
    machine = lay(shipped.base, {name: Known(value=value, source="x") for name, value in laid.items()},
                  shipped.tables, source="x")
    [step] = planning.make(examine(machine, rules, Policy()), machine, rules).steps
    tool = facts.get("python.conda_tool", "conda")
    assert step.commands == (f"{tool} install --prefix '/opt/my env' -c conda-forge 'pytorch=*=cuda*'",)
    assert step.undo == undo
    assert words in step.undo_note
