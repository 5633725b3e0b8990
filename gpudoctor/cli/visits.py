"""What there is to examine: a Python, a Jupyter kernel's, or a running process.

Every check begins here, so little is imported: the probes are to be started soon.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Annotated

import typer

from gpudoctor import host, patient
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.transports import local

KernelName = Annotated[str | None, typer.Option(
    metavar="NAME", help="Examine what this Jupyter kernel starts, with its environment.")]
ProcessNumber = Annotated[int | None, typer.Option(
    metavar="N", min=1, help="Examine a running process: its interpreter, environment and root.")]
_LOOKED_AT = ("from_", "python", "kernel", "pid")


def exclude(context: typer.Context) -> None:
    """Raise `UsageError` when the options name two things to look at, or how to look at what is recorded."""
    given = [name for name in (*_LOOKED_AT, "depth") if _is_given(context, name)]
    clash = [name for name in given if name != "depth"] if "from_" not in given else given
    if len(clash) > 1:
        first, second = (f"--{name.rstrip('_')}" for name in clash[:2])
        recorded = "from_" in clash
        why = "a recorded snapshot is judged as it is" if recorded else "each says what to look at"
        raise UsageError(f"{first} and {second} exclude one another: {why}")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name) if name in context.params else None
    return source is not None and source.name == "COMMANDLINE"


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
    if kernel is not None and isinstance(chosen, patient.Patient):
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
