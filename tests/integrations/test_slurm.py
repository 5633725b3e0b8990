"""integrations/slurm under a real Slurm: slurmd runs the programs on machines with a scripted driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness import slurm
from tests.harness.machine import File, Machine
from tests.harness.nvidia import H100
from tests.machines import parts
from tests.machines.catalogue import r580

# the program is also run once before the node registers, which is what most of these tests look at
HEALTH_CHECK = f"HealthCheckProgram={slurm.INSTALLED}/healthcheck\nHealthCheckInterval=600\n"
PROLOG = f"Prolog={slurm.INSTALLED}/prolog\nPrologFlags=Alloc\n"
BY_HAND = f"SLURMD_NODENAME={slurm.NODE} {slurm.INSTALLED}/healthcheck; echo ended with $?"
CAUSE = ("driver-kernel-userspace-mismatch [host]: "
         "The loaded NVIDIA kernel module (570.86.15) and the driver's libraries")
ADMIN = f"scontrol update NodeName={slurm.NODE} State=DRAIN Reason='a new fan'"


def healthy() -> Machine:
    """Return a node with an H100 that works."""
    return r580(H100)


def broken() -> Machine:
    """Return a node whose driver was updated without a reboot."""
    return parts.mismatched()


def crashing() -> Machine:
    """Return a node whose NVML crashes, so that not all can be seen."""
    return r580(H100).adding(shim="crash.nvmlInit=1")


def job(*options: str) -> str:
    """Return a script that submits a job, and prints whether it ran, or why it is held."""
    return f"""
        id=$(sbatch --parsable --output=/dev/null {' '.join(options)} --wrap 'touch /run/lab/ran')
        for i in $(seq 200); do
            reason=$(squeue --noheader --format %r --jobs "$id" 2>/dev/null)
            case $reason in '' | *held* | *launch*) break ;; esac
            sleep 0.1
        done
        if [ -e /run/lab/ran ]; then echo ran; else echo "did not run: $reason"; fi"""


def test_a_broken_node_is_drained_with_its_cause() -> None:
    """By slurmd's own run of the program; the report it rests on can be read again."""
    again = ". /etc/default/gpudoctor; $GPUDOCTOR_PYTHON -m gpudoctor check --from $GPUDOCTOR_REPORT; ls /run"
    told = slurm.on(broken(), again, settings=HEALTH_CHECK,
                    configuration={"GPUDOCTOR_REPORT": "/run/gpudoctor-slurm.json"})
    assert told.state == "IDLE+DRAIN"
    assert told.reason.startswith(f"gpudoctor: {CAUSE} refuse each other")
    assert "Next: gpudoctor rules show GPD2005 [root@" in told.reason
    assert f"gpudoctor: node gpu1 drained: {CAUSE}" in told.system_log
    assert "ERROR  driver-kernel-userspace-mismatch  [host]" in told.output
    assert "gpudoctor-slurm.json." not in told.output  # no other file stays behind


def test_a_healthy_node_is_left_alone() -> None:
    """It gets jobs, and nothing is logged of it."""
    told = slurm.on(healthy(), job("--gres=gpu:1"), settings=HEALTH_CHECK + PROLOG)
    assert (told.state, told.reason, told.system_log, told.output) == ("IDLE", "", "", "ran\n")


def test_a_node_that_could_not_be_seen_is_logged_and_left_alone() -> None:
    """Nobody loses a node, and no job, for what nobody saw."""
    told = slurm.on(crashing(), job("--gres=gpu:1"), settings=HEALTH_CHECK + PROLOG)
    assert (told.state, told.reason, told.output) == ("IDLE", "", "ran\n")
    said = "node gpu1 is left as it is: could not look: the probe ended with signal: SIGSEGV."
    assert told.system_log.count(said) == 2  # by the health check and by the prolog


