"""Run gpudoctor's command line within the process of the test: starting one would cost most of the time."""

from __future__ import annotations

import io
from dataclasses import dataclass

import pytest

from gpudoctor.cli import run


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, kw_only=True)
class Gpudoctor:
    """The command's own entry, run within this process."""

    patch: pytest.MonkeyPatch
    output: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Ended:
        """Run one command line; an exception that escapes fails the test."""
        self.patch.setattr("sys.argv", ["gpudoctor", *arguments])
        self.patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.output.readouterr()
        with self.patch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            code = run()
        said = self.output.readouterr()
        return Ended(returncode=code, stdout=said.out, stderr=said.err)
