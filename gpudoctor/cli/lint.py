"""The options of `gpudoctor lint`: files that describe an environment, judged before it is built."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor.cli import parameters
from gpudoctor.cli.parameters import FailOn, LintFormat


def lint(
    files: Annotated[list[str], typer.Argument(
        metavar="FILE",
        help="Dockerfile, requirements*.txt, pyproject.toml, pixi.toml, Pipfile, a lock, environment.yml, "
             "compose.yaml or a pod.")],
    gpu: Annotated[bool, typer.Option(
        "--gpu", help="Take every environment for one that is to use a GPU, whether its files show it or "
                      "not.")] = False,
    fix: Annotated[bool, typer.Option(
        "--fix", help="Print what can be put right safely as a diff; nothing is changed.")] = False,
    write: Annotated[bool, typer.Option(
        "--write", help="With --fix: change the files, each whole or not at all.")] = False,
    from_: Annotated[str | None, typer.Option(
        "--from", metavar="SNAPSHOT", help="Judge for a recorded machine (- for stdin).")] = None,
    assume: Annotated[list[str] | None, typer.Option(
        metavar="FACT=VALUE",
        help="For another host: driver=570.86.15, cc=9.0, python=3.12 or any fact (repeatable).")] = None,
    build_arg: Annotated[list[str] | None, typer.Option(
        "--build-arg", metavar="NAME=VALUE",
        help="The value of an ARG of a Dockerfile, as docker build takes it (repeatable).")] = None,
    format_: Annotated[LintFormat, typer.Option("--format", help="How to print it.")] = LintFormat.TEXT,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write it there instead of standard output.")] = None,
    fail_on: parameters.FailsOn = FailOn.ERROR,
    allow_undecided: parameters.AllowUndecided = False,
    timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.1, max=3600, help="Limit of each probe of this machine.")] = 20.0,
    rules: parameters.Rules = None,
) -> None:
    """Find what keeps a Dockerfile or requirements off the GPU.

    Before anything is built. They are judged for this machine where its GPU works, else for one that runs
    everything. (The rules themselves are proven by `gpudoctor rules lint`.)

    Example: gpudoctor lint Dockerfile --assume driver=550.54.14
    """
    from gpudoctor.cli import linting

    asked = linting.Asked(
        files=tuple(files), gpu=gpu, fix=fix, write=write, recorded=from_, assume=tuple(assume or ()),
        format=format_.value, output=output, fail_on=fail_on.value, allow_undecided=allow_undecided,
        build_arguments=tuple(build_arg or ()),
        timeout=timeout, rules=rules)
    raise typer.Exit(linting.lint(asked))
