"""What programs print where all is well: full of the words of reports, and no report."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import explain
from gpudoctor.model import Severity

HEALTHY = sorted((Path(__file__).parent / "healthy").glob("*.txt"))


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_no_fault_is_told_of_what_is_well(path: Path) -> None:
    """Regression: a described pod, an installation and the start of a training were called faults.

    So were collect_env (cuDNN "could not collect" beside NVIDIA's packages) and a card with MIG instances.
    """
    database = ruledb.load_shipped("told")
    found = explain(texts.read_text(path.read_text("utf-8"), database), database).findings
    assert [one.cause for one in found if one.severity is not Severity.BENIGN] == []


@pytest.mark.parametrize("line", [
    "loss: 0.29 - accuracy: 0.91 - error_rate: 0.0854", "gcc -O2 -Wall -Werror -c a.c",
    "Build finished: 0 Warning(s), 0 Error(s)", "EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro",
])
def test_a_measure_an_option_and_a_count_of_nothing_are_not_quoted(line: str) -> None:
    """Regression: they stood under what is not known."""
    assert texts.read_text(line, ruledb.load_shipped("told")).suspicious == ()
