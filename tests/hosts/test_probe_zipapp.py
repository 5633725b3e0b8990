"""The stand-alone probe: one file that any Python from 3.6 on runs, in bad surroundings too."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harness.interpreters import find_python
from tests.harness.machine import Machine
from tests.hosts.looking import COMMAND, HEALTHY, LIBCUDA, LIBNVIDIA_ML, ROOT, arguments, healthy, looked
from tests.hosts.test_interrupts import wait_until_asking
from tests.shim import build

PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
NOBODY = 65534
HANGING = HEALTHY.adding(libraries={LIBCUDA: build.hanging(soname="libcuda.so.1")})


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the file that `gpudoctor payload` writes."""
    path = tmp_path_factory.mktemp("payload") / "probe.pyz"
    subprocess.run([*COMMAND, "payload", "-o", str(path)], cwd=ROOT, check=True, capture_output=True)
    return path.read_bytes()


def interpreter(version: str) -> Path:
    """Return the Python of a version, or skip the test."""
    found = find_python(version)
    if found is None:
        pytest.skip(f"Python {version} is not installed here")
    return found


def carried(machine: Machine, probe: bytes) -> Machine:
    """Return the machine with the probe on it."""
    return machine.adding(files={"/opt/probe.pyz": probe})


def collected(machine: Machine, probe: bytes, python: Path, *options: str) -> Mapping[str, Any]:
    """Run the probe as an ordinary user and return its document."""
    become = []
    if os.geteuid() == 0:
        shut = shlex.join({str(f) for f in python.parents if f.stat().st_mode & 0o005 != 0o005})
        opened = f"chmod o+rx {shut} && " if shut else ""
        become = [
            "sh",
            "-c",
            f'{opened}exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups -- "$@"',
            "sh",
        ]
    done = carried(machine, probe).run([*become, str(python), "/opt/probe.pyz", *options])
    assert (done.returncode, done.stderr, done.leftover) == (0, "", ())
    document: Mapping[str, Any] = json.loads(done.stdout)
    assert document["schema"] == "gpudoctor.raw/1"
    return document


@pytest.mark.parametrize("version", PYTHONS)
def test_probe_under_every_python(version: str, probe: bytes) -> None:
    """A libcuda that hangs while being loaded costs the probe one limit and one answer, under any Python."""
    document = collected(HANGING, probe, interpreter(version), "--timeout", "3")
    outcomes = {name: end["outcome"] for name, end in document["probes"].items()}
    assert outcomes.pop("cuda") == "timeout"
    assert (outcomes.pop("smoke"), outcomes.pop("stages")) == ("not-asked", "not-asked")
    assert set(outcomes.values()) == {"ok"}, document["probes"]
    assert document["probes"]["frameworks"]["data"]["python"]["version"].startswith(version + ".")
    assert document["probes"]["nvml"]["data"]["calls"]["nvmlSystemGetDriverVersion"]["value"] == "570.86.15"


@pytest.mark.parametrize("version", PYTHONS)
def test_driver_is_asked_and_the_kernel_run_under_every_python(version: str, probe: bytes) -> None:
    """Every collector answers, NVML and CUDA name the card, and the kernel's plumbing works."""
    document = collected(HEALTHY, probe, interpreter(version), "--depth", "smoke")
    probes = document["probes"]
    assert {end["outcome"] for end in probes.values()} == {"ok"}, probes
    (card,) = probes["nvml"]["data"]["cards"]
    assert card["calls"]["nvmlDeviceGetName"]["value"] == "NVIDIA H100 80GB HBM3"
    (device,) = probes["cuda"]["data"]["devices"]
    assert device["calls"]["cuDeviceGetName"]["value"] == "NVIDIA H100 80GB HBM3"
    assert probes["cuda"]["data"]["calls"]["cuInit"]["code"] == 0
    trial = probes["smoke"]["data"]["devices"][0]["trial"]
    assert (trial["wrong_values"], trial["largest_error"]) == (0, 0.0)
    assert trial["values"] > 0


def test_judged_elsewhere_as_on_the_spot(probe: bytes) -> None:
    """What the probe saw, judged by `check --from`, is the report of a check on that machine."""
    document = collected(HEALTHY, probe, interpreter("3.11"))
    there = HEALTHY.adding(files={"/opt/raw.json": json.dumps(document)}).run(
        arguments("--from", "/opt/raw.json"), cwd=str(ROOT)
    )
    report = looked(there)
    assert (report.exit_code, report.report["verdict"]) == (0, "healthy")
    for name in ("driver.kernel_version", "cuda.init_code", "nvml.driver_version", "gpu.name", "gpu.uuid"):
        assert report.fact(name) == healthy().fact(name)


@pytest.mark.parametrize("library", [LIBCUDA, LIBNVIDIA_ML])
def test_crash_under_the_probe(library: str, probe: bytes) -> None:
    """A library that crashes ends its own child."""
    soname = {LIBCUDA: "libcuda.so.1", LIBNVIDIA_ML: "libnvidia-ml.so.1"}[library]
    machine = HEALTHY.adding(libraries={library: build.crashing(soname=soname)})
    probes = collected(machine, probe, interpreter("3.8"))["probes"]
    name = {LIBCUDA: "cuda", LIBNVIDIA_ML: "nvml"}[library]
    assert (probes[name]["outcome"], probes[name]["detail"]) == ("signal", "signal 11")
    assert {end["outcome"] for key, end in probes.items() if key not in (name, "smoke", "stages")} == {"ok"}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_probe_leaves_nothing_behind(number: signal.Signals, code: int, probe: bytes) -> None:
    """Its children are in sessions of their own, so it takes them with it."""
    running = carried(HANGING, probe).start([str(interpreter("3.8")), "/opt/probe.pyz", "--timeout", "60"])
    wait_until_asking(running.process.pid)
    running.interrupt(number)
    done = running.wait(10)
    assert (done.returncode, done.stdout, done.leftover) == (code, "", ())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_probe_whose_output_cannot_be_written(redirection: str, probe: bytes) -> None:
    """A full disk is one line and an exit code, and no half document goes unnoticed."""
    done = carried(HEALTHY, probe).run(["sh", "-c", f"{interpreter('3.9')} /opt/probe.pyz {redirection}"])
    assert done.returncode == 4
    assert done.stderr.startswith("standard output cannot be written")
    assert "Traceback" not in done.stderr


def test_probe_under_python_2(probe: bytes) -> None:
    """Python 2 is told what is needed, in one line."""
    done = carried(HEALTHY, probe).run([str(interpreter("2.7")), "/opt/probe.pyz"])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpudoctor's probe needs Python 3.6 or newer\n"
