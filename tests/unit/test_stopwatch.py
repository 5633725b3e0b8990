"""`check -vv` says where the time went, on standard error, and leaves the report alone."""

from __future__ import annotations

import json
import re
import sys

import pytest

from gpudoctor.cli.stopwatch import START_UP, Stopwatch
from tests.contract.checkout import run_gpudoctor

LINE = re.compile(r"^ +(\d+) ms  (\S.*)$", re.MULTILINE)


def phases(text: str) -> dict[str, int]:
    """Return the milliseconds of each phase."""
    return {name: int(number) for number, name in LINE.findall(text)}


def test_a_phase_that_comes_again_is_one_phase() -> None:
    """Start-up comes first: the process is older than its first line."""
    watch = Stopwatch()
    for phase in ("looking", "importing", "looking"):
        watch.begin(phase)
    seen = phases(watch.lines())
    assert list(seen) == [START_UP, "looking", "importing", "in all"]
    assert seen[START_UP] > 0
    assert abs(seen["in all"] - sum(seen.values()) / 2) <= len(seen)


@pytest.mark.parametrize("form", ["text", "json"])
def test_times_are_beside_the_report(form: str) -> None:
    """Each wave of probes, judging, proving and rendering has a line; JSON stays JSON."""
    ended = run_gpudoctor("check", "--depth", "static", "--python", sys.executable, "--format", form, "-vv")
    expected = {START_UP, "starting probes", "importing", "reading the rules",
                "waiting for probes", "running frameworks", "reading answers", "judging",
                "proving fixes", "rendering", "in all"}
    assert expected <= phases(ended.stderr).keys()
    assert "TIME" not in ended.stdout
    if form == "json":
        json.loads(ended.stdout)
    else:
        assert "PROBES" in ended.stdout


def test_one_v_shows_no_times_of_its_own() -> None:
    """-v adds the probes to the report, and nothing beside it."""
    ended = run_gpudoctor("check", "--depth", "static", "--python", sys.executable, "-v")
    assert (ended.stderr, "PROBES" in ended.stdout) == ("", True)
