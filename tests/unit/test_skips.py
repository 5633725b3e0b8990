"""In continuous integration a test that is skipped is a failure, but for the few reasons that are allowed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

def test_left_out(): pytest.skip("no machine can be built here")
def test_allowed(): pytest.skip("beside the checkout there is nothing")
def test_lent_by_the_kernel(): pytest.skip("no file system of our own can be made here: why")
def test_not_offered(): pytest.skip("the package index offers no 2.13.0+cpu of torch==2.13.0")
@pytest.mark.skipif(True, reason="not today")
def test_marked(): pass
def test_run(): pass
@pytest.mark.xfail(reason="known")
def test_known(): assert False
"""


@pytest.mark.parametrize(("ci", "outcomes"), [
    ("true", "2 failed, 1 passed, 2 skipped, 1 xfailed, 1 error"), ("", "1 passed, 5 skipped, 1 xfailed"),
])
def test_a_skip_is_a_failure_where_it_must_not_be(tmp_path: Path, ci: str, outcomes: str) -> None:
    """Skips in the test and by a marker; what is known to fail is none."""
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest",
               "--rootdir", str(tmp_path), str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, env={"CI": ci}, capture_output=True, text=True, check=False)
    assert outcomes in ran.stdout, ran.stdout + ran.stderr


def test_a_path_that_is_not_there_is_named_by_parallel_workers_too() -> None:
    """Regression: `make test` of a mistyped file found no tests in it, and did not say why."""
    ran = subprocess.run([sys.executable, "-m", "pytest", "-n", "2", "tests/nope.py"], cwd=ROOT,
                         capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.strip()) == (4, "ERROR: file or directory not found: tests/nope.py")