def test_a_node_that_breaks_later_is_drained_by_the_next_look() -> None:
    """A card falls off the bus between two looks."""
    falls = ("{ echo gpu.0.handle_rc=15; cat /run/gpudoctor-shim.cfg; } >/run/next && "
             "sinfo --noheader --format %T; mv /run/next /run/gpudoctor-shim.cfg; for i in $(seq 300); do "
             f"case $(scontrol show node {slurm.NODE}) in *+DRAIN*) break ;; esac; sleep 0.1; done")
    told = slurm.on(healthy(), falls, settings=HEALTH_CHECK.replace("600", "2"))
    assert (told.output, told.state) == ("idle\n", "IDLE+DRAIN")
    assert told.reason.startswith("gpudoctor: gpu-fell-off-bus [GPU 0]: The driver has lost this card")


def test_cards_that_are_missing_are_a_fault() -> None:
    """Where the node must have eight."""
    told = slurm.on(healthy(), "true", settings=HEALTH_CHECK, configuration={"GPUDOCTOR_REQUIRE": "gpu>=8"})
    assert told.state == "IDLE+DRAIN"
    assert told.reason.startswith("gpudoctor: requirement-not-met [host]: ")


@pytest.mark.parametrize("machine", [healthy, broken])
def test_what_an_admin_drained_stays_as_it_is(machine: Callable[[], Machine]) -> None:
    """A healthy node is not resumed, and a broken one keeps the admin's reason."""
    told = slurm.on(machine(), f"{ADMIN}; {BY_HAND}", settings="")
    assert told.state == "IDLE+DRAIN"
    assert told.reason.startswith("a new fan [root@")
    assert told.output.endswith("ended with 0\n")
    assert ("is IDLE+DRAIN already, and broken" in told.system_log) == (machine is broken)


def test_the_prolog_keeps_a_job_from_a_broken_node() -> None:
    """Slurm holds the job; the reason is the cause, not Slurm's own "Prolog error"."""
    told = slurm.on(broken(), job("--gres=gpu:1"), settings=PROLOG)
    assert told.output.startswith("did not run: launch failed requeued held")
    assert told.state == "IDLE+DRAIN"
    assert told.reason.startswith(f"gpudoctor: {CAUSE}")


def test_the_prolog_lets_a_job_without_a_gpu_start() -> None:
    """The broken driver is none of its business."""
    told = slurm.on(broken(), job(), settings=PROLOG)
    assert (told.state, told.output, told.system_log) == ("IDLE", "ran\n", "")


@pytest.mark.parametrize(("python", "said"), [
    ("/opt/not/there", "gpudoctor ended with 127: "),
    ("/opt/fails", "gpudoctor ended with 5: no memory"),
    ("/opt/hangs", "gpudoctor did not end in 3 s. Next: gpudoctor check -vv"),
])
def test_a_doctor_that_fails_drains_nothing(python: str, said: str) -> None:
    """It is missing, it fails, it hangs: nothing was seen."""
    machine = broken().adding(files={
        "/opt/fails": File(content="#!/bin/sh\necho no memory >&2; exit 5\n", mode=0o755),
        "/opt/hangs": File(content="#!/bin/sh\nsleep 60\n", mode=0o755)})
    told = slurm.on(machine, "true", settings=HEALTH_CHECK,
                    configuration={"GPUDOCTOR_PYTHON": python, "GPUDOCTOR_SECONDS": "3"})
    assert (told.state, told.reason) == ("IDLE", "")
    assert f"node gpu1 is left as it is: could not look: {said}" in told.system_log


def test_a_drain_that_nobody_hears_is_a_failure() -> None:
    """The controller is gone: the next run tries again."""
    told = slurm.on(broken(), f"kill $(cat /run/lab/slurmctld.pid); sleep 1; {BY_HAND}", settings="")
    assert told.output.endswith("ended with 1\n")
    assert f"node gpu1 is broken and could not be drained: {CAUSE}" in told.system_log
