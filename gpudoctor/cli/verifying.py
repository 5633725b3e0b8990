"""`gpudoctor dockerfile --verify`: build what was written, and check the image as `check --image` does."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager

from gpudoctor.cli import checking, containers
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.builds import Build
from gpudoctor.cli.errors import InputError
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.host import Data, Host
from gpudoctor.model import Absent
from gpudoctor.render.plain import printable
from gpudoctor.transports import building
from gpudoctor.transports.building import Recipe
from gpudoctor.transports.engine import Engine

BASE = "BASE"  # the argument of every generated file
_LINE_CHARACTERS = 100
_MOST_BYTES = 64 << 20  # of a wheel of gpudoctor


def verify(text: str, image: str, build: Build, asked: Asked) -> int:
    """Build a Dockerfile on a base, check the image, print the report, and return its exit code."""
    recipe = Recipe(text=text, files=_files(build), arguments={BASE: image, **build.parsed()}, tag=build.tag)

    def made(engine: Engine) -> AbstractContextManager[str]:
        return building.built(engine, recipe, functools.partial(_tell, sys.stderr.isatty()),
                              limit_seconds=build.limit_seconds, timeout_seconds=asked.timeout)

    watch = Stopwatch()
    judge, report = containers.look(asked, watch, made)
    checking.show(report, judge.policy, asked, watch)
    if build.tag is not None and isinstance(report.snapshot.host.get("image.trouble"), Absent):
        sys.stderr.write(f"gpudoctor: what was built stays as {build.tag}\n")
    return report.exit_code


def _files(build: Build) -> Mapping[str, bytes]:
    if build.wheel is None:
        return {}
    path = os.path.join(build.folder, build.wheel)
    answer = Host().read_bytes(path, limit_bytes=_MOST_BYTES)
    if not isinstance(answer, Data) or answer.truncated:
        raise InputError(f"{printable(path, 2000)}: is no wheel that can be read")
    return {build.wheel: answer.data}


def _tell(terminal: bool, said: str, is_step: bool) -> None:
    """Show the steps, each on a line of its own; what is said within one only to a person who watches."""
    line = printable(said, _LINE_CHARACTERS - 11)
    if terminal:
        line = f"\rgpudoctor: {line:<{_LINE_CHARACTERS - 11}}"
        sys.stderr.write(f"{line}\n" if is_step else line)
        sys.stderr.flush()
    elif is_step:
        sys.stderr.write(f"gpudoctor: {line}\n")
