"""The checkout under test: its folders, its files, and gpudoctor run as a user would."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "gpudoctor"
RULES = ROOT / "rules"
NOT_OURS = {".git", ".hypothesis", ".venv", "__pycache__", "build", "dist", "recordings", "site"}
# what a snapshot holds that no command can take, and what is said of it in one line
UNREADABLE_SNAPSHOTS = (
    ('{"schema": "gpudoctor.snapshot/99"}', ("newer", "update gpudoctor")),
    ('{"schema": "gpudoctor.snapshot/1",\n "host": }', (":2:", "not valid JSON")),
    ("[]", ("no gpudoctor snapshot",)),
)

_WITHOUT_PRIVILEGE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search",
                      "--inh-caps=-dac_override,-dac_read_search")
_AS_COMMAND = "import sys; sys.argv[0] = 'gpudoctor'; from gpudoctor.cli import main; sys.exit(main())"


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to the project, in order; also where there is no git to ask."""
    for path in sorted(folder.iterdir()):
        if path.name in NOT_OURS or path.name.endswith(("_cache", ".egg-info", ".pyc")):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from files_below(path)
        elif path.is_file():
            yield path


@cache
def parsed(path: Path) -> ast.Module:
    """Return a Python file's syntax tree."""
    return ast.parse(path.read_bytes(), filename=str(path))


def shown(path: Path) -> str:
    """Return a path as a reader of the repository knows it."""
    return path.relative_to(ROOT).as_posix()


def run_python(
    code: str, *arguments: str, environment: Mapping[str, str] | None = None, folder: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter in which the checkout can be imported."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=variables, cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False)


def run_gpudoctor(
    *arguments: str, environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command through its entry point, in a fresh interpreter."""
    return run_python(_AS_COMMAND, *arguments, environment=environment)


def run_without_privilege(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as somebody to whom files can be closed, which to root they are not."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may read everything")
    words = _WITHOUT_PRIVILEGE if os.geteuid() == 0 else ()
    return subprocess.run([*words, sys.executable, "-m", "gpudoctor", *arguments], cwd=ROOT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
