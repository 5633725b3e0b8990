"""Install into an environment by uv, or by pip where there is none, from the index that pip would ask."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS = 1500


@dataclass(frozen=True, kw_only=True)
class Installer:
    """What is in front of the requirements on the command line."""

    command: tuple[str, ...]

    def install(
        self, requirements: Sequence[str], constraints: Path | None, *, dry_run: bool = False
    ) -> str:
        """Install, or only say what would be; return all that was said. Raises CalledProcessError."""
        limits = ["--constraint", str(constraints)] if constraints else []
        return _run([*self.command, *limits, *(["--dry-run"] if dry_run else []), *requirements])


def installer(python: Path, prefix: Path) -> Installer:
    """Make an empty environment and return what installs into it."""
    if importlib.util.find_spec("uv") is None:
        _run([str(python), "-m", "venv", "--symlinks", str(prefix)])
        return Installer(command=(str(prefix / "bin" / "python"), "-m", "pip", "install"))
    uv = (sys.executable, "-m", "uv")
    _run([*uv, "venv", "--python", str(python), str(prefix)])
    target = ("--python", str(prefix / "bin" / "python"))
    return Installer(command=(*uv, "pip", "install", *target, *index_options(pip_settings())))


def pip_settings() -> dict[str, str]:
    """Return what pip is configured with, its environment variables over its files."""
    listed = _run([sys.executable, "-m", "pip", "config", "list"])
    settings: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, equals, value = line.partition("=")
        if equals:
            settings[name.rpartition(".")[2]] = str(ast.literal_eval(value))
    return settings


def index_options(settings: dict[str, str]) -> list[str]:
    """Return uv's options for pip's indexes; like pip, it is to take the best version of them all."""
    names = {"index-url": "--index-url", "extra-index-url": "--extra-index-url", "find-links": "--find-links"}
    options = ["--index-strategy", "unsafe-best-match"]
    for name, option in names.items():
        options += [word for value in settings.get(name, "").split() for word in (option, value)]
    return options


def _run(command: Sequence[str]) -> str:
    """Run a command in a neutral environment; return its stdout and stderr together."""
    environment = {
        name: value for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    environment["UV_PYTHON_DOWNLOADS"] = "never"
    if "PIP_CERT" in environment:
        environment.setdefault("SSL_CERT_FILE", environment["PIP_CERT"])
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=INSTALL_SECONDS, check=True)
    return done.stdout + done.stderr
