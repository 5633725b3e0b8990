"""Slurm for real, in a machine: munged, slurmctld and slurmd on its own loopback, of Debian's packages.

    result = slurm.on(machine, "sleep 3; sinfo -R")

The one node is the machine, with the machine's scripted driver. The script is run once the node has
registered; what came of it all is read by `on`. Everything ends with the machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.harness.machine import File, Machine

ROOT = Path(__file__).parents[2]
NODE = "gpu1"
PROGRAMS = ("munged", "slurmctld", "slurmd", "scontrol", "sbatch")
INSTALLED = "/etc/slurm/gpudoctor"  # where integrations/slurm lies in the machine
_START_SECONDS = 30
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _IFF_UP = 0x8913, 0x8914, 0x8916, 1
_ADDRESS = "10.77.0.1"  # without one beside 127.0.0.1, getaddrinfo() finds no family to listen with
_CONFIGURATION = f"""\
ClusterName=lab
SlurmctldHost=localhost({_ADDRESS})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=/run/lab/munge.socket
StateSaveLocation=/run/lab/state
SlurmdSpoolDir=/run/lab/spool
SlurmctldPidFile=/run/lab/slurmctld.pid
SlurmdPidFile=/run/lab/slurmd.pid
SlurmctldLogFile=/run/lab/slurmctld.log
SlurmdLogFile=/run/lab/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
GresTypes=gpu
ReturnToService=2
MessageTimeout=3
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName={NODE} NodeHostname=localhost NodeAddr={_ADDRESS} CPUs=2 RealMemory=256 Gres=gpu:1 State=UNKNOWN
PartitionName=gpu Nodes={NODE} Default=YES State=UP
"""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came of a script: its output, the node's state and reason, the system's log."""

    output: str
    state: str
    reason: str
    system_log: str


def unavailable() -> str:
    """Return why Slurm cannot be started here, "" where it can."""
    if os.geteuid() != 0:
        return "starting Slurm takes root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def on(machine: Machine, script: str, *, settings: str, configuration: Mapping[str, str] | None = None
       ) -> Told:
    """Start Slurm on a machine with lines of slurm.conf, run a script, and say what came of it.

    `configuration` are variables of /etc/default/gpudoctor.
    """
    reason = unavailable()
    if reason:
        pytest.skip(f"Slurm cannot be started here: {reason}")
    variables = {"GPUDOCTOR_PYTHON": sys.executable, **(configuration or {})}
    programs = {f"{INSTALLED}/{path.name}": File(content=path.read_text(), mode=path.stat().st_mode & 0o777)
                for path in (ROOT / "integrations" / "slurm").iterdir() if path.suffix == ""}
    whole = replace(machine, network=False).adding(files={
        **programs, "/etc/slurm/slurm.conf": _CONFIGURATION + settings,
        "/etc/slurm/gres.conf": "Name=gpu File=/dev/nvidia0\n",
        "/etc/slurm/cgroup.conf": "CgroupPlugin=cgroup/v1\n",
        "/etc/hosts": "127.0.0.1 localhost machine\n",
        "/etc/default/gpudoctor": "".join(f"{name}='{value}'\n" for name, value in variables.items()),
    })
    done = whole.run([sys.executable, "-m", "tests.harness.slurm", script], cwd=str(ROOT), timeout=150,
                     collect=["/run/lab/told.json"])
    assert done.returncode == 0, done.stdout + done.stderr
    return Told(**json.loads((done.files or {})["/run/lab/told.json"]))


def main() -> None:
    """Start Slurm in this machine, run the script in the first argument, and write down what came of it."""
    _loopback_up()
    folder = Path("/run/lab")
    folder.mkdir(mode=0o755)
    system_log = _system_log()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    _start("munged", "--force", "--socket=/run/lab/munge.socket", f"--key-file={key}",
           "--pid-file=/run/lab/munged.pid", "--log-file=/run/lab/munged.log",
           "--seed-file=/run/lab/munge.seed")
    _start("slurmctld")
    _start("slurmd", "-N", NODE)
    until = time.monotonic() + _START_SECONDS
    while not _registered():
        if time.monotonic() > until:
            logs = [path.read_text(errors="replace")[-3000:] for path in sorted(folder.glob("*.log"))]
            sys.exit(f"the node did not register: {_node()}\n{''.join(logs)}")
        time.sleep(0.1)
    ran = subprocess.run(["sh", "-c", sys.argv[1]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False, timeout=100)
    node = _node()
    told = {"output": ran.stdout, "state": node.get("State", ""), "reason": node.get("Reason", ""),
            "system_log": _read(system_log)}
    (folder / "told.json").write_text(json.dumps(told))


def _loopback_up() -> None:
    """Switch on the loopback device of this machine's own network, and give it a second address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
        second = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(_ADDRESS))
        fcntl.ioctl(any_socket, _SIOCSIFADDR, second)


def _system_log() -> socket.socket:
    """Listen where programs say what the system's log is to hold."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind("/dev/log")
    listening.setblocking(False)
    return listening


def _read(listening: socket.socket) -> str:
    lines = []
    try:
        while True:
            lines.append(listening.recv(65536).decode(errors="replace"))
    except BlockingIOError:
        return "\n".join(lines)


def _start(*command: str) -> None:
    """Start a daemon, which forks and returns when it is ready."""
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=30)


def _node() -> dict[str, str]:
    """Return what the controller says of the node."""
    said = subprocess.run(["scontrol", "show", "node", NODE], capture_output=True, text=True, check=False,
                          timeout=20).stdout
    fields = dict(word.split("=", 1) for word in said.split() if "=" in word)
    reason = [line.strip() for line in said.splitlines() if line.strip().startswith("Reason=")]
    return {**fields, "Reason": reason[0].removeprefix("Reason=") if reason else ""}


def _registered() -> bool:
    state = _node().get("State", "")
    return bool(state) and "UNKNOWN" not in state and "*" not in state


if __name__ == "__main__":
    main()
