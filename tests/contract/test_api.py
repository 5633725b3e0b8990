"""What other programs import: it says what the command says, and importing it costs nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.model import Report

ROOT = Path(__file__).parents[2]


def test_it_finds_what_the_command_finds() -> None:
    """The same causes, with the same exit code, of the same interpreter."""
    report = gpudoctor.check(depth="static", require=["gpu>=1"])
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--depth", "static", "--require", "gpu>=1", "--python",
         sys.executable, "--format", "json"],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    said = json.loads(done.stdout)
    assert [(one.cause, one.subject) for one in report.findings] == [
        (one["cause"], one["subject"]) for one in said["findings"]]
    assert report.exit_code == done.returncode


def test_it_works_in_a_thread() -> None:
    """Notebooks and servers do not call from the main thread."""
    found: list[Report] = []
    thread = threading.Thread(target=lambda: found.append(gpudoctor.check(depth="static")))
    thread.start()
    thread.join(60)
    assert len(found) == 1


@pytest.mark.parametrize("wrong", [{"require": ["nonsense"]}, {"gpu": ["no card"]}, {"stages": ["none"]},
                                   {"python": "/nowhere/python"}, {"fail_on": "never"}])
def test_what_cannot_be_followed_is_a_value_error(wrong: dict[str, object]) -> None:
    """In one line, as the command says it."""
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        gpudoctor.check(**wrong)  # type: ignore[arg-type]


def test_importing_it_imports_nothing_else() -> None:
    """A program that may never ask pays nothing."""
    program = "import sys; before = set(sys.modules); import gpudoctor; print(*set(sys.modules) - before)"
    place = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    done = subprocess.run([sys.executable, "-S", "-c", f"{place}; {program}"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["gpudoctor"]


def test_the_example_of_the_readme_works() -> None:
    """It is run as it is printed."""
    readme = (ROOT / "README.md").read_text("utf-8")
    examples = re.findall(r"```python\n(import gpudoctor\n.*?)```", readme, re.DOTALL)
    assert len(examples) == 1
    done = subprocess.run([sys.executable, "-c", examples[0]], capture_output=True, text=True, timeout=60,
                          check=True, cwd=ROOT)
    assert done.stdout.startswith("Verdict.")
