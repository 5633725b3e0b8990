"""Parameters that several commands have, and which of a command's were given."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from gpudoctor.cli import completing


class Depth(str, Enum):
    """How far to look."""

    STATIC = "static"
    IMPORT = "import"
    SMOKE = "smoke"


class Format(str, Enum):
    """How to say it."""

    TEXT = "text"
    JSON = "json"


class ReportFormat(str, Enum):
    """For a person, a program, a merge request, the log of a job, a list of tests, a browser, one line."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    GITHUB = "github"
    JUNIT = "junit"
    HTML = "html"
    LINE = "line"


class LintFormat(str, Enum):
    """For a person, a program, a merge request, a job's log, a list of tests, a site of code, a browser."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    GITHUB = "github"
    JUNIT = "junit"
    SARIF = "sarif"
    HTML = "html"


class FailOn(str, Enum):
    """From which severity on a finding is a failure."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


KernelName = Annotated[str | None, typer.Option(
    metavar="NAME", help="Examine what this Jupyter kernel starts, with its environment.")]
ProcessNumber = Annotated[int | None, typer.Option(
    metavar="N", min=1, help="Examine a running process: its interpreter, environment and root.")]

Image = Annotated[str | None, typer.Option(
    metavar="IMAGE", help="Examine a container image: what a container of it would see on this machine.")]
RunningContainer = Annotated[str | None, typer.Option(
    metavar="ID", help="Examine a running container; nothing is written in it (default: --depth static).")]
Verbosity = Annotated[int, typer.Option(
    "--verbose", "-v", count=True,
    help="Add the loader trace and the stages (-v), and where the time went (-vv).")]
Pull = Annotated[bool, typer.Option("--pull", help="Fetch the image first; else it must be there.")]

Python = Annotated[str | None, typer.Option(
    metavar="PYTHON", help="The interpreter to examine (default: the active environment's).")]
Recorded = Annotated[str | None, typer.Option(
    "--from", metavar="SNAPSHOT", help="Judge a recorded snapshot, report or raw document (- for stdin).")]
HowDeep = Annotated[Depth, typer.Option(
    help="static: ask the driver, import nothing; import: import frameworks too; smoke: run them.")]
Timeout = Annotated[float, typer.Option(
    metavar="SECONDS", min=0.1, max=3600,
    help="Limit of each probe; the whole check ends within four times that, frameworks apart.")]
Cards = Annotated[list[str] | None, typer.Option(
    "--gpu", metavar="INDEX|UUID",
    help="Run frameworks on this card (repeatable; default: one of each model).")]
Stages = Annotated[list[str] | None, typer.Option(
    metavar="NAMES", autocompletion=completing.stages,
    help="Run only these: matmul, convolution, compiled, reduced-precision, all-reduce.")]
SmokeTimeout = Annotated[float, typer.Option(
    metavar="SECONDS", min=1, max=86400, help="Limit of a framework's import and of each stage.")]
SMOKE_SECONDS = 120.0  # courses.DEFAULT_LIMIT_SECONDS, whose module would take long to import
Output = Annotated[str | None, typer.Option(
    "--output", "-o", metavar="FILE", help="Write the report there instead of standard output.")]
FailsOn = Annotated[FailOn, typer.Option(help="The severity from which the exit code is 1.")]
AllowUndecided = Annotated[bool, typer.Option(
    "--allow-undecided", help="Exit 0 even if something that matters could not be judged.")]
Require = Annotated[list[str] | None, typer.Option(
    "--require", metavar="WHAT", help="Require gpu>=2, gpu.memory>=40GiB or tensorflow>=2.15 (repeatable).")]
Assume = Annotated[list[str] | None, typer.Option(
    "--assume", metavar="FACT=VALUE",
    help="Judge as if: driver=570.86.15, card=\"RTX 5090\" or cc=9.0 (twice: two cards), "
         "release=torch==2.10.0, python=3.12, glibc=2.31 or any fact (repeatable).")]
AssumedHost = Annotated[list[str] | None, typer.Option(
    "--assume", metavar="FACT=VALUE",
    help="As if: driver=570.86.15, card=\"RTX 5090\" or cc=9.0 (twice: two cards), glibc=2.31 or any fact "
         "(repeatable).")]
Rules = Annotated[str | None, typer.Option(
    metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones. "
    "GPUDOCTOR_RULES_EXTRA names one folder of pages to add.")]
Verify = Annotated[bool, typer.Option(
    "--verify", help="Build it on the container engine and check the image as check --image does (with -o); "
                     "the image is removed afterwards unless --tag names it.")]
BuildArguments = Annotated[list[str] | None, typer.Option(
    "--build-arg", metavar="NAME=VALUE",
    help="Build with this argument, such as BASE=MIRROR/IMAGE (repeatable; with --verify).")]
VerifyFormat = Annotated[ReportFormat | None, typer.Option(
    "--format", help="How to print the report of --verify.")]

BuildTimeout = Annotated[float, typer.Option(
    metavar="SECONDS", min=1, max=86400, help="Limit of that build.")]


def given(context: typer.Context) -> frozenset[str]:
    """Return the names of the options that stood on the command line."""
    sources = ((parameter, context.get_parameter_source(parameter.name or ""))
               for parameter in context.command.params)
    return frozenset(parameter.opts[0] for parameter, source in sources
                     if source is not None and source.name == "COMMANDLINE")
