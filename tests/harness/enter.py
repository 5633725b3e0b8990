"""Run one command in a machine: `python -m tests.harness.enter PLAN`, started by namespace.py.

Three processes: this one waits; its child is the first process of the new namespaces, builds the machine and
waits; the command is the grandchild. When the first process ends, the kernel ends everything that is left in
the machine. What happened is written as JSON to the plan's status descriptor, never to the command's own
output.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.harness import kernel, rootfs
from tests.harness.plan import Plan, plan_from_json

CALL_LOG = "/run/gpudoctor-shim.log"
NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWCGROUP
)
# A terminal's signals reach the whole group: only the command may react to them.
TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
ENDING_SECONDS = 0.3


def enter_namespaces(plan: Plan) -> None:
    """Leave the host's namespaces; without root's rights by way of a user namespace in which we are root."""
    flags = NAMESPACES | (0 if plan.network else kernel.CLONE_NEWNET)
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        kernel.unshare(flags)
        return
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def start_command(plan: Plan) -> int:
    """Fork and become the command; return its process id."""
    process = os.fork()
    if process:
        return process
    try:
        for number in TERMINAL_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.chdir(plan.working_folder)
        if plan.user is not None:
            os.setgroups([])
            os.setgid(plan.user)
            os.setuid(plan.user)
        os.execvpe(plan.argv[0], list(plan.argv), plan.environment)
    except OSError as error:
        report(plan, {"error": f"cannot run {plan.argv[0]}: {error}"})
    finally:
        os._exit(127)


def report(plan: Plan, status: dict[str, object]) -> None:
    """Write one line of JSON to the status descriptor."""
    data = json.dumps(status).encode() + b"\n"
    while data:
        data = data[os.write(plan.status_descriptor, data) :]


def wait_for(process: int) -> int:
    """Wait for one process, and for every orphan that ends meanwhile; return its exit code (negative =
    signal)."""
    while True:
        ended, status = os.wait()
        if ended == process:
            return os.waitstatus_to_exitcode(status)


def others() -> list[str]:
    """List the command lines of what still runs in the machine beside this first process."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if not ended:
            break
    lines = []
    for name in os.listdir("/proc/.kernel"):
        if not name.isdigit() or name == "1":
            continue
        try:
            line = (
                Path(f"/proc/.kernel/{name}/cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode(errors="replace")
            )
        except OSError:
            continue
        lines.append(line.strip() or name)
    return lines


def leftover() -> list[str]:
    """List what outlived the command by more than a moment."""
    deadline = time.monotonic() + ENDING_SECONDS
    while (lines := others()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return lines


def collect(plan: Plan) -> dict[str, str]:
    """Read the files that the test asked for, as base64; a file that is not there is left out."""
    found = {}
    for path in plan.collected:
        if os.path.isfile(path):
            found[path] = base64.b64encode(Path(path).read_bytes()).decode()
    return found


def first_process(plan: Plan) -> None:
    """Build the machine, run the command, report."""
    kernel.die_with_parent(signal.SIGKILL)
    try:
        rootfs.build_root(plan)
        kernel.set_host_name(plan.host_name)
        if plan.loader_cache:
            subprocess.run(["/sbin/ldconfig"], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        report(plan, {"error": f"cannot build the machine: {error}"})
        return
    code = wait_for(start_command(plan))
    calls = Path(CALL_LOG).read_text().split() if os.path.isfile(CALL_LOG) else []
    report(plan, {"returncode": code, "leftover": leftover(), "calls": calls, "files": collect(plan)})


def main() -> None:
    """Run the plan in the named file."""
    plan = plan_from_json(Path(sys.argv[1]).read_text())
    os.set_inheritable(plan.status_descriptor, False)
    for number in TERMINAL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        enter_namespaces(plan)
    except OSError as error:
        report(plan, {"error": f"no namespaces here: {error}"})
        return
    first = os.fork()
    if not first:
        first_process(plan)
        os._exit(0)
    os.waitpid(first, 0)


if __name__ == "__main__":
    main()
