"""Another maker's card and a build for it are recognised, and not blamed for lacking NVIDIA's."""

from __future__ import annotations

import pytest

from gpudoctor import assume, ruledb
from gpudoctor.model import Known, Severity, Value
from gpudoctor.remedy import diagnose


@pytest.mark.parametrize(("build", "here", "expected"), [
    ("rocm", "amd", {"other-accelerator"}),
    ("xpu", "intel", {"other-accelerator"}),
    ("cuda", "amd", {"no-nvidia-gpu"}),
    ("cpu", "amd", {"no-nvidia-gpu"}),
    ("rocm", "intel", {"no-nvidia-gpu"}),
])
def test_what_is_said_of_a_machine_without_nvidia_card(build: str, here: str, expected: set[str]) -> None:
    """Whoever installed the build for the card that is there has no fault; anybody else lacks a card."""
    database = ruledb.load()
    facts: dict[str, Value] = {
        "driver": "none", "cc": "none", "release": "torch==2.8.0", "framework.build": build,
        "system.other_accelerators": (here,)}
    laid = {name: Known(value=value, source="test") for name, value in facts.items()}
    judged = diagnose(assume.lay(database.base, laid, database.tables, source="test"), database)
    assert {finding.cause for finding in judged.findings} == expected
    worst = {finding.severity for finding in judged.findings}
    assert worst == ({Severity.INFO} if "other-accelerator" in expected else {Severity.ERROR})
    assert [one for one in judged.undecided if one.asked] == []
