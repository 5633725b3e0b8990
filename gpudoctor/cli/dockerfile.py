"""The options of `gpudoctor dockerfile`: an image for this machine, or for another one."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from gpudoctor.cli import completing, parameters


class Base(str, Enum):
    """What the image is built on."""

    TENSORFLOW = "tensorflow"
    NGC = "ngc"
    CUDA = "cuda"
    PYTHON_SLIM = "python-slim"


def dockerfile(
    framework: Annotated[list[str] | None, typer.Option(
        "--framework", metavar="NAME[==VERSION]", autocompletion=completing.frameworks,
        help="What is to run in it, such as tensorflow==2.20.*; repeated: a set in one environment "
             "(default: what the environment holds, else tensorflow).")] = None,
    base: Annotated[Base, typer.Option(
        help="Build on TensorFlow's images, NVIDIA's (NGC), nvidia/cuda, or python:...-slim with "
             "wheels.")] = Base.PYTHON_SLIM,
    require_: parameters.Require = None,
    python: Annotated[str | None, typer.Option(
        metavar="VERSION|PYTHON",
        help="With this Python: a version such as 3.12, or an interpreter's.")
    ] = None,
    pre: Annotated[bool, typer.Option("--pre", help="Consider pre-releases, too.")] = False,
    from_: Annotated[str | None, typer.Option(
        "--from", metavar="SNAPSHOT", help="For a recorded machine (- for stdin).")] = None,
    assume: parameters.AssumedHost = None,
    output: Annotated[str | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write it there instead of standard output.")] = None,
    compose: Annotated[bool, typer.Option(
        "--compose", help="Write compose.yaml beside it (with -o).")] = False,
    kubernetes: Annotated[bool, typer.Option(
        "--kubernetes", help="Write pod.yaml beside it (with -o), with a pre-flight container.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that hold something else.")] = False,
    tag: Annotated[str | None, typer.Option(
        metavar="REFERENCE", help="What the image is to be called (default: gpu-FRAMEWORK:VERSION).")] = None,
    gpudoctor: Annotated[str | None, typer.Option(
        "--gpudoctor", metavar="WHEEL",
        help="Take gpudoctor for the pre-flight from this wheel beside the Dockerfile, not from the "
             "index.")] = None,
    allow_undecided: Annotated[bool, typer.Option(
        "--allow-undecided", help="Let the program start although something that matters is open.")] = False,
    buildkit: Annotated[bool, typer.Option(
        "--buildkit", help="Use BuildKit's own syntax: a cache for pip.")] = False,
    verify: parameters.Verify = False,
    build_arg: parameters.BuildArguments = None,
    build_timeout: parameters.BuildTimeout = 3600.0,
    format_: parameters.VerifyFormat = None,
    timeout: Annotated[float, typer.Option(
        metavar="SECONDS", min=0.1, max=3600, help="Limit of each probe.")] = 20.0,
    rules: Annotated[str | None, typer.Option(
        metavar="DIR", help="Use the rule pages in this folder instead of the shipped ones.")] = None,
) -> None:
    """Write the Dockerfile that will run on this machine.

    Exit code 0 if it is written, 1 if nothing fits, 3 if nothing could be judged; with --verify that of the
    check.

    Example: gpudoctor dockerfile --framework tensorflow -o Dockerfile
    """
    from gpudoctor.cli import dockerfiles

    wish = dockerfiles.Wish(
        frameworks=tuple(framework or ()), base=base.value, require=tuple(require_ or ()), python=python,
        pre=pre, recorded=from_, assume=tuple(assume or ()), output=output, compose=compose,
        kubernetes=kubernetes, force=force, tag=tag, wheel=gpudoctor, buildkit=buildkit,
        allow_undecided=allow_undecided, verify=verify, build_arguments=tuple(build_arg or ()),
        build_seconds=build_timeout, format=format_.value if format_ else None, timeout=timeout, rules=rules)
    raise typer.Exit(dockerfiles.dockerfile(wish))
