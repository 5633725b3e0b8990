"""The options of `gpudoctor env`: the variables that cure what the environment can cure, and nothing else."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from gpudoctor.cli import parameters
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.parameters import SMOKE_SECONDS, Depth, FailOn


class Shell(str, Enum):
    """Who reads the lines."""

    SH = "sh"
    BASH = "bash"
    ZSH = "zsh"
    DASH = "dash"
    FISH = "fish"
    POWERSHELL = "powershell"
    DOCKERFILE = "dockerfile"
    CONDA = "conda"
    CONDA_DEACTIVATE = "conda-deactivate"
    SYSTEMD = "systemd"
    KERNELSPEC = "kernelspec"


def env(
    context: typer.Context,
    shell: Annotated[Shell, typer.Option(
        metavar="SHELL", help=f"Who reads the lines: {', '.join(shell.value for shell in Shell)}.",
    )] = Shell.SH,
    python: parameters.Python = None,
    kernel: parameters.KernelName = None,
    pid: parameters.ProcessNumber = None,
    from_: parameters.Recorded = None,
    depth: parameters.HowDeep = Depth.STATIC,
    timeout: parameters.Timeout = 20.0,
    smoke_timeout: parameters.SmokeTimeout = SMOKE_SECONDS,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the lines there instead of standard output.")] = None,
    fail_on: parameters.FailsOn = FailOn.ERROR,
    allow_undecided: parameters.AllowUndecided = False,
    require_: parameters.Require = None,
    assume: parameters.Assume = None,
    rules: parameters.Rules = None,
) -> None:
    """Print the export lines alone that repair this shell.

    What they do not cure is said on standard error.

    Example: eval "$(gpudoctor env)"
    """
    from gpudoctor.cli import exporting

    asked = Asked(
        given=parameters.given(context), python=python, kernel=kernel, pid=pid, recorded=from_,
        depth=depth.value, timeout=timeout, smoke_timeout=smoke_timeout, output=output,
        fail_on=fail_on.value, allow_undecided=allow_undecided, require=tuple(require_ or ()),
        assume=tuple(assume or ()), rules=rules)
    raise typer.Exit(exporting.env(asked, shell.value))
