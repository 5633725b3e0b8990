"""What there is to examine: a Python, a Jupyter kernel's, or a running process.

Every check begins here, so little is imported: the probes are to be started soon.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Collection

from gpudoctor import host, patient
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.showing import refuse_lost_output
from gpudoctor.transports import local

_LOOKED_AT = ("--from", "--python", "--kernel", "--pid", "--image", "--container")
_CONTAINERS = ("--image", "--container")
_HOW_TO_LOOK = ("--depth", "--gpu", "--stages", "--smoke-timeout")
_HOW_TO_RUN = ("--gpu", "--stages", "--smoke-timeout")


def refuse(given: Collection[str], depth: str, output: str | None) -> None:
    """Raise `UsageError` or `InputError` for what cannot be followed, before time is spent on it."""
    _refuse_clashes(given, depth)
    refuse_lost_output(output)


def _refuse_clashes(given: Collection[str], depth: str) -> None:
    """Refuse two things to look at, and how to look at what is recorded, assumed or not to be run."""
    looked_at = [name for name in _LOOKED_AT if name in given]
    in_container = next((name for name in _CONTAINERS if name in given), None)
    if in_container is not None and "--python" in given:
        looked_at.remove("--python")  # there it says which of those inside
    how = [name for name in _HOW_TO_LOOK if name in given]
    clash = [*looked_at, *how] if "--from" in given else looked_at
    if len(clash) > 1:
        why = "a recorded snapshot is judged as it is" if "--from" in given else "each says what to look at"
        raise UsageError(f"{clash[0]} and {clash[1]} exclude one another: {why}")
    _refuse_for_containers(given, in_container)
    running = [name for name in how if name in _HOW_TO_RUN]
    if running and depth != "smoke":
        raise UsageError(f"{running[0]} is for --depth smoke; at depth {depth} no framework is run")
    if running and "--assume" in given:
        raise UsageError(f"{running[0]} and --assume exclude one another: nothing is run on a machine that "
                         "is partly assumed")


def _refuse_for_containers(given: Collection[str], in_container: str | None) -> None:
    """Refuse what the payload in a container does not choose, and pulling where no image is named."""
    chosen = next((name for name in ("--gpu", "--stages") if name in given), None)
    if in_container is not None and chosen is not None:
        raise UsageError(f"{chosen} and {in_container} exclude one another: in a container every stage is "
                         "run on the first card")
    if "--pull" in given and "--image" not in given:
        raise UsageError("--pull fetches the image that --image names")


def visit_here(python: str | None, depth: str, timeout_seconds: float, kernel: str | None = None,
               pid: int | None = None) -> local.Visit:
    """Return what to examine on this machine: a Python, a Jupyter kernel's, or a running process."""
    if pid is not None:
        return _visit_process(pid, depth, timeout_seconds)
    variables = host.environment()
    own = patient.Own(executable=sys.executable, prefix=sys.prefix, folders=tuple(sys.path),
                      as_module=os.path.basename(sys.argv[0]) == "__main__.py")
    folder = _current_folder()
    chosen = patient.choose(explicit=python, environment=variables, own=own, folder=folder)
    if isinstance(chosen, patient.NoPatient):
        raise InputError(f"--python: {chosen.reason}; name an interpreter, or the folder of an environment")
    if kernel is not None:
        from gpudoctor.transports import kernelspec

        found = kernelspec.find(kernel, environment=variables, default=chosen, folder=folder,
                                user_id=os.geteuid())
        if isinstance(found, kernelspec.NoKernel):
            raise InputError(found.reason)
        chosen, variables = found.patient, dict(found.environment)
    return local.Visit(patient=chosen, depth=depth, timeout_seconds=timeout_seconds, environment=variables)


def _visit_process(number: int, depth: str, timeout_seconds: float) -> local.Visit:
    from gpudoctor.transports import process

    program = os.path.abspath(sys.argv[0])
    own = [sys.executable, "-m", "gpudoctor"] if program.endswith("__main__.py") else [program]
    found = process.find(number, as_root=shlex.join(["sudo", *own, "check", "--pid", str(number)]),
                         is_root=os.geteuid() == 0)
    if isinstance(found, process.NoProcess):
        raise InputError(found.reason)
    return local.Visit(
        patient=found.patient, depth=depth, timeout_seconds=timeout_seconds, environment=found.environment,
        script_folders=found.script_folders, process=found)


def _current_folder() -> str:
    """Return the current folder; one that was removed under our feet reads as the root."""
    try:
        return os.getcwd()
    except OSError:
        return "/"
