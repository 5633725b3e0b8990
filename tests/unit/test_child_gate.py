"""Children that are started early and wait until another has ended."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import child
from gpudoctor.child.attempt import attempt
from gpudoctor.child.crew import Crew
from tests.unit.test_child import PLENTY_SECONDS, NeverReady

WAITING = 'head -c 1 "/dev/fd/$0" | tr . x'  # prints x if it is let through, and nothing at the end


def shell(line: str, *arguments: str, **more: Any) -> child.Job:
    argv = ["/bin/sh", "-c", line, *arguments]
    return child.Job(argv=argv, timeout_seconds=PLENTY_SECONDS, environment={"PATH": os.defpath}, **more)


def waiting_for(gate: child.Gate, line: str = WAITING, **more: Any) -> child.Job:
    return shell(line, child.GATE, gate=gate, **more)


def test_who_waits_has_started_and_goes_on_when_the_gate_opens(tmp_path: Path) -> None:
    """The first job ends only when both others are there, and they go on only when it has ended."""
    os.mkfifo(tmp_path / "one")
    os.mkfifo(tmp_path / "two")
    with closing(child.Gate()) as gate:
        first = shell(f"cat {tmp_path}/one {tmp_path}/two", at_end=lambda _run: gate.let_through())
        others = [waiting_for(gate, f"echo {name} > {tmp_path}/{name}; {WAITING}") for name in ("one", "two")]
        runs = child.run_all([first, *others])
    assert [run.stdout for run in runs] == [b"one\ntwo\n", b"x", b"x"]
    assert gate.opened_at is not None


def test_who_waits_is_sent_away_when_the_gate_closes() -> None:
    with closing(child.Gate()) as gate:
        runs = child.run_all([shell("exit 3", at_end=lambda _run: gate.close()), waiting_for(gate)])
    assert [(run.exit_status, run.stdout) for run in runs] == [(3, b""), (0, b"")]
    assert gate.opened_at is None


def test_a_closed_gate_stays_closed() -> None:
    gate = child.Gate()
    gate.close()
    gate.let_through()
    assert gate.opened_at is None
    assert child.run_all([waiting_for(gate)])[0].outcome is child.Outcome.NOT_STARTED


def test_waiting_takes_nothing_of_the_time_that_a_job_has() -> None:
    with closing(child.Gate()) as gate:
        late = replace(waiting_for(gate, f"{WAITING}; exec sleep 60"), timeout_seconds=0.5)
        first, second = child.run_all([shell("sleep 1", at_end=lambda _run: gate.let_through()), late])
    assert second.stdout == b"x"
    assert second.outcome is child.Outcome.TIMEOUT
    assert 0.5 <= second.seconds < first.seconds + 0.5


def test_a_fault_at_the_end_of_a_job_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        child.run_all([shell("true", at_end=lambda _run: 1 // 0)])


def test_the_end_of_a_job_that_was_given_up_is_told() -> None:
    told: list[child.Run] = []
    stuck = child.Job(argv=NeverReady(["/bin/sh"]), timeout_seconds=0.1, environment={}, at_end=told.append)
    runs = Crew([stuck], attempt, slack_seconds=0.1).results()
    assert [run.outcome for run in runs] == [child.Outcome.UNKILLABLE]
    assert told == runs


def test_no_end_is_told_when_the_caller_is_interrupted() -> None:
    told: list[child.Run] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.run_all([shell("sleep 60", at_end=told.append)], interrupted)
    assert told == []
